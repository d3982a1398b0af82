"""Expectations: values that judge exchanges, live, generated, or sent again by a replay.

A check sends, states an expectation, and hands over the exchanges that it is about:

    answer = ctx.send(call, "a used nonce")
    ctx.judge(rule, Refused("a used nonce", 401, "authentication_error", "nonce_replay"), answer)
    ctx.judge(rule, Equal("the beneficiary, read later: status", At("status"), "disabled"), found)
    ctx.judge(rule, Equal("the answer: updated", At("updated"), At("updated", of=1)), found, created)
    ctx.judge(rule, Unchanged("a refused PATCH"), before, after)
    ctx.judge(rule, AtMostOne("8 requests with one nonce", through="authentication"), *answers)

The exchanges are known by their positions: `of=1` is the second one handed over. An expectation is frozen,
holds plain JSON values only, and judges by nothing but those and the exchanges (and, for a few, the target),
never by what the check remembers. `judge` returns an `Outcome`: it holds, it does not (with what was got
instead), or it cannot be told (with the reason). Those of one answer cannot tell from one that was
throttled, not answered, or answered 5xx.

Every expectation is a predicate by its name, with a sentence and parameters. A predicate is a function of
exchanges and plain parameters, which returns what was got, or "" where the expectation holds (or an
`Outcome`); it raises `CannotTell` where the exchanges do not show it. Called with the sentence and the
parameters, it gives the expectation:

    @predicate
    def masked(exchanges, number):
        shown = exchanges[0].get("account_number_masked")
        return "" if number not in str(shown) else "the full value"

    ctx.judge(rule, masked(f"{what}: not the whole number", number=number), answer)

Nothing reads the sentences back: they are for people. `to_plain` and `from_plain` are the forms of replay
files (spec/replay.schema.json).
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
    difference,
    unusable,
)
from conformance.judge.expectations.expectation import (
    PREDICATES,
    At,
    CannotTell,
    Expectation,
    ExpectationError,
    Outcome,
    Sent,
    from_plain,
    predicate,
)

__all__ = [
    "PREDICATES",
    "Accepted",
    "Answered",
    "At",
    "AtMostOne",
    "Authenticated",
    "CannotTell",
    "Documented",
    "Equal",
    "Expectation",
    "ExpectationError",
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
    "difference",
    "from_plain",
    "predicate",
    "unusable",
]
