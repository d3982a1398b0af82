"""Exchanges as evidence: which of them a report has, within a limit of bytes, and what one of them shows."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from urllib.parse import unquote

import msgspec
from msgspec.structs import replace

from conformance._text import shared_prefix
from conformance.contract.operations import OPERATIONS
from conformance.contract.rules import Rule, own_sections
from conformance.judge.cells import Cell, Violation
from conformance.judge.exchanges import BodyRecord, ExchangeRecord

#: Maximum size of the exchanges of a results document, in bytes of JSON.
DOCUMENT_EXCHANGES = 12_000_000

#: Maximum sizes of the exchanges of a page, in bytes of JSON: all, and those of what is no violation.
PAGE_EXCHANGES, PAGE_PROOF = 1_000_000, 200_000

#: Maximum number of simultaneous requests that are described, and length of a body in words.
SIMULTANEOUS, WORDS = 3, 100

#: Minimum length of values whose difference is pointed out.
LONG = 60

#: Maximum length of a body in a page, of a violation and of anything else.
PAGE_BODY, BRIEF_BODY = 4096, 512

Exchanges = Mapping[int, ExchangeRecord]


def wrong_exchange(violation: Violation, exchanges: Exchanges) -> ExchangeRecord | None:
    """The exchange that is wrong, the first of its evidence."""
    return next((exchanges[number] for number in violation.exchanges if number in exchanges), None)


def probe(violation: Violation, exchanges: Exchanges) -> tuple[str, str]:
    """The purpose of the exchange that is wrong, and what was expected of it, without what both say."""
    wrong = wrong_exchange(violation, exchanges)
    if wrong is None:
        return "", violation.expected
    purpose, expected = wrong.purpose, violation.expected
    what, _, rest = expected.partition(": ")
    if expected.startswith(f"{purpose}: "):
        expected = expected.removeprefix(f"{purpose}: ")
    elif rest and (purpose.endswith(what) or what.endswith(purpose)):
        purpose, expected = max(purpose, what, key=len), rest
    together = raced(violation, exchanges)
    if not together and not wrong.raced and (writes := simultaneous(violation, exchanges)):
        return f"{described(writes[0], writes[0].purpose)}; then {described(wrong, purpose)}", expected
    if not together or wrong in together:
        others = [described(one) for one in together if one is not wrong]
        return "; at the same time ".join([f"{described(wrong, purpose)}", *others]), expected
    return (
        f"{' and, at the same time, '.join(map(described, together))}; then {described(wrong, purpose)}",
        expected,
    )


def described(exchange: ExchangeRecord, what: str = "") -> str:
    """A request in words: its method and operation, and what is odd about it, else its body."""
    named = f"{exchange.method} {exchange.operation or exchange.target.partition('?')[0][:80]}"
    what = what or (exchange.request_body.text or "")[:WORDS]
    # Of an undocumented path the purpose may begin with method and path.
    return f"{named}: {what}" if what and not what.startswith(named) else what or named


def parted(expected: str, got: str) -> str:
    """Where two long texts begin to differ, with what stands there in both; empty of short ones, in which
    that is seen, and of other values."""
    value = expected[expected.find('"') :] if '"' in expected and got.startswith('"') else ""
    alike = shared_prefix(value, got)
    # One that begins with an ellipsis is shown from the difference on.
    if min(len(value), len(got)) < LONG or not alike or value.startswith('"…'):
        return ""
    part = slice(max(0, alike - 10), alike + 20)
    return f"from character {alike} on: …{value[part]}… was expected, …{got[part]}… came"


def raced(violation: Violation, exchanges: Exchanges) -> list[ExchangeRecord]:
    """The simultaneous writes that prove a violation, if they differ: of each kind one."""
    unlike = {(one.target, *_members(one)): one for one in simultaneous(violation, exchanges)}
    kinds = list(unlike.values())
    return kinds[:SIMULTANEOUS] if len({one.raced for one in kinds}) == 1 and len(kinds) > 1 else []


def simultaneous(violation: Violation, exchanges: Exchanges) -> list[ExchangeRecord]:
    """The simultaneous writes that prove a violation."""
    named = (exchanges[number] for number in violation.exchanges if number in exchanges)
    return [one for one in named if one.raced and one.method != "GET"]


def _members(exchange: ExchangeRecord) -> list[str]:
    """The names of the members of a request's body."""
    try:
        body = msgspec.json.decode(exchange.request_body.text or "")
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        return []
    return sorted(body) if isinstance(body, dict) else []


def sections_of(rule: Rule, operations: Iterable[str]) -> list[str]:
    """The sections of the specification that a rule rests on, but those about its other operations where some
    are about these."""

    def about(names: Iterable[str]) -> set[str]:
        return {
            section
            for name in names
            if name in OPERATIONS
            for section in own_sections(OPERATIONS[name].resource)
        }

    here, others = about(operations), about(rule.operations)
    chapters = {section[:1] for section in here.intersection(rule.section)}
    return [each for each in rule.section if each in here or each not in others or each[:1] not in chapters]


#: A segment of a path, and the text of a query, that no usual client sends.
_ODD = re.compile(r"%(?!2[0-9A-F])|[^\w.~:@%+=&,\[\]-]|[\w-]{80}", re.ASCII)
_ODD_QUERY = re.compile(r"[^\w.:,&=@+ \[\]-]|[\w-]{80}", re.ASCII)

#: Of any version, in either letter case.
UUID = re.compile("[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}", re.IGNORECASE)


def trigger(exchange: ExchangeRecord) -> str:
    """The part of a request that is odd, in words, by which 5xx answers are told apart."""
    call, body = exchange.call, exchange.request_body.text or ""
    path, _, query = exchange.target.partition("?")
    if exchange.raced:
        return "simultaneous requests"
    key = call.get("idempotency_key")
    tests = {
        "a NUL": "%00" in exchange.target or "\\u0000" in body or "\0" in body,
        "a header": bool(call.get("headers")),
        "an authentication header": bool(call.get("auth")),
        "the Content-Type": "content_type" in call,
        "the Idempotency-Key": exchange.method == "POST" and not (key and UUID.fullmatch(key)),
        # Before the path, in which ids may stand percent-encoded.
        "the query": bool(_ODD_QUERY.search(unquote(query))),
        "the path": any(map(_ODD.search, path.split("/"))),
    }
    usual = "the body" if exchange.request_body.size else "the query" if query else "the method or the path"
    return next((name for name, holds in tests.items() if holds), usual)


def document_exchanges(cells: Iterable[Cell], exchanges: Exchanges) -> dict[int, ExchangeRecord]:
    """The exchanges of cells up to DOCUMENT_EXCHANGES, in the order sent."""
    chosen: dict[int, ExchangeRecord] = {}
    size = 0
    for number, _ in _ranked(cells, exchanges):
        size += len(msgspec.json.encode(exchanges[number]))
        if size > DOCUMENT_EXCHANGES:
            break
        chosen[number] = exchanges[number]
    return {number: chosen[number] for number in sorted(chosen)}


def page_exchanges(cells: Iterable[Cell], exchanges: Exchanges) -> dict[int, ExchangeRecord]:
    """The exchanges of a page by number, with bodies shortened."""
    chosen: dict[int, ExchangeRecord] = {}
    left, left_for_proof = PAGE_EXCHANGES, PAGE_PROOF
    for number, violated in _ranked(cells, exchanges):
        exchange, length = exchanges[number], PAGE_BODY if violated else BRIEF_BODY
        exchange = replace(
            exchange,
            request_body=_shortened(exchange.request_body, length),
            response_body=_shortened(exchange.response_body, length),
        )
        size = len(msgspec.json.encode(replace(exchange, call={})))
        if size > min(left, left if violated else left_for_proof):
            continue
        left, left_for_proof = left - size, left_for_proof - (0 if violated else size)
        chosen[number] = exchange
    return chosen


def _ranked(cells: Iterable[Cell], exchanges: Exchanges) -> Iterator[tuple[int, bool]]:
    """The exchanges of cells, each once, and whether one is of a violation: those of the most severe verdicts
    first, decisive ones before others."""
    named = sorted(
        (-cell.verdict.severity, position, number, bool(cell.violations))
        for cell in cells
        for position, number in enumerate(cell.exchanges)
        if number in exchanges
    )
    ranked: dict[int, bool] = {}
    for _, _, number, violated in named:
        ranked.setdefault(number, violated)
    yield from ranked.items()


def _shortened(body: BodyRecord, length: int) -> BodyRecord:
    if body.text is not None and len(body.text) > length:
        return replace(body, text=body.text[:length], cut=True)
    return replace(body, base64=None) if body.base64 is not None else body
