"""The report as a self-contained page for a browser.

Its size is bounded: every rule and case in words, and exchanges up to PAGE_EXCHANGES bytes, those of
violations first; results.json keeps more. Foreign text is escaped by the template or inserted as text by the
script, and the content security policy allows no other script.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from importlib import resources
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined, pass_context
from jinja2.runtime import Context
from jinja2.utils import htmlsafe_json_dumps
from markupsafe import Markup

from conformance._text import clean, count, one_line
from conformance.contract.rules import chapter, section_order, section_title
from conformance.judge.findings import Verdict
from conformance.judge.ledger import Result, grouped
from conformance.report import commands, plots, summary, view
from conformance.report.beside import PAIRS, beside
from conformance.report.document import Document, RuleRecord
from conformance.report.evidence import PAGE_EXCHANGES, page_exchanges
from conformance.report.transcript import transcript

#: Violations whose decisive exchange is also included as plain text, for readers without scripts.
TRANSCRIPTS = 100

#: Maximum number of created resources in the page.
CREATED = 2000

#: Maximum number of causes and of inconclusive reasons on the first page, so that it prints on one sheet.
CAUSES, REASONS = 8, 4

_MARKS = {"good": "✓", "part": "◐", "known": "✓", "unsure": "?", "suite": "!", "bad": "✗"}


def html(document: Document) -> str:
    """The page as text."""
    return "".join(pieces(document))


def pieces(document: Document) -> Iterator[str]:
    """The page in pieces, since the whole takes megabytes."""
    return rendered("report.html.j2", _values(document), _asset("report.js"))


def rendered(
    template: str, values: Mapping[str, Any], script: str = "", forms: str = "'none'"
) -> Iterator[str]:
    """Renders a template with its style and script, in pieces; the content security policy allows only these
    two, and forms sent to `forms`."""
    style = _asset("report.css")
    sources = _hash(script) if script else "'none'"
    policy = f"default-src 'none'; script-src {sources}; style-src {_hash(style)}"
    policy += f"; base-uri 'none'; form-action {forms}"
    values = {**values, "policy": policy, "style": Markup(style), "script": Markup(script)}
    return _environment().get_template(template).generate(values)


@functools.cache
def _environment() -> Environment:
    environment = Environment(
        # Indentation would be a fifth of a page.
        loader=FunctionLoader(lambda name: re.sub(r"^ +", "", _asset(name), flags=re.MULTILINE)),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "where": _where,
        "slug": lambda text: str(text).replace(" ", "-"),
        "line": one_line,
        "clean": clean,
        "counted": lambda things, noun: count(len(things), noun),
    }
    return environment


@pass_context
def _where(context: Context, operations: Sequence[str]) -> str:
    return view.where(operations, context["operations"])


@functools.cache
def _asset(name: str) -> str:
    return (resources.files("conformance.report") / "page" / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"


def _values(document: Document) -> dict[str, Any]:
    """The template values of a document."""
    numbers = view.numbers(document)
    columns = view.columns(numbers)
    tone = view.tone(document)
    kept = page_exchanges(document)
    cells, rules = view.cells(document), view.rules(document)
    names = [operation.id for operation in document.operations]
    areas = grouped((rule.id.partition(".")[0], rule) for rule in rules.values())
    return {
        "document": document,
        "data": htmlsafe_json_dumps(kept, separators=(",", ":")),
        "tone": tone,
        "mark": _MARKS[tone],
        "title": document.verdict.title or document.verdict.name,
        "label": view.label(document),
        "signs": {str(name): sign for name, sign in view.SIGNS.items()} | {view.KNOWN: "✗"},
        "verdicts": [name for name in columns if name != view.KNOWN],
        "columns": columns,
        "numbers": {level: (row, _bar(row)) for level, row in numbers.items()},
        "causes": [_cause(document, cause, index) for index, cause in enumerate(view.causes(document))],
        "inconclusive": [
            (group, grouped((case.rule, case.operation) for case in group.cases))
            for group in view.inconclusive(document)
        ],
        "blocked": any(case.verdict is Verdict.INCONCLUSIVE for case in document.cells),
        "operations": document.operations,
        "matrix": {
            area: [(rule, [cells.get((rule.id, name)) for name in names]) for rule in found]
            for area, found in areas.items()
        },
        "sections": _sections(document, cells, rules.values()),
        "observed": view.observations(document),
        "brief": summary.facts(document),
        "shown_causes": CAUSES,
        "shown_reasons": REASONS,
        "left_out": summary.left_out(document),
        "again": commands.again(document.run.options, document.run.seed),
        "course": plots.course(document.moments),
        "course_size": plots.COURSE,
        "latency_size": plots.LATENCY,
        "latencies": [plots.row(row) for row in document.latency],
        "facts": summary.run_facts(document),
        "kept": (
            f"Of {count(document.run.requests, 'request')}, results.json keeps the "
            f"{count(len(document.exchanges), 'exchange')} that prove something, and this page {len(kept):,} "
            f"of those (at most {PAGE_EXCHANGES / 1e6:g} MB, violations first)."
        ),
        "created": grouped((made.operation, made) for made in document.created[:CREATED]),
        "created_more": max(len(document.created) - CREATED, 0),
    }


def _bar(row: dict[str, int]) -> list[tuple[str, str, str]]:
    """The segments of a stacked bar: name, offset and width."""
    total = sum(row.values()) or 1
    parts, at = [], 0.0
    for name, number in row.items():
        width = 200 * number / total
        if number:
            parts.append((name, f"{at:.2f}", f"{width:.2f}"))
        at += width
    return parts


# ---------------------------------------------------------------------- violations


def _cause(document: Document, cause: view.Cause, index: int) -> dict[str, Any]:
    first = cause.first
    finding = first.decisive
    return {
        "rule": cause.rule,
        "operations": cause.record.operations,
        "finding": finding,
        "checks": cause.checks[1:],
        "verdict": first.verdict,
        "tone": "known" if first.known else first.verdict,
        "known": first.known,
        "exchanges": [
            _line(document, number, position == 0 and index < TRANSCRIPTS)
            for position, number in enumerate(finding.exchanges)
        ],
        "beside": beside(document, finding) if index < PAIRS else None,
        "command": view.reproduced(document, first),
        "consequences": grouped((case.rule, case.operation) for case in cause.consequences),
    }


def _line(document: Document, number: int, with_transcript: bool) -> dict[str, Any]:
    line = {"number": number, "line": "", "status": "", "kind": "", "purpose": "not kept", "transcript": ""}
    exchange = document.exchanges.get(number)
    if exchange is None:
        return line
    status = exchange.status
    kind = "none" if status is None else "ok" if status < 300 else "client" if status < 500 else "server"
    return line | {
        "line": clean(f"{exchange.method} {exchange.target}")[:160],
        "status": "no answer" if status is None else status,
        "kind": kind,
        "purpose": clean(exchange.purpose),
        "transcript": transcript(exchange) if with_transcript else "",
    }


# ---------------------------------------------------------------------- rules


def _sections(
    document: Document, cells: Mapping[tuple[str, str], Result], rules: Iterable[RuleRecord]
) -> list[dict[str, Any]]:
    broken = {cause.rule for cause in document.causes}
    chapters: dict[str, list[dict[str, Any]]] = {}
    for rule in rules:
        cases = [cells[rule.id, name] for name in rule.operations if (rule.id, name) in cells]
        verdicts = sorted({case.verdict for case in cases}, key=lambda verdict: -verdict.severity)
        described = {
            "rule": rule,
            "cases": [(case, _findings(document, case, broken), _exchanges(case)) for case in cases],
            "verdicts": verdicts,
            "worst": verdicts[0] if verdicts else Verdict.NOT_RUN,
            "tally": _tally(cases),
            "checks": sorted({finding.check for case in cases for finding in case.findings}),
        }
        chapters.setdefault(chapter(rule.section[0]), []).append(described)
    return [
        {
            "number": number,
            "title": section_title(number),
            "rules": chapters[number],
            "tally": _tally(case for rule in chapters[number] for case, *_ in rule["cases"]),
        }
        for number in sorted(chapters, key=section_order)
    ]


def _exchanges(case: Result) -> list[int]:
    return list(dict.fromkeys(number for finding in case.findings for number in finding.exchanges))


def _findings(document: Document, case: Result, broken: Collection[str]) -> list[dict[str, Any]]:
    """The findings of a case that have something to show; each command is shown once."""
    shown, commands = [], {""}
    for finding in case.findings:
        violated = finding.verdict.is_violation
        text = "" if violated else finding.summary
        if finding.cause and finding.cause in broken:
            text = f"{text} ({finding.cause} is broken)".strip()
        if finding.verdict is Verdict.PASSED and finding.probes:
            text = f"{count(finding.probes, 'judgement')} by {finding.check.removeprefix('test_')}"
        command = view.reproduced(document, case, finding) if violated else ""
        said = {
            "text": text,
            "expected": finding.expected if violated else "",
            "got": finding.got if violated else "",
            "remedy": finding.remedy,
            "observations": finding.observations,
            "further": finding.further,
            "command": "" if command in commands else command,
            "confirmed": finding.confirmed,
        }
        commands.add(command)
        if any(said.values()):
            shown.append(said)
    return shown


def _tally(cases: Iterable[Result]) -> str:
    counted = Counter(case.verdict for case in cases)
    return ", ".join(f"{counted[verdict]} {verdict}" for verdict in Verdict if counted[verdict])
