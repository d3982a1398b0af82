"""The package declares what it uses."""

from __future__ import annotations

import ast
import json
import re
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
OPTIONAL = {"redis", "locust", "gevent"}


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


# ---------------------------------------------------------------------- what is installed

SBOM = json.loads((ROOT / ".docker" / "sbom.cdx.json").read_text("utf-8"))
COMPONENTS = {canonicalize_name(entry["name"]): entry for entry in SBOM["components"]}


def test_sbom_has_the_versions_of_the_constraints() -> None:
    text = (ROOT / "constraints.txt").read_text("utf-8")
    pins = {
        canonicalize_name(name): version for name, version in re.findall(r"(?m)^([^#=\s]+)==(\S+)$", text)
    }
    assert {name: entry["version"] for name, entry in COMPONENTS.items()} == {
        name: pins[name] for name in COMPONENTS
    }, "run .ci/sbom"


def test_sbom_has_all_that_the_suite_needs() -> None:
    waiting, seen = declared(), set[str]()
    while waiting:
        name = waiting.pop()
        seen.add(name)
        needed = map(Requirement, metadata.requires(name) or ())
        waiting |= {
            canonicalize_name(requirement.name)
            for requirement in needed
            if requirement.marker is None or requirement.marker.evaluate({"extra": ""})
        } - seen
    assert seen == set(COMPONENTS), "run .ci/sbom"


def test_sbom_names_licences_that_allow_any_use() -> None:
    """None that reaches beyond the files that it covers."""
    allowed = re.compile("MIT|BSD|Apache|MPL-2.0|Mozilla Public License 2|PSF-2.0|ISC")
    for name, entry in COMPONENTS.items():
        assert entry["licenses"], name
        for licence in entry["licenses"]:
            named = licence.get("expression") or licence["license"].get("id") or licence["license"]["name"]
            assert allowed.search(named), (name, named)


def test_sbom_tells_nothing_of_the_machine_that_made_it() -> None:
    assert not re.search(r"file:|/root|/home|/tmp", json.dumps(SBOM))
