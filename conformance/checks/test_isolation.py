"""Isolation (section 5.5): nothing in an answer belongs to another customer, account or organization."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from conformance.checks.check import CheckContext, check
from conformance.checks.filtered_list import FAR_PAST
from conformance.checks.list_judging import item_fields, stocked
from conformance.checks.members import furnish
from conformance.judge.isolation import NOTHING_OF_OTHERS
from conformance.judge.verdicts import Inconclusive
from conformance.wire.messages import Call, Exchange
from conformance.wire.pages import MAX_SIZE, Parameters, query
from conformance.world.samples import marker

RULE = "tenancy.isolation"


@check(RULE)
def test_odd_queries_stay_within_the_path(ctx: CheckContext) -> None:
    """Beside resources of another account and of another organization, the operation is called validly, with
    an unknown parameter in its query, and, if it lists, with several statuses in each notation, alone, with a
    date and a currency, and with pages: no answer shows anything of the others."""
    for owner, purpose in (("primary", "sibling tenant"), ("secondary", "tenant")):
        if owner == "primary" or ctx.target.secondary is not None:
            with contextlib.suppress(Inconclusive):
                furnish(ctx.run.account(purpose, owner), ctx.operation)
    _judge(ctx, ctx.accept(_valid(ctx), "a valid request"), "a valid request")
    for what, parameters in _queries(ctx):
        _judge(ctx, ctx.send(_valid(ctx).with_query(parameters), what), what)


def _valid(ctx: CheckContext) -> Call:
    return stocked(ctx).call if ctx.operation.is_list else ctx.valid()


def _queries(ctx: CheckContext) -> Iterator[tuple[str, Parameters]]:
    """Names and parameters of queries."""
    yield "an unknown parameter", [("expand", marker())]
    if not ctx.operation.is_list:
        return
    yield "page 3 of size 1", query(3, 1)
    yield "page 2 of size 1 and an unknown parameter", [*query(2, 1), ("expand", marker())]
    name = "status" if "status" in ctx.operation.query_parameters else "statuses"
    first, second = item_fields(ctx.operation.id)["status"]["enum"][:2]
    several = {
        "two statuses": [(name, second), (name, first)],
        "two statuses with brackets": [(f"{name}[]", second), (f"{name}[]", first)],
        "two statuses with a comma": [(name, f"{second},{first}")],
    }
    narrowed = [("start_date", FAR_PAST)]
    if "currency" in ctx.operation.query_parameters:
        narrowed.append(("currency", "EUR"))
    for what, statuses in several.items():
        yield what, [*query(1, MAX_SIZE), *statuses]
        yield f"{what}, a date and whatever else filters", [*query(1, MAX_SIZE), *narrowed, *statuses]


def _judge(ctx: CheckContext, answer: Exchange, what: str) -> None:
    if answer.succeeded:
        got = ctx.run.invariants.isolation.foreign(answer)
        ctx.expect(RULE, f"{what}: {NOTHING_OF_OTHERS}", got, answer)
