"""Wallets (sections 2.7 and 4.6): addresses, and uniqueness of currency and network in an account."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from conformance.checks.check import check
from conformance.checks.check_context import CheckContext
from conformance.judge.comparison import identifiers, objects, same, show, shown
from conformance.judge.effects import by_id
from conformance.judge.outcomes import Got, Unclear, unusable
from conformance.wire.messages import Exchange
from conformance.world.account import AccountFixture, renewed
from conformance.world.creations import CreatedResource, creations
from conformance.world.habits import prepopulated

#: Networks of stablecoins, from the examples of section 2.7.
_NETWORKS = ("ethereum", "polygon")


@check("wallet.addresses")
def test_new_wallets_have_addresses(ctx: CheckContext) -> None:
    """New wallets of each configured pair have at least one address, with a tag that is a string or null."""
    for made in creations(ctx.run, "createWallet"):
        what = f"a new wallet of {_pair(made.body)}: at least one address, each with address and tag"
        addresses = made.exchange.get("addresses")
        good = isinstance(addresses, list) and bool(addresses) and all(map(_is_address, addresses))
        ctx.expect("wallet.addresses", what, "" if good else shown(addresses), made.exchange)


def _is_address(address: object) -> bool:
    if not isinstance(address, dict) or not isinstance(address.get("address"), str) or not address["address"]:
        return False
    return "tag" in address and (address["tag"] is None or isinstance(address["tag"], str))


@check("wallet.duplicate")
def test_second_wallet_of_a_pair(ctx: CheckContext) -> None:
    """In an account with a wallet of each pair, each create is sent again under new keys, with the same
    label, with another, and with the pair in another spelling: each is refused, the list still shows the
    first wallets only, and their keys return the original responses. Another pair of the same currency or
    network is no duplicate."""
    rule, sample = "wallet.duplicate", creations(ctx.run, "createWallet")[0]
    made = [creation for creation in creations(ctx.run, "createWallet") if creation.fixture is sample.fixture]
    refused: list[Exchange] = []
    for creation in made:
        first, pair = creation.exchange.call, _pair(creation.body)
        probes = {
            "with the same body": first,
            "with its fields in another order": first.with_json(dict(reversed(creation.body.items()))),
            # Last, so that an overwritten label remains.
            "with another label": first.with_field("label", ctx.run.samples.wallet()["label"]),
        }
        for how, duplicate in probes.items():
            what = f"a second wallet of {pair} {how}"
            answer = ctx.send(renewed(duplicate), what)
            if ctx.refused(rule, what, answer):
                refused.append(answer)
    made += _other_spellings(ctx, sample)
    _judge_list(ctx, sample.fixture, [creation.exchange for creation in made])
    for creation in made:
        what = f"the key of the first wallet of {_pair(creation.body)}, after refused duplicates"
        replay = ctx.send(creation.exchange.call, what)
        ctx.same(rule, what, creation.exchange, replay)
    # Another network makes another pair, if the server supports it.
    fixture, body = ctx.run.account(fresh=True), sample.body
    if ctx.send(fixture.call("createWallet", body), f"a wallet of {_pair(body)}").succeeded:
        network = next(name for name in _NETWORKS if name != body["network"])
        _judge_other_pair(ctx, fixture, {**body, "network": network}, refused)
    for body in ctx.run.samples.wallets()[1:3]:
        taken = [_pair(creation.body) for creation in made]
        if _pair(body) not in taken:
            _judge_other_pair(ctx, sample.fixture, body, refused)


def _pair(body: Mapping[str, Any]) -> str:
    return f"{body['currency']} on {body['network']}"


def _other_spellings(ctx: CheckContext, first: CreatedResource) -> list[CreatedResource]:
    """Judges the first pair in the other letter case and with a leading space: open, unless a second wallet
    shows the same pair. Returns the wallets that were created."""
    made, pair = [], {name: first.body[name] for name in ("currency", "network")}
    for name, spelling in (
        ("currency", pair["currency"].swapcase()),
        ("currency", f" {pair['currency']}"),
        ("network", pair["network"].swapcase()),
    ):
        what = f"a wallet of the {name} {show(spelling)} beside one of {_pair(pair)}"
        body = {**ctx.run.samples.wallet(), **pair, name: spelling}
        answer = ctx.send(first.fixture.call("createWallet", body), what)
        expected = f"{what}: refused, or of another pair"
        pair_of = _shown_pair(answer.document) if answer.succeeded else None
        twice = pair_of is not None and pair_of == _shown_pair(first.exchange.document)
        got = unusable(answer) or (f"{answer.status}, {pair_of} once more" if twice else "")
        ctx.expect("wallet.duplicate", expected, got, answer, first.exchange)
        if answer.succeeded:
            made.append(CreatedResource(what, body, first.fixture, answer))
    return made


def _shown_pair(wallet: Any) -> str | None:
    """The pair of a wallet in an answer; None if not shown."""
    texts = isinstance(wallet, dict) and all(
        isinstance(wallet.get(name), str) for name in ("currency", "network")
    )
    return _pair(wallet) if texts else None


def _judge_other_pair(
    ctx: CheckContext, fixture: AccountFixture, body: Mapping[str, Any], duplicates: list[Exchange]
) -> None:
    """Judges that a pair accepted in a new account is not refused as a duplicate of another pair."""
    answer = ctx.send(
        fixture.call("createWallet", body), f"a wallet of {_pair(body)} beside one of another pair"
    )
    alone = ctx.send(
        ctx.run.account(fresh=True).call("createWallet", body),
        f"a wallet of {_pair(body)} alone in an account",
    )
    # Compare codes: messages may differ in the pair or a request id.
    code = answer.error_code
    taken_for_one = any(
        duplicate.status == answer.status
        and (same(duplicate.document, answer.document) or (code and code == duplicate.error_code))
        for duplicate in duplicates
    )
    if alone.succeeded and taken_for_one:
        what = f"a wallet of {_pair(body)} beside one of another pair"
        ctx.accepted("wallet.duplicate", what, answer, alone)


def _judge_list(ctx: CheckContext, fixture: AccountFixture, made: list[Exchange]) -> None:
    listing = ctx.send(
        fixture.call("listWallets").with_query({"page": 1, "size": 100}),
        "the wallets after refused duplicates",
    )
    ids = identifiers(listing.get("items")) or ()
    expected = f"after refused duplicates: {len(made)} in the list of wallets, with their labels"
    others = set(ids) - {create.get("id") for create in made}
    own = bool(others) and prepopulated(ctx.run, "listWallets")
    ctx.expect("wallet.duplicate", expected, _odd(listing, made, furnished=own), listing, *made)


def _odd(listing: Exchange, made: Sequence[Exchange], *, furnished: bool) -> Got:
    """Things that a list shows beside the created wallets with their labels; in a pre-populated account
    (`furnished`), a further one counts if it has the same pair."""
    ids = identifiers(listing.get("items"))
    if ids is None:
        return Unclear(f"the list of wallets was answered {listing.described()}", "list.envelope")
    items = objects(listing.get("items"))
    extra = [item for item in items if item["id"] not in [create.get("id") for create in made]]
    if furnished:
        own = [(create.get("currency"), create.get("network")) for create in made]
        extra = [item for item in extra if (item.get("currency"), item.get("network")) in own]
    if extra:
        return f"{len(extra)} more"
    pairs = Counter(_shown_pair(item) for item in by_id(items).values())
    if twice := [pair for pair, count in pairs.items() if pair and count > 1]:
        return f"two of {twice[0]}"
    labels = {create.get("id"): create.get("label") for create in made}
    for item in items:
        label, now = labels.get(item.get("id")), item.get("label")
        if isinstance(label, str) and isinstance(now, str) and label == label.strip() and now != label:
            return f"the label {shown(now)} instead of {shown(label)}"
    return ""


@check("wallet.pair-elsewhere")
def test_same_pair_in_another_account(ctx: CheckContext) -> None:
    """Records whether another account may have a wallet of the same pair."""
    taken = creations(ctx.run, "createWallet")[0].exchange
    answer = ctx.send(
        ctx.run.account(fresh=True).call("createWallet"), "a wallet of the same pair in another account"
    )
    seen = "accepted" if answer.succeeded else answer.described()
    ctx.observe("wallet.pair-elsewhere", "a pair that another account has", seen, taken, answer)
