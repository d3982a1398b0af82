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


@pytest.mark.parametrize(
    "fault",
    [
        # A value that an answer took over from its own request is what was sent, not what the server said.
        "create.server-owned[createVirtualAccount]: A member that the server assigns is taken",
        "beneficiary.update-server-owned[updateBeneficiary]: updated is what a PATCH names",
        # A moment with an offset moves with the elements.
        "list.date-offset[listPayoutDestinations]: The offset of a date is ignored",
        # An id keeps the letter case that it was sent in, and what created it comes first.
        "tenancy.unknown-parent[getBeneficiary]: Ids of customers and accounts are compared without",
        "tenancy.missing-child[updateBeneficiary]: Ids of children are compared without",
        # Half of a body ends within a name that is new each time.
        "auth.signed-body[updateBeneficiary]: A signature made over a part of the body is accepted: half",
        # An odd nonce is a new one each time.
        "http.no-server-error[createAccount]: A valid request is answered with another status of 5xx: 501",
    ],
    ids=lambda fault: fault.partition("]")[0] + "]",
)
def test_replays_keep_what_failures_rest_on(fault: str) -> None:
    outcome = tried(next(each for each in load() if each.id.startswith(fault)))
    assert (outcome.faulty, outcome.reference) == ("reproduced", "not reproduced"), outcome.reasons


@pytest.mark.parametrize("rule", ["auth.nonce-replay", "idempotency.replay"])
def test_replays_wait_as_long_as_the_check_did(rule: str) -> None:
    """What is forgotten after three quarters of a minute shows after a minute."""
    forgetful = next(fault for fault in load() if fault.rule == rule and fault.id.endswith("only: 45"))
    assert not tried(forgetful).wrong
