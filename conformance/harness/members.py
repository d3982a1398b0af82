"""Judging the documented members of an answer, one by one (section 2)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from conformance.contract.fields import documented
from conformance.contract.operations import Problem, response_problems
from conformance.contract.rules import RULES, Level
from conformance.harness.context import CheckContext
from conformance.judging.comparison import alike, shown
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
    operation = exchange.operation or ""
    value = exchange.get(name)
    good = alike(operation, name, value, expected) or (expected is None and value is MISSING)
    good = good or (otherwise is not MISSING and alike(operation, name, value, otherwise))
    if not good and (broken := broken_form(exchange, name)):
        ctx.skip_judgement(rule, f"{what}: {name} {broken.message}", exchange, cause=broken.rule)
        return False
    return ctx.judge(rule, good, f"{what}: {name} {shown(expected)}", shown(value), exchange)


def broken_form(exchange: Exchange, name: str) -> Problem | None:
    """How a member of a 2xx answer, missing or there, breaks the documented form, if a required rule says so.

    A text that is not listed is a wrong value as much as a wrong form: a payin has but one status.
    """
    for problem in response_problems(exchange.operation or "", exchange.document):
        telling = RULES[problem.rule].level is Level.REQUIRED and problem.rule != "format.enum"
        if telling and problem.pointer.split("/")[1:2] == [name]:
            return problem
    return None


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
