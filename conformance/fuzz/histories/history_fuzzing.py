"""Searches for histories of concurrent clients without a legal order.

Answers during a change may show it or not; an acknowledged change must show."""

from __future__ import annotations

import random
import time

from conformance.fuzz.engine.recorder import Falsified, Recorder
from conformance.fuzz.exploration import FuzzSettings
from conformance.fuzz.histories.contention import KINDS
from conformance.fuzz.histories.history import HistoryRecorder, Throttled
from conformance.fuzz.schema.operation_fixtures import PAIRS_REMEDY, pairs_are_free
from conformance.judge.findings import Finding, Inconclusive
from conformance.wire.client import NOT_SIMULTANEOUS, RATE_REMEDY
from conformance.world.run_context import RunContext

#: Cases that one history takes from the budget.
CASES_PER_HISTORY = 4

#: Attempts at a history that was throttled, or whose requests did not overlap.
MOST_ATTEMPTS = 6


def explore_histories(run: RunContext, kind: str, settings: FuzzSettings, check: str) -> list[Finding]:
    """Records histories of one kind and returns a finding for each judged rule.

    Raises Inconclusive when the server refuses a precondition, or no two requests overlapped.
    """
    if kind == "wallets" and not pairs_are_free(run):
        raise Inconclusive(
            "this server takes a pair of currency and network in one account only, "
            "so no account is left to race for it",
            PAIRS_REMEDY,
        )
    recorder = Recorder(run, check)
    rng = random.Random(f"{settings.seed} histories {kind}")
    share = settings.share()
    end = None if share is None else time.monotonic() + share
    concurrent = False
    for _ in range(max(2, settings.cases // CASES_PER_HISTORY)):
        if end is not None and time.monotonic() > end:
            break
        try:
            with recorder.keeping():
                concurrent = _history(run, kind, recorder, rng) or concurrent
        except Falsified as violation:
            concurrent = True
            recorder.settled.add(violation.key)
    with recorder.keeping():
        if not concurrent:
            raise Inconclusive(NOT_SIMULTANEOUS, RATE_REMEDY)
    return recorder.findings()


def _history(run: RunContext, kind: str, recorder: Recorder, rng: random.Random) -> bool:
    """Records and judges one history, again where it was throttled or no requests overlapped; returns whether
    some did."""
    for attempt in range(1, MOST_ATTEMPTS + 1):
        fixture = run.account(fresh=True) if kind in ("wallets", "beneficiaries") else run.account()
        if kind != "wallets":
            fixture.ids("getBeneficiary")
        recorder.focus = None
        recorder.begin()
        history = HistoryRecorder(run, recorder, rng)
        try:
            KINDS[kind].perform(history, fixture)
        except Throttled as throttled:
            if not run.retry.wait_out(throttled.exchange, attempt):
                return False
            continue
        recorder.inspect(*history.record)
        if history.concurrent:
            return True
    return False
