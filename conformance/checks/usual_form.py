"""Valid requests in an unusual form, judged beside the usual one."""

from __future__ import annotations

from conformance.checks.check_context import CheckContext
from conformance.wire.messages import Call, Exchange
from conformance.world.account import renewed
from conformance.world.run_context import refusal_of_valid


def judge_as_usual(ctx: CheckContext, rule: str, answer: Exchange, usual: Call) -> None:
    """Judges that the answer's request is accepted, unless the `usual` one is refused under a new key too."""
    if not answer.succeeded:
        if not ctx.usable(rule, answer):
            return
        control = ctx.send(renewed(usual), "the same request in its usual form")
        if not control.succeeded:
            reason = f"in its usual form it was answered {control.described()}, too"
            ctx.skip_judgement(rule, reason, answer, control, stop=refusal_of_valid(control))
            return
    ctx.accepted(rule, answer.purpose, answer)
