"""Replay files reproduce on the faulty server that they were made on, and on no conforming one.

Tries a random sample of faults; SEED in the environment repeats it. `python -m tests.prove replays` tries
all.
"""

from __future__ import annotations

import logging
import os
import random

import pytest

from tests.faults.catalogue import Fault, load
from tests.prove.replays import tried
from tests.prove.selection import each_kind

#: Number of sampled faults.
DRAWN = 24

SEED = int(os.environ.get("SEED") or 1)


def _drawn() -> list[Fault]:
    # A replay cannot control which requests meet in a race.
    faults = [fault for fault in each_kind(load()) if not fault.rule.endswith("race")]
    return random.Random(SEED).sample(faults, DRAWN)


def test_replays_tell_faulty_servers_from_right_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logging.getLogger("conformance.reference.app"), "disabled", True)
    print(f"SEED={SEED}")
    wrong = [outcome for fault in _drawn() if (outcome := tried(fault)).wrong]
    assert wrong == []


@pytest.mark.parametrize(
    "fault",
    [
        # A value that the answer took from its request is what was sent, not what the server assigned.
        "create.server-owned[createVirtualAccount]: A member that the server assigns is taken",
        # Attempts in between shift a count and judge nothing.
        "format.id-unique[createBeneficiary]: Two resources have one id: by third request",
        # A truncated numeric id may belong to another resource.
        "tenancy.unknown-parent[createBeneficiary]: A customer or account is served under an identifier that "
        "resembles its own: prefix",
        # A refused request between two with the same nonce used another nonce.
        "auth.nonce-replay[createWallet]: Of the nonces used here only the last one is remembered",
        # Another answer must not replace a judged one that is missing.
        "create.server-owned[createBeneficiary]: A new resource is put under the account that the body names",
        "beneficiary.update-server-owned[updateBeneficiary]: updated is what a PATCH names",
        # A timestamp with an offset moves with the elements.
        "list.date-offset[listPayoutDestinations]: The offset of a date is ignored",
        # An id keeps the letter case in which it was sent, and its creation comes first.
        "tenancy.unknown-parent[getBeneficiary]: Ids of customers and accounts are compared without",
        "tenancy.missing-child[updateBeneficiary]: Ids of children are compared without",
        # Half of a body ends within a name that differs each time.
        "auth.signed-body[updateBeneficiary]: A signature made over a part of the body is accepted: half",
        # A malformed nonce is a new one each time.
        "http.no-server-error[createAccount]: A valid request is answered with another status of 5xx: 501",
        # A change of another beneficiary, or an earlier read, may explain the difference.
        "beneficiary.update[updateBeneficiary]: A PATCH of this field changes it in all beneficiaries",
        "beneficiary.disable[disableBeneficiary]: Disabling a beneficiary disables all",
        "beneficiary.update[updateBeneficiary]: What was read once is read the same ever after",
        # The state left by a refused request may be the cause.
        "beneficiary.disable[disableBeneficiary]: A beneficiary of some kind cannot be disabled: with a",
        "list.page-beyond[listPayoutDestinations]: A page past the last is answered with a redirection",
        "list.start-date[listPayoutDestinations]: start_date is refused",
        # A conforming server may refuse what the faulty one accepted.
        "list.page-range[listPayoutDestinations]: A page below 1 is called page 1, but its offset leaves out",
        # Side effects on the faulty server do not occur on a conforming one.
        "idempotency.replay[createAccount]: A repeated request is answered with the original response, and",
        # A server with a limited number of keys forgets one only while others are used.
        "idempotency.replay[createPayoutDestination]: Only so many of the keys that were last used here",
        # A list that has grown is read to its end, and its last page is another one.
        "list.walk[listAccounts]: A page does not hold what it should: at most 50",
        "list.pages[listAccounts]: pages is not total divided by size, rounded up: rounded down",
        "list.complete[listAccounts]: This member of an item is not what the create answered: name",
        # The order of simultaneous requests is random.
        "idempotency.race[createPayoutDestination]: Those of simultaneous requests that are late",
        # A rate of lost requests shows only in many of them.
        "http.lost-requests[getBeneficiary]: One of so many requests is not answered; sent once more, it is",
    ],
    ids=lambda fault: fault.partition("]")[0] + "]",
)
def test_replays_keep_the_prerequisites_of_failures(fault: str) -> None:
    outcome = tried(next(each for each in load() if each.id.startswith(fault)))
    assert (outcome.faulty, outcome.reference) == ("reproduced", "not reproduced"), outcome.reasons


@pytest.mark.parametrize("rule", ["auth.nonce-replay", "idempotency.replay"])
def test_replays_wait_as_long_as_the_check_did(rule: str) -> None:
    """A nonce forgotten after 45 s shows after 60 s."""
    forgetful = next(fault for fault in load() if fault.rule == rule and fault.id.endswith("only: 45"))
    assert not tried(forgetful).wrong
