"""Effects of requests, told apart from concurrent changes of other clients and of jobs."""

from __future__ import annotations

from decimal import Decimal

import pytest

from conformance.judge import effects
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
        ({"status": "disabled", "updated": LATER}, True, True),
        ({"updated": LATER}, True, True),
        ({"request_id": "x", "object": "other"}, False, False),
    ],
    ids=lambda value: str(value),
)
def test_jobs_move_some_members_only(change: dict[str, object], found: bool, doubtful: bool) -> None:
    effect = effects.in_resource("getBeneficiary", PERSON, {**PERSON, **change})
    assert (bool(effect), effect.doubtful) == (found, doubtful)


def test_a_late_effect_of_an_accepted_request_is_no_effect() -> None:
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


SENT = [Call(None, "POST", "/", to_json({"name": "Conformance cfbcdfghjklmnpqrst"}))]


@pytest.mark.parametrize(
    ("name", "found", "doubtful"),
    [
        ("Conformance cfbcdfghjklmnpqrst", True, False),
        ("CONFORMANCE cfbcdfghjklmnpqrst and more", True, False),
        ("Conformance cftsrqpnmlkjhgfdcb", False, False),
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


@pytest.mark.parametrize(
    "text", ["1_000.00", "\u0661.\u0660\u0660", "\uff11", " 1.00", "+1", "1e2", "0.00", "1."]
)
def test_amounts_for_lenient_parsers_are_not_plain(text: str) -> None:
    assert effects.plain(text) is None
    assert effects.sent_amount(Call(None, "POST", "/", to_json({"amount": text}))) is None


@pytest.mark.parametrize(
    ("value", "asked"),
    [
        ("-1.37", "1.37"),
        ("1,37", "1.37"),
        ("0,001.37", "1.37"),
        ("0_001.37", "1.37"),
        ("\u0661.\u0663\u0667", "1.37"),
        ("$1.37", "1.37"),
        (1.37, "1.37"),
        ("NaN", None),
        ("0.00", None),
        (True, None),
        (None, None),
    ],
)
def test_amounts_are_read_as_lenient_servers_may(value: object, asked: str | None) -> None:
    read = effects.asked_amount(Call(None, "POST", "/", to_json({"amount": value})))
    assert read == (None if asked is None else Decimal(asked))
