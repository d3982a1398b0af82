"""Every plausible mistake in every member: servers broken in one way in one member of one operation.

Operators over the members of schemas make them, so that a new field has its own at once. Each is caught,
by any rule, or has no effect, where nothing that it reads, stores or shows is another value, or slips: OPEN
says of which that is right, by which ruling.
"""

from __future__ import annotations

import functools
import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import parse_qs

from conformance.checks import plan
from conformance.contract.fields import Field, request_fields
from conformance.contract.operations import OPERATIONS, response_schema
from conformance.contract.traits import TRAITS
from conformance.reference.context import Context
from conformance.reference.seams.resources import KINDS
from tests.variants.hurry import hurried

from .catalogue import Faulty
from .harness import Outcome, run_on_fault, run_one
from .rows import MISSING, other, shown_as

#: Of the server, the context, the usual result of a seam and its arguments: another result.
Change = Callable[..., Any]

#: operationId, or "" for all; seam; change.
Part = tuple[str, str, Change]


@dataclass(frozen=True)
class Bug:
    """One operator on one member, as `address.city`, of one operation; the last of its parts shows it."""

    operator: str
    operation: str
    path: str
    parts: tuple[Part, ...]

    @property
    def id(self) -> str:
        return f"{self.operation} {self.path}: {self.operator}"


def retyped(value: Any) -> Any:
    """Returns a number for a text that is one, a text for anything but a text."""
    numeric = isinstance(value, str) and re.fullmatch(r"(0|[1-9]\d*)(\.\d+)?", value)
    return json.loads(value) if numeric else value if isinstance(value, str) else json.dumps(value)


#: Ways in which a value is shown or stored; one that gives it back unchanged has no effect.
WAYS: Mapping[str, Callable[[Any], Any]] = {
    "null": lambda value: None,
    "absent": lambda value: MISSING,
    "cut": lambda value: value[:-1] if isinstance(value, (str, list)) and len(value) > 1 else value,
    "in upper case": lambda value: value.upper() if isinstance(value, str) else value,
    "in lower case": lambda value: value.lower() if isinstance(value, str) else value,
    "of another type": retyped,
    "with a space behind it": lambda value: f"{value} " if isinstance(value, str) else value,
}

#: Request fields that answers show in another member. Schemas do not say so.
MASKED = ("account_number", "iban", "wallet_address")

#: Members that others may change at any time, whose value another resource's may be (rulings).
MOVING = re.compile(r"(^|\.)(status|verified|updated|updated_at|balances(\..*)?)$")


# ---------------------------------------------------------------------- members


def members(schema: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, bool]]:
    """Yields the path of each member, and whether it is required. An array is no step."""
    for part in (schema, *schema.get("allOf", ()), *schema.get("anyOf", ())):
        yield from members(part["items"], path) if "items" in part else ()
        for name, below in part.get("properties", {}).items():
            if "not" not in below:
                yield (inner := f"{path}.{name}".strip(".")), name in part.get("required", ())
                yield from members(below, inner)


@functools.cache
def answered(operation: str) -> Mapping[str, bool]:
    """Members of an answer, or of a list's items, and whether each is required."""
    start = "items." if OPERATIONS[operation].is_list else ""
    return {path: must for path, must in members(response_schema(operation)) if path.startswith(start)}


@functools.cache
def asked(operation: str) -> tuple[str, ...]:
    """Members of a body."""
    return tuple(path for path, _ in members(OPERATIONS[operation].request_schema or {}))


# ---------------------------------------------------------------------- operators


def showing(path: str, way: Callable[[Any], Any] | None, nulls: bool = False) -> Change:
    return lambda self, ctx, usual, *_: shown_as(usual, path, way or self.another, nulls)


def as_in(source: Any, record: Any, path: str) -> Any:
    """Returns a record with the value that another one has at a path."""
    for name in path.split("."):
        source = source.get(name) if isinstance(source, dict) else None
    return shown_as(record, path, lambda _: source, True)


def in_answers(operation: str) -> Iterator[Bug]:
    """What an operation answers, shown otherwise; not the absence of what is neither required nor sent."""
    echoed = {path for name in TRAITS if KINDS[name] == KINDS[operation] for path in asked(name)}
    for path, must in answered(operation).items():
        for how, way in WAYS.items():
            if must or path in echoed or how not in ("null", "absent"):
                change = showing(path, way, how == "absent")
                yield Bug(how, operation, path, ((operation, "success_document", change),))
        if not MOVING.search(path):
            change = showing(path, None)
            yield Bug("another's", operation, path, ((operation, "success_document", change),))


def in_bodies(operation: str) -> Iterator[Bug]:
    """What is stored of a body, and how it is read; only of members that an answer shows."""
    seam = "patched" if TRAITS[operation].changes else "kept_fields"
    for path in asked(operation):
        name = path.partition(".")[0]
        if name not in (*answered(operation), *MASKED):
            continue

        def stored(way: Callable[[Any], Any], path: str = path, name: str = name) -> Change:
            return lambda self, ctx, new, *_: shown_as(new, path, way) if name in ctx.values else new

        for how, way in {**WAYS, "dropped": lambda value: None}.items():
            if how not in ("null", "absent"):
                yield Bug(f"stored {how}", operation, path, ((operation, seam, stored(way)),))
        # A create takes null for left out.
        for value in ("",) if TRAITS[operation].creates else ("", None):
            ignored = showing(path, functools.partial(_unless, value), value is None)
            yield Bug(f"{json.dumps(value)} ignored", operation, path, ((operation, "parse_body", ignored),))
        if name == path:
            yield Bug("from the query", operation, path, ((operation, "parse_body", _of_the_query(name)),))
    for own in request_fields(operation):
        for by in (1, -1) if own.max_length else ():
            yield Bug(f"a maximum {by:+}", operation, own.name, ((operation, "fields", _limited(own, by)),))


def _unless(value: Any, sent: Any) -> Any:
    return MISSING if sent == value else sent


def _of_the_query(name: str) -> Change:
    def taken(_: Any, ctx: Context, body: dict[str, Any]) -> dict[str, Any]:
        values = parse_qs(ctx.query.decode("latin-1")).get(name) if name in body else None
        return {**body, name: values[-1]} if values else body

    return taken


def _limited(own: Field, by: int) -> Change:
    limited = replace(own, max_length=(own.max_length or 0) + by)
    return lambda _, ctx, fields: [limited if one.name == own.name else one for one in fields]


def in_creates(operation: str) -> Iterator[Bug]:
    """What the server adds is not stored, and other defaults; not what the reference needs of a record."""
    sent = {*asked(operation), "id", "object", "created", "updated"}
    for path in sorted(answered(operation).keys() - sent) if TRAITS[operation].creates else ():
        if answered(operation)[path]:
            change = showing(path, lambda value: None)
            yield Bug("not stored", operation, path, ((operation, "new_record", change),))
    for name, value in TRAITS[operation].defaults.items():
        for how, default in {"no default": MISSING, "another default": other(name, value)}.items():
            filled = showing(name, functools.partial(_constant, default))
            yield Bug(how, operation, name, ((operation, "defaults", filled),))


def _constant(value: Any, _: Any) -> Any:
    return value


def in_changes(operation: str) -> Iterator[Bug]:
    """What an operation that changes a resource leaves, takes back or shows too late."""
    create = next((name for name, each in TRAITS.items() if each.creates == TRAITS[operation].changes), "")
    initial = {**TRAITS[create].initial, **TRAITS[create].defaults} if create else {}
    for path in (*asked(create), "status") if create and TRAITS[operation].changes else ():
        yield from _changing(operation, create, path, initial.get(path))


def _changing(operation: str, create: str, path: str, default: Any) -> Iterator[Bug]:
    traits, name = TRAITS[operation], path.partition(".")[0]
    seam = "disabled" if traits.disables else "patched"

    def unless_sent(change: Callable[[Any, Any], Any]) -> Part:
        return operation, seam, lambda self, ctx, new, old: new if name in ctx.values else change(new, old)

    if name not in traits.sets:
        first = (create, "new_record", lambda self, ctx, made: {**made, "_first": made})
        back = unless_sent(lambda new, old: as_in(old["_first"], new, path))
        yield Bug("as it was created", operation, path, (first, back))
        if name == path:
            change = unless_sent(lambda new, old: {**new, path: default})
            yield Bug("its default", operation, path, (change,))
    if name in asked(operation) or name in traits.sets:
        ignored: Part = (operation, seam, lambda self, ctx, new, old: as_in(old, new, path))
        yield Bug("ignored", operation, path, (ignored,))
        last: Part = (operation, seam, lambda self, ctx, new, old: {**new, "_last": old})
        stale: Part = (
            *(traits.read_by, "success_document"),
            lambda self, ctx, shown: as_in(ctx.record.get("_last", shown), shown, path),
        )
        yield Bug("stale in the read", operation, path, (last, stale))


@functools.cache
def bugs() -> tuple[Bug, ...]:
    """All servers, in the order of operations."""
    makers = (in_answers, in_bodies, in_creates, in_changes)
    return tuple(bug for operation in TRAITS for make in makers for bug in make(operation))


# ---------------------------------------------------------------------- servers


class Broken(Faulty):
    """The reference server with other results of some seams; counts those that differ, of the last part."""

    def __init__(self, *parts: Part) -> None:
        super().__init__()
        self.effects, self.values = 0, list[Any]()
        for part in parts:
            setattr(self, part[1], self._overriding(getattr(self, part[1]), *part, part is parts[-1]))

    def _overriding(self, usual: Change, operation: str, _: str, change: Change, counts: bool) -> Change:
        def override(ctx: Context, *others: Any) -> Any:
            result = usual(ctx, *others)
            changed = change(self, ctx, result, *others) if operation in ("", ctx.operation) else result
            self.effects += counts and changed != result
            return changed

        return override

    def another(self, value: Any) -> Any:
        """Returns the last value that was another one."""
        self.values.append(value)
        return next((each for each in reversed(self.values) if each != value), value)


@dataclass(frozen=True)
class Reference:
    """A run on the reference server: the context and answer of each request by operation, and the checks that
    sent them, each with its operation, own ones first."""

    answers: Mapping[str, list[tuple[Context, Any]]]
    senders: Mapping[str, list[tuple[Any, str]]]


@functools.cache
@hurried()
def reference() -> Reference:
    answers: dict[str, list[tuple[Context, Any]]] = defaultdict(list)
    found: dict[str, list[tuple[bool, Any, str]]] = defaultdict(list)

    def keep(_: Any, ctx: Context, answer: Any, *others: Any) -> Any:
        answers[ctx.operation].append((ctx, answer))
        return answer

    run = run_on_fault(Broken(("", "finish", keep)))
    for check, own in plan():
        before = {name: len(answers[name]) for name in OPERATIONS}
        run_one(check, own, run, Outcome())
        for name in OPERATIONS:
            if len(answers[name]) > before[name] and KINDS[name] == KINDS[own]:
                found[name].append((name != own, check, own))
    ordered = {name: sorted(those, key=lambda each: each[0]) for name, those in found.items()}
    return Reference(answers, {name: [each[1:] for each in those] for name, those in ordered.items()})


#: Seam -> what it returns, by the context and answer of a request.
_RESULTS: Mapping[str, Callable[[Context, Any], Any]] = {
    "success_document": lambda ctx, answer: answer.document if answer.status < 300 else {},
    "parse_body": lambda ctx, answer: ctx.body,
    "kept_fields": lambda ctx, answer: ctx.values,
    "new_record": lambda ctx, answer: ctx.record or {},
}


def idle(bug: Bug) -> bool:
    """True if nothing that the reference server read, stored or showed would be another value."""
    (operation, seam, change), *further = bug.parts
    if further or seam not in _RESULTS:
        return False
    server = Broken()
    results = (_RESULTS[seam](ctx, answer) for ctx, answer in reference().answers[operation])
    return all(
        change(server, ctx, each) == each
        for (ctx, _), each in zip(reference().answers[operation], results, strict=True)
    )


@hurried()
def caught(bug: Bug) -> str:
    """Returns the rule that a check finds violated, and the check; "no effect" or "" without one.

    The check that caught last is asked first the next time."""
    if idle(bug):
        return "no effect"
    server, outcome = Broken(*bug.parts), Outcome()
    run, checks = run_on_fault(server), reference().senders.get(bug.operation, [])
    for index, (check, operation) in enumerate(checks):
        broken = [cell.rule for cell in run_one(check, operation, run, outcome) if cell.violations]
        broken += [tally.rule for tally in run.invariants.tallies.values() if tally.broken]
        if broken:
            checks.insert(0, checks.pop(index))
            return f"{broken[0]} by {check.name} on {operation}"
    return "" if server.effects else "no effect"


#: Names of the short texts.
_SHORT = "|".join(sorted({each.name for name in OPERATIONS for each in request_fields(name) if each.short}))

#: Pattern of the ids of servers that none need catch -> the ruling, or why nobody can see it.
OPEN = {
    r"create\w+ \S+: \"\" ignored": "empty strings: refused, or taken for what is left out",
    rf" ({_SHORT}): a maximum -1": "a refusal of a short text says nothing",
    r" address\.\w+: null": "which members of an address are there is not shown (2.10)",
    r"getAccountBalances ": "balances are values that others move",
    r"create(Payout|Payin) id: (cut|with a space)": "an id is opaque, and shown nowhere else",
    r" addresses\.address: (cut|in|with)": "a wallet's address is shown nowhere else",
    r"_masked: ": "which characters a mask has is open",
    r"(iban|wallet_address): stored": "a mask shows little of what is stored",
    r"(phone|routing_number|swift_code|country|account_number|account_number_last4): (stored )?in ": (
        "differs on odd texts only, or the letter case of codes is open"
    ),
    r" account_number: stored of another type": "its last four digits are the same",
}


def open_by(bug: Bug) -> str:
    """The ruling that leaves a server open; empty without one."""
    return next((ruling for pattern, ruling in OPEN.items() if re.search(pattern, bug.id)), "")
