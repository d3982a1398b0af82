"""The assumptions in conformance/_private.py hold for the installed versions of other libraries."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from _pytest.assertion import AssertionState

from conformance import _private
from tests.support.sources import PACKAGE, trees


def test_the_root_is_chosen_again(pytestconfig: pytest.Config, monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = pytestconfig.rootpath, pytestconfig.inipath
    monkeypatch.setattr(pytestconfig, "_rootpath", Path("/elsewhere"))
    _private.determine_root_again(pytestconfig)
    assert (pytestconfig.rootpath, pytestconfig.inipath) == chosen


def test_a_package_is_no_longer_marked_for_rewriting(pytestconfig: pytest.Config) -> None:
    from _pytest.assertion.rewrite import AssertionRewritingHook

    hook = AssertionRewritingHook(pytestconfig)
    hook.mark_rewrite("unheard_of")
    assert hook._is_marked_for_rewrite("unheard_of.part", AssertionState(pytestconfig, "rewrite"))
    hook._marked_for_rewrite_cache.clear()
    _private.disable_assertion_rewriting(SimpleNamespace(rewrite_hook=hook), "unheard_of")
    assert not hook._is_marked_for_rewrite("unheard_of.part", AssertionState(pytestconfig, "rewrite"))
    assert hasattr(pytestconfig.pluginmanager, "rewrite_hook")


def test_the_parser_tells_the_names_of_its_options(pytestconfig: pytest.Config) -> None:
    names = _private.option_names(pytestconfig._parser)
    assert {"--conformance-target", "--base-url", "--maxfail", "-k"} <= names
    assert _private.option_names(SimpleNamespace()) == frozenset()


@pytest.mark.parametrize(("module", "loaded"), [("httpx", True), ("conformance.wire.client", False)])
def test_httpx_is_imported_without_its_command(module: str, loaded: bool) -> None:
    """The first row holds what is assumed: httpx imports its command, and with it rich."""
    code = f"import sys, {module}, httpx; print({{'httpx._main', 'rich'}} & {{*sys.modules}}, httpx.Request)"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert ("httpx._main" in said, "rich" in said, "httpx.Request" in said) == (loaded, loaded, True)


def test_nothing_else_uses_private_parts() -> None:
    """No import of another library's private module, and no use of a private member by name."""
    known = re.compile(
        r"\b(_pytest|_hypothesis\w+|_tw|_set_main_color|_rootpath|_inipath|_inicfg|_inicache)\b"
    )
    for path, tree in trees().items():
        if path == Path("_private.py"):
            continue
        assert not known.search((PACKAGE / path).read_text("utf-8")), path
        for node in ast.walk(tree):
            modules = [node.module or ""] if isinstance(node, ast.ImportFrom) and not node.level else []
            modules += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            for module in modules:
                private = [
                    part for part in module.split(".") if part.startswith("_") and not part.startswith("__")
                ]
                assert not private or module.startswith("conformance."), (path, module)
