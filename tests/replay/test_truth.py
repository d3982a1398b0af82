"""Replay files say "reproduced" of the faulty server that they were made on, and of no valid one.

Here for some faults, drawn by the printed seed (SEED in the environment draws the same again); for all of
them by `python -m tests.prove replays`.
"""

from __future__ import annotations

import logging
import os
import random

import pytest

from tests.faults.catalogue import Fault, load
from tests.prove.replays import tried
from tests.prove.selection import each_kind

#: Faults that are drawn.
DRAWN = 24

SEED = int(os.environ.get("SEED") or 1)


def _drawn() -> list[Fault]:
    # Which requests meet in a race is not for a replay to bring about.
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
        # A value that an answer took over from its own request is what was sent, not what the server said.
        "create.server-owned[createVirtualAccount]: A member that the server assigns is taken",
        # The attempts between, which shift a count, judge nothing.
        "format.id-unique[createBeneficiary]: Two resources have one id: by third request",
        # An id cut short may be another's where ids are numbers.
        "tenancy.unknown-parent[createBeneficiary]: A customer or account is served under an identifier that "
        "resembles its own: prefix",
        # A refused request between two with one nonce has used another.
        "auth.nonce-replay[createWallet]: Of the nonces used here only the last one is remembered",
        # A judged answer that cannot come is not stood in for by the next one.
        "create.server-owned[createBeneficiary]: A new resource is put under the account that the body names",
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
        # What one beneficiary shows may come of a change of another, or of having been read before.
        "beneficiary.update[updateBeneficiary]: A PATCH of this field changes it in all beneficiaries",
        "beneficiary.disable[disableBeneficiary]: Disabling a beneficiary disables all",
        "beneficiary.update[updateBeneficiary]: What was read once is read the same ever after",
        # What lies where a request was refused may be why.
        "beneficiary.disable[disableBeneficiary]: A beneficiary of some kind cannot be disabled: with a",
        "list.page-beyond[listPayoutDestinations]: A page past the last is answered with a redirection",
        "list.start-date[listPayoutDestinations]: start_date is refused",
        # A right server may refuse what the faulty one took.
        "list.page-range[listPayoutDestinations]: A page below 1 is called page 1, but its offset leaves out",
        # What came besides on the faulty server does not come on a right one.
        "idempotency.replay[createAccount]: A repeated request is answered with the original response, and",
        # A server that knows the latest keys only forgets one while others are used.
        "idempotency.replay[createPayoutDestination]: Only so many of the keys that were last used here",
        # A list that has become longer is read to its end, and has its last page elsewhere.
        "list.walk[listAccounts]: A page does not hold what it should: at most 50",
        "list.pages[listAccounts]: pages is not total divided by size, rounded up: rounded down",
        "list.complete[listAccounts]: This member of an item is not what the create answered: name",
        # Which of the requests that are sent at one moment is late is chance.
        "idempotency.race[createPayoutDestination]: Those of simultaneous requests that are late",
        # How often requests are lost shows in many of them.
        "http.lost-requests[getBeneficiary]: One of so many requests is not answered; sent once more, it is",
    ],
    ids=lambda fault: fault.partition("]")[0] + "]",
)
def test_replays_keep_what_failures_rest_on(fault: str) -> None:
    outcome = tried(next(each for each in load() if each.id.startswith(fault)))
    assert (outcome.faulty, outcome.reference) == ("reproduced", "not reproduced"), outcome.reasons


@pytest.mark.parametrize("rule", ["auth.nonce-replay", "idempotency.replay"])
def test_replays_wait_as_long_as_the_check_did(rule: str) -> None:
    """A nonce forgotten after three quarters of a minute shows after a minute."""
    forgetful = next(fault for fault in load() if fault.rule == rule and fault.id.endswith("only: 45"))
    assert not tried(forgetful).wrong
