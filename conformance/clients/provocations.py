"""Provocations: rarely tested behaviour of conforming servers, enabled in the sandbox."""

from __future__ import annotations

import random
from collections.abc import Hashable, Mapping
from typing import Any

from conformance.reference.app import Behaviour
from conformance.reference.context import Context, Record
from conformance.reference.core_messages import Response
from conformance.reference.seams.resources import RECORD_KINDS

#: Name -> effect. The first four interrupt a request, but not its repetition.
PROVOCATIONS = {
    "lost-answer": "the answer is lost after the work is done",
    "late-answer": "the answer comes late",
    "rate-limit": "429 with Retry-After",
    "unavailable": "503 with Retry-After",
    "unknown-fields": "fields beyond the documented ones",
    "nulls": "null, or nothing, in fields that may be so",
    "any-2xx": "another 2xx status than 200 and 201",
    "id-prefixes": "account ids that begin with acct_",
    "growing-lists": "lists that grow while they are walked",
}

INTERRUPTIONS = ("lost-answer", "rate-limit", "unavailable", "late-answer")

#: Interruption -> status.
STATUS = {"rate-limit": 429, "unavailable": 503}

#: Number of requests of an operation among which each interruption occurs once.
PERIOD = 8

#: Maximum number of times that a list grows.
GROWTHS = 3

#: Kinds of resources without a limit of their number.
_GROWING = ("account", "payout_destination", "virtual_account")


class Provocations:
    """The enabled provocations; `retry_after` and `late` are in seconds.

    With `source` they are random; without it each operation meets each interruption in turn, and the others
    always.
    """

    def __init__(
        self,
        names: set[str] | frozenset[str] = frozenset(),
        source: random.Random | None = None,
        *,
        retry_after: int = 1,
        late: float = 2.0,
    ) -> None:
        self.names, self.source = set(names), source
        self.retry_after, self.late = retry_after, late
        #: The provocations that the current request met.
        self.met: list[str] = []
        self._steps: dict[str, int] = {}
        self._interrupted: set[Hashable] = set()

    def on(self, name: str) -> bool:
        """True if the current request meets a non-interrupting provocation."""
        met = name in self.names and (self.source is None or self.source.random() < 0.5)
        if met and name not in self.met:
            self.met.append(name)
        return met

    def interruption(self, operation: str, identity: Hashable) -> str:
        """The interruption of a request; empty for none, and for the repetition of an interrupted one."""
        self.met = []
        there = [name for name in INTERRUPTIONS if name in self.names]
        if not operation or not there:
            return ""
        if identity in self._interrupted:
            self._interrupted.discard(identity)
            return ""
        step = self._steps[operation] = self._steps.get(operation, -1) + 1
        place = step % PERIOD if self.source is None else self.source.randrange(PERIOD)
        if place >= len(there):
            return ""
        if len(self._interrupted) < 10_000:
            self._interrupted.add(identity)
        self.met = [there[place]]
        return there[place]


def parse(text: str) -> Provocations:
    """Parses the option: all, comma-separated names, or random:SEED. Raises ValueError with a message for the
    user."""
    kind, _, seed = text.partition(":")
    if kind == "random":
        if not seed.isdecimal():
            raise ValueError(f"{text!r}: a seed is a whole number, such as random:7.")
        return Provocations(set(PROVOCATIONS), random.Random(int(seed[:40])))
    names = set(PROVOCATIONS) if text == "all" else {name.strip() for name in text.split(",")}
    if unknown := sorted(names - PROVOCATIONS.keys()):
        raise ValueError(
            f"there is no provocation {unknown[0][:40]!r}; there are all, random:SEED, "
            f"{', '.join(PROVOCATIONS)}."
        )
    return Provocations(names)


class Provoking(Behaviour):
    """The reference server with the provocations that alter answers."""

    def __init__(self, provocations: Provocations) -> None:
        self.provocations = provocations
        self._grown: dict[str, int] = {}

    def success_status(self, ctx: Context) -> int:
        # An idempotent replay has the stored status.
        return 202 if self.provocations.on("any-2xx") else super().success_status(ctx)

    def success_document(self, ctx: Context) -> Any:
        document = super().success_document(ctx)
        if self.provocations.on("unknown-fields"):
            document = {
                **document,
                "request_id": "req_sandbox",
                "links": {"self": None},
                "flags": [True, 0.5, {}],
            }
        return document

    def shape(self, ctx: Context, kind: str, document: dict[str, Any]) -> Mapping[str, Any]:
        if kind == "virtual_account" and self.provocations.on("nulls"):
            document = {**document, "bank_details": dict.fromkeys(document["bank_details"])}
        elif kind == "payout_destination" and self.provocations.on("nulls"):
            nullable = ("label", "network")
            document = {
                name: value for name, value in document.items() if value is not None or name in nullable
            }
        return super().shape(ctx, kind, document)

    def new_id(self, ctx: Context, kind: str) -> str:
        identifier = super().new_id(ctx, kind)
        if kind == "account" and self.provocations.on("id-prefixes"):
            return identifier.replace("acc_", "acct_", 1)
        return identifier

    def list_document(self, ctx: Context) -> Any:
        document = super().list_document(ctx)
        listing, kind = ctx.listing, RECORD_KINDS[ctx.operation]
        if (
            listing is not None
            and listing.page == 1
            and listing.total > listing.size
            and kind in _GROWING
            and self.provocations.on("growing-lists")
        ):
            self._grow(ctx, kind, listing.records[-1], listing.size)
        return document

    def _grow(self, ctx: Context, kind: str, like: Record, number: int) -> None:
        """Appends one page of elements to a list."""
        parent = str(like["parent"])
        if self._grown.setdefault(parent, 0) >= GROWTHS:
            return
        self._grown[parent] += 1
        for _ in range(number):
            record = {**like, "id": self.new_id(ctx, kind), "created": ctx.now, "updated": ctx.now}
            ctx.store.insert(kind, record | ({"is_default": False} if "is_default" in record else {}))


def refusal(name: str, seconds: int, date: bytes) -> Response:
    """The answer of an interruption by 429 or 503."""
    code = name.replace("-", "_")
    error = {"type": "api_error", "code": code, "message": "Send the request again after Retry-After."}
    response = Response.of(STATUS[name], {"error": error})
    response.headers += [
        (b"retry-after", b"%d" % seconds),
        (b"date", date),
        (b"content-length", b"%d" % len(response.body)),
    ]
    return response
