"""Rules on several requests of a client: nonces, timestamps, keys, repetitions, walks through lists."""

from __future__ import annotations

import itertools
import re
from collections import OrderedDict
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from conformance.clients.received import ClientRequest, Remark
from conformance.contract import json_text
from conformance.contract.operations import OPERATIONS
from conformance.contract.rules import CLIENT_RULES
from conformance.judge import queries
from conformance.judge.oracle.auth_rules import WINDOW
from conformance.reference.core_messages import Response

#: Seconds after which a repeated timestamp proves that the client did not read its clock.
STALE = 5

#: Seconds by which a wait may be shorter than Retry-After.
TOLERANCE = 0.1

#: Maximum size of a body that is compared as JSON, in bytes.
KEPT_BODY = 4096

#: Maximum number of requests, of nonces, keys, timestamps and of lists in memory.
REMEMBERED = 10_000

KEEP_THE_KEY = (
    "Make the key once for each thing that is to be done, keep it until an answer says that it is done, and "
    "repeat with the same key and the same bytes: the answer is the first one's."
)

_PAGE = re.compile("[1-9][0-9]{0,8}")

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Recent(OrderedDict[K, V], Generic[K, V]):
    """A dict bounded to REMEMBERED entries, which evicts the oldest."""

    def __setitem__(self, key: K, value: V) -> None:
        super().__setitem__(key, value)
        if len(self) > REMEMBERED:
            self.popitem(last=False)


@dataclass(frozen=True)
class Earlier:
    """An earlier request with its answer: `wait` are the seconds of Retry-After, `body` is the start of what
    was sent; `provoked` is the provocation it met, empty for none."""

    number: int
    now: float
    operation: str
    key: str | None
    identity: tuple[str, str, bytes, bytes]
    body: bytes
    status: int
    wait: int | None
    delivered: bool
    provoked: str

    @property
    def unresolved(self) -> bool:
        """True if the client cannot know whether the operation was performed."""
        return not self.delivered or self.status >= 500

    @property
    def refused(self) -> bool:
        return self.delivered and 400 <= self.status < 500

    @property
    def waited(self) -> str:
        """The words for a late answer that the client waited for; empty otherwise."""
        return "waited for" if self.provoked == "late-answer" and self.delivered else ""

    @property
    def outcome(self) -> str:
        """The answer in a few words."""
        if not self.delivered:
            late = self.provoked == "late-answer"
            return "without waiting for the answer" if late else "without an answer"
        return f"answered {self.status}"


@dataclass(slots=True)
class PagesRead:
    """The pages of a list read since the last complete walk, in order; `pages` is the number in the last
    answer.

    `trouble`: the last page requested was not answered as a page.
    """

    operation: str
    pages: int
    read: dict[int, None] = field(default_factory=dict)
    numbers: list[int] = field(default_factory=list)
    whole: int = 0
    trouble: bool = False

    @property
    def complete(self) -> bool:
        return len(self.read) >= self.pages


class EarlierRequests:
    """The earlier requests of a run, as far as later ones are compared with them."""

    def __init__(self) -> None:
        self.nonces: Recent[tuple[str, str], Earlier] = Recent()
        self.timestamps: Recent[tuple[str, str], tuple[float, int]] = Recent()
        self.attempts: Recent[tuple[str, str, bytes, bytes], Earlier] = Recent()
        self.keys: Recent[tuple[str, str], Earlier] = Recent()
        #: API key and Idempotency-Key of an unresolved POST -> the violation by an equal one with another.
        self.doubts: Recent[tuple[str, str], Remark] = Recent()
        self.walks: Recent[tuple[Any, ...], PagesRead] = Recent()
        self.began: Recent[str, float] = Recent()

    def used(self, request: ClientRequest) -> bool:
        """True if another request of the API key had the nonce in the last 300 seconds."""
        before = self.nonces.get((request.api_key, request.nonce))
        return before is not None and request.now - before.now <= WINDOW

    def nonce_again(self, request: ClientRequest) -> Remark:
        """The violation of a reused nonce; an identical repetition of a POST has its own rule."""
        first = self.nonces[request.api_key, request.nonce]
        repeated = OPERATIONS[request.operation].is_post and first.identity == request.identity
        rule = "auth.nonce-replay" + "-idempotent" * (repeated and first.key == request.key)
        remedy = (
            "Draw the nonce where the request is signed, and sign each repetition anew; keep an HTTP library "
            "from repeating by itself when a kept-alive connection closes, as Go's and Java's do."
        )
        return Remark(rule, f"the nonce of request {first.number} again", remedy, (first.number,))

    def add(self, request: ClientRequest, response: Response, provoked: str) -> Iterator[Remark]:
        """Judges an authenticated request by those before it, and records it."""
        wait = next((int(value) for name, value in response.headers if name == b"retry-after"), None)
        now = Earlier(
            request.number, request.now, request.operation, request.key, request.identity,
            request.request.body[: KEPT_BODY + 1], response.status, wait, response.delivered, provoked,
        )  # fmt: skip
        yield from self._timestamp(request)
        if doubt := self.doubts.pop((request.api_key, (request.key or "").lower()), None):
            # The equal request was another one, not a repetition.
            yield doubt._replace(withdrawn=True)
        if (before := self.attempts.get(request.identity)) is not None:
            # After a timeout of the client, the repetition may be recorded before the original.
            before, then = (before, now) if before.number < now.number else (now, before)
            yield from self._repetition(before, then)
            self.attempts[request.identity] = then
        else:
            self.attempts[request.identity] = now
        if OPERATIONS[request.operation].is_post and request.key:
            yield from self._key(request, now)
        if OPERATIONS[request.operation].is_list:
            yield from self._page(request, response)
        self.nonces[request.api_key, request.nonce] = now

    def _timestamp(self, request: ClientRequest) -> Iterator[Remark]:
        text = request.headers["x-timestamp"]
        first, number = self.timestamps.setdefault((request.api_key, text), (request.now, request.number))
        began = self.began.setdefault(request.api_key, request.now)
        if request.now - first > STALE:
            got = f"the timestamp {text[:20]} of request {number}, {request.now - first:.0f} s later"
            yield Remark(
                "client.timestamp-fresh", got, "Read the clock where the request is signed.", (number,)
            )
        elif request.now - began > STALE:
            yield Remark("client.timestamp-fresh")

    # ------------------------------------------------------------------ repetitions

    def _repetition(self, before: Earlier, then: Earlier) -> Iterator[Remark]:
        is_post = OPERATIONS[then.operation].is_post
        # Keys are compared without letter case, which is open (idempotency.key-case).
        same = (then.key or "").lower() == (before.key or "").lower()
        if before.unresolved and is_post and then.key and before.key:
            rule = "client.retry-key"
            if same:
                yield Remark(rule)
            elif self.keys.get((then.identity[0], then.key), then) is then:
                what = "payout" if OPERATIONS[then.operation].traits.draws_on_funds else "operation"
                got = (
                    f"request {before.number}, {before.outcome}, sent again with another Idempotency-Key: "
                    f"the {what} may be done twice"
                )
                remark = Remark(rule, got, KEEP_THE_KEY, (before.number, then.number))
                self.doubts[then.identity[0], before.key.lower()] = remark
                yield remark
        if before.provoked:
            key = f" with {'the same' if same else 'another'} key" if is_post else ""
            yield after(before.provoked, before.waited or f"sent again{key}")
        if is_post and then.key and same:
            yield Remark("auth.nonce-replay-idempotent")
        if before.wait is not None and before.delivered:
            early = then.now - before.now < before.wait - TOLERANCE
            answer = "sent again before it was over" if early else "waited out"
            yield Remark("client.retry-after", question="Retry-After", answer=answer)
        elif before.refused:
            answer = f"sent again unchanged after {before.status}"
            yield Remark("client.repeats-refused", question="a refused request", answer=answer)

    def _key(self, request: ClientRequest, now: Earlier) -> Iterator[Remark]:
        assert request.key is not None
        before = self.keys.setdefault((request.api_key, request.key), now)
        if before is now:
            return
        if before.refused:
            self.keys[request.api_key, request.key] = now
        if before.identity[:3] != now.identity[:3]:
            answer = "sent on several paths"
            yield Remark("client.key-other-path", question="one Idempotency-Key", answer=answer)
            return
        rules = ("idempotency.conflict", "idempotency.conflict-no-body")
        rule = next(name for name in rules if request.operation in CLIENT_RULES[name].operations)
        if before.identity == now.identity:
            yield Remark(rule)
        elif before.refused:
            answer = "the key of the refused request"
            yield Remark("idempotency.after-refusal", question="after a refusal", answer=answer)
        elif _equal(before.body, now.body):
            answer = "the same JSON in other bytes"
            yield Remark("idempotency.equivalent-body", question="a repeated body", answer=answer)
        else:
            remedy = "Make a key for each thing that is to be done, and build its body once."
            got = f"the key of request {before.number} with another body"
            yield Remark(rule, got, remedy, (before.number,))

    # ------------------------------------------------------------------ lists

    def _page(self, request: ClientRequest, response: Response) -> Iterator[Remark]:
        """Follows a walk."""
        path, _, query = request.request.target.partition(b"?")
        pairs = queries.read(query.decode("latin-1")).pairs
        asked = next((value for name, value in pairs if name == "page"), "1")
        others = [pair for pair in pairs if pair[0] != "page" and pair != ("size", "10")]
        key = request.api_key, path, tuple(sorted(others))
        walk = self.walks.get(key)
        if not 200 <= response.status < 300 or not response.delivered:
            if walk is not None:
                walk.trouble = True
            return
        if not _PAGE.fullmatch(asked):
            return
        page = int(asked)
        pages = max(int(response.document["pages"]), 1)
        if page > max(pages, walk.pages if walk else 1):
            if walk is not None:
                got, remedy = f"page {page} of {pages}", "Stop where page reaches pages."
                yield Remark("client.walk-beyond", got, remedy, tuple(walk.numbers[-1:]))
            return
        if walk is None or (walk.complete and page in walk.read):
            walk = PagesRead(request.operation, pages, whole=walk.whole if walk else 0)
            self.walks[key] = walk
        walk.pages, walk.trouble = pages, False
        walk.read[page] = None
        walk.numbers = [*walk.numbers[-3:], request.number]
        if walk.complete and pages > 1:
            walk.whole += 1
            yield from map(Remark, ("client.walk", "client.first-page", "client.walk-beyond"))

    def ended(self) -> Iterator[tuple[str, Remark]]:
        """Judgements at the end of the run, with their operations: incomplete walks, and provocations that
        nothing followed."""
        for walk in self.walks.values():
            # A list that is not read from page 1 on is not walked.
            first, begun = len(walk.read) == 1, next(iter(walk.read)) == 1
            if walk.complete or walk.trouble or not begun or (walk.whole and first):
                continue
            missing = next(page for page in itertools.count(1) if page not in walk.read)
            got = f"no request for page {missing} of {walk.pages}"
            remedy = "Read on until page reaches pages, both of the last answer: a list may grow meanwhile."
            rule = "client.first-page" if first else "client.walk"
            yield walk.operation, Remark(rule, got, remedy, tuple(reversed(walk.numbers)))
        for last in self.attempts.values():
            if last.provoked:
                yield last.operation, after(last.provoked, last.waited or "not sent again")


def after(provoked: str, did: str) -> Remark:
    """The observation of what a client did after a provocation."""
    return Remark("client.provoked", question=f"after {provoked}", answer=did)


def _equal(one: bytes, other: bytes) -> bool:
    """True if two bodies are the same JSON; False for long ones."""
    if max(len(one), len(other)) > KEPT_BODY:
        return False
    try:
        return bool(json_text.load(one) == json_text.load(other))
    except ValueError:
        return False
