"""Every plausible mistake in every member: servers broken in one way in one member of one operation.

Operators over the members of schemas make them, so that a new field has its own at once. One that shows a
member of another type, as null, or not at all, against its schema, must break the rule that the schema names;
any rule may catch another one, not only the rule that it most likely breaks. It may have no effect, where
nothing that it reads, stores or shows is another value. Those that nobody can see are in OPEN, each with its
ruling.
"""

from __future__ import annotations

import functools
import itertools
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qs

from conformance.contract.fields import Field, request_fields
from conformance.contract.operations import OPERATIONS, response_schema
from conformance.contract.schemas import nullable
from conformance.contract.traits import CREATES, TRAITS
from conformance.reference.context import Context
from conformance.reference.seams.resources import RECORD_KINDS
from tests.specification import HIDDEN

from .catalogue import FAULTS, Changed, Fault, Part
from .rows import MISSING, other, shown_as

#: An override of a seam.
Change = Callable[..., Any]

#: Sentence, path of a member such as `address.city`, and overrides, of which the last one shows.
Bug = tuple[str, str, tuple[Part, ...]]


def retyped(value: Any) -> Any:
    """Returns a number for a text that is one, an array of any other text, a text for anything else."""
    if not isinstance(value, str):
        return json.dumps(value)
    return json.loads(value) if re.fullmatch(r"(0|[1-9]\d*)(\.\d+)?", value) else [value]


#: Ways in which a value is stored or shown; one that gives it back unchanged has no effect.
WAYS: Mapping[str, Callable[[Any], Any]] = {
    "cut": lambda value: value[:-1] if isinstance(value, (str, list)) and len(value) > 1 else value,
    "in upper case": lambda value: value.upper() if isinstance(value, str) else value,
    "in lower case": lambda value: value.lower() if isinstance(value, str) else value,
    "of another type": retyped,
    "with a space behind it": lambda value: f"{value} " if isinstance(value, str) else value,
}

#: Members that others may change at any time, whose value another resource's may be (rulings).
MOVING = re.compile(r"(^|\.)(status|verified|updated|updated_at|balances(\..*)?)$")


# ---------------------------------------------------------------------- members


def members(schema: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, bool, Mapping[str, Any]]]:
    """Yields the path of each member, whether it is required, and its schema. An array is no step."""
    for part in (schema, *schema.get("allOf", ()), *schema.get("anyOf", ())):
        yield from members(part["items"], path) if "items" in part else ()
        for name, below in part.get("properties", {}).items():
            if "not" not in below:
                yield (inner := f"{path}.{name}".strip(".")), name in part.get("required", ()), below
                yield from members(below, inner)


@functools.cache
def answered(operation: str) -> Mapping[str, tuple[bool, Mapping[str, Any]]]:
    """Members of an answer, or of a list's items: whether each is required, and its schema."""
    start = "items." if OPERATIONS[operation].is_list else ""
    found = members(response_schema(operation))
    return {path: (must, schema) for path, must, schema in found if path.startswith(start)}


@functools.cache
def asked(operation: str) -> tuple[str, ...]:
    """Members of a body."""
    return tuple(path for path, _, _ in members(OPERATIONS[operation].request_schema or {}))


# ---------------------------------------------------------------------- operators


def showing(path: str, way: Callable[[Any], Any] | None, nulls: bool = False) -> Change:
    return lambda self, usual, *_: shown_as(usual(), path, way or self.another, nulls)


def as_in(source: Any, record: Any, path: str) -> Any:
    """Returns a record with the value that another one has at a path."""
    for name in path.split("."):
        source = source.get(name) if isinstance(source, dict) else None
    return shown_as(record, path, lambda _: source, True)


def _constant(value: Any) -> Callable[[Any], Any]:
    return lambda _: value


def in_answers(operation: str) -> Iterator[Bug]:
    """What an operation answers, shown otherwise; not the absence of what is neither required nor sent."""
    echoed = {
        path for name in TRAITS if RECORD_KINDS[name] == RECORD_KINDS[operation] for path in asked(name)
    }
    for path, (must, _) in answered(operation).items():
        ways = [(f"A member is shown {how}.", showing(path, way)) for how, way in WAYS.items()]
        if must or path in echoed:
            ways.append(("A member is shown as null.", showing(path, _constant(None))))
            ways.append(("A member is not shown.", showing(path, _constant(MISSING), True)))
        if not MOVING.search(path):
            ways.append(("A member is shown as another resource's.", showing(path, None)))
        for sentence, change in ways:
            yield sentence, path, ((operation, "success_document", change),)


def in_bodies(operation: str) -> Iterator[Bug]:
    """What is stored of a body, and how it is read; only of members that an answer shows."""
    seam = "patched" if TRAITS[operation].changes else "kept_fields"
    for path in asked(operation):
        name = path.partition(".")[0]
        if name not in (*answered(operation), *HIDDEN):
            continue

        def stored(way: Callable[[Any], Any], path: str = path, name: str = name) -> Change:
            return lambda self, usual, ctx, *_: (
                shown_as(usual(), path, way) if name in ctx.values else usual()
            )

        for how, way in WAYS.items():
            yield f"A field is stored {how}.", path, ((operation, seam, stored(way)),)
        yield "A field is not stored.", path, ((operation, seam, stored(_constant(None))),)
        # A create takes null for left out.
        for what, value in {"empty": "", "null": None}.items():
            if value == "" or not TRAITS[operation].creates:
                ignored = showing(path, functools.partial(_unless, value), value is None)
                yield f"A field that is {what} is ignored.", path, ((operation, "parse_body", ignored),)
        if name == path:
            yield "A field is taken from the query.", path, ((operation, "parse_body", _of_the_query(name)),)
    for own in request_fields(operation):
        for by, what in ((1, "more"), (-1, "less")) if own.max_length else ():
            sentence = f"The maximum length of a field is one {what}."
            yield sentence, own.name, ((operation, "fields", _limited(own, by)),)


def _unless(value: Any, sent: Any) -> Any:
    return MISSING if sent == value else sent


def _of_the_query(name: str) -> Change:
    def taken(self: Any, usual: Any, ctx: Context) -> dict[str, Any]:
        body: dict[str, Any] = usual()
        values = parse_qs(ctx.query.decode("latin-1")).get(name) if name in body else None
        return {**body, name: values[-1]} if values else body

    return taken


def _limited(own: Field, by: int) -> Change:
    limited = replace(own, max_length=(own.max_length or 0) + by)
    return lambda self, usual, *_: [limited if one.name == own.name else one for one in usual()]


def in_creates(operation: str) -> Iterator[Bug]:
    """What the server adds is not stored, and other defaults; not what the reference needs of a record."""
    sent = {*asked(operation), "id", "object", "created", "updated"}
    for path in sorted(answered(operation).keys() - sent) if TRAITS[operation].creates else ():
        if answered(operation)[path][0]:
            change = showing(path, _constant(None))
            yield "What the server adds is not stored.", path, ((operation, "new_record", change),)
    for name, value in TRAITS[operation].defaults.items():
        for sentence, default in (
            ("A field has no default.", MISSING),
            ("A field has another default.", other(name, value)),
        ):
            yield sentence, name, ((operation, "defaults", showing(name, _constant(default))),)


def in_changes(operation: str) -> Iterator[Bug]:
    """What an operation that changes a resource leaves, takes back or shows too late."""
    create = CREATES.get(TRAITS[operation].changes, "")
    initial = {**TRAITS[create].initial, **TRAITS[create].defaults} if create else {}
    for path in (*asked(create), "status") if create and TRAITS[operation].changes else ():
        yield from _changing(operation, create, path, initial.get(path))


def _changing(operation: str, create: str, path: str, default: Any) -> Iterator[Bug]:
    traits, name = TRAITS[operation], path.partition(".")[0]
    seam = "disabled" if traits.disables else "patched"

    def unless_sent(change: Callable[[Any, Any], Any]) -> Part:
        return (
            *(operation, seam),
            lambda self, usual, ctx, old: usual() if name in ctx.values else change(usual(), old),
        )

    if name not in traits.sets:
        first = (create, "new_record", lambda self, usual, *_: {**usual(), "_first": usual()})
        back = unless_sent(lambda new, old: as_in(old["_first"], new, path))
        yield "A member that is not named is again as it was created.", path, (first, back)
        if name == path:
            change = unless_sent(lambda new, old: {**new, path: default})
            yield "A member that is not named gets its default.", path, (change,)
    if name in asked(operation) or name in traits.sets:
        ignored: Part = (operation, seam, lambda self, usual, ctx, old: as_in(old, usual(), path))
        yield "A change is ignored.", path, (ignored,)
        last: Part = (operation, seam, lambda self, usual, ctx, old: {**usual(), "_last": old})
        stale: Part = (
            *(traits.read_by, "success_document"),
            lambda self, usual, ctx: as_in(ctx.record.get("_last", usual()), usual(), path),
        )
        yield "A change is not shown by a read.", path, (last, stale)


# ---------------------------------------------------------------------- their rules


def _against_schema(operation: str, sentence: str, path: str) -> bool:
    """Returns True for a mistake in what is shown that the schema of the answer forbids."""
    must, schema = answered(operation).get(path, (False, {}))
    return {
        "A member is not shown.": must,
        "A member is shown as null.": not nullable(schema),
        "A member is shown of another type.": True,
    }.get(sentence, False)


def rule_of(operation: str, sentence: str, path: str) -> str:
    """The rule that a mistake is most likely to break: one of the member's schema, if it is another type or
    missing, else one of the operation."""
    traits, listed = TRAITS[operation], OPERATIONS[operation].is_list
    must, schema = answered(operation).get(path, (False, {}))
    named = (part["x-rule"] for part in (schema, *schema.get("anyOf", ())) if "x-rule" in part)
    shape = next(named, "list.item-fields" if listed else "format.fields")
    if sentence.startswith("The maximum length"):
        return "fields.max-length" if sentence.endswith("more.") else "fields.max-length-accepted"
    if sentence == "A member is not shown." and must:
        _, above = answered(operation).get(path.rpartition(".")[0], (False, {}))
        if nullable(schema) and not listed:
            return "format.nullable"
        return str(above.get("x-rule") or ("list.item-fields" if listed else "format.fields"))
    if sentence.endswith("of another type.") or (sentence.endswith("as null.") and not nullable(schema)):
        return shape
    if sentence.startswith("A member is shown ") and schema.keys() & {"const", "enum"}:
        return shape
    if path.startswith("payout_destinations.") and not traits.creates:
        return "beneficiary.destinations"
    if traits.changes and re.match("A field that is", sentence):
        return "beneficiary.update-cleared"
    if traits.creates:
        return "create.echo" if path in asked(operation) else shape
    if traits.changes:
        return "beneficiary.disable" if traits.disables else "beneficiary.update"
    if traits.shows_balances:
        return "balances.of-account"
    return "list.complete" if listed else "read.equals-create"


#: Operation, sentence, member.
Place = tuple[str, str, str]

#: Ruling, or why nobody can see it -> the servers that none need catch: operations; members; sentences.
#: "creates" are all operations that create, "fields" the fields of a body that an answer shows, "short" its
#: short texts.
OPEN: Mapping[str, tuple[str, ...]] = {
    "empty strings: refused, or taken for what is left out": (
        "creates; fields; A field that is empty is ignored",
    ),
    "lengths: a refusal at the maximum says nothing of a field that may have a form of its own": (
        "creates; short; The maximum length of a field is one less",
        "updateBeneficiary; short; The maximum length of a field is one less",
    ),
    "which members of an address are there is not stated (2.10)": (
        "updateBeneficiary; address.address_line address.city address.region address.postal_code"
        " address.country; A field that is null is ignored",
    ),
    "balances are values that others move, and currency_type may be any string": (
        "getAccountBalances; balances balances.available_balance balances.pending_payin"
        " balances.pending_payout balances.total_balance balances.currency_type; A member is shown cut",
        "getAccountBalances; balances.currency_type; A member is shown in upper case;"
        " A member is shown with a space behind it",
        "getAccountBalances; balances.currency; A member is shown in lower case",
    ),
    "an id is opaque, and that of a payment is shown nowhere else": (
        "createPayout createPayin; id; A member is shown cut; A member is shown with a space behind it",
    ),
    "addresses of wallets are shown nowhere else, and nothing states that each is one wallet's alone": (
        "createWallet; addresses addresses.address; A member is shown as another resource's",
        "createWallet; addresses.address; A member is shown cut; A member is shown in lower case;"
        " A member is shown in upper case; A member is shown with a space behind it",
    ),
    # No ruling, but a gap: no check reads two accounts of one kind of bank details.
    "a virtual account is compared with one of other bank details only": (
        "createVirtualAccount; bank_details.account_number; A member is shown as another resource's",
    ),
    "which characters a mask has is open": (
        "getBeneficiary updateBeneficiary disableBeneficiary; payout_destinations.iban_masked"
        " payout_destinations.wallet_address_masked; A member is shown cut; A member is shown in lower case;"
        " A member is shown in upper case; A member is shown with a space behind it",
        "createPayoutDestination; iban_masked wallet_address_masked; A member is shown in lower case;"
        " A member is shown in upper case; A member is shown with a space behind it",
    ),
    "a mask shows little of what is stored": (
        "createPayoutDestination; iban wallet_address; A field is stored in lower case;"
        " A field is stored in upper case; A field is stored with a space behind it",
        "createPayoutDestination; account_number iban wallet_address; A field is stored of another type",
    ),
    "differs on texts that are no number or code only, of which a refusal says nothing": (
        "createBeneficiary updateBeneficiary; phone address.country; A field is stored in upper case;"
        " A member is shown in upper case",
        "createPayoutDestination; routing_number swift_code; A field is stored in upper case;"
        " A member is shown in upper case",
        "createPayoutDestination; account_number; A field is stored in upper case",
        "createPayoutDestination; account_number_last4; A member is shown in upper case",
    ),
}


@functools.cache
def opened() -> Mapping[Place, str]:
    """Each server that none need catch, with its ruling."""
    places: dict[Place, str] = {}
    for ruling, lines in OPEN.items():
        for operations, paths, *sentences in (line.split("; ") for line in lines):
            for operation in CREATES.values() if operations == "creates" else operations.split():
                members = _fields_named(operation, paths)
                for member, sentence in itertools.product(members, sentences):
                    places[operation, f"{sentence}.", member] = ruling
    return places


def _fields_named(operation: str, words: str) -> list[str]:
    """The members that the words of a line of OPEN name."""
    if words not in ("fields", "short"):
        return words.split()
    shown_fields = (*answered(operation), *HIDDEN)
    return [
        field.name
        for field in request_fields(operation)
        if (field.short if words == "short" else field.name in shown_fields)
    ]


def bugs() -> Iterator[Fault]:
    """All servers, those of OPEN included, in the order of operations."""
    for operation in TRAITS:
        for make in (in_answers, in_bodies, in_creates, in_changes):
            for sentence, path, parts in make(operation):
                rule = rule_of(operation, sentence, path)
                name = f"{sentence.removesuffix('.')}: {path}"
                exact = _against_schema(operation, sentence, path)
                yield Fault((rule,), operation, name, sentence, Changed, parts, member=path, exact=exact)


FAULTS += (bug for bug in bugs() if (bug.operation, bug.sentence, bug.member) not in opened())
