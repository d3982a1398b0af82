"""Isolation (section 5.5): nothing in an answer belongs to another customer, account or organization."""

from __future__ import annotations

from collections.abc import Iterator

from conformance.checks.check import Check, check
from conformance.checks.filtered_list import FAR_PAST
from conformance.checks.list_judging import stocked
from conformance.checks.members import furnish
from conformance.contract.operations import item_statuses
from conformance.judge.isolation import NOTHING_OF_OTHERS
from conformance.wire.messages import Call, Exchange
from conformance.wire.pages import MAX_SIZE, Parameters, query
from conformance.world.purposes import SIBLING_TENANT, TENANT
from conformance.world.samples import marker

RULE = "tenancy.isolation"


@check(RULE)
def test_odd_queries_stay_within_the_path(at: Check) -> None:
    """Beside resources of another account and of another organization, the operation is called validly, with
    an unknown parameter in its query, and, if it lists, with several statuses in each notation, alone, with a
    date and a currency, and with pages: no answer shows anything of the others."""
    for owner, purpose in (("primary", SIBLING_TENANT), ("secondary", TENANT)):
        if owner == "primary" or at.target.secondary is not None:
            with at.probe(RULE):
                furnish(at.lane.account(purpose, owner), at.operation)
    _judge(at, at.accept(_valid(at), "a valid request"), "a valid request")
    for what, parameters in _queries(at):
        _judge(at, at.send(_valid(at).with_query(parameters), what), what)


def _valid(at: Check) -> Call:
    return stocked(at).call if at.operation.is_list else at.valid()


def _queries(at: Check) -> Iterator[tuple[str, Parameters]]:
    """Names and parameters of queries."""
    yield "an unknown parameter", [("expand", marker())]
    if not at.operation.is_list:
        return
    yield "page 3 of size 1", query(3, 1)
    yield "page 2 of size 1 and an unknown parameter", [*query(2, 1), ("expand", marker())]
    if not (name := at.operation.status_parameter):
        return
    # No answer tells the statuses of a list whose items show none.
    first, second = (*item_statuses(at.operation.id), "active", "disabled")[:2]
    several = {
        "two statuses": [(name, second), (name, first)],
        "two statuses with brackets": [(f"{name}[]", second), (f"{name}[]", first)],
        "two statuses with a comma": [(name, f"{second},{first}")],
    }
    narrowed = [("start_date", FAR_PAST)]
    if "currency" in at.operation.query_parameters:
        narrowed.append(("currency", "EUR"))
    for what, statuses in several.items():
        yield what, [*query(1, MAX_SIZE), *statuses]
        yield f"{what}, a date and whatever else filters", [*query(1, MAX_SIZE), *narrowed, *statuses]


def _judge(at: Check, answer: Exchange, what: str) -> None:
    if at.usable(RULE, answer) and answer.succeeded:
        got, _ = at.lane.invariants.isolation.foreign(answer)
        at.expect(RULE, f"{what}: {NOTHING_OF_OTHERS}", got, answer)
