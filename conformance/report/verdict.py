"""The verdict of a run; every format and the exit status use this one decision."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from conformance._text import clean, count, listed
from conformance.contract.needs import UNBUILT
from conformance.contract.rules import Level, Side
from conformance.judge.cells import Cell, grouped
from conformance.judge.ledger import Ledger
from conformance.judge.verdicts import HELD, VIOLATIONS, Verdict
from conformance.report.document import (
    VERDICTS,
    CauseRecord,
    KnownFailureRecord,
    RunRecord,
    VerdictRecord,
)


def gating(fail_on: Level) -> tuple[Level, ...]:
    """The levels whose violations fail a run."""
    return (Level.REQUIRED, Level.IMPLIED) if fail_on is Level.IMPLIED else (Level.REQUIRED,)


def name_of(cause: CauseRecord) -> str:
    """The name of what is broken: its rule, with what triggers it."""
    return f"{cause.rule} ({cause.trigger})" if cause.trigger else cause.rule


@dataclass(frozen=True)
class Decision:
    """The verdict of a run, from its ledger, in which known failures are marked.

    `others_failed`: tests that are not the suite's failed in the same session; it then ends with 1 at best.
    """

    ledger: Ledger
    run: RunRecord
    causes: tuple[CauseRecord, ...]
    known_failures: tuple[KnownFailureRecord, ...]
    fail_on: Level = Level.REQUIRED
    others_failed: bool = False

    @property
    def record(self) -> VerdictRecord:
        """The verdict; its name is a key of VERDICTS."""
        name, sentence = self._verdict()
        status = VERDICTS[name][0]
        if self.others_failed and status in (0, 6):
            status = 1
        notes = tuple(map(clean, self._notes(name)))
        return VerdictRecord(name, status, clean(sentence), notes, self.fail_on)

    def _verdict(self) -> tuple[str, str]:
        """Name and sentence of the verdict.

        Precedence: internal errors, interruption, violations. A lost server is no interruption: the run is
        judged by what was seen, and is incomplete at best.
        """
        ledger, side = self.ledger, self.ledger.side
        broken = self._broken if self.violations else ""
        stale = [str(entry.line) for entry in self.known_failures if entry.stale]
        known = count(len(self.known), "known failure") if self.known else ""
        kind = "required" if len(self.gating) == 1 else "required or implied"
        passed = ledger.with_verdict(Verdict.PASSED, levels=self.gating)
        held = f"{count(len(passed), f'{kind} cell') if passed else f'no {kind} cell'} passed"
        server = "embedded reference server" if self.run.embedded else "server"
        if ledger.errors:
            elsewhere = f" Elsewhere the {side} broke {broken}." if broken else ""
            failed = f"the suite itself failed ({count(len(ledger.errors), 'error')})"
            return "error", f"No verdict: {failed}; this says nothing about the {side}.{elsewhere}"
        if self.run.interrupted and not ledger.lost:
            before = f" Until then the {side} broke {broken}." if broken else ""
            return "interrupted", f"No verdict: the run was interrupted ({self.run.interrupted}).{before}"
        if broken:
            return "violations", f"The {side} does not conform: it breaks {broken}."
        if stale:
            noun = "entry that starts on line" if len(stale) == 1 else "entries that start on lines"
            return (
                "outdated",
                f"The list of known failures is out of date: delete the {noun} {listed(stale, 10)}.",
            )
        if gap := self._gap:
            return "incomplete", f"Incomplete: {gap}."
        if ledger.selection:
            return "partial", self._part(held, known)
        if known:
            sentence = f"The {server} conforms but for {known}: {held}, and no new violation was seen."
            return "known failures", sentence
        everywhere = f"{_rules(passed)} hold on every operation ({held})"
        if self.run.embedded:
            return "embedded", f"The {server} conforms; yours was not judged: {everywhere}."
        return "conforms", f"The server conforms: {everywhere}."

    def _part(self, held: str, known: str) -> str:
        """The sentence of a narrowed run without a violation; `held` and `known` say what was judged."""
        selection = self.ledger.selection
        left = len(self.ledger.with_verdict(Verdict.NOT_RUN, levels=self.gating))
        if self.ledger.side is Side.CLIENT:
            return f"No violation in {selection}: {held}, {left:,} more were not exercised."
        rest = f"{left:,} were left out" if left else "generated and further requests were left out"
        whose = " of the embedded reference server" if self.run.embedded else ""
        numbers = ", ".join(filter(None, (held, known, rest)))
        return f"Partial: no violation in the part{whose} that was run ({selection}): {numbers}."

    # ------------------------------------------------------------------ the facts

    @cached_property
    def gating(self) -> tuple[Level, ...]:
        """The levels that fail this run."""
        return gating(self.fail_on)

    @cached_property
    def known(self) -> list[Cell]:
        """The violated cells that the list of known failures excuses, of any level."""
        return [cell for cell in self.ledger.cells if cell.known]

    @cached_property
    def violations(self) -> list[Cell]:
        """The cells that fail the run: violated and not known."""
        cells = self.ledger.with_verdict(*VIOLATIONS, levels=self.gating)
        return [cell for cell in cells if not cell.known]

    @cached_property
    def excused(self) -> list[Cell]:
        """The cells that were not judged only because of operations that are known to be missing."""
        known = {cell.operation for cell in self.known if cell.rule == UNBUILT}
        missing = (one for one in self.causes if one.rule == UNBUILT and known.issuperset(one.operations))
        waiting = [self.ledger.cell(*key) for cause in missing for key in cause.consequences]
        unjudged = (cell for cell in waiting if not cell.violations)
        return [cell for cell in unjudged if all(one.cause == UNBUILT for one in cell.unclear)]

    @cached_property
    def unjudged(self) -> list[Cell]:
        """The cells that make the run incomplete: inconclusive, or not run in a run that was not narrowed,
        unless they are excused."""
        verdicts = [Verdict.INCONCLUSIVE] + [Verdict.NOT_RUN] * (not self.ledger.narrowed)
        excused = {cell.key for cell in self.excused}
        cells = self.ledger.with_verdict(*verdicts, levels=self.gating)
        return [cell for cell in cells if cell.key not in excused]

    @property
    def _lost(self) -> str:
        """The reason why judging ended before the run did."""
        lost = self.ledger.lost
        return lost if self.ledger.side is Side.CLIENT else f"the server was lost during the run ({lost})"

    @property
    def _broken(self) -> str:
        """The numbers of broken rules, operations, cells and causes, and the first causes."""
        keys = {cell.key for cell in self.violations}
        rules, operations = ({key[part] for key in keys} for part in (0, 1))
        causes = [
            name_of(cause)
            for cause in self.causes
            if not cause.may_follow and keys & {(cause.rule, name) for name in cause.operations}
        ]
        cells = f", {count(len(keys), 'cell')}" if len(keys) > 1 else ""
        origin = f", from {count(len(causes), 'cause')}" if len(causes) > 1 or len(rules) > 1 else ""
        where = f"{count(len(rules), 'rule')} on {count(len(operations), 'operation')}"
        return f"{where}{cells}{origin} ({listed(causes, 4)})"

    @property
    def _gap(self) -> str:
        """The reason why a run without a violation is incomplete; empty if it is not."""
        if self.ledger.lost:
            return f"{self._lost}; no violation was seen until then"
        if self.unjudged:
            cells = f"{count(len(self.unjudged), 'cell')} of {_rules(self.unjudged)}"
            first = listed([cell.rule for cell in self.unjudged], 4)
            return f"no violation was seen, but {cells} could not be exercised ({first})"
        # A narrowed run may select only rules that cannot fail it.
        levels = tuple(Level) if self.ledger.narrowed else self.gating
        judged = self.ledger.with_verdict(Verdict.PASSED, Verdict.OBSERVED, *VIOLATIONS, levels=levels)
        return "" if judged else "no rule was exercised"

    # ------------------------------------------------------------------ beside the verdict

    @property
    def _bounds(self) -> list[str]:
        """For each rule of which checks looked at a part only, how far they did where it was least."""
        near = [(cell.reach.far, cell) for cell in self.ledger.with_verdict(*HELD) if cell.reach]
        least = grouped((cell.rule, (far, cell.reach)) for far, cell in near)
        parts = ((rule, min(several, key=lambda each: each[0])[1]) for rule, several in least.items())
        return [f"{rule} ({reach.words})" for rule, reach in parts if reach]

    def _notes(self, name: str) -> list[str]:
        """Notes that accompany the verdict of this name."""
        ledger, notes = self.ledger, []
        if ledger.lost and name != "incomplete":
            notes.append(self._lost)
        warnings = [cell for cell in ledger.with_verdict(Verdict.WARNING) if not cell.known]
        if self.fail_on is Level.REQUIRED and warnings:
            several = f"{count(len(_keys(warnings)), 'warning')}, {count(len(warnings), 'cell')}"
            notes.append(f"{several}: rules that the specification only implies")
        if self.known and name not in ("known failures", "partial"):
            notes.append(count(len(self.known), "known failure"))
        if self.excused:
            cells = count(len(self.excused), "cell")
            notes.append(f"{cells} not judged for want of operations that are known to be missing")
        if self.violations and self.unjudged:
            notes.append(f"{count(len(self.unjudged), 'cell')} could not be exercised")
        if bounds := self._bounds:
            notes.append(f"this effort did not reach all of {listed(bounds, len(bounds))}")
        if some := sum(cell.left_out > 0 for cell in ledger.with_verdict(Verdict.PASSED, levels=self.gating)):
            notes.append(
                f"{count(some, 'cell')} passed without some checks of the rule, which a whole run has"
            )
        absent = ledger.with_verdict(Verdict.NOT_APPLICABLE, levels=self.gating)
        for reason, number in Counter(cell.summary for cell in absent).items():
            notes.append(f"{count(number, 'cell')} not applicable{f': {reason}' if reason else ''}")
        if self.others_failed:
            notes.append("tests that are not the suite's failed in the same session: it ends with 1 at best")
        return notes


def _keys(cells: Iterable[Cell]) -> set[str]:
    return {cell.rule for cell in cells}


def _rules(cells: Iterable[Cell]) -> str:
    return count(len(_keys(cells)), "rule")
