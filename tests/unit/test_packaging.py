"""Dependencies are declared and pinned, and the bill of materials lists them."""

from __future__ import annotations

import ast
import json
import re
import sys
import tomllib
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import NormalizedName, canonicalize_name

from tests.support.sources import trees

ROOT = Path(__file__).parents[2]

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]

#: Declared but not imported: pytest plugins, and uvicorn's HTTP parser.
NAMED_ONLY = {"pytest-base-url", "pytest-xdist", "httptools"}

#: Imported if installed; without them the command that needs them names the extra.
OPTIONAL = {"redis", "locust", "gevent"}


def imported() -> set[str]:
    """Returns the top-level third-party modules that the package imports, at any depth."""
    modules: set[str] = set()
    for tree in trees().values():
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                modules |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                modules.add(node.module.partition(".")[0])
    return modules - set(sys.stdlib_module_names) - {"conformance", "__future__"} - OPTIONAL


def distributions(modules: set[str]) -> set[str]:
    """Returns the distributions that provide the modules."""
    known = metadata.packages_distributions()
    found: set[str] = set()
    for module in modules:
        names = {canonicalize_name(name) for name in known.get(module, [module])}
        # schemathesis vendors copies of some modules: they do not provide the import.
        found |= names if len(names) == 1 else {canonicalize_name(module)} & names or names
    return found


def declared() -> set[NormalizedName]:
    return {canonicalize_name(Requirement(text).name) for text in PROJECT["dependencies"]}


def test_every_import_is_declared() -> None:
    assert distributions(imported()) - declared() == set()


def test_every_declared_package_is_used() -> None:
    assert declared() - distributions(imported()) - NAMED_ONLY == set()


# ---------------------------------------------------------------------- versions

PINS = {
    canonicalize_name(name): version
    for name, version in re.findall(
        r"^([A-Za-z0-9._-]+)==(\S+)$", (ROOT / "constraints.txt").read_text("utf-8"), re.MULTILINE
    )
}


def requirements() -> list[Requirement]:
    """Returns the dependencies of the project and of its extras."""
    extras = [requirement for group in PROJECT["optional-dependencies"].values() for requirement in group]
    return [Requirement(text) for text in (*PROJECT["dependencies"], *extras)]


def needed() -> set[NormalizedName]:
    """Returns the distributions that the suite needs transitively, among those installed."""
    waiting, seen = declared(), set[NormalizedName]()
    while waiting:
        name = waiting.pop()
        seen.add(name)
        waiting |= {
            canonicalize_name(requirement.name)
            for requirement in map(Requirement, metadata.requires(name) or ())
            if requirement.marker is None or requirement.marker.evaluate({"extra": ""})
        } - seen
    return seen


def test_everything_that_is_needed_is_pinned() -> None:
    assert len(needed()) > 25 and needed() <= PINS.keys()


# ---------------------------------------------------------------------- the bill of materials

SBOM = json.loads((ROOT / ".docker" / "sbom.cdx.json").read_text("utf-8"))
COMPONENTS = {canonicalize_name(entry["name"]): entry for entry in SBOM["components"]}


def test_sbom_has_all_that_the_suite_needs_in_the_versions_of_the_constraints() -> None:
    assert {name: entry["version"] for name, entry in COMPONENTS.items()} == {
        name: PINS[name] for name in needed()
    }, "run .ci/sbom"


def test_sbom_names_licences_that_allow_any_use() -> None:
    """No copyleft beyond the files that the licence covers."""
    allowed = re.compile("MIT|BSD|Apache|MPL-2.0|Mozilla Public License 2|PSF-2.0|ISC")
    for name, entry in COMPONENTS.items():
        assert entry["licenses"], name
        for licence in entry["licenses"]:
            named = licence.get("expression") or licence["license"].get("id") or licence["license"]["name"]
            assert allowed.search(named), (name, named)
