"""A run of one rule on one operation hangs up at ever more points of its work, until a short step shows. A
key that is raced shows in one round."""

from __future__ import annotations

import contextlib
import threading
from collections import defaultdict

import pytest

from conformance.checks import load_checks
from conformance.checks.running import run_check
from conformance.contract.rules import RULES
from conformance.judge.verdicts import Verdict
from conformance.judge.waits import PATIENCE
from conformance.reference.behaviour import Behaviour
from conformance.reference.context import Context
from conformance.reference.core_messages import Response
from conformance.reference.refusals import Refusal
from conformance.reference.seed import new_server, target_tables
from conformance.reference.serving.listener import served
from conformance.reference.store import Answer
from conformance.target.file import build
from conformance.world.lane import Lane
from tests.faults.catalogue import refusal, refuse
from tests.support.runs import run_on
from tests.support.windows import Window
from tests.variants.hurry import hurried


class ShortStep(Behaviour):
    """Loses the record of the key if its caller hangs up in one of 24 parts of its work."""

    def act(self, ctx: Context) -> None:
        if ctx.request.gone(0.05):
            refuse(refusal("499 api_error cancelled"))
        super().act(ctx)

    def remember(self, ctx: Context, response: Response) -> None:
        if not ctx.request.gone(0.005):
            super().remember(ctx, response)
            ctx.request.gone(0.065)


CHECK = load_checks()["test_hang_ups.test_caller_hangs_up_during_the_work"]


@pytest.mark.parametrize("operation", ["createPayout", "createVirtualAccount"])
@pytest.mark.parametrize(("behaviour", "verdict"), [(ShortStep, Verdict.FAILED), (Behaviour, Verdict.PASSED)])
def test_a_short_step_shows_to_a_patient_run_which_ends(
    operation: str, behaviour: type[Behaviour], verdict: Verdict
) -> None:
    with hurried():
        lane = run_on(behaviour())
        lane.patience = PATIENCE
        cells, _ = run_check(CHECK, operation, lane)
    assert cells[0].verdict is verdict
    assert lane.sent < 3000


class Meeting(Window):
    """Looks a key up twice before it does either request, and does the one first whose caller stays: its
    answer is not what the key has from then on."""

    def __init__(self) -> None:
        super().__init__()
        self._met = defaultdict[str | None, threading.Barrier](lambda: threading.Barrier(2))
        self._done = defaultdict[str | None, threading.Event](threading.Event)

    def stored_answer(self, ctx: Context) -> Answer | None:
        answer = super().stored_answer(ctx)
        if answer is None:
            # None but one comes where no race is.
            with contextlib.suppress(threading.BrokenBarrierError):
                self._met[ctx.key].wait(0.3)
                if ctx.request.gone(0.3):
                    self._done[ctx.key].wait(5)
        return answer

    def remember(self, ctx: Context, response: Response) -> None:
        super().remember(ctx, response)
        self._done[ctx.key].set()


#: Operations that a server with a raced key does twice: a second wallet of a pair is refused.
RACED = sorted({*RULES["idempotency.hang-up"].operations} - {"createWallet"})


@pytest.mark.parametrize("operation", RACED)
def test_a_raced_key_shows_on_each_operation(operation: str) -> None:
    check = load_checks()["test_hang_ups.test_callers_hang_up_and_ask_at_once"]
    server, seeded = new_server(Meeting())
    with served(server, threads=True) as url:
        lane = Lane(build(target_tables(seeded, url), "a server with a raced key"))
        (cell,) = run_check(check, operation, lane)[0]
    assert cell.verdict is Verdict.FAILED, cell.summary


class FewAtOnce(Behaviour):
    """Refuses a payout within 12 ms of two others, and stores the refusal."""

    def __init__(self) -> None:
        super().__init__()
        self.paid: list[int] = []

    def check_funds(self, ctx: Context) -> None:
        self.paid = [instant for instant in self.paid if instant > ctx.now - 12_000]
        if len(self.paid) > 1:
            raise Refusal("insufficient_funds")
        self.paid.append(ctx.now)
        super().check_funds(ctx)

    def remembers_refusal(self, ctx: Context, refusal: Refusal) -> bool:
        return True


def test_a_stored_refusal_of_too_many_at_once_is_no_lost_key() -> None:
    check = load_checks()["test_hang_ups.test_callers_hang_up_and_ask_at_once"]
    with hurried():
        (cell,) = run_check(check, "createPayout", run_on(FewAtOnce()))[0]
    assert cell.verdict is not Verdict.FAILED, cell.summary
