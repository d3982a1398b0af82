"""Engines at the places where checks send their single requests."""

from __future__ import annotations

import functools

from conformance.checks.auth_probes import AuthProbes
from conformance.checks.check_context import CheckContext
from conformance.checks.engine import Engine
from conformance.judge.oracle import COUSIN, FOREIGN, SIBLING


def sound(ctx: CheckContext) -> Engine:
    """Engine for requests that must pass authentication."""
    return AuthProbes(ctx).sound


def hostile(ctx: CheckContext) -> Engine:
    """Engine for requests that may be accepted although nothing demands it: an account of their own."""
    if ctx.operation.traits.once:
        fresh = ctx.account(fresh=True)
        return Engine(ctx, lambda: fresh)
    return Engine(ctx, lambda: ctx.account("hostile"))


def common(ctx: CheckContext) -> Engine:
    """Engine for requests that no server accepts, and for reads."""
    return Engine(ctx, lambda: ctx.account("authentication"))


#: Tenant -> the purpose and the owner of its account.
_TENANTS = {
    "own": ("tenant", "primary"),
    "sibling": ("sibling tenant", "primary"),
    "cousin": ("tenant", "cousin"),
    "foreign": ("tenant", "secondary"),
}

#: Tenant -> the other tenants, as they stand to it.
_NEIGHBOURS = {
    "own": {SIBLING: "sibling", COUSIN: "cousin", FOREIGN: "foreign"},
    "sibling": {SIBLING: "own"},
    "cousin": {COUSIN: "own"},
    "foreign": {FOREIGN: "own"},
}


def tenant(ctx: CheckContext, name: str) -> Engine:
    """The account of a tenant, who names resources of the others; no other checks work in these accounts."""
    account, neighbours = ctx.run.account, _NEIGHBOURS[name].items()
    return Engine(
        ctx,
        functools.partial(account, *_TENANTS[name]),
        others={whose: functools.partial(account, *_TENANTS[other]) for whose, other in neighbours},
        organization="secondary" if name == "foreign" else "primary",
    )
