"""Wallets (sections 2.7 and 4.6): addresses, and uniqueness of currency and network in an account."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from conformance.checks.check import Check, check
from conformance.checks.side_effects import SideEffects
from conformance.judge.comparison import objects, same, show
from conformance.judge.outcomes import unusable
from conformance.wire.messages import Exchange
from conformance.world.creations import creations
from conformance.world.lane import Fixture
from conformance.world.samples import Body

CREATE, RULE = "createWallet", "wallet.duplicate"


@check("wallet.addresses")
def test_new_wallets_have_addresses(at: Check) -> None:
    """New wallets of each configured pair have at least one address, with a tag that is a string or null."""
    for wallet in creations(at.lane, CREATE):
        addresses = wallet.exchange.get("addresses")
        good = isinstance(addresses, list) and addresses and all(map(_is_address, addresses))
        what = f"a new wallet of {_pair(wallet.body)}: at least one address, each with address and tag"
        at.expect("wallet.addresses", what, "" if good else show(addresses), wallet.exchange)


@check("wallet.own-address")
def test_new_wallets_have_addresses_of_their_own(at: Check) -> None:
    """No two new wallets show the same address with the same tag, which would mix up their deposits."""
    holders = dict[tuple[Any, Any], Exchange]()
    wallets = [each.exchange for each in creations(at.lane, CREATE)]
    if len({str(wallet.get("id")) for wallet in wallets}) < 2:
        remedy = "Name pairs that the server takes: [samples.wallet] pairs."
        at.not_exercised("wallet.own-address", "the server has created one wallet only", remedy)
        return
    for wallet in wallets:
        for each in filter(_is_address, objects(wallet.get("addresses"))):
            other = holders.setdefault((each["address"], each["tag"]), wallet)
            got = "" if other.get("id") == wallet.get("id") else f"{show(each)} of another wallet, too"
            at.expect("wallet.own-address", "addresses of its own", got, wallet, other)


def _is_address(each: Any) -> bool:
    named = isinstance(each, dict) and isinstance(each.get("address"), str) and each["address"] != ""
    return named and "tag" in each and isinstance(each["tag"], str | None)


@check(RULE)
def test_second_wallet_of_a_pair(at: Check) -> None:
    """In an account with a wallet of each pair, each create is sent again under new keys, with the same
    label, with another, and with the pair in another spelling: each is refused, the list still shows the
    first wallets only, and their keys return the original responses. Another pair of the same currency or
    network is no duplicate."""
    run, first = at.lane, creations(at.lane, CREATE)[0]
    wallets = [each.exchange for each in creations(run, CREATE) if each.fixture is first.fixture]
    refused: list[Exchange] = []
    effects = SideEffects(at, first.fixture).start()

    def send(body: Body, what: str) -> Exchange:
        return at.send(first.fixture.call(CREATE, body), what)

    for body in [each.call.document for each in wallets]:
        for how, again in {
            "with the same body": body,
            "with its fields in another order": dict(reversed(body.items())),
            # Last, so that an overwritten label remains.
            "with another label": {**body, "label": run.samples.wallet()["label"]},
        }.items():
            what = f"a second wallet of {_pair(body)} {how}"
            if at.refused(RULE, answer := send(again, what)):
                refused.append(answer)
    # Another spelling is open, unless a second wallet shows the same pair.
    currency, network = first.body["currency"], first.body["network"]
    for spelt in (
        {"currency": currency.swapcase()},
        {"currency": f" {currency}"},
        {"network": network.swapcase()},
    ):
        changed = " and ".join(f"{name} {show(value)}" for name, value in spelt.items())
        what = f"a wallet with {changed} beside one of {_pair(first.body)}"
        answer = send({**run.samples.wallet(), "currency": currency, "network": network, **spelt}, what)
        twice = answer.succeeded and _pair(answer.document) == _pair(first.exchange.document) != ""
        got = unusable(answer) or (f"{answer.status}, {_pair(answer.document)} once more" if twice else "")
        at.expect(RULE, f"{what}: refused, or of another pair", got, answer, first.exchange)
        wallets += [answer] * answer.succeeded
    effects.created.update(str(each.get("id")) for each in wallets)
    effects.judge(RULE, "refused duplicates", refused)
    for each in wallets:
        what = f"the key of the first wallet of {_pair(each.call.document)}, after refused duplicates"
        at.same(RULE, each, at.send(each.call, what))
    # Another network makes another pair, if the server supports it.
    fixture, other = at.account(fresh=True), "polygon" if network == "ethereum" else "ethereum"
    if at.send(fixture.call(CREATE, first.body), f"a wallet of {_pair(first.body)}").succeeded:
        _judge_other_pair(at, fixture, {**first.body, "network": other}, refused)
    taken = [_pair(each.call.document) for each in wallets]
    for body in run.samples.wallets()[1:3]:
        if _pair(body) not in taken:
            _judge_other_pair(at, first.fixture, body, refused)


def _pair(wallet: Any) -> str:
    """Describes the pair of a body or an answer; empty where it is not shown."""
    names = [wallet.get("currency"), wallet.get("network")] if isinstance(wallet, dict) else []
    texts = [name for name in names if isinstance(name, str)]
    return " on ".join(texts) if len(texts) == 2 else ""


def _judge_other_pair(at: Check, fixture: Fixture, body: Body, duplicates: Sequence[Exchange]) -> None:
    """Judges that a pair accepted in a new account is not refused as a duplicate of another pair."""
    what = f"a wallet of {_pair(body)} beside one of another pair"
    answer = at.send(fixture.call(CREATE, body), what)
    alone = at.send(at.account(fresh=True).call(CREATE, body), f"a wallet of {_pair(body)} alone")
    # Compare codes: messages may differ in the pair or a request id.
    code = answer.error_code
    taken_for_one = any(
        each.status == answer.status
        and (same(each.document, answer.document) or (code and code == each.error_code))
        for each in duplicates
    )
    if alone.succeeded and taken_for_one:
        at.accepted(RULE, answer, alone)


@check("wallet.pair-elsewhere")
def test_same_pair_in_another_account(at: Check) -> None:
    """Records whether another account may have a wallet of the same pair."""
    answer = at.send(at.account(fresh=True).call(CREATE), "a pair that another account has")
    at.record("wallet.pair-elsewhere", answer, creations(at.lane, CREATE)[0].exchange)
