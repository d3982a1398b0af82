"""Operations that are performed once more, or although they were refused."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from conformance.reference.context import Context
from conformance.reference.refusals import Refusal
from conformance.reference.seams.validation import FIELDS

from .catalogue import Faulty


def do_again(behaviour: Faulty, ctx: Context) -> None:
    """Performs the operation once more, without the checks that a second time would fail."""
    ctx.values, ctx.body = {}, {}
    behaviour.validate(ctx)
    if ctx.operation == "createWallet":
        behaviour.create(ctx)
    else:
        behaviour.act(ctx)


#: Operations whose result shows only in their answer.
UNSEEN = ("createBeneficiary", "createPayin")


def seen(operations: Iterable[str]) -> list[str]:
    return [operation for operation in operations if operation not in UNSEEN]


def perform(behaviour: Faulty, ctx: Context) -> None:
    """Performs a refused request as far as possible."""
    from .authentication import first_organization

    ctx.organization = ctx.organization or first_organization(ctx)
    ctx.params, ctx.values, ctx.body = dict(ctx.params), {}, {}
    for kind, name in (
        ("customer", "customer_id"),
        ("account", "account_id"),
        ("beneficiary", "beneficiary_id"),
    ):
        if name in ctx.params:
            setattr(ctx, kind, ctx.store.get(kind, ctx.params[name]))
    if any(
        name in ctx.params and getattr(ctx, name.removesuffix("_id")) is None
        for name in ("account_id", "beneficiary_id")
    ):
        return
    if ctx.operation != "disableBeneficiary":
        try:
            ctx.body = behaviour.parse_body(ctx)
        except Refusal:
            return
        for field in FIELDS[ctx.operation]:
            try:
                behaviour.check_field(ctx, field)
            except Refusal:
                if ctx.operation == "updateBeneficiary":
                    continue
                ctx.values[field.name] = ctx.body.get(field.name) or _stopgap(field)
    behaviour.act(ctx)


def _stopgap(field: Any) -> Any:
    return {"amount": "1.00", "country": "US", "currency": "USD", "boolean": False, "object": {}}.get(
        field.kind, "Made up"
    )
