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
from collections.abc import Iterator, Mapping
from importlib import resources
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

from conformance._text import clean, count, milliseconds, one_line, visible
from conformance.contract.rules import Rule, chapter, section_order, section_title
from conformance.judge.cells import Cell, grouped
from conformance.judge.verdicts import Verdict
from conformance.report import facts
from conformance.report.beside import beside
from conformance.report.commands import again, resend
from conformance.report.document import KNOWN, Document
from conformance.report.evidence import PAGE_BODY, page_exchanges, wrong_exchange
from conformance.report.sections import Cause, choices, sections, where
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
        "slug": lambda text: str(text).replace(" ", "-"),
        "line": one_line,
        "clean": clean,
        "milliseconds": milliseconds,
        "counted": lambda things, noun: count(len(things), noun),
    }
    return environment


@functools.cache
def _asset(name: str) -> str:
    return (resources.files("conformance.report") / "page" / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"


def _observed(document: Document) -> dict[tuple[str, str], dict[str, list[str]]]:
    """Rule and open question -> what servers do there -> the operations."""
    observed: dict[tuple[str, str], dict[str, list[str]]] = {}
    for (rule, operation, question), answer in choices(document.cells).items():
        observed.setdefault((rule, question), {}).setdefault(answer, []).append(operation)
    return observed


def _values(document: Document) -> dict[str, Any]:
    """The template values of a document."""
    columns, evidence, parts = facts.columns(document), PageExchanges(document), sections(document)
    causes = [item.cause for section in parts for item in section.items if item.cause]
    cards = {cause.anchor: evidence.card(cause) for cause in causes}
    anchors = {
        key: cause.anchor
        for cause in reversed(causes)
        for key in (*cause.record.consequences, *(cell.key for cell in cause.cells))
    }
    cells = grouped((cell.rule, cell) for cell in document.cells)
    chapters = grouped(
        (chapter(rule.section[0]), _rule(rule, cells.get(rule.id, []), anchors, evidence))
        for rule in document.rules
    )
    return {
        "document": document,
        "where": functools.partial(where, every=document.operations),
        "tone": document.verdict.tone,
        "mark": _MARKS[document.verdict.tone],
        "label": facts.label(document),
        "unit": facts.UNIT,
        "signs": facts.SIGNS,
        "verdicts": [name for name in columns if name != KNOWN],
        "columns": columns,
        "sections": parts,
        "cards": cards,
        "matrix": grouped(
            (rule.id.partition(".")[0], (rule, {cell.operation: cell for cell in cells.get(rule.id, ())}))
            for rule in document.rules
        ),
        "chapters": {
            (number, section_title(number)): chapters[number]
            for number in sorted(chapters, key=section_order)
        },
        "proof": evidence.rest(),
        "observed": _observed(document),
        "facts": facts.run_facts(document),
        "brief": BRIEF,
        "again": again(document.run.options, document.run.seed),
        "created": Counter(one.operation or "on undocumented paths" for one in document.created),
    }


def _rule(
    rule: Rule, cells: list[Cell], anchors: Mapping[tuple[str, str], str], evidence: PageExchanges
) -> dict[str, Any]:
    """A rule with its cells; alike cells are one row."""
    tally = Counter(cell.verdict for cell in cells)
    verdicts = [verdict for verdict in Verdict if tally[verdict]]
    return {
        "rule": rule,
        "rows": grouped(
            (
                (cell.verdict, _words(cell), anchors.get(cell.key, "")),
                (cell, next((number for number in cell.exchanges if number in evidence.exchanges), 0)),
            )
            for cell in cells
        ),
        "verdicts": verdicts,
        "worst": verdicts[0] if verdicts else Verdict.NOT_RUN,
        "tally": ", ".join(f"{tally[verdict]} {verdict}" for verdict in verdicts),
        "checks": sorted({check for cell in cells for check in cell.checks}),
    }


def _words(cell: Cell) -> str:
    """The conclusion on a cell in words; empty if it held."""
    if cell.violations:
        return cell.violations[0].sentence
    remedy = cell.decisive.remedy
    return f"{cell.summary}. {remedy}" if remedy else cell.summary


class PageExchanges:
    """The exchanges of a page: each is written once, at its first place, and linked to from others."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.exchanges = page_exchanges(document.cells, document.exchanges)
        self._written: set[int] = set()

    def card(self, cause: Cause) -> dict[str, Any]:
        """The diff and the exchanges of the first violation of a cause, the wrong one first."""
        wrong = wrong_exchange(cause.first, self.document.exchanges)
        numbers = dict.fromkeys([*([wrong.number] if wrong else []), *cause.first.exchanges])
        present = [number for number in numbers if number in self.exchanges]
        new = [number for number in present if number not in self._written]
        self._written.update(new)
        return {
            "beside": beside(cause.first, self.document.exchanges),
            "exchanges": [self._block(number) for number in new],
            "elsewhere": [number for number in present if number not in new],
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
