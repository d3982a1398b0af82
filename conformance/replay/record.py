"""Writes replay files: the exchanges that a failure needs as steps, and what in them is a symbol."""

from __future__ import annotations

import itertools
import json
import operator
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from conformance.contract import signing
from conformance.contract.operations import OPERATIONS
from conformance.contract.rules import RULES
from conformance.contract.traits import traits_of
from conformance.judge.findings import Finding
from conformance.replay.document import FORMAT, LONGEST_PAUSE, Document, Step, file_name, write
from conformance.replay.forms import IDENTIFIER
from conformance.replay.names import SHORTEST, Names, fresh_like, resemble
from conformance.replay.needs import needed, request_text
from conformance.replay.reading import PAGE
from conformance.replay.symbols import SYMBOL, TARGET_VALUES, braced
from conformance.target.file import Target
from conformance.wire.messages import Exchange, call_to_plain
from conformance.wire.pages import DEFAULT_SIZE, integer, page_of, pages_of
from conformance.world.account import new_key
from conformance.world.run_context import RunContext

#: Pauses as long as this, in seconds, belong to the failure: a check that waited for a clock.
PAUSE = 0.3

#: As long as this also where requests lie between that are left out, or other checks went on meanwhile.
LONG_PAUSE = 5.0

#: Members of an answer that later requests may name.
_NAMED = ("id", "created", "updated")

#: Pages as far as this are past the end of any list.
FAR = 10**6

#: How many elements of a list are named.
_ELEMENTS = 100


def save(finding: Finding, exchanges: list[Exchange], run: RunContext, folder: Path) -> Path | None:
    """Writes the replay file of a failed finding and returns its path; None where no request shows the
    failure.

    `exchanges` are those of the check in their order. What they rest on and was made before, such as the
    account that checks share, is found in the run's record. Raises OSError when the folder cannot be
    written."""
    document = document_of(finding, exchanges, run)
    if document is None:
        return None
    return write(document, folder / file_name(finding.rule, finding.operation, finding.check))


def document_of(finding: Finding, exchanges: list[Exchange], run: RunContext) -> Document | None:
    """The replay document of a failed finding, free of credentials; None where no request shows the
    failure."""
    expectation = finding.expectation
    judged = [run.record[number] for number in finding.judged if number in run.record]
    if expectation is None or not judged or len(judged) < len(finding.judged):
        return None
    if any(exchange.organization not in ("primary", "secondary") for exchange in judged):
        return None
    plain = expectation.to_plain()
    told = json.dumps(plain, ensure_ascii=False)
    kept = needed(judged, exchanges, run, told, effects=expectation.predicate.effects)
    copies = _copies(judged[-1], kept[-1], expectation.times)
    judged, kept = judged + copies, kept + copies
    steps = {str(at): exchange for at, exchange in enumerate(kept, 1)}
    names = Names()
    _name_target(names, run.target)
    names.born = {value for exchange in kept for value in _born(exchange)}
    decisive = {exchange.number for exchange in judged}
    written = [
        _step(identifier, exchange, names, steps, exchange.number in decisive, told, run, finding.rule)
        for identifier, exchange in steps.items()
    ]
    _together(written, steps)
    _pauses({exchange.number: written[at] for at, exchange in enumerate(kept)}, exchanges)
    numbers = {exchange.number: identifier for identifier, exchange in steps.items()}
    rule = RULES[finding.rule]
    document = {
        "format": FORMAT,
        "rule": rule.id,
        "section": list(rule.section),
        "statement": rule.statement,
        "operation": finding.operation,
        "check": finding.check,
        "expected": finding.expected,
        "got": finding.got,
        "fresh": names.fresh,
        "steps": written,
        "expectation": _told(plain, names, written),
        "judged": [numbers[exchange.number] for exchange in judged],
    }
    redacted: Document = _redacted(document, run)
    return redacted


def _copies(exchange: Exchange, last: Exchange, times: int) -> list[Exchange]:
    """The same request as often as it takes to be sent `times` times, each as a new one, after the last."""
    auth, key = exchange.call.auth, exchange.call.idempotency_key
    if auth.nonce is not None:
        auth = replace(auth, nonce=None, signed_nonce=None)
    end = last.started + last.elapsed
    return [
        replace(
            exchange,
            number=last.number + at,
            call=exchange.call.but(auth=auth, idempotency_key=new_key() if fresh_like(key or "") else key),
            started=end + at,
            elapsed=0.0,
        )
        for at in range(1, times)
    ]


def _told(plain: dict[str, Any], names: Names, steps: list[Step]) -> dict[str, Any]:
    """The expectation with symbols; what the suite has sent itself it means literally, also where an answer
    adopted it. Of what it wants to be listed, only what the steps create can be: not what the judged pages
    themselves show."""
    told: dict[str, Any] = names.without_echoes().data(plain)
    if plain["predicate"] == "listed":
        shown = {name for step in steps if step.get("decisive") for name in step.get("captures", {})}
        told["parameters"]["ids"] = [
            identifier
            for identifier in told["parameters"]["ids"]
            if (symbol := SYMBOL.search(identifier)) and symbol[1] not in shown
        ]
    return told


# ---------------------------------------------------------------------- one step


def _name_target(names: Names, target: Target) -> None:
    for name in ("primary", "secondary"):
        organization = getattr(target, name)
        if organization is None:
            continue
        for member in TARGET_VALUES:
            value = getattr(organization, member)
            if value:
                names.known.setdefault(value, f"{name}.{member}")


def _step(
    identifier: str,
    exchange: Exchange,
    names: Names,
    steps: Mapping[str, Exchange],
    decisive: bool,
    told: str,
    run: RunContext,
    rule: str,
) -> Step:
    """One exchange as a step; `told` is the text of the expectation, which may name what is answered."""
    plain = call_to_plain(exchange.call)
    step: Step = {"id": identifier, "purpose": exchange.purpose, "organization": exchange.organization}
    names.mark(plain.get("body", ""))
    if "idempotency_key" in plain:
        plain["idempotency_key"] = names.fresh_value("key", plain["idempotency_key"])
    if "auth" in plain:
        plain["auth"] = _auth(plain["auth"], exchange, names, run, plain.get("body", ""))
    plain["target"] = names.symbolized(plain["target"], target=True)
    if "headers" in plain:
        plain["headers"] = [[name, names.symbolized(value)] for name, value in plain["headers"]]
    if "body" in plain:
        plain["body"] = names.symbolized(plain["body"])
    step |= plain
    _name_signing(identifier, exchange, names, steps.values())
    if captures := _captures(exchange, names, steps.values(), told, decisive):
        step["captures"] = captures
    if decisive:
        step["decisive"] = True
    step["answered"] = {"status": exchange.status}
    if isinstance(exchange.error_type, str) and isinstance(exchange.error_code, str):
        step["answered"]["error"] = f"{exchange.error_type}/{exchange.error_code}"
    if past := _past(exchange, steps.values(), rule):
        step["answered"]["past"] = past
    return step


def _past(exchange: Exchange, steps: Iterable[Exchange], rule: str) -> int:
    """How many pages past the last one a request for a page is; 0 where it is none of those, or its answer
    shows elements, unless that breaks the rule: then earlier answers say which page is the last."""
    asked, breaks = PAGE.search(exchange.call.query), rule == "list.page-beyond"
    operation, found = OPERATIONS.get(exchange.operation or ""), page_of(exchange)
    if asked is None or operation is None or not operation.is_list or (found and found.items and not breaks):
        return 0
    near = [step for step in steps if step.call.path == exchange.call.path and step.number < exchange.number]
    totals = [integer(step.get("total")) for step in (*near, *([] if breaks and near else [exchange]))]
    size = re.search("(?:^|&)size=([1-9][0-9]?|100)(?:&|$)", exchange.call.query)
    known = [total for total in totals if total is not None]
    last = pages_of(known[-1], int(size[1]) if size else DEFAULT_SIZE) if known else 0
    return int(asked[1]) - last if 0 < last < int(asked[1]) < FAR else 0


def _auth(
    auth: dict[str, Any], exchange: Exchange, names: Names, run: RunContext, body: str
) -> dict[str, Any]:
    """How a call with this body is signed, fixed nonces and timestamps as symbols."""
    written = {}
    for name, value in auth.items():
        if name in ("nonce", "signed_nonce"):
            value = names.braced(value) or names.fresh_value("nonce", value)
        elif name in ("timestamp", "signed_timestamp") and isinstance(value, str):
            value = names.braced(value) or _moment(value, int(exchange.started + run.clock.offset))
        elif name == "secret":
            value = _secret(value, names, run.target)
        elif name == "signed_body":
            value = names.part(value, body)
        elif isinstance(value, str):
            value = names.symbolized(value, target=name == "signed_target")
        written[name] = value
    return written


def _name_signing(identifier: str, exchange: Exchange, names: Names, steps: Iterable[Exchange]) -> None:
    """Names what later requests take over of how this one was signed."""
    later = [step.call.auth for step in steps if step.number > exchange.number]
    for header, members in (
        (signing.SIGNATURE, ("signature",)),
        (signing.NONCE, ("nonce", "signed_nonce")),
        (signing.TIMESTAMP, ("timestamp", "signed_timestamp")),
    ):
        value = exchange.request_header(header)
        taken = [getattr(auth, member) for auth in later for member in members]
        # A nonce may also be one that was changed in some places.
        alike = resemble if header == signing.NONCE else operator.eq
        if value and any(alike(value, other) for other in taken):
            known = names.known.get(value, "sent_")
            # Of several requests of one second the last one's timestamp is meant.
            if known.startswith("sent_"):
                names.known[value] = f"sent_{identifier}.{header.lower().removeprefix('x-')}"


def _moment(text: str, now: int) -> str:
    """A timestamp in seconds or milliseconds as its distance from server time; other texts as they are."""
    if not re.fullmatch("[0-9]{9,14}", text):
        return text
    symbol, base = ("now", now) if len(text) <= 11 else ("now_ms", now * 1000)
    return "{{" + symbol + format(int(text) - base, "+d") + "}}"


def _captures(
    exchange: Exchange, names: Names, steps: Iterable[Exchange], told: str, judged: bool
) -> dict[str, list[str | int]]:
    """What of an answer later requests, or the expectation, name, as symbols."""
    later = [step for step in steps if step.number > exchange.number]
    text = "\n".join([*map(request_text, later), told]).lower()
    sent = [step for step in steps if step.number <= exchange.number]
    kind = OPERATIONS[exchange.operation].resource if exchange.operation else "answer"
    dated = bool(re.search("_date=", text))
    leaves = set() if judged else set(re.findall(r'"([^"\\]{8,})"', told))
    captures: dict[str, list[str | int]] = {}
    name = ""
    for place, value in _texts(exchange.document):
        known = value
        wanted = place[-1] in _NAMED and (_named(value, text) or (dated and place[-1] == "created"))
        if not exchange.succeeded:
            known = _identifier_in(value, text)
            wanted = known != ""
        elif value in leaves and re.search("[0-9]", value):
            wanted = True
        if not wanted or len(known) < SHORTEST or known in names.known:
            continue
        if exchange.method == "GET" and known in names.born:
            continue  # the list that shows it came before the answer of what created it
        name = name or names.number(kind)
        symbol = f"{name}.{re.sub('[^a-z0-9_]', '', '_'.join(map(str, place)).lower())}"
        names.known[known] = symbol if known == value else f"{symbol}|id"
        captures[symbol] = place
        if place[-1] in _NAMED and any(known in request_text(step) for step in sent):
            names.echoed.add(known)
    return captures


def _born(exchange: Exchange) -> Iterator[str]:
    """What the answer of a request that created something says first."""
    if exchange.method == "POST" and exchange.succeeded and not traits_of(exchange.operation).disables:
        yield from (value for name in _NAMED if isinstance(value := exchange.get(name), str))


def _texts(document: Any, *place: str | int) -> Iterator[tuple[list[str | int], str]]:
    """The texts of an answer and where they stand; of long arrays those of the first elements."""
    if isinstance(document, str):
        yield list(place), document
    elif isinstance(document, dict):
        for name, value in document.items():
            yield from _texts(value, *place, name)
    elif isinstance(document, list):
        for at, value in enumerate(document[:_ELEMENTS]):
            yield from _texts(value, *place, at)


def _identifier_in(text: str, later: str) -> str:
    """The id in the text of a refusal that later requests name; empty if there is none."""
    return next((found for found in IDENTIFIER.findall(text) if found.lower() in later), "")


def _named(value: str, text: str) -> bool:
    """Whether a text in lower case holds a value, or the value without its last character, in any letter
    case."""
    return value[:-1].lower() in text


def _secret(secret: str, names: Names, target: Target) -> str:
    """The secret that a request is signed with: a symbol where it is one of the target's."""
    for name in ("primary", "secondary"):
        organization = getattr(target, name)
        if organization is not None and organization.secret == secret:
            return braced(f"{name}.secret")
    return names.symbolized(secret)


def _together(written: list[Step], steps: Mapping[str, Exchange]) -> None:
    """Notes which steps went out together."""
    group, end = 0, 0.0
    last: Exchange | None = None
    for at, (step, exchange) in enumerate(zip(written, steps.values(), strict=True)):
        if last is not None and (exchange.started < end or exchange.raced == last.raced > 0):
            before = written[at - 1]
            if "together" not in before:
                group += 1
                before["together"] = group
            step["together"] = before["together"]
        end, last = max(end, exchange.started + exchange.elapsed), exchange


def _pauses(written: Mapping[int, Step], exchanges: list[Exchange]) -> None:
    """Notes where the check waited: before a step, or before what was sent in between and is left out."""
    waited = 0.0
    for before, exchange in itertools.pairwise(exchanges):
        pause = exchange.started - (before.started + before.elapsed)
        consecutive = before.number in written and exchange.number == before.number + 1
        if pause >= LONG_PAUSE or (consecutive and pause > PAUSE):
            waited += pause
        if step := written.get(exchange.number):
            if waited and "together" not in step:
                step["wait"] = round(min(waited, LONGEST_PAUSE), 3)
            waited = 0.0


def _redacted(value: Any, run: RunContext) -> Any:
    """Plain data without credentials, wherever they stand."""
    if isinstance(value, str):
        return run.redactor.text(value)
    if isinstance(value, dict):
        return {run.redactor.text(key): _redacted(member, run) for key, member in value.items()}
    return [_redacted(member, run) for member in value] if isinstance(value, list) else value
