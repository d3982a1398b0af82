"""Writes replay files: the exchanges that a failure depends on as steps, with symbols for values that differ
in each replay."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from conformance._text import mapped
from conformance.contract.operations import OPERATIONS
from conformance.contract.rules import RULES
from conformance.judge.findings import Finding
from conformance.replay.format import FORMAT, LONGEST_PAUSE, Document, Step, file_name, write
from conformance.replay.naming import Names
from conformance.replay.reading import PAGE
from conformance.replay.slice import closure
from conformance.replay.symbols import SYMBOL
from conformance.wire.messages import Exchange, call_to_plain
from conformance.wire.pages import DEFAULT_SIZE, integer, page_of, pages_of
from conformance.wire.provenance import new_key, origin
from conformance.world.run_context import RunContext

#: Seconds of a pause between two steps that is kept: the check waited for a clock.
PAUSE = 0.3

#: The same across requests that are left out, where the check shared its run with others.
LONG_PAUSE = 5.0

#: Page numbers that are past the end of any list.
FAR = 10**6


def save(finding: Finding, exchanges: list[Exchange], run: RunContext, folder: Path) -> Path | None:
    """Writes the replay file of a failed finding; returns its path, or None without judged requests.

    `exchanges` are those of the check in their order; what they depend on is found in the run's record.
    Raises OSError when the folder cannot be written."""
    document = document_of(finding, exchanges, run)
    if document is None:
        return None
    return write(document, folder / file_name(finding.rule, finding.operation, finding.check))


def document_of(
    finding: Finding, exchanges: list[Exchange], run: RunContext, least: float | None = None
) -> Document | None:
    """The replay document of a failed finding, without credentials; None without judged requests. Pauses of
    `least` seconds or more are kept (default: PAUSE or LONG_PAUSE)."""
    if finding.judgement is None:
        return None
    expectation, numbers = finding.judgement.expectation, finding.judgement.exchanges
    judged = [run.record[number] for number in numbers if number in run.record]
    if not judged or len(judged) < len(numbers):
        return None
    if any(exchange.organization not in ("primary", "secondary") for exchange in judged):
        return None
    plain = expectation.to_plain()
    text = json.dumps(plain, ensure_ascii=False)
    kept = closure(judged, exchanges, run, text, effects=expectation.predicate.effects)
    copies = _copies(judged[-1], kept[-1], expectation.times)
    judged, kept = judged + copies, kept + copies
    writer = _Writer(finding.rule, kept, {exchange.number for exchange in judged}, run)
    written = [writer.step(str(at), exchange) for at, exchange in enumerate(kept, 1)]
    by_number = {exchange.number: step for exchange, step in zip(kept, written, strict=True)}
    _together(written, kept)
    _pauses(by_number, exchanges, least or (PAUSE if run.before else LONG_PAUSE))
    rule, with_symbols = RULES[finding.rule], writer.expectation(plain, written)
    document = {
        "format": FORMAT,
        "rule": rule.id,
        "section": list(rule.section),
        "statement": rule.statement,
        "operation": finding.operation,
        "check": finding.check,
        "expected": finding.expected,
        "got": finding.got,
        "fresh": dict(writer.names.fresh),
        "steps": written,
        "expectation": with_symbols,
        "judged": [by_number[exchange.number]["id"] for exchange in judged],
    }
    redacted: Document = mapped(document, run.redactor.text)
    return redacted


def _copies(exchange: Exchange, last: Exchange, times: int) -> list[Exchange]:
    """Copies a request for it to be sent `times` times, each with a new nonce and key, after the last."""
    auth, key = exchange.call.auth, exchange.call.idempotency_key
    if auth.nonce is not None:
        auth = replace(auth, nonce=None, signed_nonce=None)
    end = last.started + last.elapsed
    return [
        replace(
            exchange,
            number=last.number + at,
            call=exchange.call.but(auth=auth, idempotency_key=new_key() if origin(key or "") else key),
            started=end + at,
            elapsed=0.0,
        )
        for at in range(1, times)
    ]


class _Writer:
    """Writes the steps of one file, in their order."""

    def __init__(self, rule: str, kept: Sequence[Exchange], judged: set[int], run: RunContext) -> None:
        self._rule, self._kept, self._judged, self._run = rule, kept, judged, run
        made = (exchange.get("id") for exchange in kept if exchange.method == "POST" and exchange.succeeded)
        self.names = Names(run.target, {value for value in made if isinstance(value, str)})
        #: Secret -> its symbol.
        self._secrets = {
            organization.secret: f"{name}.secret"
            for name in ("secondary", "primary")
            if (organization := getattr(run.target, name)) is not None
        }

    def step(self, identifier: str, exchange: Exchange) -> Step:
        """Converts an exchange into a step."""
        names, plain = self.names, call_to_plain(exchange.call)
        decisive = exchange.number in self._judged
        if "auth" in plain:
            now = int(exchange.started + self._run.clock.offset)
            plain["auth"] = names.signing(plain["auth"], plain.get("body", ""), self._secrets, now)
        if "headers" in plain:
            plain["headers"] = [[name, names.text(value)] for name, value in plain["headers"]]
        if "idempotency_key" in plain:
            plain["idempotency_key"] = names.text(plain["idempotency_key"])
        if "body" in plain:
            plain["body"] = names.body(plain["body"])
        plain["target"] = names.target(plain["target"])
        step: Step = {"id": identifier, "purpose": exchange.purpose, "organization": exchange.organization}
        step |= plain
        if decisive:
            step["decisive"] = True
        step["answered"] = {"status": exchange.status}
        if exchange.names_error:
            step["answered"]["error"] = f"{exchange.error_type}/{exchange.error_code}"
        if past := _past(exchange, self._kept, self._rule):
            step["answered"]["past"] = past
        kind = OPERATIONS[exchange.operation].resource if exchange.operation else "answer"
        names.learn(step, exchange, kind, judged=decisive)
        return step

    def expectation(self, plain: dict[str, Any], steps: list[Step]) -> dict[str, Any]:
        """Replaces the values of an expectation by symbols; of ids to be listed, only those that the steps
        create are kept."""
        with_symbols: dict[str, Any] = self.names.data(plain)
        if plain["predicate"] == "listed":
            shown = {name for step in steps if step["method"] == "GET" for name in step.get("captures", {})}
            with_symbols["parameters"]["ids"] = [
                identifier
                for identifier in with_symbols["parameters"]["ids"]
                if (symbol := SYMBOL.search(identifier)) and symbol[1] not in shown
            ]
        return with_symbols


def _past(exchange: Exchange, steps: Sequence[Exchange], rule: str) -> int:
    """Number of pages past the last one at which a request reads a list; 0 if not past it. An answer with
    elements is not, unless that breaks `rule`: then earlier answers tell the last page."""
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


def _together(written: Sequence[Step], kept: Sequence[Exchange]) -> None:
    """Sets `together` in the steps of each race."""
    group = 0
    for before, after in itertools.pairwise(zip(written, kept, strict=True)):
        if after[1].raced == before[1].raced > 0:
            group += "together" not in before[0]
            before[0]["together"] = after[0]["together"] = group


def _pauses(written: Mapping[int, Step], exchanges: list[Exchange], least: float) -> None:
    """Sets `wait` in steps: pauses of `least` seconds since the previous step, and those above PAUSE directly
    before the step."""
    waited, first = 0.0, next(iter(written))
    for before, exchange in itertools.pairwise(exchanges):
        pause = exchange.started - (before.started + before.elapsed)
        consecutive = before.number in written and exchange.number == before.number + 1
        if pause >= least or (consecutive and pause > PAUSE):
            waited += pause
        if step := written.get(exchange.number):
            # The first step has no predecessor.
            if waited and "together" not in step and exchange.number != first:
                step["wait"] = round(min(waited, LONGEST_PAUSE), 3)
            waited = 0.0
