"""Default destinations of beneficiaries, which only an accepted create changes (section 2.4)."""

from __future__ import annotations

from collections.abc import Sequence

from conformance.checks.check import CheckContext
from conformance.checks.side_effects import UNTOUCHED, owner
from conformance.judge.comparison import identifiers, objects
from conformance.judge.outcomes import Judgement, Unclear
from conformance.wire.messages import Exchange
from conformance.world.account import Account, identifier
from conformance.world.shapes import accepted_body


class Defaults:
    """A default destination of a fixture's beneficiary, and the judgement that refused requests keep it."""

    def __init__(self, ctx: CheckContext, fixture: Account, shape: str) -> None:
        """Creates the destination, of a shape of bodies. Raises Inconclusive where the server refuses it."""
        self.ctx, self.fixture = ctx, fixture
        operation = "createPayoutDestination"
        body = {**accepted_body(fixture, operation, shape), "is_default": True}
        self.id = identifier(fixture.create(operation, body))
        self.before = defaults(ctx, fixture, holding=self.id, alone=True)

    def judge_refused(self, what: str, answers: Sequence[Exchange]) -> None:
        """Judges that requests changed no default, if all of them were refused."""
        if UNTOUCHED in self.ctx.rules and answers and all(answer.refused for answer in answers):
            after = defaults(self.ctx, self.fixture, alike=self.before)
            sentence = f"after {what}: the same destination is the default"
            self.ctx.expect(UNTOUCHED, *same_defaults(sentence, after, self.before), *answers)


def defaults(
    ctx: CheckContext,
    fixture: Account,
    *,
    holding: str = "",
    alone: bool = False,
    alike: Exchange | None = None,
) -> Exchange:
    """Reads the list of a beneficiary's destinations until it contains the id `holding`, with at most one
    default if `alone`, or shows the same defaults as `alike`."""

    def good(answer: Exchange) -> bool:
        held, defaults = identifiers(answer.get("items")) or (), shown_defaults(answer)
        if alike is not None:
            return not answer.succeeded or defaults == shown_defaults(alike)
        return not answer.succeeded or (holding in held and not (alone and len(defaults) > 1))

    reading, organization = fixture.call("listPayoutDestinations"), owner(fixture)
    purpose = "the destinations, and which of them is the default"
    # Two defaults are allowed: waiting for one is no delay of the list.
    until = "one default of listPayoutDestinations" if alone else "listPayoutDestinations"
    return ctx.eventually(lambda: ctx.shown(reading, purpose, organization), good, until)


def shown_defaults(answer: Exchange) -> list[str]:
    """Returns the sorted ids of the destinations that a list shows as defaults."""
    return sorted(
        str(item.get("id")) for item in objects(answer.get("items")) if item.get("is_default") is True
    )


def same_defaults(what: str, after: Exchange, before: Exchange) -> Judgement:
    """Two lists show the same destinations as defaults."""
    if not after.succeeded or not before.succeeded:
        return what, Unclear("the list of destinations was not answered"), after, before
    now, earlier = (shown_defaults(answer) for answer in (after, before))
    got = "" if now == earlier else f"{', '.join(now) or 'none'}, before {', '.join(earlier)}"
    return what, got, after, before
