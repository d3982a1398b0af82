"""Valid requests in an unusual form, beside the usual one, on servers with quotas.

At a quota all valid requests get the same refusal. Defective ones that get another show that it stands for a
valid request.
"""

from __future__ import annotations

from collections.abc import Sequence

from conformance.checks.auth_probes import earliest
from conformance.checks.check_context import CheckContext
from conformance.judge.expectations import predicate
from conformance.wire.messages import Call, Exchange
from conformance.world.account import renewed
from conformance.world.run_context import refusal_of_valid


@predicate(sentence="{what} to be answered as in its usual form, and not as with a defect")
def refused_as_usual(exchanges: Sequence[Exchange]) -> str:
    """A request gets the same refusal as the second, and not that of the third, a defective one."""
    answer, usual, defective = (exchange.described() for exchange in exchanges[:3])
    if answer == defective:
        return "the refusal of a defective request"
    return "" if answer == usual else "another refusal than in its usual form"


def judge_as_usual(ctx: CheckContext, rule: str, answer: Exchange, usual: Call, defective: Call) -> None:
    """Judges that the answer's request is accepted, unless the `usual` one is refused under a new key too.

    If the operation was accepted earlier in the run, both must get the same refusal, and the `defective`
    request another; else the answer is set aside."""
    what = answer.purpose
    if answer.succeeded or not ctx.usable(rule, answer):
        if answer.succeeded:
            ctx.accepted(rule, what, answer)
        return
    control = ctx.send(renewed(usual), "the same request in its usual form")
    if control.succeeded:
        ctx.accepted(rule, what, answer)
        return
    if control.refused and control.described() == answer.described() and earliest(ctx) is not None:
        other = ctx.send(defective, "the same request with a defect")
        if other.refused and other.described() != answer.described():
            ctx.judge(rule, refused_as_usual(what), answer, control, other)
            return
    reason = f"in its usual form it was answered {control.described()}, too"
    ctx.skip_judgement(rule, reason, answer, control, stop=refusal_of_valid(control))


def control(ctx: CheckContext, valid: Call, what: str, refused: Sequence[Exchange]) -> None:
    """Sends a valid request as the control of `refused` ones. Raises Inconclusive if it gets the refusal of
    one of these, or if none was accepted earlier in the run."""
    answer = ctx.send(valid, what)
    alike = any(answer.described() == defective.described() for defective in refused)
    if not answer.succeeded and (alike or not answer.refused or earliest(ctx) is None):
        raise refusal_of_valid(answer)
