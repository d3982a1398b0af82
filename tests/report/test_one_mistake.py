"""One mistake of a server is one cause in the report, under the rule that the mistake is about."""

from __future__ import annotations

import pytest

from conformance.checks import plan
from conformance.reference.behaviour import Behaviour
from conformance.report.causes import causes
from tests.support.mistakes import HalfSignatures, KeysOfAll, NoncesByPath, TotalsKept
from tests.support.runs import judged, run_on
from tests.variants.hurry import hurried
from tests.variants.routing import SpellingsServed


class HalfSignaturesOfSpellings(HalfSignatures, SpellingsServed):
    """The first 32 digits of a signature are compared, and other spellings of a path are served."""


@pytest.mark.parametrize(
    ("server", "operation", "area", "rule"),
    [
        (TotalsKept, "listVirtualAccounts", "list.", "list.complete"),
        (NoncesByPath, "listWallets", "auth.", "auth.nonce-replay"),
        (HalfSignaturesOfSpellings, "listWallets", "auth.", "auth.signature"),
        (KeysOfAll, "createVirtualAccount", "idempotency.", "idempotency.other-organization"),
    ],
)
def test_one_mistake_is_one_cause(server: type[Behaviour], operation: str, area: str, rule: str) -> None:
    tests = [test for test in plan(operations={operation}) if test[0].rules[0].startswith(area)]
    with hurried():
        ledger = judged(run_on(server()), tests)
    [cause] = causes(ledger)
    assert (cause.rule, cause.operations) == (rule, (operation,))
    assert cause.took_along
