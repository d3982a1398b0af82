"""Requests whose path or body names resources of others (section 5.5)."""

from __future__ import annotations

import contextlib
import itertools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any
from unicodedata import normalize
from urllib.parse import quote, urlencode

from conformance.checks.engine import Engine
from conformance.contract.traits import ADDS_TO
from conformance.judge.findings import Inconclusive
from conformance.judge.oracle import COUSIN, FOREIGN, NEAR, OWN, SIBLING, UNKNOWN
from conformance.wire.forms import percent_encoded, replaced
from conformance.wire.messages import Exchange, to_json
from conformance.wire.pages import Parameters, query, status_filter
from conformance.world.account import AccountFixture, identifier, parameters
from conformance.world.bodies import SAMPLE
from conformance.world.cache import Key
from conformance.world.case import Case
from conformance.world.corpora import ids
from conformance.world.shapes import accepted_body, accepts

#: Ids that may be case-insensitive: UUIDs, ULIDs, hexadecimal digits.
_CASELESS = re.compile("[0-9A-Fa-f-]+|[0-9A-HJKMNP-TV-Za-hjkmnp-tv-z]{26}")

_FOREIGN_WALLET = Key[Exchange]("a wallet of the other organization")


def _path(at: Engine, top: str, children: str) -> dict[str, str]:
    first, *rest = parameters(at.operation)
    return {first: top, **dict.fromkeys(rest, children)}


def part_of_list(at: Engine) -> str:
    """Builds a query for page 2 of size 1 of a list with a value for each filter; else an empty one."""
    if not at.ctx.operation.is_list:
        return ""
    named = {*at.ctx.operation.query_parameters}
    filters: Parameters = []
    if {"status", "statuses"} & named:
        filters += status_filter(at.operation, at.ctx.target.array_style, "active")
    if "currency" in named:
        filters.append(("currency", str(at.fixture.body(ADDS_TO[at.operation])["currency"])))
    dates = {"start_date": "2000-01-01T00:00:00Z", "end_date": "2100-01-01T00:00:00Z"}
    filters += [(name, date) for name, date in dates.items() if name in named]
    return urlencode(query(2, 1, filters), quote_via=quote)


#: Operation -> the shape of bodies in the reverse direction, which a server may handle separately.
_BACK = {
    "createBeneficiary": "business",
    "updateBeneficiary": "an address abroad",
    "createPayoutDestination": "wallet",
    "createPayout": "another beneficiary and currency",
    "createVirtualAccount": "another currency",
    "createWallet": "another pair (2)",
    "createPayin": "another payment method",
}


def _body(at: Engine, owner: AccountFixture, back: bool) -> dict[str, Any]:
    """Returns the body as a change of a case: the owner's sample, or in the reverse direction (`back`)
    another shape that the server accepts."""
    if at.ctx.operation.request_schema is None:
        return {}
    shape = _BACK.get(at.operation, SAMPLE)
    if not back or not accepts(at.ctx.run, at.operation, shape):
        return {"body": to_json(owner.body(at.operation))}
    return {"body": to_json(accepted_body(owner, at.operation, shape))}


def foreign_path(at: Engine, name: str, *, back: bool = False) -> Case:
    """Builds a request with another organization's path and body; if `back`, a list's with a query."""
    part = part_of_list(at) if back else ""
    name, whose = name + (", a part of it" if part else ""), _path(at, FOREIGN, FOREIGN)
    changes = _body(at, at.other(FOREIGN), back)
    return at.case("tenancy.foreign-parent", name, whose=whose, query=part, **changes)


def _unchanging(at: Engine, rule: str, name: str, whose: Mapping[str, str]) -> Iterator[Case]:
    """Yields a PATCH with the body {} for a resource of others: a server may answer it without a look-up."""
    if at.ctx.operation.traits.subset_of:
        yield at.case(rule, f"{name}, with the body {{}}", whose=whose, body=b"{}")


def foreign_parents(at: Engine) -> Iterator[Case]:
    """Yields another organization's path, and its parent with an own child and with an unknown one."""
    rule, name = "tenancy.foreign-parent", "another organization's path"
    yield foreign_path(at, name)
    yield from _unchanging(at, rule, name, _path(at, FOREIGN, FOREIGN))
    if at.ctx.operation.traits.moves_money:
        name = "another organization's account with an own payee"
        yield at.case(rule, name, whose=_path(at, FOREIGN, FOREIGN))
    if parameters(at.operation)[1:]:
        name = "another organization's parent with an own child"
        yield at.case(rule, name, whose=_path(at, FOREIGN, OWN))
        name = "another organization's parent with an unknown child"
        yield at.case(rule, name, whose=_path(at, FOREIGN, UNKNOWN))


def taken_wallets(at: Engine) -> Iterator[Case]:
    """Yields a wallet that the other organization has: the refusal must not be that of a duplicate."""
    foreign, samples = at.other(FOREIGN), at.ctx.run.samples
    if len(samples.wallet_pairs) >= 2:
        at.ctx.run.cache.get(_FOREIGN_WALLET, lambda: foreign.create("createWallet", samples.wallet(1)))
        name = "another organization's account, which has that wallet"
        taken = to_json(samples.wallet(1))
        yield at.case("tenancy.foreign-parent", name, whose=_path(at, FOREIGN, FOREIGN), body=taken)


def unknown_parents(at: Engine) -> Iterator[Case]:
    """Yields unknown customers or accounts, also with children that exist elsewhere."""
    rule, top = "tenancy.unknown-parent", parameters(at.operation)[0]
    yield at.case(rule, "an unknown parent", whose={top: UNKNOWN})
    if parameters(at.operation)[1:]:
        name = "an unknown parent with an unknown child"
        yield at.case(rule, name, whose=_path(at, UNKNOWN, UNKNOWN))
        if at.ctx.target.secondary is not None:
            name = "an unknown parent with another organization's child"
            yield at.case(rule, name, whose=_path(at, UNKNOWN, FOREIGN))


def near_parents(at: Engine) -> Iterator[Case]:
    """Yields ids almost equal to an existing customer's or account's, and ids of another kind of resource."""
    yield from _near(at, "tenancy.unknown-parent", "parent", parameters(at.operation)[0])


def missing_children(at: Engine) -> Iterator[Case]:
    """Yields children that do not exist under an own parent, and ids almost equal to an existing child's."""
    rule = "tenancy.missing-child"
    for child in parameters(at.operation)[1:]:
        yield at.case(rule, f"an unknown {child}", whose={child: UNKNOWN})
        yield from _near(at, rule, child, child)


def _near(at: Engine, rule: str, named: str, parameter: str) -> Iterator[Case]:
    """Yields ids almost equal to an existing one, the name of a member that all objects inherit, and the id
    of another kind of resource."""
    known, member = at.ids[parameter], at.turn(ids.INHERITED)
    turn = parameters(at.operation).index(parameter)
    taken = _taken_for(known, *at.turn(IN_TURN, turn))
    for what, near in (*almost(known), *_spaced(known), *taken, (f"the id {member}", member)):
        yield at.case(rule, f"{named}: {what}", whose={parameter: NEAR + near})
    with contextlib.suppress(Inconclusive):
        other = NEAR + of_another_kind(at.fixture, parameter)
        yield at.case(rule, f"{named}: the id of another kind of resource", whose={parameter: other})


#: Owner of a child under an own parent -> the rules for children of accounts and for accounts.
_CHILDREN = {
    SIBLING: ("tenancy.sibling-child", ""),
    COUSIN: ("tenancy.sibling-child", "tenancy.other-customer-account"),
    FOREIGN: ("tenancy.foreign-child", "tenancy.foreign-account"),
}


def children(at: Engine, whose: str, name: str, *, back: bool = False) -> Iterator[Case]:
    """Yields a child of another account, customer or organization under an own parent; in the reverse
    direction (`back`) for a part of a list, or with a body of another shape."""
    of_accounts, accounts = _CHILDREN[whose]
    first, *rest = parameters(at.operation)
    rule = of_accounts if first == "account_id" else accounts
    part = part_of_list(at) if back else ""
    children = dict.fromkeys(rest, whose)
    changes = _body(at, at.fixture, back) if back else {}
    yield at.case(rule, name + (", a part of it" if part else ""), whose=children, query=part, **changes)
    if whose != COUSIN and not back:
        yield from _unchanging(at, rule, name, children)


def payees(at: Engine, references: Mapping[str, tuple[str, str]]) -> Iterator[Case]:
    """Yields payouts to a beneficiary or destination outside the account; `references` are owners with the
    ids of a beneficiary and a destination."""
    body = at.document()
    for whose, (beneficiary, destination) in references.items():
        to_beneficiary = {"beneficiary_id": beneficiary}
        to_destination = {"payout_destination_id": destination}
        for what, changed in (
            ("beneficiary and destination", to_beneficiary | to_destination),
            ("beneficiary", to_beneficiary),
            ("destination", to_destination),
        ):
            name = f"a payout that names {whose} {what}"
            changed_body = to_json({**body, **changed})
            yield at.case("tenancy.payout-references", name, body=changed_body, payee=UNKNOWN)
    for member in ("beneficiary_id", "payout_destination_id"):
        known = str(body[member])
        taken = _taken_for(known, *IN_TURN[0 if member == "beneficiary_id" else 2])
        # A server may trim texts of a body.
        for what, near in (*itertools.islice(almost(known), 1, None), *taken):
            name, changed_body = f"a payout whose {member} is {what}", to_json({**body, member: near})
            yield at.case("tenancy.payout-references", name, body=changed_body, payee=NEAR)


def default_payees(at: Engine, defaults: Mapping[str, str]) -> Iterator[Case]:
    """Yields payouts without a note to default destinations outside the account."""
    body = {name: value for name, value in at.document().items() if name != "note"}
    for whose, destination in defaults.items():
        changed_body = to_json({**body, "payout_destination_id": destination})
        yield at.case("tenancy.payout-references", to_default(whose), body=changed_body, payee=UNKNOWN)


def to_default(whose: str) -> str:
    """Returns the name of a payout to an owner's default destination."""
    return f"a payout that names {whose} default destination"


# ---------------------------------------------------------------------- ids


def _spaced(known: str) -> Iterator[tuple[str, str]]:
    """Yields ids that equal an existing one once trimmed, or without their prefix."""
    yield "an existing id with a space before it", f" {known}"
    yield "an existing id with a line feed behind it", f"{known}\n"
    rest = known.rpartition("_")[2]
    if rest != known and len(rest) >= 6:
        yield "an existing id with the prefix of no resource", f"zzz_{rest}"


def _accented(text: str) -> str:
    """Adds an acute accent to the last letter that can have one, if any."""
    at = max(map(text.rfind, "aceiou"))
    return text if at < 0 else replaced(text, at, normalize("NFC", text[at] + "\N{COMBINING ACUTE ACCENT}"))


def _wide(text: str) -> str:
    """Puts the last letter or digit in full width, if any."""
    at = max((at for at, sign in enumerate(text) if sign.isalnum() and sign.isascii()), default=-1)
    return text if at < 0 else replaced(text, at, chr(ord(text[at]) + 0xFEE0))


#: Ids that servers take for an existing one: description, and the id made of that one. Operations use them in
#: turn, children another one than their parents.
IN_TURN: Sequence[tuple[str, Callable[[str], str]]] = (
    # A collation may ignore accents.
    ("an existing id with an accent", _accented),
    # Percent-encoding may be decoded twice.
    (
        "an existing id that is percent-encoded twice",
        lambda known: percent_encoded(known, 0).replace("%", "%25"),
    ),
    # Texts may be normalized to NFKC.
    ("an existing id with a letter of full width", _wide),
    # A column may truncate.
    ("an existing id with 144 zeros behind it", lambda known: known + "0" * 144),
)


def _taken_for(known: str, what: str, form: Callable[[str], str]) -> Iterator[tuple[str, str]]:
    """Yields an id of a row of IN_TURN, unless its form changes nothing (an accent needs a letter)."""
    if (near := form(known)) != known:
        yield what, near


def _sparse(identifier: str) -> bool:
    """True if near-identical ids are unlikely to exist: at least 12 characters after the last underscore, not
    all digits."""
    tail = identifier.rpartition("_")[2]
    return len(tail) >= 12 and not tail.isdigit()


def almost(known: str) -> Iterator[tuple[str, str]]:
    """Yields ids with most characters of an existing one, for servers that compare prefixes or suffixes, or
    ignore prefix, letter case or padding; ids so short or regular that they may exist are left out, and
    suffixes that are parameters of the segment or a format (RFC 3986, section 3.3)."""
    yield "an existing id with a space behind it", f"{known} "
    rest = known.rpartition("_")[2]
    if len(rest) >= 6 and rest.swapcase() != rest and not _CASELESS.fullmatch(rest):
        yield "an existing id in another letter case", known.removesuffix(rest) + rest.swapcase()
    if not _sparse(known):
        return
    yield "an id with one character more than an existing one", f"{known}0"
    # Servers split ids at it, and in SQL it matches any character.
    yield "an id with an underscore in the place of a character", replaced(known, -3, "_")
    yield "an id that lacks the last character of an existing one", known[:-1]
    yield "an id that lacks the prefix of an existing one", rest if rest != known else known[1:]


def of_another_kind(fixture: AccountFixture, name: str) -> str:
    """Returns the id of a resource of the same owner that is of another kind than a path parameter."""
    match name:
        case "customer_id":
            return fixture.account_id
        case "beneficiary_id":
            return identifier(fixture.virtual_account)
    return fixture.beneficiary_id
