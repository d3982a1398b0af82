"""Servers that let there be so many of a kind and no more, after the run has made so many in one place."""

from __future__ import annotations

import pytest

from conformance.checks import load_checks
from conformance.fixtures.creations import place
from conformance.harness.check import run_check
from tests.support.runs import broken, run_on
from tests.variants.choice import compose
from tests.variants.policies import FewOfEach


@pytest.mark.parametrize("operation", ["createPayoutDestination", "createVirtualAccount"])
def test_a_full_place_is_no_reason_to_blame_valid_bodies(operation: str) -> None:
    run = run_on(compose(FewOfEach))
    fixture = place(run, operation)
    for _ in range(FewOfEach.most):
        run.send(fixture.client, fixture.call(operation), "one more")
    findings, _ = run_check(load_checks()["test_accepted.test_sound_bodies_are_accepted"], operation, run)
    assert broken(findings) == {}
