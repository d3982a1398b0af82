"""Judging the documented members of an answer, one by one (section 2)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from conformance.contract.fields import documented
from conformance.harness.context import CheckContext
from conformance.judging.expectations import Member
from conformance.wire.messages import MISSING, Exchange


def judge_member(
    ctx: CheckContext,
    rule: str,
    exchange: Exchange,
    name: str,
    expected: Any,
    what: str,
    otherwise: Any = MISSING,
) -> bool:
    """Judges one documented member of an answer by the value it should have, or `otherwise` by another one:
    where two sources disagree, a third is not to blame for agreeing with either.

    A value that is not even of the documented form is set aside: a rule of its own speaks about it.
    """
    return ctx.judge(rule, Member(what, name, expected, otherwise), exchange)


def judge_members(
    ctx: CheckContext,
    rule: str,
    exchange: Exchange,
    expected: Mapping[str, Any],
    what: str,
    *,
    but: Iterable[str] = (),
    otherwise: Mapping[str, Any] | None = None,
) -> None:
    """Judges the documented members of an answer, `but` some, by what another answer or a request had in
    them, and `otherwise` by what a second one had. That object is right is for format.object to say."""
    left_out = {"object", *but}
    for name in documented(exchange.operation or ""):
        if name in expected and name not in left_out:
            second = (otherwise or {}).get(name, MISSING)
            judge_member(ctx, rule, exchange, name, expected[name], what, second)
