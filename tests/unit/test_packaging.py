"""What the package declares is what it uses."""

from __future__ import annotations

import ast
import sys
import tomllib
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]

#: Declared, and used by other means than an import: plugins of pytest and parts of uvicorn that are named
#: only.
NAMED_ONLY = {"pytest-base-url", "pytest-xdist", "httptools"}

#: Imported where somebody has it installed, and a clear error otherwise.
OPTIONAL = {"redis"}


def imported() -> set[str]:
    """The top-level modules of others that the package imports, wherever the import stands."""
    modules: set[str] = set()
    for path in (ROOT / "conformance").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Import):
                modules |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                modules.add(node.module.partition(".")[0])
    return modules - set(sys.stdlib_module_names) - {"conformance", "__future__"} - OPTIONAL


def distributions(modules: set[str]) -> set[str]:
    """The distributions that modules come from."""
    known = metadata.packages_distributions()
    found: set[str] = set()
    for module in modules:
        names = {canonicalize_name(name) for name in known.get(module, [module])}
        # What schemathesis brings along in a second copy is not where an import goes.
        found |= names if len(names) == 1 else {canonicalize_name(module)} & names or names
    return found


def declared() -> set[str]:
    return {canonicalize_name(Requirement(text).name) for text in PROJECT["dependencies"]}


def test_every_import_is_declared() -> None:
    assert distributions(imported()) - declared() == set()


def test_every_declared_package_is_used() -> None:
    assert declared() - distributions(imported()) - NAMED_ONLY == set()


def test_metadata_is_complete() -> None:
    minors = {text.rpartition(" ")[2] for text in PROJECT["classifiers"] if ":: 3." in text}
    assert {"3.11", "3.12", "3.13"} <= minors
    assert PROJECT["authors"] and PROJECT["keywords"] and PROJECT["description"]
