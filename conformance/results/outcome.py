"""The verdict of a run: one decision, which every format shows and the command exits with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from conformance._text import count, listed
from conformance.contract.rules import Level
from conformance.judging.findings import Verdict

if TYPE_CHECKING:
    from conformance.results.known_failures import KnownFailures
    from conformance.results.model import CaseResult, Results
    from conformance.results.pinned_choices import PinnedChoices

#: Name of a verdict -> exit status.
EXIT_STATUS = {
    "conforms": 0,
    "violations": 1,
    "outdated": 1,
    "changed": 1,
    "interrupted": 2,
    "error": 3,
    "incomplete": 6,
}


@dataclass(frozen=True)
class Outcome:
    """The verdict of a run: `name` is a key of EXIT_STATUS, `notes` say what the sentence leaves out."""

    name: str
    sentence: str
    notes: tuple[str, ...] = ()

    @property
    def exit_status(self) -> int:
        return EXIT_STATUS[self.name]


def decide(
    results: Results,
    fail_on: Level,
    known: KnownFailures | None = None,
    pinned: PinnedChoices | None = None,
    interrupted: str = "",
) -> Outcome:
    """Decides a run. An error of the suite comes before everything, then an interruption, then violations.

    A server that was lost interrupts nothing: what was seen until then decides, and is incomplete at best.

    Marks the cells that `known` lists.
    """
    stale = known.apply(results) if known else []
    changed = pinned.compare(results) if pinned else []
    gating = results.gating(fail_on)
    violations, incomplete = results.violations(fail_on), results.incomplete(fail_on)
    judged = results.with_verdict(Verdict.PASSED, Verdict.FAILED, Verdict.WARNING, levels=gating)
    errors = [*results.errors, *(cell.summary for cell in results.with_verdict(Verdict.ERROR))]
    notes = _notes(results, fail_on, gating)
    if changed:
        notes.append(f"{count(len(changed), 'choice differs', 'choices differ')} from the pinned ones")
    if errors:
        name = "error"
        sentence = (
            f"No verdict: the suite itself failed ({count(len(errors), 'error')}); "
            "this says nothing about the server."
        )
    elif interrupted and not results.lost:
        name = "interrupted"
        sentence = f"No verdict: the run was interrupted ({interrupted})."
        if violations:
            sentence += f" Until then the server broke {_broken(results, violations)}."
    elif violations:
        name, sentence = (
            "violations",
            f"The server does not conform: it breaks {_broken(results, violations)}.",
        )
    elif stale:
        name = "outdated"
        sentence = (
            "The list of known failures is out of date: delete "
            f"{'line' if len(stale) == 1 else 'lines'} {listed([str(one.line) for one in stale], 10)}."
        )
    elif changed and fail_on is Level.IMPLIED:
        name = "changed"
        sentence = (
            f"The server chooses otherwise than pinned on {count(len(changed), 'question')} "
            "that the specification leaves open."
        )
    elif results.lost:
        name = "incomplete"
        sentence = (
            f"Incomplete: the server was lost during the run ({results.lost}); "
            "no violation was seen until then."
        )
    elif incomplete:
        name = "incomplete"
        sentence = (
            f"Incomplete: no violation was seen, but {count(len(incomplete), 'case')} of "
            f"{_rules(incomplete)} could not be exercised ({listed([cell.rule for cell in incomplete], 4)})."
        )
    elif not judged:
        name, sentence = "incomplete", "Incomplete: no rule was exercised."
    else:
        name, sentence = "conforms", _conforms(results, gating)
    if results.lost and name != "incomplete":
        notes.insert(0, f"the server was lost during the run ({results.lost})")
    return Outcome(name, sentence, tuple(notes))


def _conforms(results: Results, gating: tuple[Level, ...]) -> str:
    passed = results.with_verdict(Verdict.PASSED, levels=gating)
    known = [
        cell for cell in results.with_verdict(Verdict.FAILED, Verdict.WARNING, levels=gating) if cell.known
    ]
    which = "required" if len(gating) == 1 else "required or implied"
    if results.selection:
        left = len(results.with_verdict(Verdict.NOT_RUN, levels=gating))
        return (
            f"No violation in the part that was run ({results.selection}): "
            f"{count(len(passed), f'{which} case')} passed, {left:,} were left out."
        )
    sentence = (
        f"The server conforms: {_rules(passed)} hold on every operation "
        f"({count(len(passed), f'{which} case')} passed)."
    )
    if known:
        sentence = (
            f"No new violation: {count(len(passed), f'{which} case')} passed, "
            f"{count(len(known), 'known failure')} stand."
        )
    return sentence


def _notes(results: Results, fail_on: Level, gating: tuple[Level, ...]) -> list[str]:
    notes = []
    if fail_on is Level.REQUIRED and (warned := results.with_verdict(Verdict.WARNING)):
        notes.append(
            f"{count(len(warned), 'warning')} on {_rules(warned)} that the specification only implies"
        )
    if known := [cell for cell in results.cells.values() if cell.known]:
        notes.append(f"{count(len(known), 'known failure')}")
    if results.violations(fail_on) and (missing := results.incomplete(fail_on)):
        notes.append(f"{count(len(missing), 'case')} could not be exercised")
    if absent := results.with_verdict(Verdict.NOT_APPLICABLE, levels=gating):
        notes.append(f"{count(len(absent), 'case')} not applicable by the target file")
    return notes


def _rules(cells: list[CaseResult]) -> str:
    return count(len({cell.rule for cell in cells}), "rule")


def _broken(results: Results, violations: list[CaseResult]) -> str:
    """The broken rules in a few words, by those that the others come from."""
    from conformance.results.causes import causes

    rules = {cell.rule for cell in violations}
    operations = {cell.operation for cell in violations}
    roots = [
        cause.rule
        for cause in causes(results)
        if rules & {cause.rule, *(cell.rule for cell in cause.took_along)}
    ]
    origin = f", from {count(len(roots), 'cause')}" if len(roots) < len(rules) else ""
    where = f"{count(len(rules), 'rule')} on {count(len(operations), 'operation')}"
    return f"{where}{origin} ({listed(roots, 4)})"
