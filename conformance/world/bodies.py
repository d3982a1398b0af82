"""Valid bodies: one table, operation -> name -> changes of the operation's sample.

A row lists bodies to try in order, later ones plainer: a server may refuse one for its bank details (section
2.10), scripts, punctuation or currency. Checks, lists and generated requests choose rows by name.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from conformance.contract.documents import unusable
from conformance.contract.fields import free_texts, request_fields
from conformance.contract.operations import OPERATIONS
from conformance.contract.traits import TRAITS
from conformance.judge.verdicts import Inconclusive
from conformance.wire.messages import MISSING
from conformance.world import parts
from conformance.world.calls import identifier
from conformance.world.corpora.stored_texts import MIXED
from conformance.world.lane import Fixture
from conformance.world.samples import (
    BUSINESS,
    LETTER,
    LETTERS,
    LINES,
    LONGEST,
    OTHER_CURRENCIES,
    SIGNS,
    WESTERN,
    Body,
    Changes,
    address,
    changed,
    digits,
    grouped_phones,
    marker,
)

#: Bodies to try: changes of the sample, or a function of a fixture that returns whole bodies.
Row = Sequence[Changes] | Callable[[Fixture], list[Body]]

_DIGITS = "0123456789"

#: The row of the operation's own sample, which every operation has.
SAMPLE = "sample"

#: Currencies of virtual accounts beside the usual ones: a server may render each by a template of its own.
CURRENCIES = ("CHF", "JPY", "MXN", "SEK")


def _plainer(*changes: Changes) -> list[Changes]:
    """All of these changes together, then without the last, and so on to the first alone."""
    return [
        dict(itertools.chain(*(each.items() for each in changes[:end]))) for end in range(len(changes), 0, -1)
    ]


def _marked(text: str) -> Callable[[Body], str]:
    return lambda _: f"{text} {marker()}"


_WITH_SIGNS = _marked(f"{LETTERS} {SIGNS}")


def _longest(name: str) -> Callable[[Body], str]:
    return lambda sample: str(sample.get(name, "")).ljust(LONGEST, "x")


def _email(_: Body) -> str:
    # Before the @ case matters, and a plus sign must not be decoded as a space.
    return f"Grace.Hopper+{marker()}@example.org"


# ---------------------------------------------------------------------- beneficiaries


#: Another person's title and names than the sample's.
NAMES = {"title": "Mr", "first_name": "Grace", "middle_name": "Brewster", "last_name": "Hopper"}

#: Another person than the sample's. The telephone numbers begin with a range that Ofcom reserves for fiction.
_PERSON = {
    "beneficiary_type": "individual",
    **NAMES,
    "phone": lambda _: f"+44207946{digits(4)}",
    "tax_id": lambda _: f"00AB{digits(5)}",
}

_ENGLISH = {"country_code": "GB", "address": parts.ENGLISH_ADDRESS}


def _employed(fixture: Fixture) -> list[Body]:
    """An individual with a company_name, then without."""
    body = {"beneficiary_type": "individual", **fixture.body("createBeneficiary")}
    return [{"company_name": f"Menabrea & Daughters {marker()}", **body}, body]


_PARTNERSHIP = {"beneficiary_type": "business", "company_name": _marked("Dombey & Son's")}

_FOREIGN = {
    **dict.fromkeys(free_texts("createBeneficiary"), LETTERS),
    "title": LETTERS[:3],
}


def _apostrophes(fixture: Fixture) -> list[Body]:
    body = {**fixture.body("createBeneficiary"), "first_name": "D'Arcy", "middle_name": "Null"}
    body["last_name"] = "O'Brien"
    people = [{**body, "phone": phone} for phone in grouped_phones(body["phone"])]
    # A title with a full stop, and a tax number with a leading zero.
    exact = {"title": "Dr.", "tax_id": f"0{digits(8)}"}
    return [*({**person, **exact} for person in people[:1]), *people, body]


def _long(times: int) -> Callable[[Body], str]:
    return lambda _: f"{marker()} {_DIGITS * times}"


#: Notes and addresses have no stated maximum; a server may have one.
_LONG_NOTES = _plainer(
    {"note": _long(110)},
    {"note": _long(240), "address": parts.long_address},
    {"note": _long(1010), "address": parts.longest_address},
)

# ---------------------------------------------------------------------- payouts, accounts, wallets, payins


def _other_payee(fixture: Fixture) -> str:
    """The id of a new business, or of a new individual where the server refuses it."""
    with contextlib.suppress(Inconclusive):
        business = changed(fixture.body("createBeneficiary"), BUSINESS)
        return identifier(fixture.create("createBeneficiary", business))
    return identifier(fixture.create("createBeneficiary"))


def _fine(body: Body) -> str:
    """The amount of a body with digits below those of coins, which a server may refuse."""
    whole, _, fraction = str(body["amount"]).partition(".")
    return f"{whole}.{fraction}{digits(5)}"


def _other_currencies(operation: str, *, or_the_same: bool = False, **more: Any) -> Row:
    def make(fixture: Fixture) -> list[Body]:
        body = fixture.body(operation) | more
        others = [{**body, "currency": code} for code in OTHER_CURRENCIES if code != body["currency"]]
        tries = [*others, body] if or_the_same else others
        return [*({**each, "amount": _fine(each)} for each in tries if "amount" in body), *tries]

    return make


# ---------------------------------------------------------------------- the table


#: operationId -> name -> bodies to try, in order; of each row a run creates one resource, which several
#: checks read (see `conformance.world.creations`).
CREATED_BODIES: Mapping[str, Mapping[str, Row]] = {
    "createAccount": {
        "a name in letters of several scripts": [{"name": _marked(LETTERS)}],
        "a name with signs": _plainer({"name": _marked(SIGNS)}, {"name": _marked(SIGNS + MIXED)}),
    },
    "createBeneficiary": {
        "required fields only": [
            {field.name: MISSING for field in request_fields("createBeneficiary") if not field.required}
        ],
        # A server may allow a business neither title nor middle name.
        "type business": [
            *_plainer(
                _PARTNERSHIP | dict.fromkeys(("tax_id", "note"), MISSING),
                {"title": MISSING, "middle_name": MISSING},
                _ENGLISH,
            ),
            BUSINESS,
        ],
        "another person": _plainer(
            _PERSON,
            {"email": _email},
            _ENGLISH,
            {"company_name": _marked("Menabrea & Daughters")},
            {"tax_id": lambda _: f"00-Ab{digits(5)}"},
        ),
        "letters of several scripts": _plainer(
            _FOREIGN,
            {"beneficiary_type": "business", "company_name": LETTERS},
            {"address": parts.foreign_street},
        ),
        # The countries of address, telephone and payouts differ: none follows from another.
        "an address abroad": _plainer(
            {"address": parts.address_abroad}, {"country_code": "GB"}, {"note": _marked(WESTERN)}
        ),
        "names with apostrophes": _apostrophes,
        "signs": _plainer(
            {"display_name": SIGNS, "note": SIGNS},
            {"note": SIGNS + LINES},
            {"last_name": "Null", "company_name": SIGNS},
        ),
        "a long note": _LONG_NOTES,
    },
    "createPayoutDestination": {
        "bank details without label": [{"label": MISSING}],
        "the default": [{"is_default": True}],
        "pounds to Germany": _plainer(
            {"is_default": False}, {"country": "DE", "currency": "GBP"}, {"label": _marked(WESTERN)}
        ),
        "a savings account": parts.savings,
        "IBAN alone": parts.european,
        "a SWIFT code of eleven characters": parts.long_swift,
        "a label with signs": [{"label": _WITH_SIGNS}],
        "a long label": [{"label": _long(times)} for times in (1010, 240, 110, 60)],
        "wallet": parts.wallet,
        "a wallet on another network, without label": parts.other_network,
    },
    "createPayout": {
        "no note": [{"note": MISSING}],
        "a note with letters and signs": _plainer(
            {"note": f"{LETTERS} {SIGNS}"}, {"note": f"{LETTERS} {SIGNS}{LINES}"}
        ),
        # To the default destination; a server may make the first one the default.
        "another beneficiary and currency": parts.paid(
            lambda fixture: [
                body | {"is_default": True} for body in (*parts.european(fixture), fixture.bank_account())
            ],
            _other_payee,
        ),
        # Section 4.4 states an ISO 4217 currency, also for payouts to a wallet.
        "a wallet to pay to": parts.paid(
            lambda fixture: parts.defaults(parts.wallet(fixture)),
            lambda fixture: fixture.beneficiary_id,
            "USD",
        ),
        "a long note": [{"note": _DIGITS * 50}],
    },
    "createVirtualAccount": {
        # A server may want it where the currency is.
        "an address": [
            *_plainer({"address": address("state")}, {"label": _marked(WESTERN)}),
            {"address": lambda sample: parts.address_abroad(sample, "state")},
        ],
        "another currency": _other_currencies("createVirtualAccount", address=address("state")),
        "a label with letters and signs": _plainer({"label": _WITH_SIGNS}, {"currency": "GBP"}),
        "the longest label": [{"label": _longest("label")}, {}],
        **{f"the currency {currency}": [{"currency": currency}] for currency in CURRENCIES},
    },
    "createWallet": {
        "another pair (2)": lambda fixture: fixture.lane.samples.wallets()[1:2],
        "another pair (3)": lambda fixture: fixture.lane.samples.wallets()[2:3],
        "a pair of another network": _plainer(
            {"currency": "BTC", "network": "bitcoin"}, {"label": _marked(WESTERN)}
        ),
        "a label with letters and signs": _plainer(
            {"label": _WITH_SIGNS}, {"currency": "USDC", "network": "ethereum"}
        ),
    },
    "createPayin": {
        "no description": _plainer({"description": MISSING}, {"payment_method": "crypto"}, {"amount": _fine}),
        "another currency": _other_currencies("createPayin"),
        "another payment method": _other_currencies("createPayin", or_the_same=True, payment_method="card"),
    },
}

#: operationId -> further rows, by name.
_FURTHER: Mapping[str, Mapping[str, Row]] = {
    "createAccount": {
        "letters and signs": [{"name": _WITH_SIGNS}],
        "the longest name": [{"name": _longest("name")}],
    },
    "createBeneficiary": {
        "individual": [{"beneficiary_type": "individual"}],
        "business": [BUSINESS],
        "individual with company_name": _employed,
        "names with a hyphen, of one letter and of several words": [
            {"first_name": "Anne-Marie", "middle_name": "J", "last_name": "van der Berg"}
        ],
    },
    "updateBeneficiary": {
        # The beneficiary that it updates is an individual.
        "individual": lambda fixture: [fixture.body("updateBeneficiary")],
        # A server that supports some countries or scripts only, or a front end, may refuse the rows below.
        "company_name of an individual": [{"company_name": _marked("Jacquard & Sons")}],
        "another country_code": _plainer(
            {"country_code": parts.abroad},
            {"display_name": _marked("Ada Byron")},
            {"address": parts.moved_abroad},
        ),
        "fields in letters of several scripts": _plainer(
            {"display_name": LETTERS, "note": LETTERS},
            dict.fromkeys(("first_name", "last_name", "company_name"), LETTERS),
            {"middle_name": LETTERS, "address": parts.foreign_street},
        ),
        "names with apostrophes": [{"first_name": "Mary D'Arcy", "last_name": "van der O'Brien"}],
        "fields with signs": _plainer({"note": _WITH_SIGNS}, {"display_name": SIGNS, "company_name": SIGNS}),
        "a title with a full stop, a tax_id with a leading zero": _plainer(
            {"title": "Dr."}, {"tax_id": lambda _: f"0{digits(8)}"}
        ),
        "a note of two lines": [{"note": lambda _: f"{marker()}{LINES}"}],
        "a long note": _LONG_NOTES,
        "an address abroad": [{"address": parts.english_address}],
        "contact details as people write them": lambda fixture: [
            {"phone": phone, "email": _email({}), **more}
            for phone in grouped_phones(fixture.lane.samples.beneficiary()["phone"])
            for more in ({"tax_id": f"00-Ab{digits(5)}"}, {"tax_id": f"00Ab{digits(5)}"}, {})
        ],
    },
    "createPayoutDestination": {
        "bank account": parts.numbered,
        "IBAN": parts.with_iban,
        "SWIFT code": lambda fixture: [
            *parts.with_iban(fixture),
            {**fixture.body("createPayoutDestination"), "swift_code": "DEUTDEFF"},
        ],
        "no default": [{"is_default": False}],
        "account_type checking": [{"account_type": "checking"}],
        "account_type savings": [{"account_type": "savings"}],
        "a savings account, the default": lambda fixture: parts.defaults(parts.savings(fixture)),
        "the longest label": [{"label": _longest("label")}],
    },
    "createPayout": {
        "the amount 1": [{"amount": "1"}],
        "the amount 1.1": [{"amount": "1.1"}],
    },
    "createWallet": {
        # Of more bytes than characters.
        "the longest label": [{"label": lambda _: f"{marker()} ".ljust(LONGEST, LETTER)}],
    },
    "createPayin": {
        "the amount 10": [{"amount": "10"}],
        "the amount 10.1": [{"amount": "10.1"}],
    },
}

#: operationId -> name -> bodies to try, in order.
BODIES = {
    operation: {**CREATED_BODIES.get(operation, {}), **_FURTHER.get(operation, {})}
    for operation in OPERATIONS
}

for _operation, _rows in BODIES.items():
    for _field in request_fields(_operation):
        if _field.shape and _field.shape not in _rows:
            named = f"openapi.yaml names {_field.shape} as the x-shape of {_field.name}"
            raise unusable(f"{named}, which is no row of {_operation} in conformance/world/bodies.py")


def bodies(fixture: Fixture, operation: str, name: str = SAMPLE) -> list[Body]:
    """New bodies of a row, to try in order; none where the row does not apply to this server.

    Raises KeyError for an unknown name."""
    if name == SAMPLE:
        return [fixture.body(operation)]
    row = BODIES[operation][name]
    if callable(row):
        return row(fixture)
    whole = TRAITS[operation].subset_of
    sample = fixture.body(whole or operation)
    return [changed({} if whole else sample, changes, sample) for changes in row]
