"""What counts as an effect of requests, and what others do meanwhile does not."""

from __future__ import annotations

from decimal import Decimal

import pytest

from conformance.fixtures.samples import unusual
from conformance.judging import effects
from conformance.judging.effects import NONE, Effect
from conformance.wire.messages import Call, to_json

PERSON = {
    "id": "bene_1",
    "status": "active",
    "verified": False,
    "updated": "2027-01-15T08:00:00Z",
    "title": "Mr",
}
LATER = "2027-01-15T08:00:05Z"


@pytest.mark.parametrize(
    ("change", "found", "doubtful"),
    [
        ({}, False, False),
        ({"title": "Dr"}, True, False),
        ({"verified": True}, False, False),
        ({"verified": True, "updated": LATER}, False, False),
        ({"status": "inactive", "updated": LATER}, False, False),
        ({"status": "disabled", "updated": LATER}, True, False),
        ({"updated": LATER}, True, True),
        ({"request_id": "x", "object": "other"}, False, False),
    ],
    ids=lambda value: str(value),
)
def test_jobs_move_some_members_only(change: dict[str, object], found: bool, doubtful: bool) -> None:
    effect = effects.in_resource("getBeneficiary", PERSON, {**PERSON, **change})
    assert (bool(effect), effect.doubtful) == (found, doubtful)


def test_what_an_accepted_request_answered_may_show_late() -> None:
    after = {**PERSON, "title": "Dr", "updated": LATER}
    assert effects.in_resource("getBeneficiary", PERSON, after)
    assert not effects.in_resource("getBeneficiary", PERSON, after, [after])


def test_new_elements_of_a_list_are_effects_unless_they_are_known() -> None:
    before, after = {"va_1": {"label": "a"}}, {"va_1": {"label": "a"}, "va_2": {"label": "b"}}
    assert effects.in_list("createVirtualAccount", before, after, set())
    assert not effects.in_list("createVirtualAccount", before, after, {"va_2"})
    assert not effects.in_list("createVirtualAccount", after, before, set())


@pytest.mark.parametrize(("change", "found"), [({"label": "b"}, True), ({"status": "inactive"}, False)])
def test_changed_elements_of_a_list(change: dict[str, object], found: bool) -> None:
    before = {"va_1": {"label": "a", "status": "active"}}
    after = {"va_1": {**before["va_1"], **change}}
    assert bool(effects.in_list("createVirtualAccount", before, after, set())) is found


SENT = [Call(None, "POST", "/", to_json({"name": "Conformance cf0123456789ab"}))]


@pytest.mark.parametrize(
    ("name", "found", "doubtful"),
    [
        ("Conformance cf0123456789ab", True, False),
        ("CONFORMANCE cf0123456789ab and more", True, False),
        ("Conformance cfba9876543210", False, False),
        ("Savings", True, True),
        (None, True, True),
    ],
)
def test_accounts_are_known_by_the_marks_in_their_names(name: object, found: bool, doubtful: bool) -> None:
    item = {"id": "acc_1", "name": name}
    effect = effects.in_accounts([item], [item], SENT)
    assert (bool(effect), effect.doubtful) == (found, doubtful)


def balances(**members: object) -> effects.Money:
    shown = effects.amounts([{"currency": "USD", **members}])
    assert shown is not None
    return shown


@pytest.mark.parametrize(
    ("after", "moved"),
    [
        ({"available_balance": "9.00", "pending_payout": "0"}, True),
        ({"available_balance": "10.000", "pending_payout": "1"}, True),
        ({"available_balance": "10.000", "pending_payout": "0.00"}, False),
        ({"available_balance": "11", "pending_payout": "0"}, False),
        ({"available_balance": None, "pending_payout": "odd"}, False),
        ({"available_balance": "NaN"}, False),
    ],
)
def test_money_moves_in_the_direction_of_a_payout(after: dict[str, object], moved: bool) -> None:
    before = balances(available_balance="10.00", pending_payout="0")
    effect = effects.in_balances("createPayout", before, balances(**after))
    assert bool(effect) is effect.doubtful is moved


@pytest.mark.parametrize("document", [{}, "none", [1], None])
def test_balances_that_are_none(document: object) -> None:
    assert effects.amounts(document) is None


def rounds(*pairs: tuple[str, str]) -> list[tuple[effects.Money, Decimal]]:
    return [({("USD", "pending_payout"): Decimal(moved)}, Decimal(sent)) for moved, sent in pairs]


@pytest.mark.parametrize(
    ("pairs", "by"),
    [
        ((("1.37", "1.37"), ("1.52", "1.52"), ("1.11", "1.11")), True),
        ((("2.74", "1.37"), ("3.04", "1.52"), ("2.22", "1.11")), True),
        ((("1.62", "1.37"), ("1.77", "1.52"), ("1.36", "1.11")), True),  # with a fee
        ((("1.37", "1.37"), ("1.37", "1.37"), ("1.37", "1.37")), True),
        ((("5.00", "1.37"), ("5.00", "1.52"), ("5.00", "1.11")), False),
        ((("1.62", "1.37"), ("1.62", "1.37"), ("1.62", "1.37")), False),
        ((("1.37", "1.37"), ("7.00", "1.52"), ("1.11", "1.11")), False),
        ((), False),
    ],
    ids=str,
)
def test_money_is_known_by_amounts_of_unusual_digits(pairs: tuple[tuple[str, str], ...], by: bool) -> None:
    assert bool(effects.paid(rounds(*pairs))) is by


def test_effects_come_again_and_pauses_stay_without() -> None:
    first = Effect("one more", True, "a name")
    assert effects.repeated(first, [(first, NONE)] * 3)
    assert not effects.repeated(first, [(first, NONE), (first, first)])
    assert not effects.repeated(first, [(first, NONE), (Effect("others", True, "b"), NONE)])
    assert not effects.repeated(first, [])


def test_unusual_amounts_are_a_little_more() -> None:
    assert all(Decimal("1.1") < Decimal(unusual("1.00")) < 2 for _ in range(50))
    assert all(110 < int(unusual("100")) < 200 for _ in range(50))
    assert unusual("1e3") == "1e3"
