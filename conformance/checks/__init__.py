"""The checks, one module an area of rules. They know the harness, and nothing of reports or of the plugin."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator

from conformance import fuzz, harness, judge
from conformance.harness.check import CHECKS, Check


def load_checks() -> dict[str, Check]:
    """All checks of the installed package, by name."""
    for module in pkgutil.iter_modules(__path__):
        if module.name.startswith("test_"):
            importlib.import_module(f"{__name__}.{module.name}")
    return CHECKS


def load_predicates() -> None:
    """Imports every module that may register a predicate, so that each replay file can be judged."""
    load_checks()
    for package in (judge, harness, fuzz):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            importlib.import_module(module.name)


def plan(
    rules: set[str] | None = None, operations: set[str] | None = None, *, deep: bool = False
) -> Iterator[tuple[Check, str]]:
    """Every check on every operation it covers, narrowed to some rules and operations, in the order of a run;
    those of deep runs only where `deep` says so."""
    for check in sorted(load_checks().values(), key=lambda check: check.last):
        if check.deep and not deep:
            continue
        for operation in check.operations:
            if operations is not None and operation not in operations:
                continue
            if rules is None or rules & {rule.id for rule in check.rules_on(operation)}:
                yield check, operation
