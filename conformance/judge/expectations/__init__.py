"""Expectations: frozen values that judge exchanges.

A check hands an expectation and the exchanges that it judges to `ctx.judge`:

    answer = ctx.send(call, "a used nonce")
    ctx.judge(rule, Refused("a used nonce", 401, "authentication_error", "nonce_replay"), answer)
    ctx.judge(rule, Equal("the beneficiary, read later: status", At("status"), "disabled"), found)
    ctx.judge(rule, Equal("the answer: updated", At("updated"), At("updated", of=1)), found, created)
    ctx.judge(rule, Unchanged("a refused PATCH"), before, after)
    ctx.judge(rule, AtMostOne("8 requests with one nonce", through="authentication"), *answers)

Exchanges are referred to by position: `of=1` is the second. An expectation holds plain JSON values, and its
judgement depends only on those, the exchanges, and for a few the target. `judge` returns an `Outcome`: it
holds, it does not (with what was got instead), or it cannot be told (with the reason), as from an answer that
was throttled, lost or 5xx.

An expectation names a predicate, with a sentence and parameters. A predicate is a function of exchanges and
plain parameters that returns what was got, "" if the expectation holds, or an `Outcome`; it raises
`CannotTell` if the exchanges do not show it. Called with a sentence and parameters, it makes the expectation:

    @predicate
    def masked(exchanges, number):
        shown = exchanges[0].get("account_number_masked")
        return "" if number not in str(shown) else "the full value"

    ctx.judge(rule, masked(f"{what}: not the whole number", number=number), answer)
"""

from conformance.judge.expectations.common import (
    Accepted,
    Answered,
    AtMostOne,
    Authenticated,
    Documented,
    Equal,
    Later,
    Member,
    Refused,
    RefusedOrIgnored,
    SameAmongAccepted,
    SameAnswer,
    Status,
    Unchanged,
)
from conformance.judge.expectations.expectation import (
    At,
    CannotTell,
    Expectation,
    Outcome,
    Sent,
    predicate,
)

__all__ = [
    "Accepted",
    "Answered",
    "At",
    "AtMostOne",
    "Authenticated",
    "CannotTell",
    "Documented",
    "Equal",
    "Expectation",
    "Later",
    "Member",
    "Outcome",
    "Refused",
    "RefusedOrIgnored",
    "SameAmongAccepted",
    "SameAnswer",
    "Sent",
    "Status",
    "Unchanged",
    "predicate",
]
