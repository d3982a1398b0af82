"""Groups violations by what caused them, so that one broken rule shows as one finding."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from conformance.contract.rules import RULES, Level
from conformance.judge.findings import Verdict
from conformance.report.model import CaseResult, Results

Key = tuple[str, str]


@dataclass
class Cause:
    """One broken rule: its cells, and the cases of other rules that failed because of it."""

    rule: str
    cells: list[CaseResult] = field(default_factory=list)
    consequences: list[CaseResult] = field(default_factory=list)

    @property
    def level(self) -> Level:
        return RULES[self.rule].level

    @property
    def known(self) -> bool:
        """Whether every cell is a known failure."""
        return all(cell.known for cell in self.cells)


def causes(results: Results) -> list[Cause]:
    """The causes of all violations: required before implied, new before known, wide before narrow.

    Every violated case is in exactly one of them; what a violation kept from being judged is among its
    `consequences`.
    """
    violated = {key: cell for key, cell in results.cells.items() if cell.verdict.is_violation}
    first: dict[str, Key] = {}
    for key in violated:
        first.setdefault(key[0], key)
    nowhere = _kept_nowhere(results)
    parents = {key: _parent(cell, violated, first, nowhere) for key, cell in violated.items()}
    found: dict[str, Cause] = {}
    for key, cell in violated.items():
        rule = _root(key, parents)[0]
        cause = found.setdefault(rule, Cause(rule))
        (cause.cells if cell.rule == rule else cause.consequences).append(cell)
    for cell in results.with_verdict(Verdict.INCONCLUSIVE):
        blocked_by = next((finding.cause for finding in cell.findings if finding.cause in first), "")
        if blocked_by:
            key = (blocked_by, cell.operation)
            rule = _root(key if key in violated else first[blocked_by], parents)[0]
            found[rule].consequences.append(cell)
    return sorted(
        found.values(), key=lambda cause: (cause.level is not Level.REQUIRED, cause.known, -len(cause.cells))
    )


def _root(key: Key, parents: Mapping[Key, Key | None]) -> Key:
    """Where the chain of parents starts; of a circular one, the same link from everywhere."""
    seen = [key]
    while (parent := parents[key]) is not None:
        if parent in seen:
            return min(seen[seen.index(parent) :])
        seen.append(parent)
        key = parent
    return key


def _kept_nowhere(results: Results) -> Mapping[str, Collection[str]]:
    """Rule -> the operations on which it was not run, of the rules that are broken wherever they were judged:
    a narrowed run looks in a few places only."""
    seen: dict[str, set[Verdict]] = {}
    unseen: dict[str, set[str]] = {}
    for (rule, operation), cell in results.cells.items():
        if cell.verdict is Verdict.NOT_RUN:
            unseen.setdefault(rule, set()).add(operation)
        else:
            seen.setdefault(rule, set()).add(cell.verdict)
    return {rule: unseen.get(rule, ()) for rule, verdicts in seen.items() if Verdict.PASSED not in verdicts}


def _parent(
    cell: CaseResult,
    violated: Mapping[Key, CaseResult],
    first: Mapping[str, Key],
    nowhere: Mapping[str, Collection[str]],
) -> Key | None:
    """The violated cell that this cell's violation comes from."""
    finding = cell.decisive
    if finding is None:
        return None
    if finding.cause in first and finding.cause != cell.rule:
        same = (finding.cause, cell.operation)
        return same if same in violated else first[finding.cause]
    for rule in RULES[cell.rule].follows:
        parent = (rule, cell.operation)
        if cell.operation not in RULES[rule].operations or cell.operation in nowhere.get(rule, ()):
            # Of a rule about other operations, and of one that was broken wherever the run looked and was not
            # looked at here, any violation will do.
            parent = first.get(rule, parent)
        if parent not in violated or (violated[parent].known and not cell.known):
            # What is not listed stands on its own: behind a known failure nobody would see it.
            continue
        if rule == "error.shape" and not finding.without_error_body:
            continue
        return parent
    return None
