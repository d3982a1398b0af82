"""Requests whose path, or body, names resources that are not the caller's: section 5.5."""

from __future__ import annotations

import contextlib
import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeVar
from urllib.parse import quote, urlencode

from conformance.checks.engine import Engine
from conformance.contract.traits import ADDS_TO
from conformance.judge.findings import Inconclusive
from conformance.judge.oracle import COUSIN, FOREIGN, NEAR, OWN, SIBLING, UNKNOWN
from conformance.wire.forms import sparse
from conformance.wire.messages import Exchange, to_json
from conformance.wire.pages import Parameters, query, status_filter
from conformance.wire.provenance import derive
from conformance.world.account import AccountFixture, identifier, parameters
from conformance.world.bodies import SAMPLE
from conformance.world.cache import Key
from conformance.world.case import Case
from conformance.world.corpora import ids
from conformance.world.shapes import accepted_body, accepts

T = TypeVar("T")

#: Forms of ids whose letters have no case of their own: UUIDs, ULIDs, hexadecimal digits.
_CASELESS = re.compile("[0-9A-Fa-f-]+|[0-9A-HJKMNP-TV-Za-hjkmnp-tv-z]{26}")

_FOREIGN_WALLET = Key[Exchange]("a wallet of the other organization")


def _path(at: Engine, top: str, children: str) -> dict[str, str]:
    first, *rest = parameters(at.operation)
    return {first: top, **dict.fromkeys(rest, children)}


def part_of_list(at: Engine) -> str:
    """A query for a page of a list of a size, with a value for each filter that it has; else an empty one."""
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


#: Operation -> the shape of the bodies that name what is another's on the way back: a server may have a
#: handler of its own for it.
_BACK = {
    "createBeneficiary": "business",
    "updateBeneficiary": "an address abroad",
    "createPayoutDestination": "wallet",
    "createVirtualAccount": "another currency",
    "createWallet": "another pair (2)",
    "createPayin": "another payment method",
}


def _body(at: Engine, owner: AccountFixture, back: bool) -> dict[str, Any]:
    """The body of a request as a change of a case: the owner's sample, or on the way `back` one of another
    shape that the server accepts."""
    if at.ctx.operation.request_schema is None:
        return {}
    shape = _BACK.get(at.operation, SAMPLE)
    if not back or not accepts(at.ctx.run, at.operation, shape):
        return {"body": to_json(owner.body(at.operation))}
    return {"body": to_json(accepted_body(owner, at.operation, shape))}


def foreign_path(at: Engine, name: str, *, back: bool = False) -> Case:
    """The path and the body of another organization; on the way `back`, from it, a part of a list only."""
    part = part_of_list(at) if back else ""
    name, whose = name + (", a part of it" if part else ""), _path(at, FOREIGN, FOREIGN)
    changes = _body(at, at.other(FOREIGN), back)
    return at.case("tenancy.foreign-parent", name, whose=whose, query=part, **changes)


def _unchanging(at: Engine, rule: str, name: str, whose: Mapping[str, str]) -> Iterator[Case]:
    """A PATCH that changes nothing, of what is not the caller's: it may be answered without a look."""
    if at.ctx.operation.traits.subset_of:
        yield at.case(rule, f"{name}, with the body {{}}", whose=whose, body=b"{}")


def foreign_parents(at: Engine) -> Iterator[Case]:
    """Another organization's path, and its parent with an own child and with an unknown one."""
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
    """A wallet that the other organization has: being its second is no reason to say so."""
    foreign, samples = at.other(FOREIGN), at.ctx.run.samples
    if len(samples.wallet_pairs) >= 2:
        at.ctx.run.cache.get(_FOREIGN_WALLET, lambda: foreign.create("createWallet", samples.wallet(1)))
        name = "another organization's account, which has that wallet"
        taken = to_json(samples.wallet(1))
        yield at.case("tenancy.foreign-parent", name, whose=_path(at, FOREIGN, FOREIGN), body=taken)


def unknown_parents(at: Engine) -> Iterator[Case]:
    """Unknown customers and accounts, also with children that exist elsewhere."""
    rule, top = "tenancy.unknown-parent", parameters(at.operation)[0]
    yield at.case(rule, "an unknown parent", whose={top: UNKNOWN})
    if parameters(at.operation)[1:]:
        name = "an unknown parent with an unknown child"
        yield at.case(rule, name, whose=_path(at, UNKNOWN, UNKNOWN))
        if at.ctx.target.secondary is not None:
            name = "an unknown parent with another organization's child"
            yield at.case(rule, name, whose=_path(at, UNKNOWN, FOREIGN))


def near_parents(at: Engine) -> Iterator[Case]:
    """Ids that almost equal an existing customer's or account's, and ids of another kind of resource."""
    yield from _near(at, "tenancy.unknown-parent", "parent", parameters(at.operation)[0])


def missing_children(at: Engine) -> Iterator[Case]:
    """Children that do not exist under an own parent, and ids that almost equal an existing child's."""
    rule = "tenancy.missing-child"
    for child in parameters(at.operation)[1:]:
        yield at.case(rule, f"an unknown {child}", whose={child: UNKNOWN})
        yield from _near(at, rule, child, child)


def _near(at: Engine, rule: str, named: str, parameter: str) -> Iterator[Case]:
    """Ids that almost equal an existing one, the name of a member that all objects have, and the id of
    another kind of resource."""
    known, member = at.ids[parameter], at.turn(ids.INHERITED)
    turn = parameters(at.operation).index(parameter)
    what, form = at.turn(further(IN_TURN, turn))
    # An id without letters has no accent.
    taken = [(what, near)] if (near := derive(known, form)) != known else []
    more = at.turn(further(MORE, turn))
    for what, near in (*almost(known, more), *_spaced(known), *taken, (f"the id {member}", member)):
        yield at.case(rule, f"{named}: {what}", whose={parameter: NEAR + near})
    with contextlib.suppress(Inconclusive):
        other = NEAR + of_another_kind(at.fixture, parameter)
        yield at.case(rule, f"{named}: the id of another kind of resource", whose={parameter: other})


#: Owner of a child under the caller's own parent -> the rule, for children of accounts and for accounts.
_CHILDREN = {
    SIBLING: ("tenancy.sibling-child", ""),
    COUSIN: ("tenancy.sibling-child", "tenancy.other-customer-account"),
    FOREIGN: ("tenancy.foreign-child", "tenancy.foreign-account"),
}


def children(at: Engine, whose: str, name: str, *, back: bool = False) -> Iterator[Case]:
    """A child of another account, of another customer's or of another organization's under an own parent;
    on the way `back`, from the other one, only a part of a list, or a body of another shape."""
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
    """Payouts to a beneficiary or destination that is not under the account; `references` are the owners,
    with the ids of a beneficiary and of a destination."""
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
        what, form = IN_TURN[0 if member == "beneficiary_id" else 2]
        other = [(what, near)] if (near := derive(known, form)) != known else []
        # Spaces around a text of a body may be dropped (fields.lenient-values).
        for what, near in (*itertools.islice(almost(known), 1, None), *other):
            name, changed_body = f"a payout whose {member} is {what}", to_json({**body, member: near})
            yield at.case("tenancy.payout-references", name, body=changed_body, payee=NEAR)


def default_payees(at: Engine, defaults: Mapping[str, str]) -> Iterator[Case]:
    """Payouts without a note to the default destinations of owners elsewhere."""
    body = {name: value for name, value in at.document().items() if name != "note"}
    for whose, destination in defaults.items():
        changed_body = to_json({**body, "payout_destination_id": destination})
        yield at.case("tenancy.payout-references", to_default(whose), body=changed_body, payee=UNKNOWN)


def to_default(whose: str) -> str:
    """The name of a payout to the default destination of an owner."""
    return f"a payout that names {whose} default destination"


# ---------------------------------------------------------------------- ids


def _spaced(known: str) -> Iterator[tuple[str, str]]:
    """Ids that servers take for an existing one where they drop what is no part of it."""
    yield "an existing id with a space before it", f" {known}"
    yield "an existing id with a line feed behind it", f"{known}\n"
    rest = known.rpartition("_")[2]
    if rest != known and len(rest) >= 6:
        yield "an existing id with the prefix of no resource", f"zzz_{rest}"


#: Ids that servers take for an existing one: each sort by what it is, with the form that makes it. Operations
#: are sent them in turn, and children another one than their parents.
IN_TURN = (
    # To a database whose collation knows no accents.
    ("an existing id with an accent", "accented"),
    # Where percent-encoding is read twice.
    ("an existing id that is percent-encoded twice", "encoded.0|set.0.%25"),
    # Where characters that look alike are made equal (NFKC).
    ("an existing id with a letter of full width", "wide"),
    # Where the column is shorter.
    ("an existing id with 144 zeros behind it", "|".join(["and." + "0" * 16] * 9)),
)

#: What stands behind an existing id, in turn as well: servers take what follows a semicolon for parameters of
#: the path, and what follows a point for a format.
MORE = ("0", ";0", ".0")


def further(values: Sequence[T], places: int) -> Sequence[T]:
    """The values in an order in which each stands so many places further ahead."""
    return (*values[places:], *values[:places])


def almost(known: str, more: str = MORE[0]) -> Iterator[tuple[str, str]]:
    """Ids that share most of their characters with one that exists, for servers that compare beginnings or
    ends, or without prefix, letter case or padding; ids so short or so regular that they may well exist are
    left out."""
    yield "an existing id with a space behind it", f"{known} "
    rest = known.rpartition("_")[2]
    if len(rest) >= 6 and rest.swapcase() != rest and not _CASELESS.fullmatch(rest):
        yield "an existing id in another letter case", derive(known, "tailswapped")
    if not sparse(known):
        return
    what = f"an existing id with {more} behind it"
    if more == MORE[0]:
        what = "an id with one character more than an existing one"
    yield what, derive(known, f"sparse|and.{more}")
    # Servers part ids at it, and to SQL it stands for any character.
    yield "an id with an underscore in the place of a character", derive(known, f"sparse|set.{-3}._")
    yield "an id that lacks the last character of an existing one", derive(known, "sparse|but.1")
    prefix = max(1, len(known) - len(rest))
    yield "an id that lacks the prefix of an existing one", derive(known, f"sparse|from.{prefix}")


def of_another_kind(fixture: AccountFixture, name: str) -> str:
    """The id of a resource of the same owner that is no such thing as a path parameter names."""
    match name:
        case "customer_id":
            return fixture.account_id
        case "beneficiary_id":
            return identifier(fixture.virtual_account)
    return fixture.beneficiary_id
