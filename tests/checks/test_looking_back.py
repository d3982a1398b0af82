"""Checks that look back on a run ask for its first nonces and keys, whichever lane sent them, and say how old
these were."""

from __future__ import annotations

import time
from typing import Any

import pytest

from conformance.checks import load_checks
from conformance.checks.running import run_check
from conformance.fuzz import load_tests
from conformance.fuzz.exploration import EXPLORATIONS
from conformance.judge.cells import Cell
from conformance.judge.verdicts import Verdict
from conformance.plugin.selection import HOSTILE, Job
from conformance.reference.behaviour import Behaviour
from conformance.reference.context import Context
from conformance.reference.core_messages import Response
from conformance.reference.store import Answer
from conformance.report.terminal import summary
from conformance.world.lane import Lane
from tests.support.report_samples import document, judged, whole_run
from tests.support.runs import run_on
from tests.variants.catalogue import named
from tests.variants.choice import compose, with_members
from tests.variants.hurry import hurried
from tests.variants.replicas import GetsFromReplica


class Forgets(Behaviour):
    """Forgets nonces and keys after 10 s, or keys after so many newer ones."""

    seconds, newer = 10, 10**9

    def nonce_expiry(self, ctx: Context) -> int:
        return int(ctx.now) + self.seconds * 1_000_000

    def stored_answer(self, ctx: Context) -> Answer | None:
        used = self.__dict__.setdefault("used", {})
        at, number = used.setdefault((self.answer_scope(ctx), ctx.key), (ctx.now, len(used)))
        old = ctx.now - at >= self.seconds * 1_000_000 or len(used) - number > self.newer
        return None if old else super().stored_answer(ctx)


class Archives(Behaviour):
    """Reads resources that are older than 30 s without their optional texts."""

    def finish(self, ctx: Context, response: Response) -> Response:
        answer = super().finish(ctx, response)
        if ctx.request.method == "GET" and ctx.record and ctx.record["created"] < ctx.now - 30_000_000:
            return with_members(answer, note=None, label="")
        return answer


class ForgetsAfterMany(Forgets):
    seconds, newer = 10**6, 100


#: Rule -> check that looks back.
LAST = {
    "auth.nonce-replay": "test_nonces.test_nonces_stay_used",
    "idempotency.replay": "test_idempotency_keys.test_keys_stay_used",
}


def looked_back(behaviour: Behaviour | None, rule: str) -> Cell:
    """What a check at the end of a run says, in another lane than the one that began 41 s ago."""
    first = run_on(behaviour)
    with hurried():
        first.account().create("createBeneficiary")
        time.sleep(41)
        for _ in range(120):
            first.account().create("createBeneficiary")
        last = Lane(first.target, first._transport, first_number=10**6, common=first.common)
        last.account().create("createBeneficiary")
        cells, _ = run_check(load_checks()[LAST[rule]], "createBeneficiary", last)
    return next(cell for cell in cells if cell.rule == rule)


@pytest.mark.parametrize(
    ("behaviour", "rule"),
    [
        (Forgets(), "auth.nonce-replay"),
        (Forgets(), "idempotency.replay"),
        (ForgetsAfterMany(), "idempotency.replay"),
    ],
)
def test_what_is_forgotten_in_a_run_is_found_at_its_end_in_any_lane(behaviour: Any, rule: str) -> None:
    assert looked_back(behaviour, rule).violations


@pytest.mark.parametrize("operation", ["getBeneficiary", "getVirtualAccount"])
def test_what_is_read_otherwise_once_it_is_old_is_found_at_the_end_of_a_run(operation: str) -> None:
    check, run = load_checks()["test_late.test_reads_at_the_end"], run_on(compose(Archives, GetsFromReplica))
    with hurried():
        cells = [run_check(check, operation, run)[0]]
        time.sleep(41)
        cells.append(run_check(check, operation, run)[0])
    assert [cell.verdict for (cell,) in cells] == [Verdict.PASSED, Verdict.FAILED]


@pytest.mark.parametrize("operation", ["getBeneficiary", "getVirtualAccount"])
@pytest.mark.parametrize("name", ["reads uneven", "reads in turn"])
def test_reads_that_come_too_early_for_one_of_several_replicas_blame_nobody(
    name: str, operation: str
) -> None:
    run = run_on(named(name).behaviour())
    with hurried():
        [cell] = run_check(load_checks()["test_races.test_reads_at_once"], operation, run)[0]
    assert cell.verdict is Verdict.PASSED


@pytest.mark.parametrize("rule", LAST)
def test_a_pass_says_how_old_the_first_was(rule: str) -> None:
    cell = looked_back(None, rule)
    assert cell.verdict is Verdict.PASSED
    assert cell.reach is not None and 41 <= cell.reach.far < 60
    assert "remembered" in cell.summary and f"{cell.reach.far:.0f} s" in cell.summary
    assert ("of 300; --effort deep waits" if "nonce" in rule else "requests later") in cell.summary


def test_checks_that_look_back_come_last_in_one_lane_and_in_several() -> None:
    load_tests()
    jobs = [Job(check, operation) for check in load_checks().values() for operation in check.operations]
    jobs += [Job(each, part) for each in EXPLORATIONS.values() for part in each.parts]
    jobs = [job for job in jobs if not job.judged.waits]
    for order in (sorted(jobs, key=lambda job: job.standing), sorted(jobs, key=lambda job: job.turn)):
        first = next(place for place, job in enumerate(order) if job.judged.last)
        assert all(job.judged.last for job in order[first:])
        assert any(job.judged.generated for job in order[:first])
        assert any(job.judged.name.startswith(HOSTILE) for job in order[:first])


def test_the_verdict_says_what_was_not_reached() -> None:
    cells = []
    for operation, far in (("listWallets", 50.0), ("createWallet", 41.0)):
        cell = judged("auth.nonce-replay", operation, Verdict.PASSED)
        cell.reached(far, f"{far:.0f} s of 300")
        cells.append(cell.decide())
    results = document(whole_run(None, *cells))
    [note] = [note for note in results.verdict.notes if "did not reach" in note]
    assert "auth.nonce-replay (41 s of 300)" in note and "50" not in note
    assert any("41 s of 300" in line for line, _ in summary(results, folder=None, width=200, verbose=False))
    assert results.verdict.exit_status == 0
