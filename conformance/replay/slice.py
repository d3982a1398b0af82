"""The causal slice of a failure: the judged exchanges and all that they depend on.

An exchange depends on those that created the resources it names, that used its key, nonce or signature
before, or that changed its resource; a judged one also on all that changed its account. When in doubt, an
exchange is kept.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import Any
from urllib.parse import unquote

from conformance.contract import signing
from conformance.contract.traits import traits_of
from conformance.judge.comparison import sent_document
from conformance.replay.naming import Lookup
from conformance.wire.messages import Exchange
from conformance.wire.provenance import root
from conformance.world.cache import Key
from conformance.world.run_context import RunContext

#: Maxima: steps of a file, among them changes of an account, and reads of one path.
MOST_STEPS, MOST_CHANGES, MOST_READS = 600, 520, 4

#: Number of exchanges of the record that were indexed; id -> the exchange that created it; resource or list
#: -> the writes to it, refused ones too, as a total may count them.
_READ = Key[tuple[int, dict[str, Exchange], dict[str, list[Exchange]]]]("what made and changed each resource")


def closure(
    judged: Sequence[Exchange],
    exchanges: Sequence[Exchange],
    run: RunContext,
    text: str,
    *,
    effects: bool = False,
) -> list[Exchange]:
    """The judged exchanges and all that they depend on, in the order of sending, at most MOST_STEPS.

    `exchanges` are those of the check, `text` is that of the expectation, which may name resources. With
    `effects` snapshots are compared, and every write between them is kept."""
    record = _Dependencies(exchanges, run)
    kept = {exchange.number: exchange for exchange in judged}
    waiting = deque(judged)
    first, last = min(kept), max(kept)
    between = [
        exchange
        for exchange in exchanges
        if effects and first < exchange.number < last and exchange.method != "GET"
    ]
    found: Iterable[Exchange] = [*between, *record.makers(text, last), *_state(judged, exchanges)]
    while True:
        for exchange in found:
            if exchange.number not in kept and len(kept) < MOST_STEPS:
                kept[exchange.number] = exchange
                waiting.append(exchange)
        if not waiting:
            return _in_order(_without_attempts(kept.values(), judged))
        found = record.of(waiting.popleft())


def _without_attempts(kept: Iterable[Exchange], judged: Sequence[Exchange]) -> list[Exchange]:
    """Drops refused attempts under other keys at the pair that a judged create asks for, if none made it: on
    another server they would, and the judged create would be a duplicate."""
    kept, keys = list(kept), {one.call.idempotency_key for one in judged}
    for one in judged:
        if not traits_of(one.operation).unique_pair:
            continue
        asked = _pair_asked(one)
        attempts = [other for other in kept if other.number < one.number and _pair_asked(other) == asked]
        # A judged attempt has a key of a judged one.
        if not any(
            other.succeeded or other.raced or other.call.idempotency_key in keys for other in attempts
        ):
            dropped = {attempt.number for attempt in attempts}
            kept = [other for other in kept if other.number not in dropped]
    return kept


def _in_order(kept: Iterable[Exchange]) -> list[Exchange]:
    """Sorts exchanges by their time of sending, those of a race consecutively."""
    exchanges = sorted(kept, key=lambda exchange: (exchange.started, exchange.number))
    moments: dict[int, float] = {}
    for exchange in exchanges:
        moments.setdefault(exchange.raced, exchange.started)
    return sorted(
        exchanges, key=lambda exchange: moments[exchange.raced] if exchange.raced else exchange.started
    )


class _Dependencies:
    """Finds the exchanges on which one depends."""

    def __init__(self, exchanges: Sequence[Exchange], run: RunContext) -> None:
        self._own = exchanges
        self._made, self._changes = _read(run)
        #: Key, nonce or signature -> the exchanges that sent it.
        self._senders: dict[str, list[Exchange]] = {}
        for exchange in exchanges:
            for value in _sent(exchange):
                self._senders.setdefault(value, []).append(exchange)
        self._lookup = Lookup(self._made)

    def of(self, later: Exchange) -> Iterator[Exchange]:
        """Yields the direct dependencies of an exchange: earlier ones, and those of its race."""
        about = subject(later)
        named = (self._made.get(part) for part in about.split("/"))
        yield from (maker for maker in named if maker is not None and maker.number < later.number)
        yield from self.makers(request_text(later), later.number)
        yield from self._sharing(later)
        traits = traits_of(later.operation)
        if not traits.others_add and (traits.once or not traits.creates):
            changes = self._changes.get(about, ())
            yield from (change for change in reversed(changes) if change.number < later.number)
        if later.raced:
            yield from (exchange for exchange in self._own if exchange.raced == later.raced)

    def makers(self, text: str, before: int) -> list[Exchange]:
        """The exchanges, below a number, that created the resources which a text names."""
        found = self._lookup.found(text, lambda value: self._made.get(root(value)))
        return [exchange for _, _, exchange in found if exchange.number < before]

    def _sharing(self, later: Exchange) -> Iterator[Exchange]:
        """Yields earlier exchanges with the same key, nonce or signature, and those accepted since. Where a
        nonce is reused, also those refused since with another one: a server may keep the latest only."""
        auth = later.call.auth
        taken = (later.call.idempotency_key, auth.nonce, auth.signed_nonce, auth.signature)
        senders = [
            exchange
            for value in taken
            for exchange in self._senders.get(root(value or ""), ())
            if exchange.number < later.number
        ]
        yield from senders
        since = min((exchange.number for exchange in senders), default=later.number)
        yield from (
            exchange
            for exchange in self._own
            if since < exchange.number < later.number
            and (exchange.succeeded or (auth.nonce and exchange.refused and exchange.status != 401))
        )


def _read(run: RunContext) -> tuple[dict[str, Exchange], dict[str, list[Exchange]]]:
    """Indexes the new exchanges of the record, and at first those of the run before an `alone` one, whose
    resources lists show."""
    seen, made, changes = run.cache.find(_READ) or (0, {}, {})
    fresh = [run.record[number] for number in list(run.record)[seen:]]
    for exchange in fresh if seen else [*list(run.before.values()), *fresh]:
        traits = traits_of(exchange.operation)
        if exchange.method == "GET" or not (exchange.succeeded or exchange.refused):
            continue
        identifier = exchange.get("id") if exchange.succeeded else None
        if isinstance(identifier, str) and identifier and not (traits.disables or traits.changes):
            made.setdefault(identifier, exchange)
        changes.setdefault(subject(exchange), []).append(exchange)
    run.cache.put(_READ, (len(run.record), made, changes))
    return made, changes


def _sent(exchange: Exchange) -> set[str]:
    """The key, nonce and signature of an exchange; of derived values, the original."""
    values = (
        exchange.call.idempotency_key,
        exchange.nonce,
        exchange.call.auth.signed_nonce,
        exchange.request_header(signing.SIGNATURE),
    )
    return {root(value) for value in values if value}


def _state(judged: Sequence[Exchange], exchanges: Sequence[Exchange]) -> Iterator[Exchange]:
    """Yields the exchanges of the check on which a judged state may depend, the latest first: writes to its
    account (of a list of accounts, to any), updates of any account, and the first reads of a judged path,
    which a server may cache."""
    last = {_account(exchange): exchange.number for exchange in sorted(judged, key=lambda one: one.number)}
    latest = max(last.values(), default=0)
    of_accounts = any(traits_of(exchange.operation).others_add for exchange in judged)

    def matters(change: Exchange) -> bool:
        traits = traits_of(change.operation)
        anywhere = of_accounts or traits.changes or traits.disables
        return change.number < (latest if anywhere else last.get(_account(change), 0))

    changes = [exchange for exchange in exchanges if exchange.method != "GET" and not exchange.refused]
    yield from itertools.islice(filter(matters, reversed(changes)), MOST_CHANGES)
    for exchange in judged:
        reads = [one for one in exchanges if one.method == "GET" and one.number < exchange.number]
        call = exchange.call
        yield from [read for read in reads if read.call.path == call.path][:MOST_READS]
        yield from [read for read in reads if read.call.target == call.target][:MOST_READS]


def subject(exchange: Exchange) -> str:
    """The resource or list of an exchange: its path, with original ids for derived ones."""
    parts = exchange.call.path.removesuffix("/disable").split("/")
    return "/".join(root(unquote(root(part))) for part in parts)


def _pair_asked(exchange: Exchange) -> tuple[str, str, list[Any]]:
    """Organization, list, and the fields that are unique together in it; none in other operations."""
    document, names = sent_document(exchange.call), traits_of(exchange.operation).unique_pair
    return exchange.organization, subject(exchange), [document.get(name) for name in names]


def _account(exchange: Exchange) -> str:
    """The account's part of an exchange's path; the whole path without an account."""
    before, accounts, after = subject(exchange).partition("/accounts/")
    return accounts + after.split("/")[0] if after else before


def request_text(exchange: Exchange) -> str:
    """Everything in a request that may hold a value, its target decoded as well."""
    call = exchange.call
    body = (call.body or b"").decode("utf-8", "replace")
    headers = " ".join(value for _, value in call.headers)
    return f"{call.target} {unquote(call.target)} {call.auth.signed_target or ''} {body} {headers}"
