"""The verdict of a run; every format and the exit status use this one decision."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from conformance._text import clean, count, listed
from conformance.contract.needs import UNBUILT
from conformance.contract.rules import Level, Side
from conformance.judge.cells import Cell
from conformance.judge.ledger import Ledger
from conformance.judge.verdicts import VIOLATIONS, Verdict
from conformance.report.causes import causes
from conformance.report.document import VERDICTS, CauseRecord, KnownFailureRecord, VerdictRecord
from conformance.report.known_failures import KnownFailures


def gating(fail_on: Level) -> tuple[Level, ...]:
    """The levels whose violations fail a run."""
    return (Level.REQUIRED, Level.IMPLIED) if fail_on is Level.IMPLIED else (Level.REQUIRED,)


@dataclass
class RunInfo:
    """The metadata of a run: times in Unix seconds, `options` as given, by name.

    `embedded`: the target was the suite's reference server. `interrupted`: why the run ended early; empty if
    it completed or only its user limited it (see `Ledger.narrowed`). `others_failed`: tests that are not the
    suite's failed in the same session. `folder`: where the reports are written.
    """

    started: float
    ended: float
    seed: int | None = None
    options: dict[str, str] = field(default_factory=dict)
    embedded: bool = False
    interrupted: str = ""
    others_failed: bool = False
    workers: int = 1
    fail_on: Level = Level.REQUIRED
    known: KnownFailures | None = None
    folder: Path | None = None
    label: str = ""


def decide(ledger: Ledger, run: RunInfo) -> Decision:
    """Decides a run, and marks the cells that its list of known failures has.

    Precedence: internal errors, interruption, violations. A lost server is no interruption: the run is judged
    by what was seen, and is incomplete at best.
    """
    entries = run.known.apply(ledger) if run.known else ()
    return Decision(ledger, run, causes(ledger), entries)


#: Name, title and sentence of a verdict.
_Verdict = tuple[str, str, str]


@dataclass(frozen=True)
class Decision:
    """The verdict of a run, and the facts that it rests on."""

    ledger: Ledger
    run: RunInfo
    causes: tuple[CauseRecord, ...]
    known_failures: tuple[KnownFailureRecord, ...]

    @cached_property
    def record(self) -> VerdictRecord:
        """The verdict; its name is a key of VERDICTS. The status is 1 where only other tests failed."""
        name, title, sentence = (
            self._stopped()
            or self._broken()
            or self._outdated()
            or self._incomplete()
            or self._partial()
            or self._whole()
        )
        status = VERDICTS[name][0]
        return VerdictRecord(
            name,
            1 if self.run.others_failed and status in (0, 6) else status,
            clean(sentence),
            tuple(map(clean, self._notes(name))),
            self.run.fail_on,
            clean(title),
            len(self.violations),
            len(self.known),
        )

    # ------------------------------------------------------------------ the facts

    @cached_property
    def gating(self) -> tuple[Level, ...]:
        """The levels that fail this run."""
        return gating(self.run.fail_on)

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
        waiting = [self.ledger.cell(*one.key) for cause in missing for one in cause.consequences]
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
    def _rules_broken(self) -> str:
        """The numbers of broken rules, operations, cells and causes, and the first causes."""
        keys = {cell.key for cell in self.violations}
        rules, operations = ({key[part] for key in keys} for part in (0, 1))
        roots = [
            cause.rule
            for cause in self.causes
            if keys
            & {*((cause.rule, name) for name in cause.operations), *(one.key for one in cause.consequences)}
        ]
        cells = f", {count(len(keys), 'cell')}" if len(keys) > 1 else ""
        origin = f", from {count(len(roots), 'cause')}" if len(roots) > 1 or len(rules) > 1 else ""
        where = f"{count(len(rules), 'rule')} on {count(len(operations), 'operation')}"
        return f"{where}{cells}{origin} ({listed(roots, 4)})"

    # ------------------------------------------------------------------ verdicts that fail a run

    def _stopped(self) -> _Verdict | None:
        """An error of the suite, or an interruption, with the violations until then."""
        side, errors = self.ledger.side, len(self.ledger.errors)

        def beside(words: str) -> str:
            return f" {words} the {side} broke {self._rules_broken}." if self.violations else ""

        if errors:
            failed = f"the suite itself failed ({count(errors, 'error')}); this says nothing about the {side}"
            return "error", "the suite failed", f"No verdict: {failed}.{beside('Elsewhere')}"
        if self.run.interrupted and not self.ledger.lost:
            interrupted = f"the run was interrupted ({self.run.interrupted})"
            return "interrupted", "interrupted", f"No verdict: {interrupted}.{beside('Until then')}"
        return None

    def _broken(self) -> _Verdict | None:
        if not self.violations:
            return None
        sentence = f"The {self.ledger.side} does not conform: it breaks {self._rules_broken}."
        return "violations", f"{_rules(self.violations)} broken", sentence

    def _outdated(self) -> _Verdict | None:
        lines = [str(entry.line) for entry in self.known_failures if entry.stale]
        if not lines:
            return None
        noun = "entry that starts on line" if len(lines) == 1 else "entries that start on lines"
        sentence = f"The list of known failures is out of date: delete the {noun} {listed(lines, 10)}."
        return "outdated", "known failures outdated", sentence

    def _incomplete(self) -> _Verdict | None:
        # A narrowed run may select only rules that cannot fail it.
        levels = tuple(Level) if self.ledger.narrowed else self.gating
        judged = self.ledger.with_verdict(Verdict.PASSED, Verdict.OBSERVED, *VIOLATIONS, levels=levels)
        if self.ledger.lost:
            reason = f"{self._lost}; no violation was seen until then"
        elif self.unjudged:
            reason = (
                f"no violation was seen, but {count(len(self.unjudged), 'cell')} of {_rules(self.unjudged)} "
                f"could not be exercised ({listed([cell.rule for cell in self.unjudged], 4)})"
            )
        elif not judged:
            reason = "no rule was exercised"
        else:
            return None
        return "incomplete", "incomplete", f"Incomplete: {reason}."

    # ------------------------------------------------------------------ verdicts that do not

    @cached_property
    def _passed(self) -> list[Cell]:
        return self.ledger.with_verdict(Verdict.PASSED, levels=self.gating)

    @property
    def _cells_passed(self) -> str:
        kind = "required" if len(self.gating) == 1 else "required or implied"
        number = count(len(self._passed), f"{kind} cell") if self._passed else f"no {kind} cell"
        return f"{number} passed"

    def _partial(self) -> _Verdict | None:
        selection = self.ledger.selection
        if not selection:
            return None
        left = len(self.ledger.with_verdict(Verdict.NOT_RUN, levels=self.gating))
        if self.ledger.side is Side.CLIENT:
            sentence = f"No violation in {selection}: {self._cells_passed}, {left:,} more were not exercised."
            return "partial", "partial", sentence
        whose = " of the embedded reference server" if self.run.embedded else ""
        known = count(len(self.known), "known failure") if self.known else ""
        rest = f"{left:,} were left out" if left else "generated and further requests were left out"
        numbers = ", ".join(filter(None, (self._cells_passed, known, rest)))
        sentence = f"Partial: no violation in the part{whose} that was run ({selection}): {numbers}."
        return "partial", "partial", sentence

    def _whole(self) -> _Verdict:
        if self.known:
            server = "embedded reference server" if self.run.embedded else "server"
            title = f"conforms but for {count(len(self.known), 'known failure')}"
            sentence = f"The {server} {title}: {self._cells_passed}, and no new violation was seen."
            return "known failures", title, sentence
        hold = f"{_rules(self._passed)} hold on every operation ({self._cells_passed})"
        if self.run.embedded:
            sentence = f"The embedded reference server conforms; yours was not judged: {hold}."
            return "embedded", "embedded server conforms", sentence
        return "conforms", "conforms", f"The server conforms: {hold}."

    # ------------------------------------------------------------------ beside the verdict

    def _notes(self, name: str) -> list[str]:
        """Notes that accompany the verdict of this name."""
        ledger, notes = self.ledger, []
        if ledger.lost and name != "incomplete":
            notes.append(self._lost)
        warnings = [cell for cell in ledger.with_verdict(Verdict.WARNING) if not cell.known]
        if self.run.fail_on is Level.REQUIRED and warnings:
            several = count(len(warnings), "warning")
            notes.append(f"{several} on {_rules(warnings)} that the specification only implies")
        if self.known and name not in ("known failures", "partial"):
            notes.append(count(len(self.known), "known failure"))
        if self.excused:
            cells = count(len(self.excused), "cell")
            notes.append(f"{cells} not judged for want of operations that are known to be missing")
        if self.violations and self.unjudged:
            notes.append(f"{count(len(self.unjudged), 'cell')} could not be exercised")
        absent = ledger.with_verdict(Verdict.NOT_APPLICABLE, levels=self.gating)
        for reason, number in Counter(cell.summary for cell in absent).items():
            notes.append(f"{count(number, 'cell')} not applicable{f': {reason}' if reason else ''}")
        if self.run.others_failed:
            notes.append(
                "tests that are not the suite's failed in the same session, so it ends with 1 at best"
            )
        return notes


def _rules(cells: Iterable[Cell]) -> str:
    return count(len({cell.rule for cell in cells}), "rule")
