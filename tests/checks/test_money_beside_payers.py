"""Effects on money are found, and nobody is blamed, while other lanes and processes of the run pay."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from conformance.checks import load_checks
from conformance.checks.running import run_check
from conformance.judge.verdicts import Verdict
from conformance.reference.behaviour import Behaviour
from conformance.reference.seed import new_server, target_tables
from conformance.reference.serving.listener import served
from conformance.target.file import Target, build
from conformance.world.lane import Lane
from conformance.world.purposes import PAYOUTS
from tests.faults.catalogue import Fault, load
from tests.support.running import cells, run_against

UNTOUCHED, PAYOUT = "refusal.changes-nothing", "createPayout"

REFERENCES, FUNDS = (
    "test_payout_references.test_payout_references",
    "test_amounts.test_payout_beyond_the_funds",
)

#: Sentence of a fault -> the check that finds it.
FAULTS = {
    "A payout beyond the funds is refused, and stays in the sum of what is pending": FUNDS,
    "A payout to an unknown payee is refused, at a charge that is the same for any amount": REFERENCES,
    "A payout to what is not the beneficiary's is refused, but the money is set aside": REFERENCES,
}


def fault(kind: str) -> Fault:
    return next(each for each in load() if each.name.startswith(kind))


@contextlib.contextmanager
def paid_from(target: Target) -> Iterator[None]:
    """Pays from the funded account all the time, as another lane or process of the run does."""
    other, over, begun = Lane(target, first_number=1_000_001), threading.Event(), threading.Event()

    def pay() -> None:
        fixture = other.account(PAYOUTS)
        while not over.is_set():
            other.send(other.client(), fixture.call(PAYOUT), "a payout of another lane")
            begun.set()

    thread = threading.Thread(target=pay)
    thread.start()
    try:
        assert begun.wait(60)
        yield
    finally:
        over.set()
        thread.join()


def verdict(behaviour: Behaviour | None, name: str) -> Verdict:
    server, seeded = new_server(behaviour)
    with served(server, threads=True) as url:
        target = build(target_tables(seeded, url), "a server in lanes")
        with paid_from(target):
            judged, _ = run_check(load_checks()[name], PAYOUT, Lane(target))
    return next(cell.verdict for cell in judged if cell.rule == UNTOUCHED)


@pytest.mark.parametrize("kind", FAULTS)
def test_effects_are_found_while_another_lane_pays(kind: str) -> None:
    assert verdict(fault(kind).make(), FAULTS[kind]) is Verdict.FAILED


def test_what_another_lane_pays_is_no_effect_of_refused_payouts() -> None:
    assert verdict(None, REFERENCES) is Verdict.PASSED


@pytest.mark.slow
@pytest.mark.parametrize("lanes", ["--lanes 4", "--lanes 16", "-n 2"])
@pytest.mark.parametrize("kind", FAULTS)
def test_effects_are_found_with_lanes_and_processes(kind: str, lanes: str, tmp_path: Path) -> None:
    outcome = run_against(tmp_path, f"--operation {PAYOUT} {lanes}", fault(kind).make())
    assert (UNTOUCHED, PAYOUT) in cells(outcome, "failed")
