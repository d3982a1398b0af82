"""Readings of a results document that several formats share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from conformance._files import InputError, read_json, shortest
from conformance._text import clean, count, listed, milliseconds
from conformance.contract.needs import NEEDS
from conformance.contract.rules import Level, Side
from conformance.judge.findings import VIOLATIONS, Finding, Verdict
from conformance.judge.latency import Latency
from conformance.judge.ledger import Result, grouped
from conformance.report.causes import CaseKey, CauseRecord
from conformance.report.commands import replay, rerun
from conformance.report.document import FORMAT, Document, MissingRecord, OperationRecord, RuleRecord
from conformance.report.pinned_choices import choices
from conformance.report.verdict import gating

#: Verdicts in the order in which tables show them, with the sign of each.
SIGNS = {
    Verdict.PASSED: "✓",
    Verdict.FAILED: "✗",
    Verdict.WARNING: "!",
    Verdict.INCONCLUSIVE: "?",
    Verdict.ERROR: "E",
    Verdict.NOT_RUN: "·",
    Verdict.OBSERVED: "○",
    Verdict.NOT_APPLICABLE: "–",
}

#: Name of a run's verdict -> what it means for a reader: good, part, known, unsure, bad or suite.
TONES = {
    "conforms": "good",
    "embedded": "good",
    "partial": "part",
    "known failures": "known",
    "interrupted": "unsure",
    "incomplete": "unsure",
    "error": "suite",
}


def load(path: Path) -> Document:
    """The results document in a file, or in the results.json of a folder. Raises InputError."""
    if path.is_dir():
        path = path / "results.json"
    source = "a run writes results.json into its report folder"
    return typed(read_json(path, "results file", source), path)


def typed(data: Any, path: Path) -> Document:
    """The results document in JSON data; `path` names it in errors. Raises InputError."""
    given = data.get("format") if isinstance(data, dict) else None
    if not isinstance(given, str):
        raise InputError(f"{path}: these are not the results of a run; name a results.json.")
    if given.partition(".")[0] != FORMAT.partition(".")[0]:
        raise InputError(
            f"{path}: its format is {clean(given)[:20]}, and this version reads {FORMAT}; use the version of "
            "the suite that wrote it."
        )
    try:
        document = Document.from_json(_named(data))
    except msgspec.ValidationError as error:
        raise InputError(
            f"{path}: the results do not fit spec/results.schema.json: {clean(str(error))}."
        ) from None
    if not _consistent(document):
        raise InputError(f"{path}: the results contradict themselves; make them anew.")
    return document


def _named(data: dict[str, Any]) -> dict[str, Any]:
    """Results whose findings name rule and operation; up to format 1.1 their cells alone did."""
    for case in data["cells"] if isinstance(data.get("cells"), list) else ():
        if isinstance(case, dict) and isinstance(case.get("findings"), list):
            for finding in case["findings"]:
                if isinstance(finding, dict):
                    finding |= {"rule": case.get("rule"), "operation": case.get("operation")}
    return data


def _consistent(document: Document) -> bool:
    """True if everything that is named is there."""
    known, there = set(rules(document)), set(cells(document))
    named = {
        key
        for cause in document.causes
        for key in [
            *((cause.rule, operation) for operation in cause.operations),
            *(case.key for case in cause.took_along),
        ]
    }
    counted = all(
        set(row) == {str(verdict) for verdict in Verdict} for row in document.counts.values()
    ) and set(document.counts) == {str(level) for level in Level}
    return (
        counted
        and all(cause.operations for cause in document.causes)
        and named <= there
        and {rule for rule, _ in there} <= known
    )


# ---------------------------------------------------------------------- parts by name


def cells(document: Document) -> dict[tuple[str, str], Result]:
    """The cases by rule and operation."""
    return {case.key: case for case in document.cells}


def rules(document: Document) -> dict[str, RuleRecord]:
    """The rules by id."""
    return {rule.id: rule for rule in document.rules}


def fails(document: Document, case: Result, level: Level) -> bool:
    """True if a case of a rule of this level fails the run."""
    return case.verdict.is_violation and not case.known and level in gating(document.verdict.fail_on)


def tone(document: Document) -> str:
    """The verdict's meaning for a reader: a value of TONES, or bad."""
    return TONES.get(document.verdict.name, "bad")


# ---------------------------------------------------------------------- numbers


def numbers(document: Document) -> dict[str, dict[str, int]]:
    """Level -> verdict, or "known failures" -> number of cases; violations that are known count as these
    alone."""
    found = {
        str(level): {str(verdict): document.counts[level][verdict] for verdict in SIGNS}
        | {"known failures": 0}
        for level in Level
    }
    levels = {rule.id: str(rule.level) for rule in document.rules}
    for case in document.cells:
        if case.known:
            found[levels[case.rule]][str(case.verdict)] -= 1
            found[levels[case.rule]]["known failures"] += 1
    return found


def by_operation(document: Document) -> dict[str, tuple[str, str]]:
    """The cases of each operation, counted in words, and a tone: unsure where not all went well, bad where
    that fails the run."""
    levels = {rule.id: rule.level for rule in document.rules}
    lacking = {record.operation for record in document.missing}
    known_missing = {record.operation for record in document.missing if record.known}
    rows = {}
    for operation in document.operations:
        cases = [case for case in document.cells if case.operation == operation.id]
        counted = Counter("known" if case.known else str(case.verdict) for case in cases)
        names = [*map(str, (Verdict.PASSED, *VIOLATIONS)), "known"]
        words = [f"{counted[name]} {name}" for name in [*names, str(Verdict.INCONCLUSIVE)] if counted[name]]
        bad = any(fails(document, case, levels[case.rule]) for case in cases)
        unsure = any(counted[name] for name in ("warning", "known", "inconclusive", "error"))
        needed = [name for name in NEEDS.get(operation.id, ()) if name in lacking]
        if operation.id in lacking:
            known = operation.id in known_missing
            told = f"not implemented{', as is known' if known else ''}"
            rows[operation.id] = told, "unsure" if known else "bad"
        elif needed:
            rows[operation.id] = f"waits for {listed(needed)}", "unsure"
        else:
            rows[operation.id] = ", ".join(words), "bad" if bad else "unsure" if unsure else ""
    return rows


def wait(record: MissingRecord) -> str:
    """The end of a sentence on a missing operation: number of operations that wait, and the known reason."""
    number = len(record.waiting)
    waiting = f"; {count(number, 'operation waits', 'operations wait')} for it" if number else ""
    return f"{waiting}; known: {record.known}" if record.known else waiting


def pace(document: Document) -> str:
    """The server's latency in a sentence; empty where it answered nothing."""
    rows = [row for row in document.latency if row.p50 is not None and row.operation]
    if not rows:
        return ""
    whole = Latency("")
    for row in rows:
        whole.merge(row)
    slowest = max(rows, key=lambda row: row.p50 or 0.0)
    return (
        f"Half of the answers came within {milliseconds(whole.p50 or 0.0)}; slowest is {slowest.operation}, "
        f"half within {milliseconds(slowest.p50 or 0.0)}."
    )


# ---------------------------------------------------------------------- causes


@dataclass(frozen=True)
class Cause:
    """A cause with the cases behind it, and of each check that saw the rule broken the first finding and the
    operations on which it failed. `new` are the operations without the known ones."""

    record: CauseRecord
    rule: RuleRecord
    cases: tuple[Result, ...]
    checks: tuple[tuple[Finding, tuple[str, ...]], ...]

    @property
    def known(self) -> bool:
        """True if every case is a known failure."""
        return all(case.known for case in self.cases)

    @property
    def first(self) -> Result:
        """The case that is shown: the first that is not known."""
        return next((case for case in self.cases if not case.known), self.cases[0])

    @property
    def new(self) -> list[str]:
        return [case.operation for case in self.cases if not case.known]

    @property
    def consequences(self) -> Sequence[CaseKey]:
        return self.record.took_along


def causes(document: Document) -> list[Cause]:
    """The causes of all violations, in the document's order."""
    there, catalogue = cells(document), rules(document)
    found = []
    for record in document.causes:
        cases = tuple(there[record.rule, operation] for operation in record.operations)
        found.append(Cause(record, catalogue[record.rule], cases, _checks(cases)))
    return found


def _checks(cases: Sequence[Result]) -> tuple[tuple[Finding, tuple[str, ...]], ...]:
    """The distinct checks that saw a rule broken, that of the first case's decisive finding first."""
    seen = grouped(
        (finding.check, (finding, case.operation))
        for case in sorted(cases, key=lambda case: bool(case.known))
        for finding in case.findings
        if finding.verdict.is_violation
    )
    return tuple(
        (rows[0][0], tuple(dict.fromkeys(operation for _, operation in rows))) for rows in seen.values()
    )


def reproduction(
    document: Document, case: Result, finding: Finding | None = None, folder: Path | None = None
) -> str:
    """The command that repeats a case's violation: its replay file where there is one, else its checks alone.
    `folder` is where the reports are, if not where the document says, as seen from where the run started."""
    if file := (finding or case.decisive).replay:
        return replay(file, document.run.options, shortest(folder) if folder else document.run.folder)
    return rerun(case.rule, case.operation, document.run.options)


def signed(document: Document, case: Result) -> str:
    """The string that was signed in the decisive request of a failure of authentication; empty elsewhere."""
    if not case.rule.startswith("auth."):
        return ""
    exchanges = [document.exchanges.get(number) for number in case.decisive.exchanges[:1]]
    return next((exchange.signed or "" for exchange in exchanges if exchange), "")


def where(operations: Sequence[str], every: Sequence[OperationRecord]) -> str:
    """Operations in a few words; `every` are those of the contract."""
    if len(operations) == len(every) > 1:
        return f"all {len(operations)} operations"
    return listed(operations, 3)


# ---------------------------------------------------------------------- what was not judged, or only observed


@dataclass(frozen=True)
class Missing:
    """Inconclusive cases of one remedy, and their commonest reason."""

    reason: str
    remedy: str
    cases: tuple[Result, ...]


def inconclusive(document: Document) -> list[Missing]:
    """Groups inconclusive cases by remedy, and by reason where there is none, the largest group first.

    Cases that a violation kept from being judged are not among them: they stand with its cause.
    """
    absent = listed((record.operation for record in document.missing), 3)
    unheard = f"no check could judge this without {absent}" if document.missing else "no check judged this"
    blocked = {case.key for cause in document.causes for case in cause.took_along}
    levels = {rule.id: rule.level for rule in document.rules}
    groups: dict[str, list[Result]] = {}
    reasons: dict[str, Counter[str]] = {}

    def take(case: Result, reason: str, remedy: str = "") -> None:
        groups.setdefault(remedy or reason, []).append(case)
        reasons.setdefault(remedy or reason, Counter())[reason] += 1

    for case in document.cells:
        if case.key in blocked:
            continue
        if case.verdict is Verdict.INCONCLUSIVE:
            take(case, case.summary, case.decisive.remedy)
        elif (
            case.verdict is Verdict.NOT_RUN
            and not document.run.selection
            and levels[case.rule] in gating(document.verdict.fail_on)
        ):
            take(case, case.summary or unheard)
    found = []
    for key, cases in sorted(groups.items(), key=lambda item: -len(item[1])):
        (reason, _), *others = reasons[key].most_common()
        more = f" (and {count(len(others), 'similar reason')})" if others else ""
        found.append(Missing(reason + more, cases[0].decisive.remedy, tuple(cases)))
    return found


def observations(document: Document) -> dict[tuple[str, str], dict[str, list[str]]]:
    """The server's choices on each open question: rule and question -> answer -> operations."""
    found: dict[tuple[str, str], dict[str, list[str]]] = {}
    for (rule, operation, question), answer in choices(document.cells).items():
        found.setdefault((rule, question), {}).setdefault(answer, []).append(operation)
    return found


def label(document: Document) -> str:
    """The judged server, or the command of the judged client, in a few words."""
    if document.run.side is Side.CLIENT:
        return document.run.options.get("exec", "the clients of the sandbox")
    if document.run.embedded:
        return "the embedded reference server"
    return document.target.base_url if document.target else "no target"
