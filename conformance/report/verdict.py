"""The verdict of a run; every format and the exit status use this one decision."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from conformance._text import clean, count, listed
from conformance.contract.needs import first, waiting
from conformance.contract.operations import OPERATIONS
from conformance.contract.rules import Level, Side
from conformance.judge.cells import Cell
from conformance.judge.ledger import Ledger
from conformance.judge.verdicts import VIOLATIONS, Verdict
from conformance.report.causes import causes
from conformance.report.document import EXIT_STATUS, CauseRecord, KnownFailureRecord, VerdictRecord
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
        """The verdict; its name is a key of EXIT_STATUS. The status is 1 where only other tests failed."""
        name, title, sentence = (
            self._error()
            or self._interruption()
            or self._broken()
            or self._outdated()
            or self._incomplete()
            or self._good()
        )
        return VerdictRecord(
            name,
            1 if self.run.others_failed and EXIT_STATUS[name] in (0, 6) else EXIT_STATUS[name],
            clean(sentence),
            tuple(map(clean, self._notes(name))),
            self.run.fail_on,
            clean(title),
            len(self.violations),
            len(self.known),
        )

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
    def unjudged(self) -> list[Cell]:
        """The cells that make the run incomplete: inconclusive, or not run in a run that was not narrowed,
        unless excused by a known missing operation."""
        missing = [Verdict.INCONCLUSIVE] + [Verdict.NOT_RUN] * (not self.ledger.narrowed)
        cells = self.ledger.with_verdict(*missing, levels=self.gating)
        return [cell for cell in cells if not self.excuses(cell)]

    def excuses(self, cell: Cell) -> bool:
        """True if a cell was not judged only because of operations that are known to be missing."""
        known = self.ledger.known_missing
        if cell.verdict is Verdict.NOT_RUN:
            return cell.operation in {name for missing in known for name in (missing, *waiting(missing))}
        return cell.verdict is Verdict.INCONCLUSIVE and all(one.lacks in known for one in cell.unclear)

    # ------------------------------------------------------------------ verdicts that fail a run

    def _error(self) -> _Verdict | None:
        if not self.ledger.errors:
            return None
        sentence = (
            f"No verdict: the suite itself failed ({count(len(self.ledger.errors), 'error')}); this says "
            f"nothing about the {self.ledger.side}."
        )
        return "error", "the suite failed", sentence + self._beside("Elsewhere")

    def _interruption(self) -> _Verdict | None:
        if not self.run.interrupted or self.ledger.lost:
            return None
        sentence = f"No verdict: the run was interrupted ({self.run.interrupted})."
        return "interrupted", "interrupted", sentence + self._beside("Until then")

    def _beside(self, words: str) -> str:
        """A sentence on the violations of a run without a verdict; empty without any."""
        return f" {words} the {self.ledger.side} broke {self._broken_rules()}." if self.violations else ""

    def _broken(self) -> _Verdict | None:
        ledger = self.ledger
        lacking = [name for name in OPERATIONS if name in ledger.missing and name not in ledger.known_missing]
        if not self.violations and not lacking:
            return None
        titles, clauses = [], []
        if lacking:
            number = count(len(lacking), "operation")
            titles.append(f"{number} missing")
            clauses.append(f"it lacks {number} ({listed(lacking, 4)}); build {first(lacking)} next")
        if self.violations:
            titles.append(f"{_rules(self.violations)} broken")
            clauses.append(f"it breaks {self._broken_rules()}")
        return "violations", ", ".join(titles), f"The {ledger.side} does not conform: {'; '.join(clauses)}."

    def _broken_rules(self) -> str:
        """The numbers of broken rules, operations, cells and causes, and the first causes."""
        rules = {cell.rule for cell in self.violations}
        operations = {cell.operation for cell in self.violations}
        keys = {cell.key for cell in self.violations}
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

    def _outdated(self) -> _Verdict | None:
        stale = [entry for entry in self.known_failures if entry.stale]
        if not stale:
            return None
        lines = listed([str(entry.line) for entry in stale], 10)
        noun = "entry that starts on line" if len(stale) == 1 else "entries that start on lines"
        return (
            "outdated",
            "known failures outdated",
            f"The list of known failures is out of date: delete the {noun} {lines}.",
        )

    def _incomplete(self) -> _Verdict | None:
        # A narrowed run may select only rules that cannot fail it.
        levels = tuple(Level) if self.ledger.narrowed else self.gating
        judged = self.ledger.with_verdict(Verdict.PASSED, Verdict.OBSERVED, *VIOLATIONS, levels=levels)
        if self.ledger.lost:
            sentence = f"Incomplete: {self._lost}; no violation was seen until then."
        elif self.unjudged:
            names = listed([cell.rule for cell in self.unjudged], 4)
            sentence = (
                f"Incomplete: no violation was seen, but {count(len(self.unjudged), 'cell')} of "
                f"{_rules(self.unjudged)} could not be exercised ({names})."
            )
        elif not judged:
            sentence = "Incomplete: no rule was exercised."
        else:
            return None
        return "incomplete", "incomplete", sentence

    @property
    def _lost(self) -> str:
        """The reason why judging ended before the run did."""
        if self.ledger.side is Side.CLIENT:
            return self.ledger.lost
        return f"the server was lost during the run ({self.ledger.lost})"

    # ------------------------------------------------------------------ verdicts that do not

    def _good(self) -> _Verdict:
        passed = self.ledger.with_verdict(Verdict.PASSED, levels=self.gating)
        kind = "required" if len(self.gating) == 1 else "required or implied"
        cells = count(len(passed), f"{kind} cell") if passed else f"no {kind} cell"
        if self.ledger.selection:
            return "partial", "partial", self._partial(cells)
        server = f"The {'embedded reference ' if self.run.embedded else ''}server"
        if excused := self._excused():
            title = f"conforms but for {excused}"
            sentence = f"{server} {title}: {cells} passed, and no new violation was seen."
            return "known failures", title, sentence
        hold = f"{_rules(passed)} hold on every operation ({cells} passed)"
        if self.run.embedded:
            sentence = f"The embedded reference server conforms; yours was not judged: {hold}."
            return "embedded", "embedded server conforms", sentence
        return "conforms", "conforms", f"The server conforms: {hold}."

    def _partial(self, cells: str) -> str:
        left = len(self.ledger.with_verdict(Verdict.NOT_RUN, levels=self.gating))
        if self.ledger.side is Side.CLIENT:
            selected = self.ledger.selection
            return f"No violation in {selected}: {cells} passed, {left:,} more were not exercised."
        whose = " of the embedded reference server" if self.run.embedded else ""
        rest = f"{left:,} were left out" if left else "generated and further requests were left out"
        excused = self._excused()
        return (
            f"Partial: no violation in the part{whose} that was run ({self.ledger.selection}): "
            f"{cells} passed{f', {excused}' if excused else ''}, {rest}."
        )

    def _excused(self) -> str:
        """The numbers of known failures and known missing operations, in words."""
        words = [count(len(self.known), "known failure")] if self.known else []
        if missing := len(self.ledger.known_missing):
            words.append(f"{count(missing, 'operation')} known to be missing")
        return " and ".join(words)

    # ------------------------------------------------------------------ beside the verdict

    def _notes(self, name: str) -> list[str]:
        """Notes that accompany the verdict of this name."""
        ledger, notes = self.ledger, []
        if ledger.lost and name != "incomplete":
            notes.append(self._lost)
        warnings = [cell for cell in ledger.with_verdict(Verdict.WARNING) if not cell.known]
        if self.run.fail_on is Level.REQUIRED and warnings:
            notes.append(
                f"{count(len(warnings), 'warning')} on {_rules(warnings)} that the specification only implies"
            )
        if self.known and name not in ("known failures", "partial"):
            notes.append(count(len(self.known), "known failure"))
        if ledger.known_missing:
            levels = (Level.REQUIRED, Level.IMPLIED)
            cells = ledger.with_verdict(Verdict.INCONCLUSIVE, Verdict.NOT_RUN, levels=levels)
            excused = count(sum(map(self.excuses, cells)), "cell")
            names = listed(list(ledger.known_missing), 4)
            notes.append(f"{excused} not judged for want of {names}, known to be missing")
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


def _rules(cells: list[Cell]) -> str:
    return count(len({cell.rule for cell in cells}), "rule")
