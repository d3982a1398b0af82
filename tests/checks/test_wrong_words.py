"""An answer's word never breaks the suite: servers that answer a value wrong that a later request takes.

For each such value and each way to answer it wrong, the checks of a run end, a required rule is named, and no
more is sent than to a conforming server. The whole table takes an hour and is slow; without it every
fourteenth server is judged, by some checks.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from conformance.checks import load_checks, plan
from conformance.checks.check import CheckDefinition
from conformance.checks.side_effects import SideEffects
from conformance.contract.rules import RULES, Level
from conformance.contract.traits import CREATES
from conformance.plugin.selection import quick
from conformance.reference.behaviour import Behaviour
from conformance.reference.context import Context
from conformance.reference.core_messages import Response
from conformance.world.lane import Fixture
from tests.faults.catalogue import load
from tests.faults.harness import judge
from tests.support.runs import check_on

#: Kind of resource -> members that later requests take.
TAKEN: Mapping[str, tuple[str, ...]] = {
    "account": ("id", "created"),
    "beneficiary": ("id", "country_code", "status", "created", "updated"),
    "payout_destination": ("id", "country", "currency", "network", "status", "created"),
    "payout": ("id", "currency", "amount"),
    "virtual_account": ("id", "currency", "status", "created"),
    "wallet": ("id", "currency", "network", "status", "created"),
    "payin": ("id", "currency"),
}

#: Stands for an unpaired surrogate, which has no form in UTF-8, but an escape in JSON.
SURROGATE = "\ue0f1"

#: How a value is answered wrong.
WAYS: Mapping[str, Any] = {
    "empty": "",
    "20,000 characters": "x" * 20_000,
    "with a slash": "acc_a/b",
    "with a line feed": "a\nb",
    "with NUL": "a\x00b",
    "a list": ["x"],
    "an object": {"x": 1},
    "a boolean": True,
    "a number": 7,
    "an unpaired surrogate": f"acc_{SURROGATE}",
    "that of another": ...,
}

SERVERS = [(kind, member, way) for kind, members in TAKEN.items() for member in members for way in WAYS]

#: Interval of the servers that are judged by default, and of the checks.
EVERY, SOME = 37, 16


class Wrong(Behaviour):
    """Answers a member of a kind of resource wrong, wherever it is shown."""

    def __init__(self, kind: str, member: str, way: str) -> None:
        super().__init__()
        self.wrong = kind, member, WAYS[way]
        self.first: Any = None

    def shape(self, ctx: Context, kind: str, document: dict[str, Any]) -> Mapping[str, Any]:
        wrong, member, value = self.wrong
        document = dict(super().shape(ctx, kind, document))
        if kind != wrong:
            return document
        if value is ...:
            self.first = value = self.first or document[member]
        return {**document, member: value}

    def finish(self, ctx: Context, response: Response) -> Response:
        body = response.body.replace(SURROGATE.encode(), b"\\ud800")
        return super().finish(ctx, replace(response, body=body))


QUICK = [case for case in plan() if (case[0].name, case[1]) in quick()]


def checks_near(create: str, every: int, *rules: str) -> list[tuple[CheckDefinition, str]]:
    """The checks that see what a create answers, and of further rules, and every so many of a quick run."""
    return [*plan({"create.echo", *rules}, {create}), *QUICK[::every]]


@functools.cache
def usual(create: str, every: int, *rules: str) -> int:
    """Requests that a server gets which answers right."""
    return judge(Behaviour(), checks_near(create, every, *rules)).ledger.sent


def names_the_value(kind: str, member: str, way: str, every: int) -> None:
    """Judges a server by every so many checks: none raises, a required rule is broken, and little more is
    sent than to a server that answers right."""
    create = CREATES[kind]
    # That a time is another's shows in resources that were created seconds apart, which quick runs leave out.
    rules = ("format.timestamp-current",) * (way == "that of another" and member in TIMES)
    outcome = judge(Wrong(kind, member, way), checks_near(create, every, *rules))
    assert outcome.ledger.errors == []
    assert any(RULES[rule].level is Level.REQUIRED for rule, _ in outcome.broken), outcome.broken
    assert next(iter(outcome.causes)) not in ("idempotency.race", "list.race"), outcome.causes
    assert outcome.ledger.sent <= 1.2 * usual(create, every, *rules) + 100


#: Members that show a time.
TIMES = ("created", "updated")

#: "That of another" is right where all are alike.
ALIKE = {"currency", "network", "country", "country_code", "status", "amount"}

JUDGED = [server for server in SERVERS if server[2] != "that of another" or server[1] not in ALIKE]


@pytest.mark.parametrize(("kind", "member", "way"), JUDGED[::EVERY])
def test_wrong_word_is_named_and_breaks_no_check(kind: str, member: str, way: str) -> None:
    names_the_value(kind, member, way, SOME)


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "member", "way"), JUDGED)
def test_every_wrong_word_is_named_and_breaks_no_check(kind: str, member: str, way: str) -> None:
    names_the_value(kind, member, way, 1)


class SomeLists(Wrong):
    """Answers ids that are lists from operations of these names only."""

    def __init__(self, kind: str, operations: str) -> None:
        super().__init__(kind, "id", "a list")
        self.operations = operations

    def shape(self, ctx: Context, kind: str, document: dict[str, Any]) -> Mapping[str, Any]:
        wrong = ctx.operation.startswith(self.operations)
        return super().shape(ctx, kind, document) if wrong else Behaviour.shape(self, ctx, kind, document)


@pytest.mark.parametrize(
    ("check", "operation", "kind"),
    [
        ("test_existing_ids.test_create_that_names_what_exists", "createVirtualAccount", "virtual_account"),
        ("test_list_contents.test_new_elements_show", "listPayoutDestinations", "payout_destination"),
    ],
)
def test_ids_that_are_lists_in_a_list_raise_nothing(check: str, operation: str, kind: str) -> None:
    outcome = judge(SomeLists(kind, "list"), [(load_checks()[check], operation)])
    assert outcome.ledger.errors == []


def test_an_id_that_is_a_list_is_no_effect_that_is_known() -> None:
    at = check_on("createAccount", "idempotency.race", behaviour=SomeLists("account", "create"))
    fixture = Fixture(at.lane)
    effects = SideEffects(at, fixture).start()
    effects.judge("idempotency.race", "a create", [at.send(fixture.call("createAccount"), "a create")])
    assert at.cells["idempotency.race"].violations


def test_a_created_of_the_year_1_has_no_date_with_an_offset() -> None:
    [fault] = (
        each
        for each in load()
        if (each.rule, each.operation) == ("format.timestamp", "listVirtualAccounts")
        and each.name.endswith("created year 1")
    )
    check = load_checks()["test_filters.test_date_with_an_offset"]
    outcome = judge(fault.make(), [(check, fault.operation)])
    assert outcome.ledger.errors == []
    assert outcome.kept_from["list.date-offset", fault.operation] == "format.timestamp"
