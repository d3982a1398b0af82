"""Wallets, of which an account takes one of each pair, share accounts, of which each would take a new one."""

from __future__ import annotations

from conformance.checks import load_checks
from conformance.checks.running import run_check
from conformance.contract.traits import TRAITS
from conformance.judge.verdicts import Verdict
from conformance.reference.behaviour import Behaviour
from conformance.reference.context import Context, Record
from conformance.world.creations import place
from conformance.world.lane import Lane
from conformance.world.purposes import TENANT
from conformance.world.samples import DEFAULT_WALLET_PAIRS
from tests.support.runs import run_on
from tests.variants.choice import other, times

WALLET = "createWallet"


class SampleOnly(Behaviour):
    """Takes wallets of one pair only."""

    def check_wallet_pair(self, ctx: Context) -> None:
        super().check_wallet_pair(ctx)
        if (ctx.values["currency"], ctx.values["network"]) != DEFAULT_WALLET_PAIRS[0]:
            raise other("invalid_field", 422, "validation_error", "unsupported")


def accepted(lane: Lane, number: int) -> list[tuple[str, tuple[str, ...]]]:
    """Creates so many wallets, each accepted; returns the account and the pair of each."""
    wallets = []
    for _ in range(number):
        fixture, body = place(lane, WALLET)
        lane.accept(fixture.client, fixture.call(WALLET, body), "a wallet")
        wallets.append((fixture.account_id, tuple(body[name] for name in TRAITS[WALLET].unique_pair)))
    return wallets


def test_an_account_gets_a_wallet_of_each_pair() -> None:
    wallets = accepted(run_on(), 12)
    assert len({account for account, _ in wallets}) <= 6
    assert len({*wallets}) == 12


def test_a_pair_that_the_server_does_not_take_is_not_tried() -> None:
    wallets = accepted(run_on(SampleOnly()), 3)
    assert len({account for account, _ in wallets}) == 3


class Trimming(Behaviour):
    """Finds a resource by its id with zero-width spaces in it."""

    def find(self, ctx: Context, kind: str, identifier: str) -> Record | None:
        return super().find(ctx, kind, identifier.replace("\N{ZERO WIDTH SPACE}", ""))


def test_an_id_that_finds_an_account_shows_though_that_has_a_wallet_of_the_usual_pair() -> None:
    lane = run_on(Trimming())
    lane.account(TENANT).create(WALLET, lane.samples.wallet())
    [cell] = run_check(load_checks()["test_tenancy.test_unknown_parent"], WALLET, lane)[0]
    assert cell.violations


class OneWallet(Behaviour):
    """Creates one wallet, and refuses all others."""

    def check_wallet_pair(self, ctx: Context) -> None:
        super().check_wallet_pair(ctx)
        if times(self, "wallets") > 1:
            raise other("invalid_field", 422, "validation_error", "unsupported")


def test_one_wallet_shares_its_address_with_none() -> None:
    check = load_checks()["test_wallets.test_new_wallets_have_addresses_of_their_own"]
    ((cell,), _) = run_check(check, WALLET, run_on(OneWallet()))
    assert cell.verdict is Verdict.INCONCLUSIVE
