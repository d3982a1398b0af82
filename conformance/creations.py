"""One resource of every kind of sound body, made once for a run and looked at by several checks.

An operation's sample comes first; a server that refuses it leaves the checks inconclusive. The other kinds
leave fields out, fill them with other values or with letters and signs that are easily spoiled; where a
server refuses one of these, which the specification may leave it free to do, there is nothing to look at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from conformance import samples
from conformance.contract import OPERATIONS
from conformance.exchange import Exchange
from conformance.suite import Suite
from conformance.verdict import Inconclusive
from conformance.world import Scene, call, identifier

Body = dict[str, Any]

#: A kind of body: its name, and bodies to try, the likeliest first, until one is accepted.
Kind = tuple[str, list[Body]]

#: Letters of several scripts that no Unicode normal form changes, and signs that HTML, SQL, shells and JSON
#: escape.
LETTERS = "Zo\u0436 \u540d\u524d \u0398\u03ad\u03c3\u03b7"
SIGNS = 'O\'Neil & Co <b>"#1"</b> 50% \\ / ; {x}'

#: Another person than the sample's.
_OTHER_PERSON = {
    "beneficiary_type": "individual",
    "title": "Dr",
    "first_name": "Grace",
    "middle_name": "Brewster",
    "last_name": "Hopper",
    "phone": "+442079460018",
    "tax_id": "00AB98765",
    "country_code": "GB",
    "address": {
        "address_line": "10 High Street",
        "city": "London",
        "region": "Greater London",
        "postal_code": "SW1A 2AA",
        "country": "GB",
    },
}


@dataclass(frozen=True)
class Creation:
    """A created resource: the kind of its body, the body, the scene it is in, and the exchange that
    created it."""

    kind: str
    body: Body
    scene: Scene
    exchange: Exchange


def creations(suite: Suite, operation: str) -> list[Creation]:
    """The resources of every kind that the server accepts for an operation, the sample first.

    Raises Inconclusive when it refuses the sample.
    """
    key = f"creations of {operation}"
    if key not in suite.shelf:
        try:
            suite.shelf[key] = _created(suite, operation)
        except Inconclusive as stop:
            suite.shelf[key] = stop
    made: list[Creation] | Inconclusive = suite.shelf[key]
    if isinstance(made, Inconclusive):
        raise Inconclusive(made.reason, made.cure, made.cause)
    return made


def place(suite: Suite, operation: str) -> Scene:
    """The account in which resources are made that nobody counts; a wallet's is one of its own."""
    if operation in ("createPayout", "createWallet"):
        return suite.scene_for(operation, fresh=operation == "createWallet")
    if "creations" not in suite.shelf:
        suite.shelf["creations"] = suite.fresh()
    scene: Scene = suite.shelf["creations"]
    return scene


def _created(suite: Suite, operation: str) -> list[Creation]:
    scene = place(suite, operation)
    body = scene.body(operation)
    made = [Creation("the sample", body, scene, scene.create(operation, body))]
    for name, bodies in _KINDS[operation](scene):
        # Another pair fits beside the sample's wallet; the same pair only in another account.
        taken = operation == "createWallet" and not name.startswith("another pair")
        where = suite.fresh() if taken else scene
        for body in bodies:
            exchange = suite.send(
                where.client, call(operation, where.ids(operation), body), f"a {operation} of {name}"
            )
            if exchange.succeeded and isinstance(exchange.document, dict):
                made.append(Creation(name, body, where, exchange))
                break
    return made


# ---------------------------------------------------------------------- kinds


def _accounts(scene: Scene) -> Iterator[Kind]:
    yield "a name in letters of several scripts", [{"name": f"{LETTERS} {samples.marker()}"}]
    yield "a name with signs", [{"name": f"{SIGNS} {samples.marker()}"}]


def _beneficiaries(scene: Scene) -> Iterator[Kind]:
    make = scene.suite.samples.beneficiary
    required = OPERATIONS["createBeneficiary"].required_fields
    yield "required fields only", [{name: value for name, value in make().items() if name in required}]
    business = {**make(), "beneficiary_type": "business"}
    yield (
        "type business",
        [
            {**business, "company_name": f"Dombey & Son's {samples.marker()}"},
            {"company_name": f"Analytical Engines {samples.marker()}", **business},
        ],
    )
    other = {**make(), **_OTHER_PERSON}
    compatriot = {**other, "country_code": make()["country_code"], "address": make()["address"]}
    # Before the @ capitals make another address, and a plus sign is none of a query's spaces.
    email = f"Grace.Hopper+{samples.marker()}@example.org"
    yield "another person", [{**other, "email": email}, {**compatriot, "email": email}, compatriot]
    texts = {name: LETTERS for name in ("first_name", "middle_name", "last_name", "display_name", "note")}
    foreign = {**make(), **texts, "title": LETTERS[:3]}
    yield (
        "letters of several scripts",
        [{**foreign, "beneficiary_type": "business", "company_name": LETTERS}, foreign],
    )
    yield (
        "names with apostrophes",
        [{**make(), "first_name": "D'Arcy", "middle_name": "O'Neil", "last_name": "O'Brien"}],
    )
    yield "signs", [{**make(), "display_name": SIGNS, "note": SIGNS}]
    yield "a long note", [{**make(), "note": "0123456789" * 100}]


def _destinations(scene: Scene) -> Iterator[Kind]:
    suite = scene.suite

    def bank() -> Body:
        return suite.bank_account(scene)

    yield "bank details without label", [{name: value for name, value in bank().items() if name != "label"}]
    yield "the default", [{**bank(), "is_default": True}]
    yield "no default", [{**bank(), "is_default": False}]
    if "account_type" in bank():
        savings = {**bank(), "account_type": "savings"}
        yield "a savings account", [{**savings, "routing_number": "011401533"}, savings]
    european = suite.samples.bank_accounts()[-1]
    yield "an IBAN", [european]
    if "swift_code" in european:
        yield (
            "a SWIFT code of eleven characters",
            [{**european, "iban": samples.iban(), "swift_code": "COBADEFFXXX"}],
        )
    yield "a label with signs", [{**bank(), "label": f"{LETTERS} {SIGNS}"}]
    wallets = suite.samples.wallet_destinations()
    yield "a wallet", wallets
    others = [
        {**body, "network": "polygon", "is_default": True} for body in suite.samples.wallet_destinations()
    ]
    yield (
        "a wallet on another network, without label",
        [{name: value for name, value in body.items() if name != "label"} for body in others],
    )


def _payouts(scene: Scene) -> Iterator[Kind]:
    def body() -> Body:
        return scene.body("createPayout")

    yield "no note", [{name: value for name, value in body().items() if name != "note"}]
    yield "a note with letters and signs", [{**body(), "note": f"{LETTERS} {SIGNS}"}]
    yield "a long note", [{**body(), "note": "0123456789" * 50}]
    other = _other_payout(scene)
    if other is not None:
        yield "another beneficiary and currency", [other]


def _other_payout(scene: Scene) -> Body | None:
    """A payout to a second beneficiary, in another currency where the server accepts such a destination."""
    suite = scene.suite
    try:
        beneficiary = identifier(scene.create("createBeneficiary"))
        ids = {"account_id": scene.account_id, "beneficiary_id": beneficiary}
        for details in (suite.samples.bank_accounts()[-1], suite.bank_account(scene)):
            attempt = call("createPayoutDestination", ids, details)
            destination = suite.send(scene.client, attempt, "a destination in another currency, to pay to")
            currency = destination.get("currency")
            if destination.succeeded and isinstance(currency, str):
                payout = suite.samples.payout(beneficiary, identifier(destination), currency)
                return {**payout, "currency": currency}
    except Inconclusive:
        pass
    return None


def _virtual_accounts(scene: Scene) -> Iterator[Kind]:
    make = scene.suite.samples.virtual_account
    yield "an address", [{**make(), "address": samples.address("state")}]
    others = [code for code in samples.OTHER_CURRENCIES if code != make()["currency"]]
    yield "another currency", [{**make(), "currency": code} for code in others]
    yield "a label with letters and signs", [{**make(), "label": f"{LETTERS} {SIGNS}"}]
    yield "the sample's currency once more", [make()]


def _wallets(scene: Scene) -> Iterator[Kind]:
    suite = scene.suite
    for index in range(1, min(len(suite.samples.wallet_pairs), 3)):
        yield f"another pair ({index + 1})", [suite.samples.wallet(index)]
    yield "a label with letters and signs", [{**suite.samples.wallet(), "label": f"{LETTERS} {SIGNS}"}]


def _payins(scene: Scene) -> Iterator[Kind]:
    make = scene.suite.samples.payin
    yield "no description", [{name: value for name, value in make().items() if name != "description"}]
    others = [code for code in samples.OTHER_CURRENCIES if code != make()["currency"]]
    yield "another currency", [{**make(), "currency": code} for code in others]
    yield "another payment method", [{**make(), "payment_method": "card"}]


_KINDS: dict[str, Callable[[Scene], Iterator[Kind]]] = {
    "createAccount": _accounts,
    "createBeneficiary": _beneficiaries,
    "createPayoutDestination": _destinations,
    "createPayout": _payouts,
    "createVirtualAccount": _virtual_accounts,
    "createWallet": _wallets,
    "createPayin": _payins,
}
