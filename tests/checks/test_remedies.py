"""What an inconclusive verdict advises: each remedy, followed, lets the rule be judged."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from conformance.checks import auth_probes, plan
from conformance.judge.verdicts import Inconclusive, Verdict
from conformance.reference.behaviour import Behaviour
from conformance.reference.context import Context
from conformance.reference.refusals import Refusal
from conformance.reference.seed import new_server, target_tables
from conformance.target.file import build
from conformance.world.lane import Lane
from conformance.world.purposes import PAYOUTS
from tests.faults.catalogue import refuse
from tests.support.in_process import InProcessTransport
from tests.support.running import cells, run_against
from tests.support.runs import judged
from tests.variants.choice import compose
from tests.variants.demands import BritainOnly, vetted_payees
from tests.variants.hurry import hurried
from tests.variants.payments import FewAccounts
from tests.variants.resources import FundsDemanded
from tests.variants.surroundings import PAYEE as PAYEE_IDS
from tests.variants.surroundings import vetted_payee
from tests.variants.target_files import british, payee

Change = Callable[[dict[str, Any]], Any]


def unchanged(tables: dict[str, Any]) -> dict[str, Any]:
    return tables


def verdict(
    behaviour: Behaviour | None, rule: str, operation: str, change: Change = unchanged, filled: bool = False
) -> tuple[Verdict, str]:
    """The verdict on a case by the rule's checks, and the remedy."""
    server, seeded = new_server(behaviour)
    if filled:
        vetted_payee(server.store, seeded)
    tables = target_tables(seeded, "http://remedies.test")
    tables = change(tables) or tables
    with hurried():
        lane = Lane(build(tables, "target.toml"), InProcessTransport(server))
        cell = judged(lane, plan({rule}, {operation})).cell(rule, operation)
    return cell.verdict, cell.decisive.remedy


def acting(operation: str, act: Callable[[Context], object]) -> type[Behaviour]:
    """Makes a server that does something before an operation."""

    class Acting(Behaviour):
        def act(self, ctx: Context) -> None:
            if ctx.operation == operation:
                act(ctx)
            super().act(ctx)

    return Acting


def one_name_only(ctx: Context) -> None:
    if ctx.values.get("name") != "Operating":
        raise Refusal("invalid_field", "The name is not Operating.", "name")


def of_britain(*kinds: str) -> Change:
    """Says what a server in Britain accepts, but for some kinds of resources."""

    def change(tables: dict[str, Any]) -> dict[str, Any]:
        changed = british(tables)
        samples = {kind: sample for kind, sample in changed["samples"].items() if kind not in kinds}
        return {**changed, "samples": samples}

    return change


class Advice(NamedTuple):
    """A case that is inconclusive on a server with some words in its remedy, and what follows it: another
    target file, or another server."""

    words: str
    server: Any
    rule: str
    operation: str
    before: Change = unchanged
    after: Change = unchanged
    mended: Any = None
    filled: bool = False


BRITAIN, FUNDS = partial(compose, BritainOnly), partial(compose, FundsDemanded)
VETTED, FEW = partial(compose, vetted_payees), partial(compose, FewAccounts)

#: Part of a British server's target file -> an operation that needs it.
BRITISH = {
    "beneficiary": "createBeneficiary",
    "payout_destination": "createPayoutDestination",
    "payout": "createPayout",
    "virtual_account": "createVirtualAccount",
    "wallet": "createWallet",
    "payin": "createPayin",
}


def unfunded(tables: dict[str, Any]) -> None:
    del tables["primary"]["funded_account_id"]


def without_other_customer(tables: dict[str, Any]) -> None:
    del tables["primary"]["other_customer_id"]


def without_secondary(tables: dict[str, Any]) -> None:
    del tables["secondary"]


def one_name(tables: dict[str, Any]) -> dict[str, Any]:
    return {**tables, "samples": {"account": {"name": "Operating"}}}


NAMED = acting("createAccount", one_name_only)
OTHER = "[primary] other_customer_id"
PAYEE = "beneficiary_id with payout_destination_id"
ADVICE = [
    Advice("[secondary]", Behaviour, "tenancy.foreign-parent", "getVirtualAccount", without_secondary),
    Advice(OTHER, Behaviour, "tenancy.other-customer-account", "getAccountBalances", without_other_customer),
    Advice("[primary] funded_account_id", FUNDS, "format.timestamp", "getAccountBalances", unfunded),
    Advice("[primary] funded_account_id", FUNDS, "create.echo", "createPayout", unfunded),
    Advice(PAYEE, VETTED, "create.echo", "createPayout", after=payee, filled=True),
    Advice("[samples.account]", NAMED, "create.echo", "createAccount", after=one_name),
    *(
        Advice(f"[samples.{kind}", BRITAIN, "create.echo", operation, of_britain(kind), of_britain())
        for kind, operation in BRITISH.items()
    ),
    Advice("] pairs", BRITAIN, "list.walk", "listWallets", of_britain("wallet"), of_britain()),
    Advice("raise that limit", FEW, "refusal.changes-nothing", "createWallet", mended=Behaviour),
]


@pytest.mark.parametrize("advice", ADVICE, ids=lambda advice: f"{advice.words} {advice.operation}")
def test_a_remedy_that_is_followed_helps(advice: Advice) -> None:
    words, server, rule, operation, before, after, mended, filled = advice
    reached, remedy = verdict(server(), rule, operation, before, filled)
    assert reached is Verdict.INCONCLUSIVE and words in remedy
    reached, remedy = verdict((mended or server)(), rule, operation, after, filled)
    assert reached is Verdict.PASSED, remedy


CRASHES = acting("createWallet", lambda ctx: 1 / 0)
#: A server that does not find the beneficiary of a new destination.
MISSES = acting("createPayoutDestination", lambda ctx: refuse("missing_child"))


@pytest.mark.parametrize(
    ("behaviour", "rule", "operation", "remedy"),
    [
        (CRASHES, "list.walk", "listWallets", ""),
        (MISSES, "create.echo", "createPayout", "[limits] shows_within"),
    ],
    ids=["500", "404"],
)
def test_no_other_sample_is_asked_for_where_none_would_help(
    behaviour: type[Behaviour], rule: str, operation: str, remedy: str
) -> None:
    reached, advice = verdict(behaviour(), rule, operation)
    assert reached is Verdict.INCONCLUSIVE and remedy in advice and "[samples" not in advice


def test_a_crash_of_what_is_only_needed_is_a_violation(tmp_path: Path) -> None:
    outcome = run_against(tmp_path, "--operation listWallets -m 'not fuzz'", CRASHES())
    assert outcome.status == 1, outcome.output
    assert cells(outcome, "failed") == {("http.no-server-error", "createWallet")}


def test_late_nonces_have_a_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    case = ("auth.nonce-replay", "listAccounts")
    monkeypatch.setattr(auth_probes.AuthProbes.nonce_replay, "__kwdefaults__", {"within": -1})
    assert "--lanes 1" in verdict(None, *case)[1]
    monkeypatch.undo()
    assert verdict(None, *case)[0] is Verdict.PASSED


@pytest.mark.parametrize(
    ("currency", "others", "paid"),
    [("EUR", 0, "EUR"), ("EUR", 120, "EUR"), ("x" * 20_000, 0, ""), ("", 0, "")],
    ids=["its own", "on the second page", "too long", "empty"],
)
def test_a_named_payee_is_paid_in_the_currency_that_its_list_shows(
    currency: str, others: int, paid: str
) -> None:
    server, seeded = new_server(compose(vetted_payees))
    vetted_payee(server.store, seeded)
    tables = target_tables(seeded, "http://remedies.test")
    with server.store.transaction():
        destination = server.store.get("payout_destination", PAYEE_IDS["payout_destination_id"])
        assert destination is not None
        server.store.update({**destination, "currency": currency})
        for number in range(others):
            later = destination["created"] + 1 + number
            server.store.insert(
                "payout_destination", {**destination, "id": f"dest_other{number}", "created": later}
            )
    with hurried():
        lane = Lane(build(payee(tables) or tables, "target.toml"), InProcessTransport(server))
        try:
            sent = lane.account(PAYOUTS).call("createPayout").document["currency"]
        except Inconclusive as stop:
            assert (paid, stop.why.cause) == ("", "list.item-fields")
        else:
            assert sent == paid
