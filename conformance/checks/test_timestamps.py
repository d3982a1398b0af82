"""Current timestamps (section 2), judged last: most often the earlier resource is old enough by then."""

from __future__ import annotations

import time

from conformance.checks.check import check
from conformance.checks.check_context import CheckContext
from conformance.checks.showing import no_balance, showing
from conformance.contract.traits import TRAITS
from conformance.judge.comparison import objects, same_account, show
from conformance.judge.timeliness import before_account, untimely
from conformance.wire.messages import Exchange
from conformance.wire.pages import MAX_SIZE, query
from conformance.world.creations import created_in, creations

#: Seconds after which the timestamps of two resources must differ.
APART = 2.0


@check("format.timestamp-current", last=True, waits=True)
def test_timestamps_tell_the_time(ctx: CheckContext) -> None:
    """A new resource shows a `created` near now, other than that of one made two seconds before; no `updated`
    is before its `created`, and no `updated_at` of a balance in the future."""
    rule, operation = "format.timestamp-current", ctx.operation.id
    if ctx.operation.traits.creates:
        earlier = creations(ctx.run, operation)[0].exchange
        left = earlier.arrived + APART - time.time()
        if left > 0:
            ctx.run.pause(left)
        new = created_in(ctx.run, operation).call(operation)
        answers = [ctx.accept(new, "a new resource, to tell the time by")]
        latest = _latest_before(ctx, answers[0]) or earlier
        for name in ("created", "initiated_at") if TRAITS[operation].draws_on_funds else ("created",):
            value = answers[0].get(name)
            got = show(value) if isinstance(value, str) and value == latest.get(name) else ""
            ctx.expect(rule, f"{name} of a resource made {APART:g} s later", got, answers[0], latest)
    else:
        answers = [showing(ctx, "a resource that was made before")]
    for answer in answers:
        if TRAITS[operation].shows_balances and answer.get("balances") == []:
            no_balance(ctx, rule, answer)
            continue
        ctx.expect(rule, "created of about now, updated not before it", untimely(answer), answer)
        if TRAITS[operation].shows_balances:
            _judge_balances_time(ctx, rule, answer)


def _latest_before(ctx: CheckContext, newer: Exchange) -> Exchange | None:
    """The last create that was answered APART seconds before another was sent: an older one would also differ
    in times truncated to minutes."""
    before = [
        made
        for made in ctx.run.accepted
        if made.operation == newer.operation and made.arrived + APART <= newer.started
    ]
    return max(before, key=lambda made: made.arrived, default=None)


def _judge_balances_time(ctx: CheckContext, rule: str, balances: Exchange) -> None:
    """Judges the times of balances against the creation of their account, if the first page of accounts shows
    it."""
    accounts = ctx.run.account().call("listAccounts").with_query(query(1, MAX_SIZE))
    listing = ctx.send(accounts, "when was the account created?")
    if any(same_account(item.get("id"), balances.get("id")) for item in objects(listing.get("items"))):
        got = before_account(balances, listing)
        ctx.expect(rule, "updated_at not before the account's created", got, balances, listing)
