"""Tells of a collected test its check or exploration, its place in the run, and if the run has it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from conformance._options import Effort
from conformance.plugin import options, selection
from conformance.plugin.known import in_quick, late

if TYPE_CHECKING:
    from conformance.checks.check import Check
    from conformance.fuzz.exploration import Exploration


def standing(item: pytest.Item) -> tuple[Any, ...]:
    """The sort key of a test in a run: checks that wait are asked for last, and those that look back at what
    was sent come behind all of their group."""
    # Other people's runs have no test of the suite.
    from conformance.plugin.ordering import place

    test = ours(item)
    if test is None:
        return (False,)
    waits, looks_back = (getattr(test[0], name, False) for name in ("waits", "last"))
    return waits, late(item.nodeid), looks_back, place(item.nodeid)


def deep(item: pytest.Item) -> bool:
    """True if only deep runs have a test."""
    test = ours(item)
    return bool(test and getattr(test[0], "deep", False))


def wanted(item: pytest.Item, given: options.Options) -> bool:
    """True if a run with these options has a test; the tests of others are wanted always."""
    test = ours(item)
    if test is None:
        return True
    if given.part is not None and not selection.in_shard(item.nodeid, given.part):
        return False
    if given.effort is Effort.QUICK and not (is_check(item) and in_quick(test[0].name, test[1])):
        return False
    return given.scope.wants(getattr(item, "function", None), test[1])


def is_check(item: pytest.Item) -> bool:
    """True if a test is one of the suite's checks, not an exploration."""
    return hasattr(getattr(item, "function", None), "conformance_check")


def ours(item: pytest.Item) -> tuple[Check | Exploration, str] | None:
    """The check or exploration that a test is, and its operation or part; None for other tests."""
    function = getattr(item, "function", None)
    parameters = getattr(getattr(item, "callspec", None), "params", {})
    if check := getattr(function, "conformance_check", None):
        return check, parameters.get("ctx", "")
    if exploration := getattr(function, "conformance_exploration", None):
        return exploration, parameters.get("part", "")
    return None
