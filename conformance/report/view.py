"""Queries on a results document that several formats share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from conformance._text import count, listed, milliseconds
from conformance.contract.needs import NEEDS
from conformance.contract.rules import Level, Side
from conformance.judge.findings import VIOLATIONS, Finding, Verdict
from conformance.judge.latency import Latency
from conformance.judge.ledger import Result, grouped
from conformance.report.causes import CaseKey, CauseRecord
from conformance.report.commands import reproduction
from conformance.report.document import Document, MissingRecord, OperationRecord, RuleRecord
from conformance.report.verdict import gating

#: Verdicts in the order of tables, each with its sign.
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

#: The column of violations that are known.
KNOWN = "known failures"

#: Name of a run's verdict -> tone: good, part, known, unsure or suite; bad for all others.
TONES = {
    "conforms": "good",
    "embedded": "good",
    "partial": "part",
    "known failures": "known",
    "interrupted": "unsure",
    "incomplete": "unsure",
    "error": "suite",
}


# ---------------------------------------------------------------------- lookup


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
    """The tone of the verdict: a value of TONES, or bad."""
    return TONES.get(document.verdict.name, "bad")


# ---------------------------------------------------------------------- numbers


def numbers(document: Document) -> dict[str, dict[str, int]]:
    """Level -> verdict, or KNOWN -> number of cases; known violations count only as the latter."""
    found = {
        str(level): {str(verdict): document.counts[level][verdict] for verdict in SIGNS} | {KNOWN: 0}
        for level in Level
    }
    levels = {rule.id: str(rule.level) for rule in document.rules}
    for case in document.cells:
        if case.known:
            found[levels[case.rule]][str(case.verdict)] -= 1
            found[levels[case.rule]][KNOWN] += 1
    return found


def columns(numbers: dict[str, dict[str, int]]) -> list[str]:
    """The columns of `numbers` that are not 0 throughout."""
    return [name for name in (*map(str, SIGNS), KNOWN) if any(row[name] for row in numbers.values())]


def by_operation(document: Document) -> dict[str, tuple[str, str]]:
    """The counted cases of each operation in words, and a tone: bad if one fails the run, unsure if one is a
    warning, known, inconclusive or an error."""
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
    """A clause on a missing operation: how many operations need it, and the reason if known."""
    number = len(record.waiting)
    waiting = f"; {count(number, 'operation waits', 'operations wait')} for it" if number else ""
    return f"{waiting}; known: {record.known}" if record.known else waiting


def pace(document: Document) -> str:
    """The latency of the server in a sentence; empty without answers."""
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
    """A cause with its cases, and for each check that saw it the first finding and the operations."""

    record: CauseRecord
    rule: RuleRecord
    cases: tuple[Result, ...]
    checks: tuple[tuple[Finding, tuple[str, ...]], ...]
    #: Those of its cases and consequences that fail the run.
    failing: tuple[Result, ...]

    @property
    def known(self) -> bool:
        """True if every case is a known failure."""
        return all(case.known for case in self.cases)

    @property
    def first(self) -> Result:
        """The representative case: the first that is not known."""
        return next((case for case in self.cases if not case.known), self.cases[0])

    @property
    def new(self) -> list[str]:
        return [case.operation for case in self.cases if not case.known]

    @property
    def consequences(self) -> Sequence[CaseKey]:
        return self.record.took_along


def causes(document: Document) -> list[Cause]:
    """The causes of all violations, in the order of the document."""
    there, catalogue = cells(document), rules(document)
    found = []
    for record in document.causes:
        cases = tuple(there[record.rule, operation] for operation in record.operations)
        every = (*cases, *(there[each.key] for each in record.took_along))
        failing = tuple(case for case in every if fails(document, case, catalogue[case.rule].level))
        found.append(Cause(record, catalogue[record.rule], cases, _checks(cases), failing))
    return found


def _checks(cases: Sequence[Result]) -> tuple[tuple[Finding, tuple[str, ...]], ...]:
    """The checks that saw a rule broken, that of the first decisive finding first."""
    seen = grouped(
        (finding.check, (finding, case.operation))
        for case in sorted(cases, key=lambda case: bool(case.known))
        for finding in case.findings
        if finding.verdict.is_violation
    )
    return tuple(
        (rows[0][0], tuple(dict.fromkeys(operation for _, operation in rows))) for rows in seen.values()
    )


def reproduced(document: Document, case: Result, finding: Finding | None = None) -> str:
    """The command that shows a violation again; the decisive one of a case if none is named."""
    return reproduction(finding or case.decisive, document.run.options, document.run.seed)


def signed(document: Document, case: Result) -> str:
    """The string that was signed in the decisive request of a failed authentication rule; empty for other
    rules."""
    if not case.rule.startswith("auth."):
        return ""
    exchanges = [document.exchanges.get(number) for number in case.decisive.exchanges[:1]]
    return next((exchange.signed or "" for exchange in exchanges if exchange), "")


def where(operations: Sequence[str], every: Sequence[OperationRecord]) -> str:
    """Operations in a few words; `every` are all of the contract."""
    if len(operations) == len(every) > 1:
        return f"all {len(operations)} operations"
    return listed(operations, 3)


# ---------------------------------------------------------------------- inconclusive and open


@dataclass(frozen=True)
class Unjudged:
    """Inconclusive cases with one remedy, and their most common reason."""

    reason: str
    remedy: str
    cases: tuple[Result, ...]


def inconclusive(document: Document) -> list[Unjudged]:
    """Groups inconclusive cases by remedy, else by reason, the largest group first; consequences of
    violations are omitted."""
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
        found.append(Unjudged(reason + more, cases[0].decisive.remedy, tuple(cases)))
    return found


def choices(cells: Iterable[Result]) -> dict[tuple[str, str, str], str]:
    """The answer to each open question, as rule, operation and question, in the order of the catalogue."""
    answers: dict[tuple[str, str, str], set[str]] = {}
    for cell in cells:
        for finding in cell.findings:
            for question, answer in finding.observations.items():
                answers.setdefault((cell.rule, cell.operation, question), set()).add(answer)
    # Several answers are sorted, since checks run in any order.
    return {question: " / ".join(sorted(several)) for question, several in answers.items()}


def observations(document: Document) -> dict[tuple[str, str], dict[str, list[str]]]:
    """The server's answers to open questions: rule and question -> answer -> operations."""
    found: dict[tuple[str, str], dict[str, list[str]]] = {}
    for (rule, operation, question), answer in choices(document.cells).items():
        found.setdefault((rule, question), {}).setdefault(answer, []).append(operation)
    return found


def label(document: Document) -> str:
    """The judged server, or the command of the judged client."""
    if document.run.side is Side.CLIENT:
        return document.run.options.get("exec", "the clients of the sandbox")
    if document.run.embedded:
        return "the embedded reference server"
    return document.target.base_url if document.target else "no target"
