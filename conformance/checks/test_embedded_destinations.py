"""Payout destinations in beneficiaries (section 2.3): all of them, and each as it was created."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection
from typing import Any

from conformance.checks.beneficiaries import Beneficiary, judge_taken, shown_defaults
from conformance.checks.check import Check, check
from conformance.checks.members import judge_members, mismatches
from conformance.checks.races import Rounds
from conformance.contract.fields import documented, free_texts
from conformance.contract.new_resources import stated
from conformance.contract.traits import CHANGING
from conformance.judge.comparison import MOVING, alike, document, identifiers, normalized, objects, show
from conformance.judge.hidden_numbers import mask_defect
from conformance.judge.outcomes import Got, Unclear, memberless, unless_malformed
from conformance.judge.verdicts import Inconclusive
from conformance.wire.messages import MISSING, Exchange
from conformance.wire.pages import MAX_SIZE, query
from conformance.world import samples
from conformance.world.bodies import bodies
from conformance.world.calls import call
from conformance.world.known_lists import large_list
from conformance.world.lag import exists
from conformance.world.lane import Fixture

CREATE, RULE, MEMBER = "createPayoutDestination", "beneficiary.destinations", "payout_destinations"

#: Rows of BODIES of a beneficiary's destinations, the first the default; further ones are the sample.
_KINDS = (
    "the default",
    "wallet",
    "IBAN",
    "IBAN alone",
    "bank details without label",
    "a label with signs",
    "a savings account",
    "a wallet on another network, without label",
)

#: More destinations than a page of the default size shows: of a beneficiary that is disabled, which has
#: others than the large list.
MANY = 11

#: Rounds of a race between creates of destinations and changes of their beneficiary.
MEANWHILE = 3

#: Members that show a part of a number.
_MASKS = ("iban_masked", "wallet_address_masked")

#: The fields that are changed at once: of any two changes that overlap, one may be lost.
_CHANGED = free_texts("createBeneficiary")


@check(RULE, "read.equals-create", "beneficiary.update")
def test_destinations_of_a_beneficiary(at: Check) -> None:
    """A beneficiary shows none, one, then all of its destinations, more than fit on a page of a list, each as
    it was created, and none of another beneficiary; after another default, is_default as in their list. A
    read shows the beneficiary itself as it was created, an update what it changes."""
    fixture = at.account(fresh=True)
    owner, other = Beneficiary(at, fixture), Beneficiary(at, fixture)
    foreign = _destination(at, fixture, other)
    if foreign is None:
        raise Inconclusive(
            Unclear(
                "the server accepts no payout destination",
                remedy="Say in the target file what it accepts: [samples.payout_destination.bank_account].",
            )
        )
    acts: dict[str, Callable[[str], Exchange]] = {
        "getBeneficiary": owner.read,
        "updateBeneficiary": owner.move,
        "disableBeneficiary": owner.disable,
    }
    act = acts[at.operation.id]
    own: list[Exchange] = []
    # Disabling may be final: its answer shows all of them once.
    for count in (0, 1, 2) if not at.operation.traits.disables else (MANY,):
        while len(own) < count:
            row = _KINDS[len(own)] if len(own) < len(_KINDS) else ""
            if (create := _destination(at, fixture, owner, row)) is None:
                break
            own.append(create)
        what = f"a beneficiary with {len(own)} destination{'s' * (len(own) != 1)}"
        expected: dict[str, Any] = {MEMBER: [{"id": create.get("id")} for create in own]}
        shows_all = functools.partial(_shows, expected)
        answer = at.eventually(functools.partial(act, what), shows_all)
        if at.operation.traits.subset_of and judge_taken(at, "beneficiary.update", owner, answer):
            body = answer.call.document
            judge_members(at, "beneficiary.update", answer, body, otherwise=normalized(body))
        if at.usable(RULE, answer) and answer.succeeded:
            # A create without an answer, or with a 5xx, may have taken effect.
            exact = all(each.succeeded or each.refused for each in at.exchanges if each.operation == CREATE)
            _judge_destinations(at, answer, own, foreign, what, exact=exact)
            if "read.equals-create" in at.rules:
                aside = MOVING.union((MEMBER,))
                judge_members(at, "read.equals-create", answer, document(owner.created), but=aside)
    if not at.operation.traits.disables:
        _judge_defaults(at, fixture, owner, act)
        _judge_many_destinations(at, foreign)


def _shows(expected: dict[str, Any], answer: Exchange) -> bool:
    return exists(answer) and (not answer.succeeded or not mismatches(answer, expected))


def _judge_defaults(at: Check, fixture: Fixture, owner: Beneficiary, act: Callable[[str], Exchange]) -> None:
    """Judges that a beneficiary shows the defaults of its list of destinations after a change of these, and
    that an update leaves the new default the only one."""
    what = "a beneficiary after another destination became its default"
    body = {**fixture.bank_account(), "is_default": True}
    if not (new := at.send(call(CREATE, owner.ids, body), "another default")).succeeded:
        return
    listing = call("listPayoutDestinations", owner.ids).with_query(query(1, MAX_SIZE))
    default, purpose = [str(new.get("id"))], "the list of its destinations"

    def is_default(answer: Exchange) -> bool:
        return shown_defaults(answer) == default

    # Where the list does not show it, another rule is broken.
    alone = bool(at.operation.traits.changes) and is_default(
        at.eventually(lambda: at.send(listing, purpose), is_default)
    )

    def look() -> tuple[Exchange, Exchange]:
        return act(what), at.send(listing, purpose)

    def agree(looks: tuple[Exchange, Exchange]) -> bool:
        return all(map(exists, looks)) and not _other_default(*looks) and (not alone or is_default(looks[1]))

    answer, listed = at.eventually(look, agree)
    if at.usable(RULE, answer) and at.usable(RULE, listed) and answer.succeeded and listed.succeeded:
        expected = f"{what}: is_default of each as in their list"
        at.expect(RULE, expected, _other_default(answer, listed), answer, listed, member=MEMBER)
        if alone:
            held = "" if is_default(listed) else ", ".join(shown_defaults(listed)) or "none"
            at.expect(
                RULE, f"{what}, and an update: that one alone is the default", held, listed, answer, new
            )


def _other_default(answer: Exchange, listing: Exchange) -> str:
    """The first is_default of a beneficiary's destinations that is another one in their list."""
    listed = {str(each.get("id")): each.get("is_default") for each in objects(listing.get("items"))}
    for element in objects(answer.get(MEMBER)):
        embedded, other = element.get("is_default"), listed.get(str(element.get("id")))
        if isinstance(embedded, bool) and isinstance(other, bool) and embedded is not other:
            return f"is_default {show(embedded)} of {element.get('id')}"
    return ""


def _judge_many_destinations(at: Check, foreign: Exchange) -> None:
    """Judges that a beneficiary shows all its destinations, more than the largest page of a list, each as it
    was created."""
    many = large_list(at.lane, "listPayoutDestinations")
    ids = many.call.ids
    update = at.operation.traits.subset_of
    reading = call(at.operation.id, ids, {"note": f"changed {samples.marker()}"} if update else None)
    what = f"a beneficiary with {len(many.created)} destinations"

    def shows_all(answer: Exchange) -> bool:
        ids = {*(identifiers(answer.get(MEMBER)) or ())}
        return exists(answer) and (not answer.succeeded or many.created.keys() <= ids)

    answer = at.eventually(lambda: at.send(reading, what), shows_all)
    if at.usable(RULE, answer) and answer.succeeded:
        _judge_destinations(at, answer, [*many.created.values()], foreign, what, exact=many.exact)


@check(
    RULE,
    "beneficiary.update",
    "beneficiary.disable",
    operations=CHANGING,
)
def test_destinations_made_meanwhile(at: Check) -> None:
    """Destinations created while their beneficiary is updated or disabled are among its destinations; neither
    that change is lost nor another one at the same time: each PATCH is of another field."""
    fixture, disables = at.account(fresh=True), at.operation.traits.disables
    rule = "beneficiary.disable" if disables else "beneficiary.update"
    rounds, what = Rounds(at, MEANWHILE), "a read after all of them"
    for _ in rounds:
        owner = Beneficiary(at, fixture)
        changes = [{name: f"Grace {samples.marker()}"} for name in _CHANGED]
        # The PATCHes first: sent later, they would seldom read an outdated state.
        calls = [call("updateBeneficiary", owner.ids, change) for change in changes]
        if disables:
            calls.insert(1, call(at.operation.id, owner.ids))
            changes.insert(1, {"status": "disabled"})
        calls += [call(CREATE, owner.ids, fixture.bank_account()) for _ in range(2)]
        answers = rounds.race(calls, "a beneficiary changed while destinations are made")
        creates, answers = answers[len(changes) :], answers[: len(changes)]
        done = [each for each in zip(answers, changes, strict=True) if each[0].succeeded]
        created = {each.get("id"): each for each in creates if isinstance(each.get("id"), str)}
        if len(done) + len(created) < 2 or not any(each.operation == at.operation.id for each, _ in done):
            continue
        expected = {name: value for _, change in done for name, value in change.items()}

        def shows_all(
            answer: Exchange, ids: Collection[str] = tuple(created), members: Any = expected
        ) -> bool:
            held = identifiers(answer.get(MEMBER)) or ()
            return answer.succeeded and {*held} >= {*ids} and not mismatches(answer, members)

        answer = at.eventually(functools.partial(owner.read, what), shows_all, "getBeneficiary")
        if answer.succeeded and created:
            expectation, lacking = f"{what}: all destinations that were created", _lacking(answer, created)
            at.expect(RULE, expectation, lacking, answer, *answers, *created.values(), member=MEMBER)
        for own, change in done:
            # The change that is lost first, beside the others.
            judge_members(
                at, rule, answer, change, shown_by=[own, *(each for each in answers if each is not own)]
            )
    for each in at.rules:
        at.not_exercised(each, "no destination was created while its beneficiary was changed")


def _lacking(answer: Exchange, ids: Collection[str]) -> Got:
    """The destinations that a beneficiary does not show."""
    if reason := memberless(answer):
        return reason
    held = [element.get("id") for element in objects(answer.get(MEMBER))]
    missing = [identifier for identifier in ids if identifier not in held]
    return f"{len(held)}, without {', '.join(missing[:3])}" if missing else ""


def _destination(at: Check, fixture: Fixture, owner: Beneficiary, row: str = "") -> Exchange | None:
    """Creates a destination of a beneficiary, from a row of bodies if the server accepts it, else from the
    sample; None where both are refused."""
    tries = [*(bodies(fixture, CREATE, row) if row else []), *bodies(fixture, CREATE)]
    if row != _KINDS[0]:
        # One default only.
        tries = [{name: body[name] for name in body if name != "is_default"} for body in tries]
    calls = [call(CREATE, owner.ids, body) for body in tries]
    create = at.until_accepted(calls, "a destination to be shown")[-1]
    return create if create.succeeded and isinstance(create.get("id"), str) else None


def _judge_destinations(
    at: Check, answer: Exchange, own: list[Exchange], foreign: Exchange, what: str, *, exact: bool
) -> None:
    """Judges the destinations in an answer: those that were created; unless `exact`, beside others than the
    one of another beneficiary, `foreign`."""
    ids, expected = identifiers(answer.get(MEMBER)), sorted(str(each.get("id")) for each in own)
    exactly = f"{what}: payout_destinations: exactly the {len(expected)} expected ones"
    if ids is None:
        reason = f"{what}: payout_destinations is not an array of resources"
        at.expect(RULE, exactly, Unclear(reason, "format.fields"), answer)
        return
    if not exact:
        exactly = f"{what}: payout_destinations: the {len(expected)} expected ones, and none of another"
        ids = [each for each in ids if each in (*expected, foreign.get("id"))]
    common = f"{len(ids)}, with {len(set(ids) & set(expected))} of those"
    at.expect(RULE, exactly, "" if ids == expected else common, answer, *own[:MANY], foreign, member=MEMBER)
    # How disabling changes destinations is open. A number may be masked otherwise than in the create.
    aside = {"object", "updated", "status", "clabe_last4", *_MASKS}
    if sum(destination.get("is_default") is True for destination in own) > 1:
        aside.add("is_default")  # What a second default does to the first is not shown.
    origins = {str(destination.get("id")): destination for destination in own}
    for place, element in enumerate(objects(answer.get(MEMBER))):
        if origin := origins.get(str(element.get("id"))):
            _judge_members(at, answer, element, f"{MEMBER}/{place}", origin, what, but=aside)
            _judge_masks(at, answer, element, own, origin, what)


def _judge_members(
    at: Check,
    answer: Exchange,
    element: dict[str, Any],
    place: str,
    origin: Exchange,
    what: str,
    but: Collection[str],
) -> None:
    """Judges the members of a destination, at a place of an answer, by its create, `origin`."""
    body = origin.call.document
    known = stated(CREATE, body, {"beneficiary_id": answer.call.ids["beneficiary_id"]})
    known["account_number_last4"] = str(body.get("account_number"))[-4:]
    for name in documented(CREATE):
        first, value = origin.get(name), element.get(name, MISSING)
        if name not in but and first not in (None, MISSING) and value is not MISSING:
            good = any(alike(CREATE, name, value, each) for each in (first, known.get(name)))
            expectation = f"{what}: a destination's {name} as it was created, {show(first)}"
            judgement = expectation, "" if good else show(value), answer, origin
            values = (answer, f"{place}/{name}"), (origin, name)
            at.expect(RULE, *unless_malformed(judgement, *values), member=MEMBER)


def _judge_masks(
    at: Check, answer: Exchange, element: dict[str, Any], own: list[Exchange], origin: Exchange, what: str
) -> None:
    """Judges the masked numbers of a destination in an answer by its create, `origin`, one of `own`."""
    for name in _MASKS:
        if isinstance(origin.get(name), str):
            expectation = f"{what}: a destination's {name}, which its create showed"
            mask = element.get(name, MISSING)
            number = str(origin.call.document.get(name.removesuffix("_masked")))
            # Which characters a mask hides is open: another destination's mask is not.
            strange = mask != origin.get(name) and mask in [each.get(name) for each in own]
            wrong = mask is None or (strange and mask_defect(str(mask), number))
            at.expect(RULE, expectation, show(mask) if wrong else "", answer, origin, member=MEMBER)
