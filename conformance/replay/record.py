"""Writes replay files: which exchanges a failure needs, and what in them is a symbol."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from conformance.contract import signing
from conformance.contract.operations import OPERATIONS
from conformance.contract.rules import RULES
from conformance.fixtures.cache import Key
from conformance.fixtures.run_context import RunContext
from conformance.judging.findings import Finding
from conformance.replay import verify
from conformance.replay.document import FORMAT, Document, Step, file_name, write
from conformance.replay.symbols import Names
from conformance.target.file import Target
from conformance.wire.messages import Exchange, call_to_plain

#: Steps of a file; what a finding needs beyond that nobody would read.
MAX_STEPS = 60

#: Steps that only make what a decisive answer shows.
MAX_LISTED = 30

#: Pauses as long as this belong to the failure: a check that waited for a clock.
PAUSE = 0.3

#: Words between the separators of paths, queries and JSON: whatever can be an id.
_WORDS = re.compile(r"[^\s\"'/?&=,:{}\[\]]+")

#: Members of an answer that later requests may name.
_NAMED = ("id", "created", "updated")


#: How many exchanges of the record were looked at, and id -> number of the exchange that created it.
_MAKERS = Key[tuple[int, dict[str, int]]]("what created each id")


def save(
    finding: Finding,
    exchanges: list[Exchange],
    run: RunContext,
    folder: Path,
    decisive: Iterable[int] | None = None,
) -> Path | None:
    """Writes the replay file of a failed finding and returns its path; None where no request shows the
    failure.

    `exchanges` are those of the check in their order. What they rest on and was made before, such as the
    account that checks share, is found in the suite's record. Raises OSError when the folder cannot be
    written."""
    document = document_of(finding, exchanges, run, decisive)
    if document is None:
        return None
    return write(document, folder / file_name(finding.rule, finding.operation, finding.check))


def document_of(
    finding: Finding, exchanges: list[Exchange], run: RunContext, shows: Iterable[int] | None = None
) -> Document | None:
    """The replay document of a failed finding, free of credentials; None where no request shows the
    failure."""
    numbered = finding.exchanges if shows is None else shows
    decisive = [run.record[number] for number in numbered if number in run.record] or exchanges[-2:]
    decisive = [one for one in decisive if one.organization in ("primary", "secondary")]
    if not decisive:
        return None
    kept = needed(finding.rule, decisive, exchanges, run)
    steps = {str(at): exchange for at, exchange in enumerate(kept, 1)}
    names = Names()
    _name_target(names, run.target)
    written = [
        _step(identifier, exchange, names, steps, decisive, run) for identifier, exchange in steps.items()
    ]
    _pauses(written, steps)
    numbers = {exchange.number: identifier for identifier, exchange in steps.items()}
    case = verify.Case(
        finding.rule,
        finding.operation,
        run.target,
        steps,
        [numbers[one.number] for one in decisive if one.number in numbers],
        {symbol: value for value, symbol in names.known.items()},
    )
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
        "judgement": verify.choose(case, finding.expected),
    }
    redacted: Document = _redacted(document, run)
    return redacted


# ---------------------------------------------------------------------- which exchanges


def needed(rule: str, decisive: list[Exchange], exchanges: list[Exchange], run: RunContext) -> list[Exchange]:
    """The decisive exchanges and all that they rest on, in the order in which they were sent."""
    makers = _makers(run)
    kept = {one.number: one for one in decisive}
    waiting = list(decisive)
    last = max(kept)
    # Where only a change counts, what else there is does not.
    for number in _listed(decisive, makers, run) if rule not in verify.UNCHANGING else ():
        if number < last and number not in kept and number in run.record:
            kept[number] = run.record[number]
            waiting.append(run.record[number])
    while waiting and len(kept) < MAX_STEPS:
        one = waiting.pop()
        others = [
            run.record[makers[word]]
            for word in _words(one)
            if makers.get(word, one.number) < one.number and makers[word] in run.record
        ]
        others += [other for other in exchanges if other.number < last and _related(other, one)]
        if rule in verify.UNCHANGING:
            others += [
                other
                for other in exchanges
                if other.number < one.number
                and other.method == "GET" == one.method
                and other.call.target == one.call.target
            ][-1:]
            others += [
                other
                for other in exchanges
                if other.number < last and other.method != "GET" and other.refused
            ]
        for other in others:
            if other.number not in kept and len(kept) < MAX_STEPS:
                kept[other.number] = other
                waiting.append(other)
    return sorted(kept.values(), key=lambda one: (one.started, one.number))


def _makers(run: RunContext) -> dict[str, int]:
    """Id -> the number of the exchange that created it, for everything in the record."""
    seen, makers = run.cache.find(_MAKERS) or (0, {})
    numbers = list(run.record)
    for number in numbers[seen:]:
        exchange = run.record[number]
        if exchange.method == "POST" and exchange.succeeded and exchange.operation != "disableBeneficiary":
            identifier = exchange.get("id")
            if isinstance(identifier, str) and identifier:
                makers.setdefault(identifier, number)
    run.cache.put(_MAKERS, (len(numbers), makers))
    return makers


def _listed(decisive: list[Exchange], makers: Mapping[str, int], run: RunContext) -> list[int]:
    """The exchanges that made what the decisive answers show, or should: all but the customer's accounts,
    which are everybody's."""
    lists = [one for one in decisive if one.operation != "listAccounts" and one.succeeded]
    shown = {word for one in lists for word in _WORDS.findall(one.response_body.decode("utf-8", "replace"))}
    paths = {one.call.path for one in lists if one.operation and OPERATIONS[one.operation].is_list}
    return sorted(
        {
            number
            for identifier, number in makers.items()
            if identifier in shown
            or (paths and number in run.record and run.record[number].call.path in paths)
        }
    )[-MAX_LISTED:]


def _words(exchange: Exchange) -> set[str]:
    """Whatever in a request can be an id."""
    return set(_WORDS.findall(_text(exchange)))


def _text(exchange: Exchange) -> str:
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
    if first.idempotency_key is not None and first.idempotency_key == second.idempotency_key:
        return True
    fixed = (second.auth.nonce, second.auth.signed_nonce, second.auth.signature)
    if earlier.nonce in fixed or earlier.request_header(signing.SIGNATURE) in fixed:
        return True
    if earlier.method == "GET":
        return False
    about, changed = second.path.rstrip("/"), first.path.rstrip("/")
    if about.endswith("/balances"):
        about = "/v1/accounts/" + about.split("/")[-2]
    if later.method == "POST" and changed == about and later.operation != "createWallet":
        return False  # one more beside it
    return earlier.succeeded and (
        changed == about
        or changed.startswith(about + "/")
        or (about.startswith(changed + "/") and later.method != "GET")
    )


# ---------------------------------------------------------------------- one step


def _name_target(names: Names, target: Target) -> None:
    for name in ("primary", "secondary"):
        organization = getattr(target, name)
        if organization is None:
            continue
        for member in ("customer_id", "other_customer_id", "funded_account_id", "api_key", "secret"):
            value = getattr(organization, member)
            if value:
                names.known.setdefault(value, f"{name}.{member}")


def _step(
    identifier: str,
    exchange: Exchange,
    names: Names,
    steps: Mapping[str, Exchange],
    decisive: list[Exchange],
    run: RunContext,
) -> Step:
    plain = call_to_plain(exchange.call)
    step: Step = {"id": identifier, "purpose": exchange.purpose, "organization": exchange.organization}
    if "idempotency_key" in plain:
        plain["idempotency_key"] = names.fresh_value("key", plain["idempotency_key"])
    if "auth" in plain:
        plain["auth"] = _auth(plain["auth"], exchange, names, run)
    plain["target"] = names.symbolized(plain["target"], quoted=True)
    if "headers" in plain:
        plain["headers"] = [[name, names.symbolized(value)] for name, value in plain["headers"]]
    if "body" in plain:
        plain["body"] = names.symbolized(plain["body"])
    step |= plain
    _name_signing(identifier, exchange, names, steps.values())
    if captures := _captures(exchange, names, steps.values()):
        step["captures"] = captures
    if any(one.number == exchange.number for one in decisive):
        step["decisive"] = True
    step["answered"] = {"status": exchange.status}
    if isinstance(exchange.error_type, str) and isinstance(exchange.error_code, str):
        step["answered"]["error"] = f"{exchange.error_type}/{exchange.error_code}"
    return step


def _auth(auth: dict[str, Any], exchange: Exchange, names: Names, run: RunContext) -> dict[str, Any]:
    """How a call is signed, fixed nonces and timestamps as symbols."""
    written = {}
    for name, value in auth.items():
        if name in ("nonce", "signed_nonce"):
            value = names.braced(value) or names.fresh_value("nonce", value)
        elif name in ("timestamp", "signed_timestamp") and isinstance(value, str):
            value = names.braced(value) or _moment(value, int(exchange.started + run.clock.offset))
        elif isinstance(value, str):
            value = names.symbolized(value)
        written[name] = value
    return written


def _name_signing(identifier: str, exchange: Exchange, names: Names, steps: Iterable[Exchange]) -> None:
    """Names what later requests take over of how this one was signed."""
    later = [one.call.auth for one in steps if one.number > exchange.number]
    for header, members in (
        (signing.SIGNATURE, ("signature",)),
        (signing.NONCE, ("nonce", "signed_nonce")),
        (signing.TIMESTAMP, ("timestamp", "signed_timestamp")),
    ):
        value = exchange.request_header(header)
        if value and any(getattr(auth, member) == value for auth in later for member in members):
            names.known.setdefault(value, f"sent_{identifier}.{header.lower().removeprefix('x-')}")


def _moment(text: str, now: int) -> str:
    """A timestamp in seconds or milliseconds as its distance from server time; other texts as they are."""
    if not re.fullmatch("[0-9]{9,14}", text):
        return text
    symbol, base = ("now", now) if len(text) <= 11 else ("now_ms", now * 1000)
    return "{{" + symbol + format(int(text) - base, "+d") + "}}"


def _captures(exchange: Exchange, names: Names, steps: Iterable[Exchange]) -> dict[str, list[str | int]]:
    """What of an answer later requests name, as symbols."""
    if not exchange.succeeded:
        return {}
    later = [one for one in steps if one.number > exchange.number]
    text = "\n".join(map(_text, later))
    kind = OPERATIONS[exchange.operation].resource if exchange.operation else "answer"
    places: list[list[str | int]] = [[name] for name in _NAMED]
    items = exchange.get("items")
    if isinstance(items, list):
        places += [["items", at, name] for at in range(min(len(items), 20)) for name in _NAMED]
    captures: dict[str, list[str | int]] = {}
    name = ""
    dated = bool(re.search("_date=", text))
    for place in places:
        value = exchange.get(*place)
        if not isinstance(value, str) or len(value) < 6 or value in names.known:
            continue
        if value in text or (dated and place[-1] == "created"):
            name = name or names.number(kind)
            member = "_".join(map(str, place))
            names.known[value] = f"{name}.{member}"
            captures[f"{name}.{member}"] = list(place)
    return captures


def _pauses(written: list[Step], steps: Mapping[str, Exchange]) -> None:
    """Notes which steps went out together, and where the check waited."""
    exchanges = list(steps.values())
    group, end = 0, 0.0
    for at, (step, exchange) in enumerate(zip(written, exchanges, strict=True)):
        if at and exchange.started < end:
            before = written[at - 1]
            if "together" not in before:
                group += 1
                before["together"] = group
            step["together"] = before["together"]
        elif at and exchange.number - exchanges[at - 1].number == 1 and exchange.started - end > PAUSE:
            step["wait"] = round(min(exchange.started - end, 30.0), 3)
        end = max(end, exchange.started + exchange.elapsed)


def _redacted(value: Any, run: RunContext) -> Any:
    """Plain data without credentials, wherever they stand."""
    if isinstance(value, str):
        return run.redactor.text(value)
    if isinstance(value, dict):
        return {run.redactor.text(key): _redacted(member, run) for key, member in value.items()}
    return [_redacted(member, run) for member in value] if isinstance(value, list) else value
