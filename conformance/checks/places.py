"""Engines at the places where checks send their single requests."""

from __future__ import annotations

from conformance.checks.engine import Engine
from conformance.harness.authentication import AuthProbes, forget_fixture


def sound(probes: AuthProbes) -> Engine:
    """Where requests go that must pass authentication, whatever they are answered afterwards."""
    return Engine(probes.ctx, lambda: probes.sound_fixture)


def defective(probes: AuthProbes) -> Engine:
    """Where requests go that must fail authentication, and nothing else is a reason to refuse them."""
    return Engine(
        probes.ctx,
        lambda: probes.fixture,
        moved=lambda: forget_fixture(probes.ctx.run, probes.untouched),
        beside=probes.first,
    )
