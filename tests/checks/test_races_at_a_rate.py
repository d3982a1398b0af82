"""Races under a rate limit: their requests stay simultaneous at any rate, or no rule passes."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator
from unittest import mock

import httpx
import pytest

from conformance.checks import load_checks, plan
from conformance.checks.running import run_check
from conformance.judge.verdicts import Verdict
from conformance.reference.app import Server
from conformance.wire.client import RACERS
from conformance.wire.transport import GATE, Gate
from tests.faults.chosen import by_id
from tests.faults.harness import LossyTransport
from tests.support.in_process import InProcessTransport
from tests.support.runs import judged, run_on
from tests.variants.hurry import hurried

#: Race rule -> an operation with few requests, and a fault on it.
KINDS = {
    "auth.nonce-race": ("getBeneficiary", "A nonce is looked up first and recorded later"),
    "idempotency.race": ("createVirtualAccount", "Requests with one key are all performed"),
    "wallet.race": ("createWallet", "A pair is looked up, and reserved later"),
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


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("rule", KINDS)
def test_race_is_found_at_any_rate(rule: str, rate: float) -> None:
    operation, kind = KINDS[rule]
    behaviour = by_id()[f"{rule}[{operation}]: {kind}"].make()
    with turns_apart():
        run = run_on(behaviour, LossyTransport, limits={"requests_per_second": rate})
        cell = judged(run, plan({rule}, {operation})).cell(rule, operation)
    assert cell.violations, cell


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


@hurried()
@pytest.mark.parametrize("rule", KINDS)
def test_rule_does_not_pass_without_a_race(rule: str) -> None:
    operation, _ = KINDS[rule]
    ledger = judged(run_on(transport=OneOfEachRace), plan({rule}, {operation}))
    assert ledger.cell(rule, operation).verdict is Verdict.INCONCLUSIVE


class LimitsAnOrganization(InProcessTransport):
    """Rate limiter that refuses each request of one organization in a race."""

    limited = ""

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        raced = threading.current_thread().name.startswith(RACERS)
        if raced and request.headers["X-API-Key"] == self.limited:
            return httpx.Response(429, headers={"Retry-After": "0"}, json={})
        return super().handle_request(request)


@hurried()
@pytest.mark.parametrize("organization", ["primary", "secondary"])
def test_what_one_organization_is_answered_passes_no_race_of_two(
    organization: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = run_on(transport=LimitsAnOrganization)
    limited = getattr(run.target, organization).api_key
    monkeypatch.setattr(LimitsAnOrganization, "limited", limited)
    check = load_checks()["test_tenancy.test_foreign_parent_at_once"]
    (cell,) = run_check(check, "listAccounts", run)[0]
    assert cell.verdict is Verdict.INCONCLUSIVE, cell.summary
