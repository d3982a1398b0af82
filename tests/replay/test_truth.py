"""Replay files say "reproduced" of the faulty server that they were made on, and of no valid one.

Here for some faults, drawn by the printed seed (SEED in the environment draws the same again); for all of
them by `python -m tests.replays` (see its --help).
"""

from __future__ import annotations

import logging
import os
import random

import pytest

from tests.faults.catalogue import Fault, load
from tests.replays import kinds, tried

#: Faults that are drawn.
DRAWN = 24

SEED = int(os.environ.get("SEED") or 1)

#: Which requests meet in a race, and how often one is lost, is not for a replay to bring about.
_BY_CHANCE = ("http.lost-requests",)


def _drawn() -> list[Fault]:
    faults = [
        fault for fault in kinds(load()) if fault.rule not in _BY_CHANCE and not fault.rule.endswith("race")
    ]
    return random.Random(SEED).sample(faults, DRAWN)


def test_replays_tell_faulty_servers_from_right_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logging.getLogger("conformance.reference.app"), "disabled", True)
    print(f"SEED={SEED}")
    wrong = [outcome for fault in _drawn() if (outcome := tried(fault)).wrong]
    assert wrong == []


@pytest.mark.parametrize("rule", ["auth.nonce-replay", "idempotency.replay"])
def test_replays_wait_as_long_as_the_check_did(rule: str) -> None:
    """What is forgotten after three quarters of a minute shows after a minute."""
    forgetful = next(fault for fault in load() if fault.rule == rule and fault.id.endswith("only: 45"))
    assert not tried(forgetful).wrong
