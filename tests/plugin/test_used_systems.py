"""Runs on systems that earlier runs and other users have filled: they end as on an empty one."""

from __future__ import annotations

import functools

import pytest

from tests.prove.used import judged, problems
from tests.support.used import ORDERS

#: The part of a run that reads lists to which others add. In several lanes requests differ by chance.
PART = ("-m", "not fuzz", "--lanes=1", "--operation=listAccounts", "--operation=createAccount")

empty = functools.cache(functools.partial(judged, 0, "oldest"))


@pytest.mark.parametrize(
    ("number", "order"),
    [(100, "oldest"), pytest.param(3_500, "oldest", marks=pytest.mark.slow), (3_500, "hidden")],
)
def test_accounts_of_a_used_system_are_judged_as_of_an_empty_one(number: int, order: str) -> None:
    before = empty(PART, other_customer=False)
    assert before.status == 0
    assert problems(before, judged(number, order, PART, other_customer=False)) == []


@pytest.mark.slow
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("options", [("--lanes=4",), ("-n2",)], ids=["lanes", "workers"])
def test_whole_run_on_a_used_system_ends_as_on_an_empty_one(order: str, options: tuple[str, ...]) -> None:
    assert problems(empty(options), judged(10_000, order, options)) == []
