"""One resource of every kind of valid body, made once for a run and looked at by several checks.

An operation's sample comes first; a server that refuses it leaves the checks inconclusive. The other kinds
leave fields out, fill them with other values or with letters and signs that are easily damaged; where a
server refuses one of these, which the specification may leave it free to do, there is nothing to look at.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from conformance.contract.operations import OPERATIONS
from conformance.contract.traits import TRAITS
from conformance.judge.findings import Inconclusive
from conformance.wire.messages import Exchange
from conformance.world import samples
from conformance.world.account import AccountFixture, call, identifier
from conformance.world.accounts import purpose_of
from conformance.world.cache import Key
from conformance.world.run_context import RunContext

Body = dict[str, Any]

#: A kind of body: its name, and bodies to try, the likeliest first, until one is accepted.
Kind = tuple[str, list[Body]]

#: Letters of several scripts that no Unicode normal form changes, and signs that HTML, SQL, shells and JSON
#: escape.
LETTERS = "Zo\u0436 \u540d\u524d \u0398\u03ad\u03c3\u03b7"
SIGNS = 'O\'Neil & Co <b>"#1"</b> 50% \\ / ; {x}'

#: What ends a line, and what moves to the next column.
LINES = "\n\tNext line"

#: Longer than the lines of bank forms, and the name of a place in Wales.
_LONG_ADDRESS = {
    "address_line": "Old Station Road 1, " * 6 + "Building 7",
    "city": "Llanfairpwllgwyngyllgogerychwyrndrobwllllantysiliogogogoch",
}

#: Another person than the sample's.
_OTHER_PERSON = {
    "beneficiary_type": "individual",
    "title": "Dr",
    "first_name": "Grace",
    "middle_name": "Brewster",
    "last_name": "Hopper",
    "country_code": "GB",
    "address": {
        "address_line": "10 High Street",
        "city": "London",
        "region": "Greater London",
        "postal_code": "SW1A 2AA",
        "country": "GB",
    },
}


_CREATIONS = Key["list[CreatedResource]"]("resources of every kind")


@dataclass(frozen=True)
class CreatedResource:
    """A created resource: the kind of its body, the body, the fixture it is in, and the exchange that
    created it."""

    kind: str
    body: Body
    fixture: AccountFixture
    exchange: Exchange


def creations(run: RunContext, operation: str) -> list[CreatedResource]:
    """The resources of every kind that the server accepts for an operation, the sample first.

    Raises Inconclusive when it refuses the sample.
    """
    return run.cache.get(_CREATIONS.of(operation), lambda: _created(run, operation))


def created_in(run: RunContext, operation: str) -> AccountFixture:
    """The account for resources whose number does not matter; a wallet's is one of its own."""
    return run.account(purpose_of(operation, "created"), fresh=TRAITS[operation].once_per == "account")


def _created(run: RunContext, operation: str) -> list[CreatedResource]:
    fixture = created_in(run, operation)
    sample = fixture.body(operation)
    made = [CreatedResource("the sample", sample, fixture, fixture.create(operation, sample))]
    for name, bodies in _KINDS[operation](fixture):
        # Another pair fits beside the sample's wallet; the same pair only in another account.
        taken = TRAITS[operation].unique_pair and any(_pair(body) == _pair(sample) for body in bodies)
        where = run.account(fresh=True) if taken else fixture
        if any(body.get("is_default") for body in bodies):
            # What becomes of a second default is open: a beneficiary without any.
            where = AccountFixture(run, account_id=fixture.account_id)
        for body in bodies:
            exchange = run.send(
                where.client, call(operation, where.ids(operation), body), f"a {operation} of {name}"
            )
            if exchange.succeeded and isinstance(exchange.document, dict):
                made.append(CreatedResource(name, body, where, exchange))
                break
    return made


def _pair(body: Body) -> tuple[Any, Any]:
    """The currency and network of a wallet."""
    return body.get("currency"), body.get("network")


# ---------------------------------------------------------------------- kinds


def _accounts(fixture: AccountFixture) -> Iterator[Kind]:
    yield "a name in letters of several scripts", [{"name": f"{LETTERS} {samples.marker()}"}]
    yield "a name with signs", [{"name": f"{SIGNS} {samples.marker()}"}]


def _beneficiaries(fixture: AccountFixture) -> Iterator[Kind]:
    make = fixture.run.samples.beneficiary
    required = OPERATIONS["createBeneficiary"].required_fields
    yield "required fields only", [{name: value for name, value in make().items() if name in required}]
    business = {**make(), "beneficiary_type": "business"}
    yield (
        "type business",
        [
            {**_nameless(business), "company_name": f"Dombey & Son's {samples.marker()}"},
            {**business, "company_name": f"Dombey & Son's {samples.marker()}"},
            {"company_name": f"Analytical Engines {samples.marker()}", **business},
        ],
    )
    # The first of these numbers is one of those that British authorities keep free for stories.
    numbers = {"phone": f"+44207946{samples.digits(4)}", "tax_id": f"00AB{samples.digits(5)}"}
    other = {**make(), **_OTHER_PERSON, **numbers}
    compatriot = {**other, "country_code": make()["country_code"], "address": make()["address"]}
    # Before the @ capitals make another address, and a plus sign is none of a query's spaces.
    email = f"Grace.Hopper+{samples.marker()}@example.org"
    yield "another person", [{**other, "email": email}, {**compatriot, "email": email}, compatriot]
    names = ("first_name", "middle_name", "last_name", "display_name", "note")
    texts = dict.fromkeys(names, LETTERS)
    foreign = {**make(), **texts, "title": LETTERS[:3]}
    street = {**make()["address"], "address_line": LETTERS, "city": LETTERS}
    firm = {**foreign, "beneficiary_type": "business", "company_name": LETTERS}
    yield "letters of several scripts", [{**firm, "address": street}, firm, foreign]
    # Postal codes are not numbers; where somebody lives is not where the money goes.
    abroad = {
        **samples.address("region"),
        "city": "Dresden",
        "postal_code": "01067",
        "country": _elsewhere(make()),
    }
    yield "an address abroad", [{**make(), "address": abroad}]
    apostrophes = {**make(), "first_name": "D'Arcy", "middle_name": "Null", "last_name": "O'Brien"}
    grouped = [{**apostrophes, "phone": phone} for phone in grouped_phones(apostrophes["phone"])]
    yield "names with apostrophes", [*grouped, apostrophes]
    signs = {**make(), "display_name": SIGNS, "note": SIGNS}
    yield "signs", [{**signs, "note": f"{SIGNS}{LINES}"}, signs]
    long = {**make(), "note": "0123456789" * 110}
    yield "a long note", [{**long, "address": {**long["address"], **_LONG_ADDRESS}}, long]


def _nameless(body: Body) -> Body:
    """The body without what a business may well not have of a person's name."""
    return {name: value for name, value in body.items() if name not in ("title", "middle_name")}


def grouped_phones(phone: Any) -> list[str]:
    """An American telephone number as people write it, in two ways; none where it is another's."""
    if not (isinstance(phone, str) and len(phone) == 12 and phone.startswith("+1")):
        return []
    area, exchange, line = phone[2:5], phone[5:8], phone[8:]
    return [f"+1 ({area}) {exchange}-{line}", f"+1 {area} {exchange} {line}"]


def _elsewhere(body: Body) -> str:
    """A country that is not the one that the body's payouts go to."""
    return "DE" if body.get("country_code") != "DE" else "US"


def _destinations(fixture: AccountFixture) -> Iterator[Kind]:
    run = fixture.run

    def bank() -> Body:
        return run.bank_account(fixture)

    yield "bank details without label", [{name: value for name, value in bank().items() if name != "label"}]
    yield "the default", [{**bank(), "is_default": True}]
    yield "no default", [{**bank(), "is_default": False}]
    if "account_type" in bank():
        savings = {**bank(), "account_type": "savings"}
        yield "a savings account", [{**savings, "routing_number": "011401533"}, savings]
    european = run.samples.bank_accounts()[-1]
    yield "an IBAN", [european]
    if "swift_code" in european:
        yield (
            "a SWIFT code of eleven characters",
            [{**european, "iban": samples.iban(), "swift_code": "COBADEFFXXX"}],
        )
    yield "a label with signs", [{**bank(), "label": f"{LETTERS} {SIGNS} {samples.marker()}"}]
    yield "a long label", [{**bank(), "label": f"{samples.marker()} {'0123456789' * 60}"}]
    wallets = run.samples.wallet_destinations()
    yield "a wallet", wallets
    others = [
        {**body, "network": "polygon", "is_default": True} for body in run.samples.wallet_destinations()
    ]
    yield (
        "a wallet on another network, without label",
        [{name: value for name, value in body.items() if name != "label"} for body in others],
    )


def _payouts(fixture: AccountFixture) -> Iterator[Kind]:
    def body() -> Body:
        return fixture.body("createPayout")

    yield "no note", [{name: value for name, value in body().items() if name != "note"}]
    signs = {**body(), "note": f"{LETTERS} {SIGNS}"}
    yield "a note with letters and signs", [{**signs, "note": signs["note"] + LINES}, signs]
    yield "a long note", [{**body(), "note": "0123456789" * 50}]
    with contextlib.suppress(Inconclusive):
        beneficiary = identifier(fixture.create("createBeneficiary"))
        abroad = [fixture.run.samples.bank_accounts()[-1], fixture.run.bank_account(fixture)]
        if other := _payout_to(fixture, beneficiary, abroad):
            yield "another beneficiary and currency", [other]
        # The text wants a code of ISO 4217, also where the money goes to a wallet.
        if paid := _payout_to(fixture, beneficiary, fixture.run.samples.wallet_destinations(), "USD"):
            yield "a wallet to pay to", [paid]


def _payout_to(
    fixture: AccountFixture, beneficiary: str, destinations: list[Body], currency: str = ""
) -> Body | None:
    """A payout to the first of these destinations of a beneficiary that the server accepts, in a currency or
    in the destination's."""
    ids = {"account_id": fixture.account_id, "beneficiary_id": beneficiary}
    for details in destinations:
        attempt = call("createPayoutDestination", ids, details)
        made = fixture.run.send(fixture.client, attempt, "a destination of another kind, to pay to")
        code = currency or made.get("currency")
        if made.succeeded and isinstance(code, str):
            payout = fixture.run.samples.payout(beneficiary, identifier(made), code)
            return {**payout, "currency": code}
    return None


def _virtual_accounts(fixture: AccountFixture) -> Iterator[Kind]:
    make = fixture.run.samples.virtual_account
    yield "an address", [{**make(), "address": samples.address("state")}]
    others = [code for code in samples.OTHER_CURRENCIES if code != make()["currency"]]
    yield "another currency", [{**make(), "currency": code} for code in others]
    yield "a label with letters and signs", [{**make(), "label": f"{LETTERS} {SIGNS} {samples.marker()}"}]
    yield "the sample's currency once more", [make()]


def _wallets(fixture: AccountFixture) -> Iterator[Kind]:
    run = fixture.run
    for index in range(1, min(len(run.samples.wallet_pairs), 3)):
        yield f"another pair ({index + 1})", [run.samples.wallet(index)]
    yield (
        "a label with letters and signs",
        [{**run.samples.wallet(), "label": f"{LETTERS} {SIGNS} {samples.marker()}"}],
    )


def _payins(fixture: AccountFixture) -> Iterator[Kind]:
    make = fixture.run.samples.payin
    yield "no description", [{name: value for name, value in make().items() if name != "description"}]
    others = [code for code in samples.OTHER_CURRENCIES if code != make()["currency"]]
    yield "another currency", [{**make(), "currency": code} for code in others]
    yield "another payment method", [{**make(), "payment_method": "card"}]


_KINDS: dict[str, Callable[[AccountFixture], Iterator[Kind]]] = {
    "createAccount": _accounts,
    "createBeneficiary": _beneficiaries,
    "createPayoutDestination": _destinations,
    "createPayout": _payouts,
    "createVirtualAccount": _virtual_accounts,
    "createWallet": _wallets,
    "createPayin": _payins,
}
