"""Runs checks in one thread against the target, and returns ledgers of what they judged."""

from __future__ import annotations

import contextlib
import itertools
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from msgspec.structs import replace

from conformance._text import mistake
from conformance.checks import judged_on_answers, presence
from conformance.checks.check import CheckDefinition, Steps
from conformance.checks.running import finished, run_check, steps_of
from conformance.contract.needs import UNBUILT
from conformance.fuzz.exploration import FuzzSettings
from conformance.judge.cells import EVERY_RESPONSE, Cell
from conformance.judge.exchanges import exchange_record
from conformance.judge.invariants import LOST
from conformance.judge.ledger import Ledger
from conformance.judge.outcomes import Unclear
from conformance.judge.verdicts import Inconclusive, Verdict
from conformance.judge.waits import PACE, PATIENCE
from conformance.plugin.selection import Job, Scope
from conformance.target.file import Target
from conformance.wire.messages import Exchange
from conformance.world.calls import renewed
from conformance.world.common import Common
from conformance.world.lane import Lane

#: Seconds a worker may spend on confirming failures.
CONFIRMATION_BUDGET = 30.0

#: Why an error of the suite leaves a rule unjudged.
FAILED = "its check failed with an error of the suite"

EVERYTHING = Scope()

#: The rule that requires an answer.
NO_ANSWER = "http.no-server-error"


def overdue(exchanges: Sequence[Exchange]) -> Unclear:
    """Why requests that were out of time break no rule: alone they are answered."""
    number = f"{len(exchanges)} requests were" if len(exchanges) > 1 else "a request was"
    return Unclear(
        f"{number} out of time while others were under way, but not when it was repeated alone",
        remedy="Send fewer requests at once: --lanes 1, or a number in between. Or give the server more time "
        "for each: --request-timeout.",
        exchanges=tuple(exchange.number for exchange in exchanges[:3]),
    )


@dataclass
class JobOutcome:
    """The outcome of a job: its ledger, the cells of its own rules, the seconds it took, and the suite's own
    error that ended it."""

    ledger: Ledger
    own: list[Cell] = field(default_factory=list)
    seconds: float = 0.0
    error: Exception | None = None

    @property
    def cells(self) -> list[Cell]:
        """The cells that the test is judged by: those of every response only if they are violations, or if
        there are no others."""
        if not self.own:
            return self.ledger.cells
        return [*self.own, *(cell for cell in self.ledger.cells if cell.verdict.is_violation)]

    @property
    def verdict(self) -> str:
        """The most severe verdict of the rules that were exercised, by the way too; "no occasion" if none
        was."""
        verdicts = [cell.verdict for cell in self.cells if cell.verdict is not Verdict.NOT_RUN]
        verdicts += [Verdict.PASSED for cell in self.cells if cell.judged and cell.verdict is Verdict.NOT_RUN]
        return str(Verdict.most_severe(verdicts) or "no occasion")

    @property
    def gap(self) -> str:
        """The reason why nothing was judged; empty if something was."""
        verdict = self.verdict
        if verdict not in ("inconclusive", "not applicable", "no occasion"):
            return ""
        reasons = (cell.summary for cell in self.cells if verdict in (cell.verdict, "no occasion"))
        return next(reasons, "nothing was judged")


class Worker:
    """Runs checks and explorations in one thread, and returns ledgers of their cells. The server's clock
    is `ahead` by so many seconds; `common` is what all workers of a process share."""

    def __init__(
        self,
        target: Target,
        *,
        index: int,
        settings: FuzzSettings,
        scope: Scope = EVERYTHING,
        common: Common | None = None,
        ahead: float = 0.0,
    ) -> None:
        self.lane = Lane(target, first_number=index * 1_000_000 + 1, common=common)
        # Calibrated before the first request, which may be part of a race, which is not retried.
        self.lane.clock.offset = ahead
        self.lane.patience = PATIENCE if scope.patient else 0.0
        self.settings = settings
        self.scope = scope
        #: True while a step of a job runs.
        self.busy = False
        #: What earlier ledgers contained: the numbers sent and of tallies, and cells of the rules of every
        #: response.
        self._sent = 0
        self._reported: dict[tuple[str, str], Cell] = {}
        #: Broken rules of every response: True if the violation only shows that an operation does not exist.
        self._absent: dict[tuple[str, str], bool] = {}
        self._confirming = CONFIRMATION_BUDGET
        self._crowded = settings.workers > 1
        if self._crowded:
            self.lane.invariants.overdue = {}

    # ------------------------------------------------------------------ running

    def judge(self, job: Job) -> JobOutcome:
        """Runs a job, and waits where it does; an exception of the suite is in the outcome and its ledger."""
        return finished(self.steps(job), self.lane.pause)

    def steps(self, job: Job) -> Steps[JobOutcome]:
        """The steps of a job, with the result as `judge` returns it. The steps of several may take turns."""
        begin, waited, outcome = time.perf_counter(), 0.0, JobOutcome(Ledger())
        self.busy = True
        try:
            steps = self._steps(job)
            while True:
                seconds = next(steps)
                stopped = time.perf_counter()
                self.busy = False
                yield seconds
                self.busy = True
                waited += time.perf_counter() - stopped
        except StopIteration as end:
            outcome.own = [cell.cleaned(self.lane.redactor.clean) for cell in end.value]
        except Exception as error:
            outcome.error = error
        try:
            # After an error, too: it counts what was sent.
            outcome.ledger = self.ledger(outcome.own)
        except Exception as error:
            outcome.error = outcome.error or error
        if outcome.error is not None:
            outcome.ledger.errors.append(mistake(job.title, outcome.error, self.lane.redactor.clean))
            for key in job.cells if not outcome.own else ():
                if self.scope.covers(*key):
                    outcome.ledger.add(Cell(*key).concluded(job.judged.name, Inconclusive(Unclear(FAILED))))
        outcome.seconds = time.perf_counter() - begin - waited
        self.busy = False
        return outcome

    def _steps(self, job: Job) -> Steps[list[Cell]]:
        if isinstance(job.judged, CheckDefinition):
            return (yield from self._check(job.judged, job.parameter))[0]
        judged = job.judged.judge(self.lane, job.parameter, self.settings)
        cells = [presence.explained(self.lane, cell, ()) for cell in judged]
        for violation in itertools.chain.from_iterable(cell.violations for cell in cells):
            violation.examples = self.settings.examples
        return self._asked_for(cells)

    def run_check(self, check: CheckDefinition, operation: str) -> tuple[list[Cell], list[Exchange]]:
        """Runs a check; returns its selected cells and its exchanges. Violations are confirmed."""
        return finished(self._check(check, operation), self.lane.pause)

    def _check(self, check: CheckDefinition, operation: str) -> Steps[tuple[list[Cell], list[Exchange]]]:
        cells, exchanges = yield from steps_of(check, operation, self.lane)
        cells = self._asked_for(presence.explained(self.lane, cell, exchanges) for cell in cells)
        if failed := [cell for cell in cells if cell.violations]:
            self.lane.common.broken = self.scope.patient
            self._confirm(check, operation, failed)
        return cells, exchanges

    def _confirm(self, check: CheckDefinition, operation: str, failed: Iterable[Cell]) -> None:
        """Runs a failed check once more, alone and in new accounts."""
        if self._confirming <= 0:
            return
        begin, alone = time.monotonic(), self.lane.alone()
        again, _ = run_check(check, operation, alone)
        broken = {cell.rule for cell in again if cell.violations}
        holds = {cell.rule for cell in again if cell.judged} - broken
        for cell in failed:
            numbers = [each.exchanges[0] for each in cell.violations if each.exchanges]
            proof = [exchange for number in numbers if (exchange := self.lane.exchange(number))]
            if self._crowded and cell.rule in holds and proof and all(each.timed_out for each in proof):
                cell.judged, cell.broken, cell.violations = cell.judged - cell.broken, 0, []
                cell.unclear = [overdue(proof)]
                cell.decide()
            for violation in cell.violations:
                violation.confirmed = "confirmed" if cell.rule in broken else "not reproduced"
        self.lane.include(alone)
        self._confirming -= time.monotonic() - begin

    def _asked_for(self, cells: Iterable[Cell]) -> list[Cell]:
        """The selected cells: a check may cite more rules."""
        return [cell for cell in cells if self.scope.covers(*cell.key)]

    def interrupt(self) -> None:
        """Ends the requests that are under way, and sends no more; called from another thread."""
        self.lane.interrupt("the run was interrupted")

    # ------------------------------------------------------------------ ledgers

    def totals(self) -> Ledger:
        """The ledger after the last job, which completes the rules of every response; then forgets what was
        sent, as reports need the memory."""
        try:
            ledger = self.ledger(last=True)
        except Exception as error:
            ledger = Ledger(errors=[mistake("the rules of every response", error, self.lane.redactor.clean)])
        self.lane.accepted.clear()
        return ledger

    def ledger(self, cells: Iterable[Cell] = (), *, last: bool = False) -> Ledger:
        """The redacted ledger of everything since the last one; `last` completes the rules of every response,
        of which only new results are sent before."""
        lane, clean = self.lane, self.lane.redactor.clean
        ledger = lane.counted
        for cell in [*cells, *self._every_response(last)]:
            ledger.add(cell, clean)
        for number in dict.fromkeys(number for cell in ledger.cells for number in cell.exchanges):
            if exchange := lane.exchange(number):
                ledger.exchanges[number] = exchange_record(exchange, lane.redactor)
        lane.release()
        lane.counted = Ledger()
        ledger.measure_limits(lane.retry.take())
        ledger.waited(PACE, *lane.budget.waits())
        ledger.sent, self._sent = lane.sent - self._sent, lane.sent
        ledger.lost = clean(lane.lost)
        ledger.created = [replace(one, id=clean(one.id), path=clean(one.path)) for one in lane.created.take()]
        return ledger

    def _overdue(self) -> Iterator[Cell]:
        """Judges requests that were out of time while others were under way: the first of each operation is
        repeated, alone."""
        invariants = self.lane.invariants
        late, invariants.overdue = invariants.overdue or {}, None
        for operation, exchanges in late.items():
            first, answer = exchanges[0], None
            with contextlib.suppress(Inconclusive):
                client = self.lane.client(first.organization)
                answer = self.lane.send_once(client, renewed(first.call), f"{first.purpose}, alone")
            if answer is None or answer.status is None:
                for exchange in exchanges:
                    invariants.unanswered(exchange)
            elif self.scope.reports(NO_ANSWER, operation, True):
                self.lane.evidence += exchanges
                yield Cell(
                    NO_ANSWER, operation, unclear=[overdue(exchanges)], checks=[EVERY_RESPONSE]
                ).decide()

    def _every_response(self, last: bool) -> Iterator[Cell]:
        """The cells of the rules of every response that were first judged, or first broken, since the last
        ledger; at the end all, less what was sent before."""
        if last:
            yield from self._overdue()
            self.lane.invariants.judge_rates()
        tallies = self.lane.invariants.tallies
        asked = self._absent.keys()
        while unasked := [
            key for key in self.lane.invariants.broken - asked if self.scope.reports(*key, True)
        ]:
            # Asking sends a request, which is judged like any other: before the tallies are read.
            for key in unasked:
                first = tallies[key].violations[:1] if key[0] != UNBUILT else []
                self._absent[key] = any(presence.lacks(self.lane, each.exchanges[:1]) for each in first)
        news, self.lane.invariants.news = self.lane.invariants.news, {}
        for key in [*tallies] if last else news:
            tally = tallies[key]
            known, broken = self._reported.get(key), tally.broken > 0
            # Only at the end is it known how many requests were lost, and what never succeeded.
            new = key[0] not in (LOST, UNBUILT) and (known is None or (broken and not known.broken))
            if not (last or new) or not self.scope.reports(*key, broken):
                continue
            if broken and self._absent[key]:
                # The first violation only shows that an operation does not exist.
                continue
            cell = self._reported[key] = judged_on_answers(tally)
            if known is not None:
                cell = replace(
                    cell,
                    judged=cell.judged - known.judged,
                    looks=cell.looks - known.looks,
                    broken=cell.broken - known.broken,
                )
            yield cell
