"""The report as a self-contained page for a browser.

Its size is bounded: every rule and cell in words, and exchanges up to evidence.PAGE_EXCHANGES, each once;
results.json keeps more. Foreign text is escaped by the template, and the content security policy allows no
script but the page's own.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import resources
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined, pass_context
from jinja2.runtime import Context
from markupsafe import Markup

from conformance._text import clean, count, milliseconds, one_line, visible
from conformance.contract.rules import chapter, section_order, section_title
from conformance.judge.cells import Cell, grouped
from conformance.judge.verdicts import Verdict
from conformance.report import commands, facts
from conformance.report.beside import beside, wrong_exchange
from conformance.report.document import Document, RuleRecord
from conformance.report.evidence import PAGE_BODY, page_exchanges
from conformance.report.resending import resend
from conformance.report.sections import Cause, causes_of, observations, sections, where
from conformance.report.transcript import answer_lines, request_lines

#: Facts of the run that stand above all sections.
BRIEF = 5

_MARKS = {"good": "✓", "part": "◐", "known": "✓", "unsure": "?", "suite": "!", "bad": "✗"}


def pieces(document: Document) -> Iterator[str]:
    """The page in pieces, since the whole takes a megabyte."""
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
        "milliseconds": milliseconds,
        "counted": lambda things, noun: count(len(things), noun),
    }
    return environment


@pass_context
def _where(context: Context, operations: Sequence[str]) -> str:
    return where(operations, context["operations"])


@functools.cache
def _asset(name: str) -> str:
    return (resources.files("conformance.report") / "page" / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"


def _values(document: Document) -> dict[str, Any]:
    """The template values of a document."""
    numbers = facts.numbers(document)
    columns = facts.columns(numbers)
    tone = facts.tone(document)
    evidence = PageExchanges(document)
    parts = sections(document)
    cards = {
        item.cause.anchor: evidence.card(item.cause)
        for section in parts
        for item in section.items
        if item.cause
    }
    return {
        "document": document,
        "tone": tone,
        "mark": _MARKS[tone],
        "title": document.verdict.title or document.verdict.name,
        "label": facts.label(document),
        "unit": facts.UNIT,
        "signs": {str(name): sign for name, sign in facts.SIGNS.items()} | {facts.KNOWN: "✗"},
        "verdicts": [name for name in columns if name != facts.KNOWN],
        "columns": columns,
        "numbers": numbers,
        "sections": parts,
        "cards": cards,
        "operations": document.operations,
        "matrix": _matrix(document),
        "chapters": _chapters(document, evidence),
        "proof": evidence.rest(),
        "observed": observations(document),
        "facts": facts.run_facts(document),
        "brief": BRIEF,
        "again": commands.again(document.run.options, document.run.seed),
        "created": Counter(made.operation or "on undocumented paths" for made in document.created),
    }


# ---------------------------------------------------------------------- exchanges


class PageExchanges:
    """The exchanges of a page: each is written once, at its first place, and linked to from others."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.exchanges = page_exchanges(document)
        self._written: set[int] = set()

    def card(self, cause: Cause) -> dict[str, Any]:
        """The diff and the exchanges of the first violation of a cause, the wrong one first."""
        wrong = wrong_exchange(self.document, cause.first)
        numbers = dict.fromkeys([*([wrong.number] if wrong else []), *cause.first.exchanges])
        present = [number for number in numbers if number in self.exchanges]
        written = [number for number in present if number not in self._written]
        self._written.update(written)
        return {
            "beside": beside(self.document, cause.first),
            "exchanges": [self._block(number) for number in written],
            "elsewhere": [number for number in present if number not in written],
        }

    def rest(self) -> list[dict[str, Any]]:
        """The exchanges that no cause shows."""
        return [self._block(number) for number in sorted(self.exchanges.keys() - self._written)]

    def _block(self, number: int) -> dict[str, Any]:
        exchange = self.exchanges[number]
        status = exchange.status
        kind = "none" if status is None else "ok" if status < 300 else "client" if status < 500 else "server"
        return {
            "number": number,
            "line": clean(f"{exchange.method} {exchange.target}")[:160],
            "status": "no answer" if status is None else status,
            "kind": kind,
            "purpose": clean(exchange.purpose),
            "command": resend(self.document.exchanges[number], self.document),
            "sent": "\n".join(map(visible, request_lines(exchange, PAGE_BODY))),
            "received": "\n".join(map(visible, answer_lines(exchange, PAGE_BODY))),
        }


# ---------------------------------------------------------------------- rules


def _matrix(document: Document) -> dict[str, list[tuple[RuleRecord, list[Cell | None]]]]:
    """Area -> its rules, each with its cells by operation."""
    cells = {cell.key: cell for cell in document.cells}
    names = [operation.id for operation in document.operations]
    return grouped(
        (rule.id.partition(".")[0], (rule, [cells.get((rule.id, name)) for name in names]))
        for rule in document.rules
    )


def _chapters(document: Document, evidence: PageExchanges) -> list[dict[str, Any]]:
    """The rules by chapter of the specification, each with its cells; alike cells are one row."""
    cells = grouped((cell.rule, cell) for cell in document.cells)
    anchors: dict[tuple[str, str], str] = {}
    for cause in causes_of(document):
        anchors |= {other.key: cause.anchor for other in cause.record.consequences}
        anchors |= {cell.key: cause.anchor for cell in cause.cells}
    chapters: dict[str, list[dict[str, Any]]] = {}
    for rule in document.rules:
        rows = grouped(
            ((cell.verdict, _said(cell), anchors.get(cell.key, "")), cell) for cell in cells.get(rule.id, ())
        )
        verdicts = sorted({verdict for verdict, _, _ in rows}, key=lambda verdict: -verdict.severity)
        described = {
            "rule": rule,
            "rows": [
                (*row, [(cell, _proof(cell, evidence)) for cell in alike]) for row, alike in rows.items()
            ],
            "verdicts": verdicts,
            "worst": verdicts[0] if verdicts else Verdict.NOT_RUN,
            "tally": _tally(cells.get(rule.id, ())),
            "checks": sorted({check for cell in cells.get(rule.id, ()) for check in cell.checks}),
        }
        chapters.setdefault(chapter(rule.section[0]), []).append(described)
    return [
        {"number": number, "title": section_title(number), "rules": chapters[number]}
        for number in sorted(chapters, key=section_order)
    ]


def _said(cell: Cell) -> str:
    """The conclusion on a cell in words; empty if it held."""
    if cell.violations:
        return cell.violations[0].sentence
    remedy = cell.decisive.remedy
    return f"{cell.summary}. {remedy}" if remedy else cell.summary


def _proof(cell: Cell, evidence: PageExchanges) -> int:
    """The first exchange of a cell that the page has; 0 without one."""
    return next((number for number in cell.exchanges if number in evidence.exchanges), 0)


def _tally(cells: Iterable[Cell]) -> str:
    counted = Counter(cell.verdict for cell in cells)
    return ", ".join(f"{counted[verdict]} {verdict}" for verdict in Verdict if counted[verdict])
