"""Rows of faults."""

from __future__ import annotations

import pytest

from conformance.judge.verdicts import Inconclusive
from tests.faults import catalogue
from tests.faults.catalogue import Fault, Only, faults, seam
from tests.faults.crashes import crashing
from tests.faults.rows import document, refusing
from tests.support.runs import run_on

RULE = "auth.timestamp-integer"


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch) -> list[Fault]:
    """Collects the faults that the test registers."""
    own: list[Fault] = []
    monkeypatch.setattr(catalogue, "FAULTS", own)
    return own


def test_a_row_takes_effect_on_its_operation_only(registered: list[Fault]) -> None:
    faults["http.no-server-error"] |= {"Nothing works.": crashing(lambda self, ctx: True)}
    fault = next(row for row in registered if row.operation == "createWallet")
    with pytest.raises(Inconclusive):
        run_on(fault.make()).account().create("createWallet")
    other = next(row for row in registered if row.operation == "listWallets")
    assert run_on(other.make()).account().create("createWallet").succeeded


def test_a_sentence_is_the_name_of_the_kind(registered: list[Fault]) -> None:
    row = seam("parse_timestamp", lambda *_: 0, operations=("listWallets",), each={"zero": 0})
    faults[RULE] |= {"All times are one.": row}
    assert [row.id for row in registered] == [f"{RULE}[listWallets]: All times are one: zero"]
    assert registered[0].area == "auth"


def test_a_kind_may_be_one_of_some_operations(registered: list[Fault]) -> None:
    kinds = {"all": 0, "wallets": Only(1, ["listWallets"])}
    faults[RULE] |= {"Times are one.": seam("parse_timestamp", lambda *_: 0, each=kinds)}
    assert [(row.operation, row.value) for row in registered if row.kind.endswith("wallets")] == [
        ("listWallets", 1)
    ]
    with pytest.raises(ValueError, match="listWalets"):
        Only(1, ["listWalets"])


def test_operators_leave_what_their_test_excludes(registered: list[Fault]) -> None:
    faults["create.echo"] |= {
        "A label is another one.": document.sets(
            {"label": "other"}, lambda self, ctx, shown: shown["currency"] == self.value, each=("USDC",)
        ),
        "A wallet in this currency is refused.": refusing(
            "create_wallet",
            "invalid_field",
            lambda self, ctx: ctx.values["currency"] == self.value,
            each=("USDT",),
        ),
    }
    another, refused = (row.make() for row in registered if row.operation == "createWallet")
    assert run_on(another).account().create("createWallet").document["label"] == "other"
    assert run_on(refused).account().create("createWallet").succeeded


def test_unknown_names_are_refused(registered: list[Fault]) -> None:
    with pytest.raises(AttributeError, match="no_seam"):
        faults[RULE] |= {"Nothing.": seam("no_seam", lambda *_: 0)}
    with pytest.raises(KeyError, match=r"no\.rule"):
        faults["no.rule"] |= {"Nothing.": seam("parse_timestamp", lambda *_: 0)}
    with pytest.raises(ValueError, match="covers none"):
        faults["wallet.race"] |= {
            "Nothing.": seam("parse_timestamp", lambda *_: 0, operations=("listWallets",))
        }
