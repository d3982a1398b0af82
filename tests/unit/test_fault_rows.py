"""Rows of faults."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from conformance.contract.fields import Field
from conformance.judge.verdicts import Inconclusive
from conformance.reference.context import Context
from tests.faults.catalogue import Fault, Faulty, Kinds, Only, Row, by_name, of, of_rows, seam, wrong
from tests.faults.crashes import crashing
from tests.faults.rows import MISSING, document, refusing, says, shown_as
from tests.support.runs import run_on

RULE = "auth.timestamp-integer"


def faults_of(rule: str, rows: dict[str, Row]) -> list[Fault]:
    return [*of_rows({rule: rows})]


def test_a_row_takes_effect_on_its_operation_only() -> None:
    registered = faults_of("http.no-server-error", {"Nothing works.": crashing(each=[lambda ctx: True])})
    fault = next(row for row in registered if row.operation == "createWallet")
    with pytest.raises(Inconclusive):
        run_on(fault.make()).account().create("createWallet")
    other = next(row for row in registered if row.operation == "listWallets")
    assert run_on(other.make()).account().create("createWallet").succeeded


class Renames(Faulty):
    """Calls every new resource the same."""

    def kept_value(self, ctx: Context, field: Field, value: Any) -> Any:
        return "the same" if field.name in ("name", "label") else value


def test_a_class_takes_effect_on_its_operation_only() -> None:
    [fault] = faults_of(
        "create.echo", {"All are called the same.": of(Renames, operations=("createWallet",))}
    )
    account = run_on(fault.make()).account()
    assert account.create("createWallet").document["label"] == "the same"
    assert account.create("createVirtualAccount").document["label"] != "the same"


def test_a_sentence_is_the_name_of_the_kind() -> None:
    row = seam("parse_timestamp", lambda *_: 0, operations=("listWallets",), each={"zero": 0})
    [fault] = faults_of(RULE, {"All times are one.": row})
    assert (fault.id, fault.area) == (f"{RULE}[listWallets]: All times are one: zero", "auth")


def test_a_kind_may_be_one_of_some_operations() -> None:
    kinds = {"all": 0, "wallets": Only(1, ["listWallets"])}
    registered = faults_of(RULE, {"Times are one.": seam("parse_timestamp", lambda *_: 0, each=kinds)})
    assert [(row.operation, row.value) for row in registered if row.kind.endswith("wallets")] == [
        ("listWallets", 1)
    ]
    with pytest.raises(ValueError, match="listWalets"):
        Only(1, ["listWalets"])


def test_operators_leave_what_their_test_excludes() -> None:
    rows = {
        "A label is another one.": document.sets(
            {"label": "other"}, lambda shown, value: shown["currency"] == value, each=("USDC",)
        ),
        "A wallet in this currency is refused.": refusing(
            "create_wallet",
            "invalid_field",
            lambda ctx, value: ctx.values["currency"] == value,
            each=("USDT",),
        ),
    }
    faults = faults_of("create.echo", rows)
    another, refused = (fault.make() for fault in faults if fault.operation == "createWallet")
    assert run_on(another).account().create("createWallet").document["label"] == "other"
    assert run_on(refused).account().create("createWallet").succeeded


def test_a_function_gets_what_its_parameters_name() -> None:
    names = {"ctx": None, "text": "by default"}
    row = SimpleNamespace(value=lambda text: f"kind {text}", usual=lambda: "usual")
    assert by_name(lambda text, usual: (text, usual()), names)(row, "ctx", "10") == ("10", "usual")
    assert by_name(lambda *given: given, names)(row, "ctx") == ("ctx", "by default")
    assert by_name(None, names)(row, "ctx", "10") == "kind 10"
    assert by_name(None, names)(SimpleNamespace(value=7), "ctx", "10") == 7
    with pytest.raises(TypeError, match="no texts, but ctx, text"):
        by_name(lambda texts: texts, names)


def test_a_member_is_changed_at_its_path() -> None:
    shown = {"address": {"city": "Bonn"}, "items": [{"id": 1}, {"id": 2}], "note": None}
    assert shown_as(shown, "address.city", MISSING) == {**shown, "address": {}}
    assert shown_as(shown, "items.id", str) == {**shown, "items": [{"id": "1"}, {"id": "2"}]}
    assert shown_as(shown, "note", str) == shown_as(shown, "note.text", 1) == shown
    assert shown_as(shown, "note", str, nulls=True) == {**shown, "note": "None"}


def test_kinds_and_errors_in_words() -> None:
    body = {"type": "wallet", "label": None, "is_default": False}
    assert says(body, "type=wallet, is_default=False, no label, no iban")
    assert not any(
        says(body, kind) for kind in ("type=card", "type!=wallet", "label", "no type", "type, iban")
    )
    assert wrong("401 authentication_error nonce_replay", "403", "validation_error expired") == {
        "403": "403 authentication_error nonce_replay",
        "validation_error expired": "401 validation_error expired",
    }


def test_unknown_names_are_refused() -> None:
    with pytest.raises(AttributeError, match="no_seam"):
        seam("no_seam", lambda *_: 0)
    row = seam("parse_timestamp", lambda *_: 0, operations=("listWallets",))
    with pytest.raises(KeyError, match=r"no\.rule"):
        faults_of("no.rule", {"Nothing.": row})
    with pytest.raises(ValueError, match="covers none"):
        faults_of("wallet.race", {"Nothing.": row})


def test_no_sentence_takes_the_place_of_another() -> None:
    kinds = Kinds({"Nothing.": seam("parse_timestamp", lambda *_: 0)})
    with pytest.raises(ValueError, match="Nothing"):
        kinds |= {"Nothing.": seam("parse_timestamp", lambda *_: 1)}
