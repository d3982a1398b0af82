"""The assumptions in conformance/_private.py hold for the installed versions of other libraries."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import sys
import threading
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


def test_trees_are_parsed_by_one_thread_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    at_once, most, all_there = 0, 0, threading.Barrier(4)

    def parse(source: str) -> ast.AST:
        nonlocal at_once, most
        at_once += 1
        most = max(most, at_once)
        for _ in range(100):
            compile(source, "<test>", "exec", ast.PyCF_ONLY_AST)
        at_once -= 1
        return ast.Module([], [])

    def thread() -> None:
        all_there.wait()
        ast.parse("a = [b(c) for c in (1, 2, 3)]\n" * 50)

    monkeypatch.setattr(sys, "version_info", (3, 11, 7))
    monkeypatch.setattr(ast, "parse", parse)
    _private.serialize_parsing()
    _private.serialize_parsing()
    threads = [threading.Thread(target=thread) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert most == 1


def test_pytest_and_hypothesis_parse_by_the_module() -> None:
    for module in ("_pytest.assertion.rewrite", "hypothesis.internal.lambda_sources"):
        assert "ast.parse(" in inspect.getsource(importlib.import_module(module))
