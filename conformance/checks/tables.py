"""Checks that are tables: functions that yield cases.

@table("auth.header-case", at=sound)
def test_header_names_in_any_case(at):
    for how in ("lower", "swapped"):
        yield at.case("auth.header-case", f"header names, {how}", auth=Auth(name_case=how))
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import TypeVar

from conformance.checks.check import CheckContext, CheckFunction, check
from conformance.checks.engine import Engine
from conformance.wire.messages import Exchange
from conformance.world.case import Case

E = TypeVar("E", bound=Engine)


def table(
    *rules: str,
    at: Callable[[CheckContext], E],
    operations: tuple[str, ...] | None = None,
    then: Callable[[CheckContext, list[Exchange]], None] = lambda ctx, answers: None,
) -> Callable[[Callable[[E], Iterable[Case]]], CheckFunction]:
    """Marks a function that yields cases as the check of these rules; `at` makes the engine that sends and
    judges them, `then` gets the answers. Raises KeyError for an unknown rule."""

    def mark(cases: Callable[[E], Iterable[Case]]) -> CheckFunction:
        def run(ctx: CheckContext) -> None:
            then(ctx, at(ctx).run(cases))

        return check(*rules, operations=operations)(named_as(cases, run))

    return mark


def named_as(table: Callable[..., Iterable[Case]], run: CheckFunction) -> CheckFunction:
    """Gives the function of a check the name and docstring of its table."""
    functools.update_wrapper(run, table)
    # Else pytest would take the table's parameters for fixtures.
    del run.__wrapped__  # type: ignore[attr-defined]
    return run


def hostile(ctx: CheckContext) -> Engine:
    """Returns the engine, in an account of its own, of requests that a server may accept or refuse."""
    if ctx.operation.traits.once:
        fresh = ctx.account(fresh=True)
        return Engine(ctx, lambda: fresh)
    return Engine(ctx, lambda: ctx.account("hostile"))


def common(ctx: CheckContext) -> Engine:
    """Returns the engine of requests that no server accepts, and of reads."""
    return Engine(ctx, lambda: ctx.account("authentication"))
