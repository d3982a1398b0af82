"""The verdict of a run; every format and the exit status use this one decision."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property

from conformance._options import Effort
from conformance._text import clean, count, listed
from conformance.contract.needs import first, waiting
from conformance.contract.operations import OPERATIONS
from conformance.contract.rules import RULES, Level, Side
from conformance.judge.findings import VIOLATIONS, Verdict
from conformance.judge.ledger import Ledger, Result
from conformance.report.causes import CauseRecord, causes
from conformance.report.document import (
    EXIT_STATUS,
    KnownFailuresRecord,
    StaleRecord,
    VerdictRecord,
)
from conformance.report.known_failures import KnownFailures


def gating(fail_on: Level) -> tuple[Level, ...]:
    """The levels whose violations fail a run."""
    return (Level.REQUIRED, Level.IMPLIED) if fail_on is Level.IMPLIED else (Level.REQUIRED,)


def decide(
    ledger: Ledger,
    fail_on: Level,
    known: KnownFailures | None = None,
    interrupted: str = "",
    *,
    embedded: bool = False,
    others_failed: bool = False,
) -> Decision:
    """Decides a run, and marks the cases that `known` lists.

    Precedence: internal errors, interruption, violations. A lost server is no interruption: the run is judged
    by what was seen, and is incomplete at best.
    """
    listed_failures = known.apply(ledger) if known else None
    return Decision(ledger, fail_on, causes(ledger), listed_failures, interrupted, embedded, others_failed)


#: Name, title and sentence of a verdict.
_Verdict = tuple[str, str, str]


@dataclass(frozen=True)
class Decision:
    """The verdict of a run, and the facts that it rests on."""

    ledger: Ledger
    fail_on: Level
    causes: tuple[CauseRecord, ...]
    known_failures: KnownFailuresRecord | None
    interrupted: str
    embedded: bool
    others_failed: bool = False

    @cached_property
    def record(self) -> VerdictRecord:
        """The verdict; its name is a key of EXIT_STATUS."""
        name, title, sentence = self._verdict()
        if self.ledger.effort == Effort.QUICK:
            title = f"quick run: {'no violation' if name == 'partial' else title}"
        return VerdictRecord(
            name,
            self._exit_status(name),
            clean(sentence),
            tuple(map(clean, self._notes(name))),
            self.fail_on,
            clean(title),
            len(self.violations),
        )

    def _exit_status(self, name: str) -> int:
        """The exit status of the verdict of this name; 1 where only other tests of the session failed."""
        status = EXIT_STATUS[name]
        return 1 if self.others_failed and status in (0, 6) else status

    @property
    def stale(self) -> tuple[StaleRecord, ...]:
        """The stale entries of the list of known failures."""
        return self.known_failures.stale if self.known_failures else ()

    @cached_property
    def gating(self) -> tuple[Level, ...]:
        return gating(self.fail_on)

    @cached_property
    def violations(self) -> list[Result]:
        """The cases that fail the run: violated and not known."""
        cases = self.ledger.with_verdict(*VIOLATIONS, levels=self.gating)
        return [case for case in cases if not case.known]

    @cached_property
    def incomplete(self) -> list[Result]:
        """The cases that make the run incomplete: inconclusive, or not run in a run that was not narrowed,
        unless excused by a known missing operation."""
        missing = [Verdict.INCONCLUSIVE] + [Verdict.NOT_RUN] * (not self.ledger.narrowed)
        cases = self.ledger.with_verdict(*missing, levels=self.gating)
        return [case for case in cases if not self.excuses(case)]

    def excuses(self, case: Result) -> bool:
        """True if a case was not judged only because of operations that are known to be missing."""
        known = self.ledger.known_missing
        if case.verdict is Verdict.NOT_RUN:
            return case.operation in {name for missing in known for name in (missing, *waiting(missing))}
        unclear = [
            finding
            for finding in case.findings
            if finding.exercised and finding.verdict is Verdict.INCONCLUSIVE
        ]
        return case.verdict is Verdict.INCONCLUSIVE and all(finding.lacks in known for finding in unclear)

    @property
    def excused(self) -> str:
        """The numbers of known failures and known missing operations, in words."""
        violated = self.ledger.with_verdict(*VIOLATIONS, levels=self.gating)
        failures, missing = sum(bool(case.known) for case in violated), len(self.ledger.known_missing)
        told = [count(failures, "known failure")] if failures else []
        if missing:
            told.append(f"{count(missing, 'operation')} known to be missing")
        return " and ".join(told)

    def _verdict(self) -> _Verdict:
        """The first verdict that applies."""
        return (
            self._error()
            or self._interruption()
            or self._broken()
            or self._outdated()
            or self._missing()
            or self._good()
        )

    # ------------------------------------------------------------------ verdicts that fail a run

    def _error(self) -> _Verdict | None:
        errors = len(self.ledger.errors) + len(self.ledger.with_verdict(Verdict.ERROR))
        if not errors:
            return None
        return (
            "error",
            "the suite failed",
            f"No verdict: the suite itself failed ({count(errors, 'error')}); "
            f"this says nothing about the {self.ledger.side}.",
        )

    def _interruption(self) -> _Verdict | None:
        if not self.interrupted or self.ledger.lost:
            return None
        sentence = f"No verdict: the run was interrupted ({self.interrupted})."
        if self.violations:
            sentence += f" Until then the {self.ledger.side} broke {self._told()}."
        return "interrupted", "interrupted", sentence

    def _broken(self) -> _Verdict | None:
        ledger = self.ledger
        lacking = [name for name in OPERATIONS if name in ledger.missing and name not in ledger.known_missing]
        if not self.violations and not lacking:
            return None
        titles, told = [], []
        if lacking:
            titles.append(f"{count(len(lacking), 'operation')} missing")
            told.append(
                f"it lacks {count(len(lacking), 'operation')} ({listed(lacking, 4)}); build "
                f"{first(lacking)} next"
            )
        if self.violations:
            titles.append(f"{_rules(self.violations)} broken")
            told.append(f"it breaks {self._told()}")
        return "violations", ", ".join(titles), f"The {self.ledger.side} does not conform: {'; '.join(told)}."

    def _told(self) -> str:
        """The broken rules in a few words, by root cause."""
        rules = {case.rule for case in self.violations}
        operations = {case.operation for case in self.violations}
        roots = [
            cause.rule
            for cause in self.causes
            if rules & {cause.rule, *(case.rule for case in cause.took_along)}
        ]
        origin = f", from {count(len(roots), 'cause')}" if len(roots) < len(rules) else ""
        where = f"{count(len(rules), 'rule')} on {count(len(operations), 'operation')}"
        return f"{where}{origin} ({listed(roots, 4)})"

    def _outdated(self) -> _Verdict | None:
        if not self.stale:
            return None
        lines = listed([str(stale.line) for stale in self.stale], 10)
        entries = "the entry that starts" if len(self.stale) == 1 else "the entries that start"
        return (
            "outdated",
            "known failures outdated",
            f"The list of known failures is out of date: delete {entries} on "
            f"{'line' if len(self.stale) == 1 else 'lines'} {lines}.",
        )

    def _missing(self) -> _Verdict | None:
        # A narrowed run may select only rules that cannot fail it.
        levels = tuple(Level) if self.ledger.narrowed else self.gating
        judged = self.ledger.with_verdict(Verdict.PASSED, Verdict.OBSERVED, *VIOLATIONS, levels=levels)
        if self.ledger.lost:
            sentence = f"Incomplete: {self._lost}; no violation was seen until then."
        elif self.incomplete:
            names = listed([case.rule for case in self.incomplete], 4)
            sentence = (
                f"Incomplete: no violation was seen, but {count(len(self.incomplete), 'case')} of "
                f"{_rules(self.incomplete)} could not be exercised ({names})."
            )
        elif not judged:
            sentence = "Incomplete: no rule was exercised."
        else:
            return None
        return "incomplete", "incomplete", sentence

    # ------------------------------------------------------------------ verdicts that do not

    def _good(self) -> _Verdict:
        passed = self.ledger.with_verdict(Verdict.PASSED, levels=self.gating)
        kind = "required" if len(self.gating) == 1 else "required or implied"
        cases = count(len(passed), f"{kind} case") if passed else f"no {kind} case"
        if self.ledger.selection:
            return "partial", "partial", self._partly(cases)
        if self.excused:
            title = f"conforms but for {self.excused}"
            return (
                "known failures",
                title,
                f"The {'embedded reference ' if self.embedded else ''}server {title}: {cases} passed, "
                "and no new violation was seen.",
            )
        hold = f"{_rules(passed)} hold on every operation ({cases} passed)"
        if self.embedded:
            return (
                "embedded",
                "embedded server conforms",
                f"The embedded reference server conforms; yours was not judged: {hold}.",
            )
        return "conforms", "conforms", f"The server conforms: {hold}."

    @property
    def _lost(self) -> str:
        """The reason why judging ended before the run did."""
        if self.ledger.side is Side.CLIENT:
            return self.ledger.lost
        return f"the server was lost during the run ({self.ledger.lost})"

    def _partly(self, cases: str) -> str:
        left = len(self.ledger.with_verdict(Verdict.NOT_RUN, levels=self.gating))
        if self.ledger.side is Side.CLIENT:
            return (
                f"No violation in {self.ledger.selection}: {cases} passed, {left:,} more were not exercised."
            )
        whose = " of the embedded reference server" if self.embedded else ""
        rest = f"{left:,} were left out" if left else "generated and further requests were left out"
        known = f", {self.excused}" if self.excused else ""
        return (
            f"Partial: no violation in the part{whose} that was run ({self.ledger.selection}): "
            f"{cases} passed{known}, {rest}."
        )

    # ------------------------------------------------------------------ beside the verdict

    def _notes(self, name: str) -> list[str]:
        """Notes that accompany the verdict of this name."""
        ledger, notes = self.ledger, self._left_out()
        if ledger.lost and name != "incomplete":
            notes.append(self._lost)
        warnings = ledger.with_verdict(Verdict.WARNING)
        if self.fail_on is Level.REQUIRED and warnings:
            notes.append(
                f"{count(len(warnings), 'warning')} on {_rules(warnings)} that the specification only implies"
            )
        if known := [case for case in ledger.cells if case.known]:
            notes.append(count(len(known), "known failure"))
        if ledger.known_missing:
            unjudged = [
                case
                for case in ledger.with_verdict(
                    Verdict.INCONCLUSIVE, Verdict.NOT_RUN, levels=(Level.REQUIRED, Level.IMPLIED)
                )
                if self.excuses(case)
            ]
            names = listed(list(ledger.known_missing), 4)
            notes.append(
                f"{count(len(unjudged), 'case')} not judged for want of {names}, known to be missing"
            )
        if self.violations and self.incomplete:
            notes.append(f"{count(len(self.incomplete), 'case')} could not be exercised")
        notes += self._not_applicable()
        if self.others_failed:
            notes.append(
                "tests that are not the suite's failed in the same session, so it ends with 1 at best"
            )
        return notes

    def _left_out(self) -> list[str]:
        """A note on the rules that a quick run did not judge."""
        ledger = self.ledger
        if ledger.effort != Effort.QUICK:
            return []
        judged = {case.rule for case in ledger.cells if case.verdict is not Verdict.NOT_RUN}
        rules = [rule.id for rule in RULES.values() if rule.level is not Level.OPEN and rule.id not in judged]
        cases = ledger.with_verdict(Verdict.NOT_RUN, levels=(Level.REQUIRED, Level.IMPLIED))
        whole = f"{count(len(rules), 'rule')} ({listed(rules, 12)})" if rules else "no rule"
        return [
            f"a quick run: it left out {whole} on every operation, {count(len(cases), 'case')} in all; "
            "a full run judges all"
        ]

    def _not_applicable(self) -> list[str]:
        """Notes on the cases that do not apply, by reason."""
        cases = self.ledger.with_verdict(Verdict.NOT_APPLICABLE, levels=self.gating)
        return [
            f"{count(number, 'case')} not applicable: {reason}"
            if reason
            else f"{count(number, 'case')} not applicable"
            for reason, number in Counter(case.summary for case in cases).items()
        ]


def _rules(cells: list[Result]) -> str:
    return count(len({cell.rule for cell in cells}), "rule")
