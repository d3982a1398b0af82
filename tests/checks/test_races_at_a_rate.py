"""Races under a rate limit: their requests stay simultaneous at any rate, or no rule passes."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator
from unittest import mock

import httpx
import pytest

from conformance.judge.cells import Cell
from conformance.judge.verdicts import Verdict
from conformance.reference.app import Server
from conformance.reference.behaviour import Behaviour
from conformance.reference.serving.in_process import InProcessTransport
from conformance.wire.client import RACERS
from conformance.wire.transport import GATE, Gate
from conformance.world.run import Run
from tests.faults.catalogue import Fault, load
from tests.faults.harness import LossyTransport, Outcome, checks_of, run_one
from tests.support.runs import run_on
from tests.variants.hurry import hurried

#: A fault for each race rule, on an operation with few requests.
KINDS = {
    "auth.nonce-race": ("ChecksThenRecords", "getBeneficiary"),
    "idempotency.race": ("PerformsAll", "createVirtualAccount"),
    "wallet.race": ("LooksThenReserves", "createWallet"),
}

RATES = (2, 20, 200)


@contextlib.contextmanager
def turns_apart() -> Iterator[None]:
    """Skips `time.sleep` in the test's thread only: racing threads that wait for the rate limit are really
    apart."""
    real, main = time.sleep, threading.current_thread()
    with hurried():
        hurry = time.sleep

        def sleep(seconds: float) -> None:
            (hurry if threading.current_thread() is main else real)(seconds)

        with mock.patch.object(time, "sleep", sleep):
            yield


def run_at(behaviour: Behaviour, rate: float) -> Run:
    return run_on(behaviour, LossyTransport, limits={"requests_per_second": rate})


def fault_of(rule: str) -> Fault:
    name, operation = KINDS[rule]
    [fault] = (
        fault
        for fault in load()
        if (fault.rule, fault.operation, fault.behaviour.__name__) == (rule, operation, name)
    )
    return fault


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("rule", KINDS)
def test_race_is_found_at_any_rate(rule: str, rate: float) -> None:
    fault = fault_of(rule)
    with turns_apart():
        run, outcome = run_at(fault.make(), rate), Outcome()
        for check in checks_of(rule, fault.operation):
            run_one(check, fault.operation, run, outcome)
    assert (rule, fault.operation) in outcome.broken, outcome


class OneOfEachRace(InProcessTransport):
    """Rate limiter that lets through one request of each race, and every request sent alone."""

    def __init__(self, server: Server) -> None:
        super().__init__(server)
        self._first: dict[threading.Barrier, Gate] = {}
        #: Thread -> let through; only the first request of a thread has a gate.
        self._through: dict[int, bool] = {}

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        gate: Gate | None = request.extensions.get(GATE)
        thread = threading.current_thread()
        if gate is not None:
            self._through[thread.native_id or 0] = self._first.setdefault(gate.barrier, gate) is gate
        if thread.name.startswith(RACERS) and not self._through[thread.native_id or 0]:
            return httpx.Response(429, headers={"Retry-After": "0"}, json={})
        return super().handle_request(request)


def verdicts_of(rule: str) -> list[Cell]:
    outcome, fault = Outcome(), fault_of(rule)
    run = run_on(transport=OneOfEachRace)
    return [
        cell
        for check in checks_of(rule, fault.operation)
        for cell in run_one(check, fault.operation, run, outcome)
        if cell.rule == rule
    ]


@hurried()
@pytest.mark.parametrize("rule", KINDS)
def test_rule_does_not_pass_without_a_race(rule: str) -> None:
    cells = verdicts_of(rule)
    assert cells and {cell.verdict for cell in cells} == {Verdict.INCONCLUSIVE}
