"""The report for a browser: one file that loads nothing.

It stays small whatever the run: it holds every rule and case in words, and of the exchanges as many as fit
into PAGE_EXCHANGES bytes, those of violations first; results.json keeps more. Everything that came from
outside is escaped by the template or goes through the script as text, and the page's policy lets no other
script run than its own.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import resources
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined, pass_context
from jinja2.runtime import Context
from markupsafe import Markup

from conformance._files import InputError
from conformance._text import clean, count
from conformance.contract.rules import chapter, section_order, section_title
from conformance.judge.findings import Finding, Verdict
from conformance.judge.ledger import CreatedRecord, Result, grouped
from conformance.replay import as_python
from conformance.report import overview, plots, view
from conformance.report.beside import PAIRS, beside
from conformance.report.document import Document, RuleRecord
from conformance.report.evidence import PAGE_EXCHANGES, page_exchanges
from conformance.report.transcript import transcript

#: Violations whose decisive exchange is also held as plain text, for readers without scripts.
TRANSCRIPTS = 100

#: Created resources that the page lists.
CREATED = 2000

#: The column of violations that do not fail the run.
KNOWN = "known failures"

_MARKS = {"good": "✓", "part": "◐", "known": "✓", "unsure": "?", "suite": "!", "bad": "✗"}


def html(document: Document) -> str:
    """The page as text."""
    return "".join(pieces(document))


def pieces(document: Document) -> Iterator[str]:
    """The page in pieces: the whole takes megabytes."""
    return rendered("report.html.j2", _Page(document).values(), _asset("report.js"))


def rendered(
    template: str, values: Mapping[str, Any], script: str = "", forms: str = "'none'"
) -> Iterator[str]:
    """The pieces of a page of a template, with style and script, and a policy that allows these two and
    nothing else, but for forms that are sent to `forms`."""
    style = _asset("report.css")
    sources = _hash(script) if script else "'none'"
    policy = f"default-src 'none'; script-src {sources}; style-src {_hash(style)}"
    policy += f"; base-uri 'none'; form-action {forms}"
    values = {**values, "policy": policy, "style": Markup(style), "script": Markup(script)}
    return _environment().get_template(template).generate(values)


@functools.cache
def _environment() -> Environment:
    environment = Environment(
        loader=FunctionLoader(_template),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["where"] = _where
    environment.filters["slug"] = lambda text: str(text).replace(" ", "-")
    return environment


@pass_context
def _where(context: Context, operations: Sequence[str]) -> str:
    return view.where(operations, context["operations"])


@functools.cache
def _asset(name: str) -> str:
    return (resources.files("conformance.report") / "page" / name).read_text(encoding="utf-8")


def _template(name: str) -> str:
    """A template without the indentation of its lines, which would make up a fifth of a page."""
    return re.sub(r"^ +", "", _asset(name), flags=re.MULTILINE)


def _hash(text: str) -> str:
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"


def embedded(data: Any) -> Markup:
    """JSON for a script element: no character in it can end the element or start markup."""
    text = json.dumps(data, separators=(",", ":"))
    return Markup(text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))


class _Page:
    """Values for the template about a document."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.cells = view.cells(document)
        self.rules = view.rules(document)
        self.broken = {cause.rule for cause in document.causes}

    def values(self) -> dict[str, Any]:
        document = self.document
        verdict, run = document.verdict, document.run
        numbers = view.numbers(document)
        used = [str(name) for name in view.SIGNS if any(row[name] for row in numbers.values())]
        tone = view.tone(document)
        kept = page_exchanges(document)
        known, pinned = document.known_failures, document.pinned_choices
        names = [operation.id for operation in document.operations]
        return {
            "data": embedded(kept),
            "suite": document.suite,
            "verdict": verdict,
            "run": run,
            "tone": tone,
            "mark": _MARKS[tone],
            "title": verdict.title or verdict.name,
            "label": view.label(document),
            "signs": {str(name): sign for name, sign in view.SIGNS.items()} | {KNOWN: "✗"},
            "verdicts": used,
            "columns": [*used, *([KNOWN] if any(row[KNOWN] for row in numbers.values()) else [])],
            "levels": list(document.counts),
            "numbers": [self._numbers(level, row) for level, row in numbers.items()],
            "errors": document.errors,
            "missing_operations": document.missing,
            "stale": known.stale if known else [],
            "source": known.source if known else "",
            "changed": pinned.differences if pinned else [],
            "causes": [self._cause(cause, index) for index, cause in enumerate(view.causes(document))],
            "missing": [self._missing(group) for group in view.inconclusive(document)],
            "blocked": any(case.verdict is Verdict.INCONCLUSIVE for case in document.cells),
            "operations": document.operations,
            "matrix": self._matrix(names),
            "sections": self._sections(),
            "rule_count": len(self.rules),
            "observed": view.observations(document),
            "overview": overview.values(document),
            "axis": plots.axis(),
            "course": plots.course(document.moments),
            "latencies": [plots.row(row) for row in document.latency],
            "facts": overview.run_facts(document),
            "kept": self._kept(len(kept)),
            "created": self._created(),
            "created_more": max(len(document.created) - CREATED, 0),
        }

    # ------------------------------------------------------------------ numbers

    def _numbers(self, level: str, row: dict[str, int]) -> dict[str, Any]:
        total = sum(row.values()) or 1
        parts, at = [], 0.0
        for name in row:
            width = 200 * row[name] / total
            if row[name]:
                parts.append({"name": name, "x": f"{at:.2f}", "width": f"{width:.2f}"})
            at += width
        words = ", ".join(f"{row[name]} {name}" for name in row if row[name])
        return {
            "level": level,
            "counts": {name: f"{row[name]:,}" if row[name] else 0 for name in row},
            "parts": parts,
            "words": words,
        }

    def _created(self) -> list[tuple[str, list[CreatedRecord]]]:
        """Created resources by operation, as many as the page holds."""
        return list(grouped((made.operation, made) for made in self.document.created[:CREATED]).items())

    # ------------------------------------------------------------------ violations

    def _cause(self, cause: view.Cause, index: int) -> dict[str, Any]:
        first = cause.first
        finding = first.decisive
        operations = cause.record.operations
        return {
            "rule": cause.rule,
            "operations": operations,
            "where": view.where(operations, self.document.operations),
            "finding": finding,
            "checks": [
                {
                    "name": check.name.rpartition(".")[2].removeprefix("test_"),
                    "finding": check.finding,
                    "where": view.where(check.operations, self.document.operations),
                }
                for check in cause.checks[1:]
            ],
            "verdict": first.verdict,
            "tone": "known" if first.known else first.verdict,
            "known": first.known,
            "exchanges": [
                self._line(number, position == 0 and index < TRANSCRIPTS)
                for position, number in enumerate(finding.exchanges)
            ],
            "beside": beside(self.document, finding) if index < PAIRS else None,
            "command": view.reproduction(self.document, first),
            "consequences": list(grouped((case.rule, case.operation) for case in cause.consequences).items()),
            "script": _script(self.document, finding),
        }

    def _line(self, number: int, with_transcript: bool) -> dict[str, Any]:
        exchange = self.document.exchanges.get(number)
        if exchange is None:
            return {
                "number": number,
                "line": "",
                "status": "",
                "kind": "",
                "purpose": "not kept",
                "transcript": "",
            }
        status = exchange.status
        kind = "none" if status is None else "ok" if status < 300 else "client" if status < 500 else "server"
        return {
            "number": number,
            "line": clean(f"{exchange.method} {exchange.target}")[:160],
            "status": "no answer" if status is None else status,
            "kind": kind,
            "purpose": clean(exchange.purpose),
            "transcript": transcript(exchange) if with_transcript else "",
        }

    def _missing(self, group: view.Missing) -> dict[str, Any]:
        return {
            "cells": group.cases,
            "reason": group.reason,
            "remedy": group.remedy,
            "rules": list(grouped((case.rule, case.operation) for case in group.cases).items()),
        }

    # ------------------------------------------------------------------ rules

    def _matrix(self, names: list[str]) -> list[dict[str, Any]]:
        areas = grouped((rule.id.partition(".")[0], rule) for rule in self.rules.values())
        return [
            {
                "name": area,
                "rules": [
                    {
                        "id": rule.id,
                        "short": rule.id.partition(".")[2],
                        "level": rule.level,
                        "cells": [self.cells.get((rule.id, name)) for name in names],
                        "statement": rule.statement,
                    }
                    for rule in found
                ],
            }
            for area, found in areas.items()
        ]

    def _sections(self) -> list[dict[str, Any]]:
        chapters = grouped((chapter(rule.section[0]), rule) for rule in self.rules.values())
        return [
            {
                "number": number,
                "title": section_title(number),
                "rules": [self._rule(rule) for rule in chapters[number]],
                "tally": _tally(case.verdict for rule in chapters[number] for case in self._cases(rule)),
            }
            for number in sorted(chapters, key=section_order)
        ]

    def _cases(self, rule: RuleRecord) -> list[Result]:
        return [
            self.cells[rule.id, operation]
            for operation in rule.operations
            if (rule.id, operation) in self.cells
        ]

    def _rule(self, rule: RuleRecord) -> dict[str, Any]:
        cases = self._cases(rule)
        verdicts = sorted({case.verdict for case in cases}, key=lambda verdict: -verdict.severity)
        checks = {finding.check for case in cases for finding in case.findings}
        worst = str(verdicts[0] if verdicts else Verdict.NOT_RUN)
        return {
            "id": rule.id,
            "section": rule.section,
            "level": rule.level,
            "statement": rule.statement,
            "operations": rule.operations,
            "needs": rule.needs,
            "follows": rule.follows,
            "cells": [self._cell(case) for case in cases],
            "verdicts": verdicts,
            "worst": worst,
            "tone": worst.replace(" ", "-"),
            "tally": _tally(case.verdict for case in cases),
            "checks": sorted(checks),
        }

    def _cell(self, case: Result) -> dict[str, Any]:
        findings = [self._finding(case, finding) for finding in case.findings]
        commands = set()
        for shown in findings:
            if shown["command"] in commands:
                shown["command"] = ""
            commands.add(shown["command"])
        numbers = dict.fromkeys(number for finding in case.findings for number in finding.exchanges)
        return {
            "operation": case.operation,
            "verdict": case.verdict,
            "known": case.known,
            "findings": [shown for shown in findings if any(shown.values())],
            "exchanges": list(numbers),
            "summary": "" if case.findings else case.summary,
        }

    def _finding(self, case: Result, finding: Finding) -> dict[str, Any]:
        violated = finding.verdict.is_violation
        text = "" if violated else finding.summary
        if finding.cause and finding.cause in self.broken:
            text = f"{text} ({finding.cause} is broken)".strip()
        if finding.verdict is Verdict.PASSED and finding.probes:
            text = f"{count(finding.probes, 'judgement')} by {finding.check.removeprefix('test_')}"
        return {
            "text": text,
            "expected": finding.expected if violated else "",
            "got": finding.got if violated else "",
            "remedy": finding.remedy,
            "observations": finding.observations,
            "further": finding.further,
            "command": view.reproduction(self.document, case, finding) if violated else "",
            "confirmed": finding.confirmed,
        }

    def _kept(self, kept: int) -> str:
        document = self.document
        return (
            f"Of {count(document.run.requests, 'request')}, results.json keeps the "
            f"{count(len(document.exchanges), 'exchange')} that prove something, and this page {kept:,} "
            f"of those (at most {PAGE_EXCHANGES / 1e6:g} MB, violations first)."
        )


def _tally(verdicts: Iterable[Verdict]) -> str:
    counted = Counter(verdicts)
    return ", ".join(f"{counted[verdict]} {verdict}" for verdict in Verdict if counted[verdict])


def _script(document: Document, finding: Finding) -> str:
    """The stand-alone script that repeats a violation; empty where the document does not carry its requests,
    or where these were written by hand or by another version of the suite."""
    replay = document.replays.get(finding.replay)
    if not finding.replay or replay is None:
        return ""
    try:
        return as_python(dict(replay))
    except InputError:
        return ""
