"""The report for a browser: one file that loads nothing.

It stays small whatever the run: it holds every rule and case in words, and of the exchanges as many as fit
into PAGE_EXCHANGES bytes, those of violations first; results.json keeps more. Everything that came from outside
is escaped by the template or goes through the script as text, and the page's policy lets no other script run
than its own.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping
from importlib import resources
from typing import Any

from jinja2 import Environment, StrictUndefined, Template, pass_context
from jinja2.runtime import Context
from markupsafe import Markup

from conformance._text import clean, count, duration
from conformance.contract import sections
from conformance.report import plots
from conformance.report.run_metadata import facts
from conformance.report.scripts import scripts
from conformance.report.transcript import transcript
from conformance.results import view
from conformance.results.evidence import PAGE_EXCHANGES, page_exchanges

#: Violations whose decisive exchange is also held as plain text, for readers without scripts.
TRANSCRIPTS = 100

_MARKS = {0: ("good", "✓"), 1: ("bad", "✗"), 2: ("unsure", "?"), 3: ("suite", "!"), 6: ("unsure", "?")}


def html(document: view.Document) -> str:
    """The page as text."""
    return render("report.html.j2", _Page(document).values(), _asset("report.js"))


def render(template: str, values: Mapping[str, Any], script: str = "") -> str:
    """A page of a template, with style and script, and a policy that allows these two and nothing else."""
    style = _asset("report.css")
    sources = _hash(script) if script else "'none'"
    policy = f"default-src 'none'; script-src {sources}; style-src {_hash(style)}"
    policy += "; base-uri 'none'; form-action 'none'"
    return _template(template).render(
        {**values, "policy": policy, "style": Markup(style), "script": Markup(script)}
    )


@functools.cache
def _environment() -> Environment:
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["where"] = _where
    environment.filters["slug"] = lambda text: str(text).replace(" ", "-")
    return environment


@pass_context
def _where(context: Context, operations: list[str]) -> str:
    return view.where(operations, {"operations": context["operations"]})


@functools.cache
def _asset(name: str) -> str:
    return (resources.files("conformance.report") / "page" / name).read_text(encoding="utf-8")


@functools.cache
def _template(name: str) -> Template:
    return _environment().from_string(_asset(name))


def _hash(text: str) -> str:
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"


def embedded(data: Any) -> Markup:
    """JSON for a script element: no character in it can end the element or start markup."""
    text = json.dumps(data, separators=(",", ":"))
    return Markup(text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))


class _Page:
    """What the template shows of a document."""

    def __init__(self, document: view.Document) -> None:
        self.document = document
        self.cells = view.cells(document)
        self.rules = view.rules(document)
        self.broken = {one["rule"] for one in document["causes"]}

    def values(self) -> dict[str, Any]:
        document = self.document
        verdict, run = document["verdict"], document["run"]
        used = [name for name in view.SIGNS if any(row[name] for row in document["counts"].values())]
        kept = page_exchanges(document)
        tone, mark = _MARKS.get(verdict["exit_status"], ("bad", "✗"))
        known, pinned = document["known_failures"], document["pinned_choices"]
        names = [one["id"] for one in document["operations"]]
        return {
            "data": embedded(kept),
            "suite": document["suite"],
            "verdict": verdict,
            "run": run,
            "tone": tone,
            "mark": mark,
            "label": view.label(document),
            "requests": count(run["requests"], "request"),
            "seconds": duration(run["seconds"]),
            "signs": view.SIGNS,
            "verdicts": used,
            "levels": list(document["counts"]),
            "numbers": [self._numbers(level, row, used) for level, row in document["counts"].items()],
            "errors": document["errors"],
            "stale": known["stale"] if known else [],
            "source": known["source"] if known else "",
            "changed": pinned["differences"] if pinned else [],
            "causes": [self._cause(one, index) for index, one in enumerate(document["causes"])],
            "missing": [self._missing(group) for group in view.inconclusive(document)],
            "blocked": any(cell["verdict"] == "inconclusive" for cell in document["cells"]),
            "operations": document["operations"],
            "matrix": self._matrix(names),
            "sections": self._sections(),
            "rule_count": len(self.rules),
            "observed": list(view.observations(document)),
            "axis": plots.axis(),
            "latencies": [plots.row(row) for row in document["latency"]],
            "facts": facts(document),
            "kept": self._kept(len(kept)),
        }

    # ------------------------------------------------------------------ numbers

    def _numbers(self, level: str, row: dict[str, int], used: list[str]) -> dict[str, Any]:
        total = sum(row.values()) or 1
        parts, at = [], 0.0
        for name in used:
            width = 200 * row[name] / total
            if row[name]:
                parts.append({"name": name, "x": f"{at:.2f}", "width": f"{width:.2f}"})
            at += width
        words = ", ".join(f"{row[name]} {name}" for name in used if row[name])
        return {
            "level": level,
            "counts": {name: f"{row[name]:,}" if row[name] else 0 for name in used},
            "parts": parts,
            "words": words,
        }

    # ------------------------------------------------------------------ violations

    def _cause(self, cause: dict[str, Any], index: int) -> dict[str, Any]:
        rule = self.rules[cause["rule"]]
        cells = [self.cells[rule["id"], one] for one in cause["operations"]]
        first = next((cell for cell in cells if not cell["known"]), cells[0])
        finding = view.decisive(first)
        taken: dict[str, list[str]] = {}
        for one in cause["took_along"]:
            taken.setdefault(one["rule"], []).append(one["operation"])
        known = first["known"]
        return {
            "rule": rule,
            "operations": cause["operations"],
            "where": view.where(cause["operations"], self.document),
            "finding": finding,
            "verdict": first["verdict"],
            "tone": "known" if known else first["verdict"],
            "known": known,
            "exchanges": [
                self._line(number, position == 0 and index < TRANSCRIPTS)
                for position, number in enumerate(finding["exchanges"])
            ],
            "command": view.reproduction(self.document, first),
            "took_along": list(taken.items()),
            "scripts": scripts(self.document, finding),
        }

    def _line(self, number: int, with_transcript: bool) -> dict[str, Any]:
        one = self.document["exchanges"].get(str(number))
        if one is None:
            return {
                "number": number,
                "line": "",
                "status": "",
                "kind": "",
                "purpose": "not kept",
                "transcript": "",
            }
        status = one["status"]
        kind = "none" if status is None else "ok" if status < 300 else "client" if status < 500 else "server"
        return {
            "number": number,
            "line": clean(f"{one['method']} {one['target']}")[:160],
            "status": "no answer" if status is None else status,
            "kind": kind,
            "purpose": clean(one["purpose"]),
            "transcript": transcript(one) if with_transcript else "",
        }

    def _missing(self, group: dict[str, Any]) -> dict[str, Any]:
        by_rule: dict[str, list[str]] = {}
        for cell in group["cells"]:
            by_rule.setdefault(cell["rule"], []).append(cell["operation"])
        return {**group, "rules": list(by_rule.items())}

    # ------------------------------------------------------------------ rules

    def _matrix(self, names: list[str]) -> list[dict[str, Any]]:
        areas: dict[str, list[dict[str, Any]]] = {}
        for rule in self.rules.values():
            area, _, short = rule["id"].partition(".")
            cells = [self.cells.get((rule["id"], name)) for name in names]
            areas.setdefault(area, []).append(
                {
                    "id": rule["id"],
                    "short": short,
                    "level": rule["level"],
                    "cells": cells,
                    "statement": rule["statement"],
                }
            )
        return [{"name": name, "rules": found} for name, found in areas.items()]

    def _sections(self) -> list[dict[str, Any]]:
        chapters: dict[str, list[dict[str, Any]]] = {}
        for rule in self.rules.values():
            chapters.setdefault(sections.heading(rule["section"][0]), []).append(self._rule(rule))
        return [
            {
                "number": number,
                "title": sections.title(number),
                "rules": chapters[number],
                "tally": _tally(cell["verdict"] for rule in chapters[number] for cell in rule["cells"]),
            }
            for number in sorted(chapters, key=sections.order)
        ]

    def _rule(self, rule: dict[str, Any]) -> dict[str, Any]:
        cells = [
            self._cell(self.cells[rule["id"], one])
            for one in rule["operations"]
            if (rule["id"], one) in self.cells
        ]
        verdicts = sorted({cell["verdict"] for cell in cells}, key=view.GRAVITY.index)
        checks = {
            finding["check"]
            for cell in cells
            for finding in self.cells[rule["id"], cell["operation"]]["findings"]
        }
        worst = verdicts[0] if verdicts else "not run"
        return {
            **rule,
            "cells": cells,
            "verdicts": verdicts,
            "worst": worst,
            "tone": worst.replace(" ", "-"),
            "tally": _tally(cell["verdict"] for cell in cells),
            "checks": sorted(checks),
        }

    def _cell(self, cell: dict[str, Any]) -> dict[str, Any]:
        findings = [self._finding(cell, one) for one in cell["findings"]]
        commands = set()
        for one in findings:
            if one["command"] in commands:
                one["command"] = ""
            commands.add(one["command"])
        numbers = dict.fromkeys(number for one in cell["findings"] for number in one["exchanges"])
        return {
            "operation": cell["operation"],
            "verdict": cell["verdict"],
            "known": cell["known"],
            "findings": [one for one in findings if any(one.values())],
            "exchanges": list(numbers),
            "summary": "" if cell["findings"] else cell["summary"],
        }

    def _finding(self, cell: dict[str, Any], finding: dict[str, Any]) -> dict[str, Any]:
        violated = finding["verdict"] in ("failed", "warning")
        text = "" if violated else finding["summary"]
        if finding["cause"] and finding["cause"] in self.broken:
            text = f"{text} ({finding['cause']} is broken)".strip()
        if finding["verdict"] == "passed" and finding["probes"]:
            text = f"{count(finding['probes'], 'judgement')} by {finding['check'].removeprefix('test_')}"
        return {
            "text": text,
            "expected": finding["expected"] if violated else "",
            "got": finding["got"] if violated else "",
            "remedy": finding["remedy"],
            "observations": finding["observations"],
            "further": finding["further"],
            "command": view.reproduction(self.document, cell, finding) if violated else "",
            "confirmed": finding["confirmed"],
        }

    def _kept(self, kept: int) -> str:
        document = self.document
        return (
            f"Of {count(document['run']['requests'], 'request')}, results.json keeps the "
            f"{count(len(document['exchanges']), 'exchange')} that prove something, and this page {kept:,} "
            f"of those (at most {PAGE_EXCHANGES / 1e6:g} MB, violations first)."
        )


def _tally(verdicts: Iterable[str]) -> str:
    counted = Counter(verdicts)
    return ", ".join(f"{counted[name]} {name}" for name in view.GRAVITY if counted[name])
