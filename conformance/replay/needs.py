"""Which exchanges a failure rests on: those that were judged, what made the things they are about, and what
bears on them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import unquote

from conformance.contract import signing, timestamps
from conformance.contract.operations import OPERATIONS
from conformance.contract.traits import TRAITS, traits_of
from conformance.replay.names import resemble
from conformance.wire.messages import Exchange
from conformance.world.cache import Key
from conformance.world.run_context import RunContext

#: Steps of a file; what a finding needs beyond that nobody would read.
MAX_STEPS = 600

#: The same where any of many requests may have had the effect that was seen.
MAX_STEPS_OF_EFFECTS = 600

#: Steps that only make what a judged answer shows.
MAX_LISTED = 520

#: Steps that only make what lies where a judged request was refused.
MAX_REFUSED = 24

#: Changes of other resources in the place of a judged one.
MAX_BESIDE = 40

#: Requests with other keys between two uses of one.
MOST_KEYS = 24

#: Requests that were under way together.
MOST_AT_ONCE = 40

#: Requests that were accepted before in the place of what can be done only once there.
_BEFORE = 12

#: Words between the separators of paths, queries and JSON: whatever can be an id.
_WORDS = re.compile(r"[^\s\"'/?&=,:{}\[\]]+")

_STAMPS = re.compile("[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z")

#: How many exchanges of the record were looked at, and id -> number of the exchange that created it.
_MAKERS = Key[tuple[int, dict[str, int]]]("what created each id")


def needed(
    judged: list[Exchange],
    exchanges: list[Exchange],
    run: RunContext,
    told: str,
    *,
    effects: bool = False,
) -> list[Exchange]:
    """The judged exchanges and all that they rest on, in the order in which they were sent.

    `exchanges` are those of the check; `told` is the text of the expectation, which may name ids. With
    `effects`, looks are compared: then all requests between them count, and what else there is does not."""
    makers = _makers(run)
    kept = {exchange.number: exchange for exchange in judged}
    waiting = list(judged)
    first, last = min(kept), max(kept)
    if effects:
        between = [
            exchange for exchange in exchanges if first < exchange.number < last and exchange.method != "GET"
        ]
        between += _other_keys(judged, run)
        most = MAX_STEPS_OF_EFFECTS
    else:
        listed = _listed(judged, makers, run)
        between = [run.record[number] for number in listed if number < last and number in run.record]
        between += _beside(judged, exchanges)
        most = MAX_STEPS
    between += _at_once(judged, exchanges)
    named = sorted({makers[word] for word in _WORDS.findall(told) if word in makers})[-MAX_LISTED:]
    between += [run.record[number] for number in named if number < last and number in run.record]
    for exchange in between:
        if exchange.number not in kept:
            kept[exchange.number] = exchange
            waiting.append(exchange)
    while waiting and len(kept) < most:
        later = waiting.pop()
        for exchange in [
            *_made(later, makers, run),
            *_changed(later, run),
            *_bearing(later, exchanges, last, run),
            *_before(later, run),
        ]:
            if exchange.number not in kept and len(kept) < most:
                kept[exchange.number] = exchange
                waiting.append(exchange)
    # What was sent at one moment stays together.
    moments: dict[int, float] = {}
    for exchange in kept.values():
        moments[exchange.raced] = min(exchange.started, moments.get(exchange.raced, exchange.started))
    return sorted(
        kept.values(),
        key=lambda exchange: (
            moments[exchange.raced] if exchange.raced else exchange.started,
            exchange.number,
        ),
    )


def _made(later: Exchange, makers: Mapping[str, int], run: RunContext) -> list[Exchange]:
    """What created the things that a request names."""
    numbers = {makers[word] for word in _words(later) if word in makers}
    if later.operation is not None:
        near = _near(makers)
        others = [word for word in _words(later) if word not in makers]
        numbers |= {near[word.lower()] for word in others if word.lower() in near}
    if moments := {timestamps.parse(text) for text in _STAMPS.findall(unquote(later.call.query))}:
        made = [run.record[number] for number in makers.values() if number in run.record]
        numbers |= {maker.number for maker in made if timestamps.parse(maker.get("created")) in moments}
    return [
        run.record[number] for number in sorted(numbers) if number < later.number and number in run.record
    ]


def _changed(later: Exchange, run: RunContext) -> list[Exchange]:
    """The accepted changes of the resource that a request is about, whichever check sent them: of each member
    the last one, and that it was disabled."""
    path = later.call.path.removesuffix("/disable")
    changes = [
        exchange
        for exchange in run.record.values()
        if exchange.number < later.number
        and exchange.succeeded
        and exchange.operation is not None
        and TRAITS[exchange.operation].changes
        and exchange.call.path.removesuffix("/disable") == path
    ]
    kept, members = [], set[str]()
    for change in reversed(changes):
        names = _members(change)
        if names - members:
            kept.append(change)
            members |= names
    return kept


def _members(change: Exchange) -> set[str]:
    """The names of the members that a change sets."""
    if traits_of(change.operation).disables:
        return {"status"}
    try:
        document = change.call.document
    except (ValueError, RecursionError):
        return set()
    return set(document) if isinstance(document, dict) else set()


def _near(makers: Mapping[str, int]) -> Mapping[str, int]:
    """Ids in the other forms that checks write them in, and what created them: shorter or longer by one
    character, or in another letter case; here all are in lower case."""
    near: dict[str, int] = {}
    for identifier, number in makers.items():
        for form in (identifier[:-1], identifier + "0", identifier):
            near[form.lower()] = number
    return near


def _before(later: Exchange, run: RunContext) -> list[Exchange]:
    """What was done before in the place of what can be done only once there."""
    if later.operation is None or not TRAITS[later.operation].once:
        return []
    return [
        exchange
        for exchange in run.record.values()
        if exchange.number < later.number
        and exchange.operation == later.operation
        and exchange.succeeded
        and exchange.call.target == later.call.target
    ][:_BEFORE]


def _bearing(later: Exchange, exchanges: list[Exchange], last: int, run: RunContext) -> list[Exchange]:
    """The earlier requests of the check that bear on one; where it takes over a nonce, the last one with
    another nonce as well, as a server may know but the latest."""
    found = [exchange for exchange in exchanges if exchange.number < last and _related(exchange, later)]
    if later.method == "GET":
        # What was read at first may still be remembered.
        found += [
            exchange
            for exchange in exchanges
            if exchange.number < later.number
            and exchange.method == "GET"
            and exchange.call.path == later.call.path
        ][:1]
    if later.call.auth.nonce is not None:
        earlier = [exchange for exchange in run.record.values() if exchange.number < later.number]
        used = [exchange for exchange in earlier if exchange.nonce == later.nonce][-1:]
        found += used
        found += [
            exchange
            for exchange in earlier
            if used
            and exchange.number > used[0].number
            and exchange.operation == later.operation
            and not exchange.refused_authentication
        ][-1:]
    return found


def _makers(run: RunContext) -> dict[str, int]:
    """Id -> the number of the exchange that created it, for everything in the record."""
    seen, makers = run.cache.find(_MAKERS) or (0, {})
    numbers = list(run.record)
    for number in numbers[seen:]:
        exchange = run.record[number]
        if exchange.method == "POST" and exchange.succeeded and not traits_of(exchange.operation).disables:
            identifier = exchange.get("id")
            if isinstance(identifier, str) and identifier:
                makers.setdefault(identifier, number)
    run.cache.put(_MAKERS, (len(numbers), makers))
    return makers


def _listed(judged: list[Exchange], makers: Mapping[str, int], run: RunContext) -> list[int]:
    """The exchanges that made what the decisive answers show, or should: all but the customer's accounts,
    which are everybody's. Of what lies where a request was refused, only so much."""
    readings = [reading for reading in judged if not traits_of(reading.operation).others_add]
    shown = {
        word
        for reading in readings
        if reading.succeeded
        for word in _WORDS.findall(reading.response_body.decode("utf-8", "replace"))
    }
    made = [(identifier, run.record[number]) for identifier, number in makers.items() if number in run.record]
    accepted = [reading for reading in readings if reading.succeeded]
    refused = [
        reading for reading in readings if not reading.succeeded and not reading.refused_authentication
    ]
    there = {exchange.number for _, exchange in made if _within(exchange, accepted)}
    there |= {makers[identifier] for identifier in makers if identifier in shown}
    numbers = sorted(there)[-MAX_LISTED:]
    return sorted({*numbers, *[each.number for _, each in made if _within(each, refused)][-MAX_REFUSED:]})


def _within(maker: Exchange, readings: list[Exchange]) -> bool:
    """Whether what a request created is an element of what one of these reads, or lies beneath it."""
    path = maker.call.path
    for reading in readings:
        about = reading.call.path
        if reading.operation and OPERATIONS[reading.operation].is_list and path == about:
            return True
        # What disables a beneficiary shows it as a read does.
        beneath = reading.method != "POST" or traits_of(reading.operation).disables
        if beneath and path.startswith(f"{about.removesuffix('/disable')}/"):
            return True
    return False


def _other_keys(judged: list[Exchange], run: RunContext) -> list[Exchange]:
    """Where one key was used again: what was done with other keys meanwhile, whoever sent it. A server may
    know the latest only."""
    keys = {exchange.call.idempotency_key for exchange in judged}
    if len(keys) > 1 or None in keys or len(judged) < 2:
        return []
    first, last = judged[0], judged[-1]
    numbers = range(first.number + 1, last.number)
    meanwhile = [run.record[number] for number in numbers if number in run.record]
    return [
        exchange
        for exchange in meanwhile
        if exchange.operation == last.operation and exchange.call.idempotency_key not in {None, *keys}
    ][:MOST_KEYS]


def _beside(judged: list[Exchange], exchanges: list[Exchange]) -> list[Exchange]:
    """The check's accepted changes of other resources in the places where judged answers show one: a change
    may reach too far. Where answers show what some of them set, those."""
    answers = [answer for answer in judged if answer.succeeded and _place(answer)]
    if not answers:
        return []
    places, last = {_place(answer) for answer in answers}, max(answer.number for answer in answers)
    earlier = [exchange for exchange in exchanges if exchange.number < last and exchange.succeeded]
    about = {_resource(answer) for answer in answers}
    own = "".join(request_text(exchange) for exchange in earlier if _resource(exchange) in about)
    shown = {text for answer in answers for text in _texts(answer.document) if text not in own}
    changes = [
        exchange
        for exchange in earlier
        if (exchange.method == "PATCH" or traits_of(exchange.operation).disables)
        and _place(exchange) in places
        and _resource(exchange) not in about
    ]
    telling = [change for change in changes if _set(change) & shown]
    return (telling or changes)[-MAX_BESIDE:]


def _set(change: Exchange) -> set[str]:
    """The texts that a change sets."""
    if traits_of(change.operation).disables:
        return {"disabled"}
    try:
        return set(_texts(change.call.document))
    except (ValueError, RecursionError):
        return set()


def _texts(document: Any) -> Iterator[str]:
    """The texts in JSON data."""
    if isinstance(document, str):
        yield document
    elif isinstance(document, (dict, list)):
        for member in document.values() if isinstance(document, dict) else document:
            yield from _texts(member)


def _resource(exchange: Exchange) -> str:
    """The resource that an exchange is about: its path, or that of what it created."""
    path = exchange.call.path.removesuffix("/disable")
    created = exchange.get("id") if exchange.method == "POST" and path == exchange.call.path else None
    return f"{path}/{created}" if isinstance(created, str) else path


def _at_once(judged: list[Exchange], exchanges: list[Exchange]) -> list[Exchange]:
    """The check's requests that were under way together with a judged one to the same place."""
    return [
        exchange
        for exchange in exchanges
        for answer in judged
        if (exchange.method, exchange.call.path) == (answer.method, answer.call.path)
        and (
            exchange.raced == answer.raced > 0
            or (
                exchange.started < answer.started + answer.elapsed
                and answer.started < exchange.started + exchange.elapsed
            )
        )
    ][:MOST_AT_ONCE]


def _place(exchange: Exchange) -> str:
    """Where the resource lies that an exchange is about, /v1/accounts/ID/beneficiaries; empty for a list."""
    parts = exchange.call.path.split("/")
    return "/".join(parts[:5]) if len(parts) > 5 else ""


def _words(exchange: Exchange) -> set[str]:
    """Whatever in a request can be an id."""
    return set(_WORDS.findall(request_text(exchange)))


def request_text(exchange: Exchange) -> str:
    """All of a request in which an id can stand, its target also as it reads unencoded."""
    call = exchange.call
    body = (call.body or b"").decode("utf-8", "replace")
    return f"{call.target} {unquote(call.target)} {call.auth.signed_target or ''} {body}"


def _related(earlier: Exchange, later: Exchange) -> bool:
    """Whether an earlier request of the same check bears on a later one: it used its key or nonce, or changed
    what it is about."""
    if earlier.number >= later.number:
        return False
    first, second = earlier.call, later.call
    if resemble(first.idempotency_key, second.idempotency_key):
        return True
    fixed = (second.auth.nonce, second.auth.signed_nonce, second.auth.signature)
    if any(resemble(earlier.nonce, nonce) for nonce in fixed[:2]):
        return True
    if earlier.request_header(signing.SIGNATURE) in fixed:
        return True
    # One that shares a nonce with others may not get through a second time.
    if earlier.method == "GET" or first.auth.nonce is not None:
        return False
    about, changed = second.path.rstrip("/"), first.path.rstrip("/")
    if about.endswith("/balances"):
        about = "/v1/accounts/" + about.split("/")[-2]
    if later.method == "POST" and changed == about and not traits_of(later.operation).unique_pair:
        return False  # one more beside it
    return earlier.succeeded and (
        changed == about
        or changed.startswith(about + "/")
        or (about.startswith(changed + "/") and later.method != "GET")
    )
