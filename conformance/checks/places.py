"""Engines at the places where checks send their single requests."""

from __future__ import annotations

from conformance.checks.engine import Engine
from conformance.harness.authentication import AuthProbes
from conformance.harness.context import CheckContext
from conformance.judge.oracle import FOREIGN


def sound(probes: AuthProbes) -> Engine:
    """Where requests go that must pass authentication, whatever they are answered afterwards."""
    return Engine(probes.ctx, lambda: probes.sound_fixture)


def defective(probes: AuthProbes) -> Engine:
    """Where requests go that must fail authentication, and nothing else is a reason to refuse them."""
    return Engine(
        probes.ctx,
        lambda: probes.fixture,
        moved=lambda: probes.ctx.run.accounts.forget(probes.untouched),
        beside=probes.first,
        others={FOREIGN: lambda: probes.ctx.run.account(owner="secondary")},
    )


def hostile(ctx: CheckContext) -> Engine:
    """Where requests go that may be accepted although nothing demands it: a place of their own."""
    if ctx.operation.traits.once:
        fresh = ctx.account(fresh=True)
        return Engine(ctx, lambda: fresh)
    return Engine(ctx, lambda: ctx.account("hostile"))


def common(ctx: CheckContext) -> Engine:
    """Where requests go that no server accepts, and reads."""
    return Engine(ctx, lambda: ctx.account("authentication"))
