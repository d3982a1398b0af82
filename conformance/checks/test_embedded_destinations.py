"""Payout destinations in beneficiaries (section 2.3): all of them, and each as it was created."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection
from typing import Any

from conformance.checks.beneficiaries import Beneficiary
from conformance.checks.check import CheckContext, check
from conformance.checks.members import judge_members, mismatches
from conformance.checks.races import Rounds
from conformance.contract.fields import documented
from conformance.contract.new_resources import stated
from conformance.judge import outcomes
from conformance.judge.comparison import MOVING, alike, document, identifiers, objects, show, shown
from conformance.judge.verdicts import Inconclusive
from conformance.wire.messages import MISSING, Exchange
from conformance.wire.pages import MAX_SIZE, query
from conformance.world import samples
from conformance.world.account import Account, call
from conformance.world.bodies import bodies
from conformance.world.known_lists import large_list
from conformance.world.lag import exists

#: Position of a beneficiary's destination -> its row of BODIES.
_KINDS = {
    0: "the default",
    1: "wallet",
    2: "IBAN",
    3: "IBAN alone",
    4: "bank details without label",
    5: "a label with signs",
    6: "a savings account",
}

#: More destinations than a page of the default size shows.
MANY = 11

#: Rounds of a race between creates of destinations and changes of their beneficiary.
MEANWHILE = 2


@check(
    "beneficiary.destinations",
    "read.equals-create",
    operations=("getBeneficiary", "updateBeneficiary", "disableBeneficiary"),
)
def test_destinations_of_a_beneficiary(ctx: CheckContext) -> None:
    """A beneficiary shows none, one, then all of its destinations, more than fit on a page of a list, each as
    it was created, and none of another beneficiary; after another default, is_default as in their list. A
    read shows the beneficiary itself as it was created."""
    rule, fixture = "beneficiary.destinations", ctx.account(fresh=True)
    owner, other = Beneficiary(ctx, fixture), Beneficiary(ctx, fixture)
    foreign = _destination(ctx, fixture, other)
    if foreign is None:
        raise Inconclusive(
            "the server accepts no payout destination",
            "Say in the target file what it accepts: [samples.payout_destination.bank_account].",
        )
    acts: dict[str, Callable[[str], Exchange]] = {
        "getBeneficiary": owner.read,
        "updateBeneficiary": owner.move,
        "disableBeneficiary": owner.disable,
    }
    act = acts[ctx.operation.id]
    mine: list[Exchange] = []
    # Disabling may be final: its answer shows all of them once.
    for count in (0, 1, 2, MANY) if not ctx.operation.traits.disables else (MANY,):
        while len(mine) < count:
            made = _destination(ctx, fixture, owner, _KINDS.get(len(mine), ""))
            if made is None:
                break
            mine.append(made)
        what = f"a beneficiary with {len(mine)} destination{'s' * (len(mine) != 1)}"
        shown: dict[str, Any] = {
            "payout_destinations": [{"id": destination.get("id")} for destination in mine]
        }

        def shows_all(answer: Exchange, shown: dict[str, Any] = shown) -> bool:
            return exists(answer) and (not answer.succeeded or not mismatches(answer, shown))

        answer = ctx.eventually(functools.partial(act, what), shows_all)
        if ctx.usable(rule, answer) and answer.succeeded:
            _judge_destinations(ctx, answer, mine, foreign, what)
            if "read.equals-create" in ctx.rules:
                aside = MOVING.union(("payout_destinations",))
                created = document(owner.created)
                judge_members(ctx, "read.equals-create", answer, created, what, but=aside)
    if ctx.operation.traits.disables:
        return
    _judge_defaults(ctx, fixture, owner, act)
    _judge_many_destinations(ctx)


def _judge_defaults(
    ctx: CheckContext, fixture: Account, owner: Beneficiary, act: Callable[[str], Exchange]
) -> None:
    """Judges that a beneficiary shows the defaults of its list of destinations after a change of these."""
    rule, what = "beneficiary.destinations", "a beneficiary after another destination became its default"
    body = {**fixture.bank_account(), "is_default": True}
    if not ctx.send(call("createPayoutDestination", owner.ids, body), "another default").succeeded:
        return
    listing = call("listPayoutDestinations", owner.ids).with_query(query(1, MAX_SIZE))

    def look() -> tuple[Exchange, Exchange]:
        return act(what), ctx.send(listing, "the list of its destinations")

    answer, listed = ctx.eventually(
        look, lambda looks: all(map(exists, looks)) and not _other_default(*looks)
    )
    if ctx.usable(rule, answer) and answer.succeeded and listed.succeeded:
        expected = f"{what}: is_default of each as in their list"
        ctx.expect(rule, expected, _other_default(answer, listed), answer, listed)


def _other_default(answer: Exchange, listing: Exchange) -> str:
    """The first is_default of a beneficiary's destinations that is another one in their list."""
    listed = {element.get("id"): element.get("is_default") for element in objects(listing.get("items"))}
    for element in objects(answer.get("payout_destinations")):
        embedded, other = element.get("is_default"), listed.get(element.get("id"))
        if isinstance(embedded, bool) and isinstance(other, bool) and embedded is not other:
            return f"is_default {show(embedded)} of {element.get('id')}"
    return ""


def _judge_many_destinations(ctx: CheckContext) -> None:
    """Judges that a beneficiary shows all its destinations, more than the largest page of a list."""
    rule = "beneficiary.destinations"
    many = large_list(ctx.run, "listPayoutDestinations")
    ids = dict(zip(("account_id", "beneficiary_id"), many.call.path.split("/")[3:6:2], strict=True))
    update = ctx.operation.traits.subset_of
    reading = call(ctx.operation.id, ids, {"note": f"changed {samples.marker()}"} if update else None)
    what = f"a beneficiary with {len(many.created)} destinations"

    def shows_all(answer: Exchange) -> bool:
        shows = len(objects(answer.get("payout_destinations"))) >= len(many.created)
        return exists(answer) and (not answer.succeeded or shows)

    answer = ctx.eventually(lambda: ctx.send(reading, what), shows_all)
    if ctx.usable(rule, answer) and answer.succeeded:
        ctx.expect(rule, f"{what}: all of them", _lacking(answer, many.created), answer)


_CHANGED = ("beneficiary.destinations", "beneficiary.update", "beneficiary.disable")


@check(*_CHANGED, operations=("updateBeneficiary", "disableBeneficiary"))
def test_destinations_made_meanwhile(ctx: CheckContext) -> None:
    """Destinations created while their beneficiary is updated or disabled are among its destinations; neither
    that change is lost nor another one at the same time."""
    fixture, disables = ctx.account(fresh=True), ctx.operation.traits.disables
    rule = "beneficiary.disable" if disables else "beneficiary.update"
    rounds = Rounds(ctx, MEANWHILE)
    for _ in rounds:
        owner = Beneficiary(ctx, fixture)
        other = {"display_name": f"Grace {samples.marker()}"}
        change = {"status": "disabled"} if disables else {"note": samples.marker()}
        # The PATCH first: sent later, it would seldom read an outdated state.
        changes = [
            call("updateBeneficiary", owner.ids, other),
            call(ctx.operation.id, owner.ids, None if disables else change),
        ]
        accounts = [fixture.bank_account() for _ in range(2)]
        creates = [call("createPayoutDestination", owner.ids, body) for body in accounts]
        purpose = "a beneficiary changed while destinations are made"
        aside, changed, *answers = rounds.race([*changes, *creates], purpose)
        made = {str(answer.get("id")): answer for answer in answers if answer.succeeded}
        if not changed.succeeded or not (made or aside.succeeded):
            continue
        what, expected = "a beneficiary after that", change | (other if aside.succeeded else {})

        def shows_all(answer: Exchange, made: Collection[str] = tuple(made), kept: Any = expected) -> bool:
            held = identifiers(answer.get("payout_destinations")) or ()
            return answer.succeeded and {*held} >= {*made} and not mismatches(answer, kept)

        reading = functools.partial(ctx.send, call("getBeneficiary", owner.ids), what)
        answer = ctx.eventually(reading, shows_all, "getBeneficiary")
        if ctx.usable("beneficiary.destinations", answer) and answer.succeeded:
            if made:
                holds, lacking = f"{what}: all destinations that were made", _lacking(answer, made)
                ctx.expect("beneficiary.destinations", holds, lacking, answer, changed, *made.values())
            for name, value in expected.items():
                ctx.expect(rule, *outcomes.member(what, answer, name, value), changed, aside)
    if not any(cell.judged for cell in ctx.cells.values()):
        raise Inconclusive("no destination was made while its beneficiary was changed")


def _lacking(answer: Exchange, ids: Collection[str]) -> str:
    """The destinations that a beneficiary does not show."""
    held = {element.get("id") for element in objects(answer.get("payout_destinations"))}
    missing = [identifier for identifier in ids if identifier not in held]
    return f"{len(held)}, without {', '.join(missing[:3])}" if missing else ""


def _destination(ctx: CheckContext, fixture: Account, owner: Beneficiary, row: str = "") -> Exchange | None:
    """Creates a destination of a beneficiary, from a row of bodies if the server accepts it, else from the
    sample; None where both are refused."""
    operation = "createPayoutDestination"
    for body in [*(bodies(fixture, operation, row) if row else []), *bodies(fixture, operation)]:
        made = ctx.send(call("createPayoutDestination", owner.ids, body), "a destination to be shown")
        if made.succeeded and isinstance(made.get("id"), str):
            return made
    return None


def _judge_destinations(
    ctx: CheckContext, answer: Exchange, mine: list[Exchange], foreign: Exchange, what: str
) -> None:
    owner = answer.call.path.split("/")[5]
    rule = "beneficiary.destinations"
    shown_ids = identifiers(answer.get("payout_destinations"))
    if shown_ids is None:
        ctx.unclear(
            rule, f"{what}: payout_destinations is not an array of resources", answer, cause="format.fields"
        )
        return
    wanted = sorted(str(destination.get("id")) for destination in mine)
    common = f"{len(shown_ids)}, of which {len(set(shown_ids) & set(wanted))} are of them"
    exactly = f"{what}: payout_destinations: exactly the {len(wanted)} expected ones"
    ctx.expect(rule, exactly, "" if shown_ids == wanted else common, answer, *mine, foreign)
    # How disabling changes destinations is open; other rules judge how numbers are masked.
    masks = ("iban_masked", "wallet_address_masked")
    aside = ("object", "updated", "status", "clabe_last4", *masks)
    names = [name for name in documented("createPayoutDestination") if name not in aside]
    if sum(destination.get("is_default") is True for destination in mine) > 1:
        names.remove("is_default")  # What a second default does to the first is not shown.
    created = {destination.get("id"): destination for destination in mine}
    for element in objects(answer.get("payout_destinations")):
        if (origin := created.get(element.get("id"))) is None:
            continue
        body = origin.call.document
        known = stated("createPayoutDestination", body, {"beneficiary_id": owner})
        known["account_number_last4"] = str(body.get("account_number"))[-4:]
        for name in names:
            expected = f"{what}: a destination's {name} as it was created, {shown(origin.get(name))}"
            first, value = origin.get(name), element.get(name, MISSING)
            if first not in (None, MISSING) and value is not MISSING:
                good = any(
                    alike("createPayoutDestination", name, value, each) for each in (first, known.get(name))
                )
                ctx.expect(rule, expected, "" if good else shown(value), answer, origin)
        for name in masks:
            if isinstance(origin.get(name), str):
                expected = f"{what}: a destination's {name}, which its create showed"
                got = "null" if element.get(name, MISSING) is None else ""
                ctx.expect(rule, expected, got, answer, origin)
