"""What the reference server's operations do, and what its lists show."""

from __future__ import annotations

import uuid
from decimal import Decimal, localcontext
from typing import Any

import pytest

from conformance.reference.seams.lists import parse_instant
from tests.support.reference_world import BODIES, LISTS, World, refusal


def test_created_resources_show_what_was_sent_and_hide_numbers(world: World) -> None:
    sent = BODIES["createPayoutDestination"]
    made = world.make("createPayoutDestination", {**sent, "id": "dest_mine", "status": "inactive"})
    assert (made["account_number_last4"], made["iban_masked"]) == ("1234", "DE8****000")
    assert (made["id"] != "dest_mine", made["status"], made["is_default"]) == (True, "active", False)
    for operation in ("getBeneficiary", "listPayoutDestinations", "updateBeneficiary", "disableBeneficiary"):
        text = world.send(world.call(operation)).response_body.decode()
        assert "1234" in text
        assert not [name for name in ("account_number", "iban", "wallet_address") if sent[name] in text]
    assert world.make("getBeneficiary")["payout_destinations"][-1] == made
    owned = {"status": "disabled", "verified": True, "id": "bene_mine", "payout_destinations": [made]}
    fresh = world.make("createBeneficiary", {**BODIES["createBeneficiary"], **owned})
    assert (fresh["status"], fresh["verified"], fresh["payout_destinations"]) == ("active", False, [])
    assert fresh["beneficiary_type"] == "individual" and fresh["id"] != "bene_mine"


def test_a_new_default_destination_replaces_the_old_one(world: World) -> None:
    body = {**BODIES["createPayoutDestination"], "is_default": True}
    first, second = world.make("createPayoutDestination", body), world.make("createPayoutDestination", body)
    assert first["is_default"] and second["is_default"]
    shown = world.make("getBeneficiary")["payout_destinations"]
    assert [item["id"] for item in shown if item["is_default"]] == [second["id"]]


@pytest.mark.parametrize("amount", ["0.01", "1000000000000000000.000000000000000001", "007.50", "3"])
def test_payouts_move_money_exactly(world: World, amount: str) -> None:
    account = world.seeded.primary.funded_account_id
    beneficiary = world.make("createBeneficiary", account_id=account)["id"]
    ids = {"account_id": account, "beneficiary_id": beneficiary}
    ids["payout_destination_id"] = world.make("createPayoutDestination", **ids)["id"]
    made = world.make("createPayout", {"amount": amount, "currency": "USD"}, **ids)
    assert (made["amount"], made["amount_in_usd"]) == (amount, amount)
    balances = {item["currency"]: item for item in world.make("getAccountBalances")["balances"]}
    dollars = balances["USD"]
    with localcontext(prec=100):
        moved = Decimal("1" + "0" * 24) - Decimal(dollars["available_balance"])
        assert moved == Decimal(dollars["pending_payout"]) == Decimal(amount)
        assert Decimal(dollars["total_balance"]) == Decimal("1" + "0" * 24)
    beyond = world.call("createPayout", {"amount": "1" + "0" * 25, "currency": "USD"}, **ids)
    assert refusal(world.send(beyond)) == (422, "insufficient_funds")
    digits = {"amount": "9" * 100, "currency": "AFN"}
    assert world.make("createPayout", digits, **ids)["amount"] == "9" * 100
    assert world.send(world.call("createPayout", digits, **ids).with_field("amount", "9" * 101)).status == 422


def test_update_and_disable(world: World) -> None:
    before = world.make("getBeneficiary")
    assert world.make("updateBeneficiary", {}) == before
    assert world.make("updateBeneficiary", {"status": "inactive", "verified": True}) == before
    after = world.make("updateBeneficiary", {"note": None, "title": "Dr"})
    assert after["updated"] > before["updated"]
    assert after == {**before, "note": None, "title": "Dr", "updated": after["updated"]}
    assert after == world.make("getBeneficiary")
    disabled = world.make("disableBeneficiary")
    assert disabled == {**after, "status": "disabled", "updated": disabled["updated"]}
    assert disabled == world.make("getBeneficiary")
    assert disabled["updated"] > after["updated"]


def test_one_wallet_of_a_pair_in_an_account(world: World) -> None:
    call = world.call("createWallet")
    first = world.send(call)
    assert first.get("addresses", 0, "tag") is None and first.get("addresses", 0, "address")
    fresh = call.but(idempotency_key=str(uuid.uuid4()))
    assert refusal(world.send(fresh)) == (409, "wallet_exists")
    assert world.send(call).document == first.document
    assert world.send(world.call("createWallet", account_id=world.make("createAccount")["id"])).succeeded
    assert world.send(fresh.with_field("network", "bitcoin")).status == 422
    assert world.make("listWallets")["items"] == [
        {name: value for name, value in first.document.items() if name not in ("addresses", "updated")}
    ]


# --------------------------------------------------------------------------- lists


def _fill(world: World, operation: str) -> list[str]:
    """Thirteen elements, a second apart; their ids in the order of their creation."""
    create = {
        "listAccounts": "createAccount",
        "listPayoutDestinations": "createPayoutDestination",
        "listVirtualAccounts": "createVirtualAccount",
        "listWallets": "createWallet",
    }[operation]
    world.ids["account_id"] = world.make("createAccount")["id"]
    world.ids["beneficiary_id"] = world.make("createBeneficiary")["id"]
    pairs = [
        ("USDC", "ethereum"),
        ("USDC", "polygon"),
        ("USDC", "solana_devnet"),
        ("USDT", "ethereum"),
        ("USDT", "polygon"),
        ("USDT", "solana_devnet"),
        ("ETH", "ethereum"),
        ("ETH", "polygon"),
        ("BTC", "bitcoin"),
        ("USDC_ETHEREUM", "ethereum"),
    ]
    made = [item["id"] for item in world.make("listAccounts")["items"]] if operation == "listAccounts" else []
    for number in range(10 if operation == "listWallets" else 13 - len(made)):
        body = BODIES[create]
        if operation == "listWallets":
            body = {"label": "x", "currency": pairs[number][0], "network": pairs[number][1]}
        world.clock.forward(1)
        made.append(world.make(create, body)["id"])
    return made


@pytest.mark.parametrize("operation", LISTS)
def test_walking_a_list_shows_everything_once(world: World, operation: str) -> None:
    ids = _fill(world, operation)
    listing = world.call(operation)
    for size in (1, 2, 10, 100):
        seen, pages = [], -(-len(ids) // size)
        for page in range(1, pages + 1):
            answer = world.send(listing.with_query({"page": page, "size": size})).document
            assert {**answer, "items": 0} == {
                "items": 0,
                "total": len(ids),
                "page": page,
                "size": size,
                "pages": pages,
            }
            seen += [item["id"] for item in answer["items"]]
        assert seen == ids
    default = world.send(listing).document
    assert (default["page"], default["size"], len(default["items"])) == (1, 10, min(10, len(ids)))
    for page in (3, 1_000_000_000_000):
        assert world.send(listing.with_query({"page": page})).get("items") == []
    for query in (
        "size=0",
        "size=101",
        "size=-1",
        "size=abc",
        "size=",
        "size=1.0",
        "size=%00",
        "page=0",
        "page=-1",
        "page=x",
        "page=1e3",
        "page=1&x=%zz",
        "page=%ff",
        "page=1&page=2",
        "page=" + "9" * 5000,
    ):
        assert world.send(listing.with_query(query)).refused, query


@pytest.mark.parametrize("operation", LISTS[1:])
def test_filters(world: World, operation: str) -> None:
    ids = _fill(world, operation)
    listing = world.call(operation)
    stamps = [item["created"] for item in world.send(listing.with_query({"size": 100})).document["items"]]

    def found(query: dict[str, Any]) -> list[str]:
        answer = world.send(listing.with_query({"size": 100, **query})).document
        assert answer["total"] == len(answer["items"])
        return [item["id"] for item in answer["items"]]

    assert found({"start_date": stamps[4]}) == ids[4:]
    assert found({"end_date": stamps[4]}) == ids[:4]
    finer = [stamp.replace("Z", "0001Z") for stamp in stamps]
    assert found({"start_date": finer[4], "end_date": finer[8]}) == ids[5:9]
    assert found({"start_date": stamps[4].replace("Z", "+00:00")}) == ids[4:]
    status = "status" if operation == "listWallets" else "statuses"
    assert found({status: "active", "start_date": stamps[4]}) == ids[4:]
    assert found({status: "inactive"}) == []
    second = world.send(listing.with_query({"start_date": stamps[4], "size": 2, "page": 2})).document
    assert ([item["id"] for item in second["items"]], second["total"]) == (ids[6:8], len(ids) - 4)
    if operation != "listPayoutDestinations":
        currency = "ETH" if operation == "listWallets" else "EUR"
        assert found({"currency": currency}) == (ids[6:8] if currency == "ETH" else ids)
        assert found({"currency": "CHF"}) == []
    if status == "statuses":
        assert found({"statuses": "active"}) == ids
        both = world.send(listing.with_query([("statuses", "active"), ("statuses", "inactive")]))
        assert both.get("total") == len(ids)
    for query in (
        f"{status}=nonsense",
        "start_date=yesterday",
        "start_date=0000-01-01",
        "start_date=99999-01-01",
        "end_date=2026-02-30",
        "end_date=2026-01-01T23:59:60Z",
    ):
        assert world.send(listing.with_query(query)).refused, query


@pytest.mark.parametrize(
    ("text", "micros"),
    [
        ("1970-01-01", 0),
        ("1970-01-01T00:00:01Z", 1_000_000),
        ("1970-01-01T00:00:00.5Z", 500_000),
        ("1970-01-01T00:00:00.0000001Z", 1),
        ("1970-01-01T01:00:00+01:00", 0),
        ("1969-12-31T23:30:00-0030", 0),
        ("0001-01-01T00:00:00+23:59", -62_135_683_140_000_000),
        ("10000-01-01", None),
        ("1970-01-01T24:00:00Z", None),
        ("1970-13-01", None),
        ("now", None),
        ("1970-01-01T00:00:00+99:00", None),
    ],
)
def test_dates(text: str, micros: int | None) -> None:
    assert parse_instant(text) == micros
