"""A beneficiary that a check works on, and judgements of its state after changes (sections 2.3 and 3)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from conformance.checks.check import Check
from conformance.checks.members import judge_members, judge_not_back, mismatches, read_until
from conformance.checks.side_effects import UNTOUCHED, owner
from conformance.contract.new_resources import NULLABLE, stated
from conformance.judge import outcomes
from conformance.judge.comparison import MOVING, alike, document, normalized, objects
from conformance.judge.outcomes import Judgement, Unclear, unusable
from conformance.judge.verdicts import Inconclusive
from conformance.wire.messages import Exchange
from conformance.world import samples
from conformance.world.bodies import NAMES
from conformance.world.calls import call, identifier, member
from conformance.world.lane import Fixture
from conformance.world.parts import abroad
from conformance.world.purposes import CREATED, PAYOUTS
from conformance.world.refused_samples import refusal_of_valid
from conformance.world.samples import Body
from conformance.world.shapes import accepted_body

#: Consecutive reads that must show a change: each process of a server may have a cache of its own.
STEADY = 4


class Beneficiary:
    """A beneficiary created for a check: the exchange that created it, and requests on it."""

    def __init__(self, at: Check, fixture: Fixture, body: Body | None = None) -> None:
        self.at, self._fixture, self._moved = at, fixture, False
        # The default type is not judged here.
        body = body or {"beneficiary_type": "individual", **fixture.body("createBeneficiary")}
        self.created = fixture.create("createBeneficiary", body)
        self.ids = {"account_id": fixture.account_id, "beneficiary_id": identifier(self.created)}
        #: Members as the request states them, whatever the create answered.
        self.stated = stated("createBeneficiary", self.created.call.document, self.ids)

    def read(self, purpose: str) -> Exchange:
        return self.at.send(call("getBeneficiary", self.ids), purpose)

    def read_until(
        self, purpose: str, expected: Mapping[str, Any], but: Iterable[str] = MOVING, **how: Any
    ) -> Exchange:
        """Reads it until it shows the expected members (see `members.read_until`)."""
        return read_until(self.at, call("getBeneficiary", self.ids), purpose, expected, but=but, **how)

    def furnish(self, fixture: Fixture) -> None:
        """Creates a destination of it and, unless the target has no payouts, a payout to that."""
        bank = fixture.bank_account()
        create = self.at.send(call("createPayoutDestination", self.ids, bank), "a destination of it")
        if create.succeeded:
            self.stated["payout_destinations"] = [document(create)]
        if create.succeeded and self.at.target.features.payouts is not False:
            payee = self.ids["beneficiary_id"], identifier(create), member(create, "currency")
            payout = self.at.lane.samples.payout(*payee)
            self.at.send(call("createPayout", {"account_id": fixture.account_id}, payout), "a payout to it")

    def patch(self, body: Body, purpose: str) -> Exchange:
        return self.at.send(call("updateBeneficiary", self.ids, body), purpose)

    def patch_any(self, bodies: Iterable[Body], purpose: str) -> Exchange:
        """Sends updates until one is accepted; returns the last answer."""
        calls = [call("updateBeneficiary", self.ids, body) for body in bodies]
        return self.at.until_accepted(calls, purpose)[-1]

    def move(self, purpose: str) -> Exchange:
        """Updates as many of its fields as the server accepts, the next time back to what they were."""
        first, self._moved = self.created.call.document, not self._moved
        back, note = {**first, "note": samples.marker()}, {"note": samples.marker()}
        tries = all_changed(self._fixture) if self._moved else [back]
        country = abroad(first) if self._moved else first.get("country_code")
        return self.patch_any([*tries, {**note, "country_code": country}, note], purpose)

    def disable(self, purpose: str) -> Exchange:
        return self.at.send(call("disableBeneficiary", self.ids), purpose)


def furnished(at: Check, make: Callable[[Fixture], Beneficiary]) -> Beneficiary:
    """Makes a beneficiary with a destination and, unless the target has no payouts, a payout to that: where a
    payout finds funds, or, if no other beneficiary is accepted there, among those that nobody changes."""
    place = at.lane.account(PAYOUTS)
    try:
        person = make(place)
    except Inconclusive:
        place = at.account(CREATED)
        person = make(place)
    person.furnish(place)
    return person


def judge_taken(at: Check, rule: str, person: Beneficiary, answer: Exchange) -> bool:
    """Judges that a valid change was accepted, unless a job of the server has disabled its beneficiary
    meanwhile, as it may (section 3)."""
    if answer.refused:
        look = person.read("the beneficiary whose change was refused")
        if look.get("status") in ("disabled", "inactive"):
            reason = f"the beneficiary is {look.get('status')}, though nobody has disabled it"
            at.not_exercised(rule, reason, refusal_of_valid(answer).why.remedy)
            return False
    return at.accepted(rule, answer)


def required_only(fixture: Fixture) -> Body:
    """Builds the sample beneficiary without the nullable fields."""
    optional = NULLABLE["createBeneficiary"]
    return {name: value for name, value in fixture.body("createBeneficiary").items() if name not in optional}


#: Other members of the sample's address: it stays one.
_NEARBY = {
    "address_line": "22 Other Road",
    "city": "New York City",
    "region": "New York",
    "postal_code": "10002",
}


def new_values(fixture: Fixture, moved: str = "address_line") -> Body:
    """New values for the fields of a beneficiary, close to the target file's where it sets them. Of the
    address one member changes, if the target file sets none: a server may compare only some of them."""
    own, word = fixture.lane.samples, samples.marker()
    sample, fixed = own.beneficiary(), own.over("beneficiary")
    if "address" in fixed:
        moved = "address_line"
    phone = sample["phone"]
    if "phone" in fixed:
        phone = phone[:-1] + ("4" if phone.endswith("3") else "3")
    return {
        **sample,
        **NAMES,
        **{name: fixed[name] for name in NAMES.keys() & fixed.keys()},
        "display_name": f"Grace Hopper {word}",
        "email": f"{word}.{sample['email']}",
        "phone": phone,
        "address": {**sample["address"], moved: _NEARBY[moved]},
        "note": f"Changed {word}",
    }


def all_changed(fixture: Fixture) -> list[Body]:
    """Bodies to try that change each field of a beneficiary, and each member of its address, later ones
    fewer: a server may refuse that an individual becomes a business, or another country."""
    values, own = new_values(fixture), fixture.lane.samples
    if own.over("beneficiary"):
        return [values]
    near, country = {**values, "address": {**values["address"], **_NEARBY}}, abroad(values)
    company = {"beneficiary_type": "business", "company_name": f"Compilers {samples.marker()}"}
    moved = {**near, "country_code": country, "address": {**near["address"], "country": country}}
    return [{**moved, **company}, {**near, **company}, near, values]


def unreliable(created: Exchange, read: Exchange) -> list[str]:
    """Returns the members that a read right after the create shows differently, which another rule judges."""
    if not read.succeeded:
        return []
    before, after = document(created), document(read)
    return [
        name
        for name in before
        if name in after and not alike("getBeneficiary", name, after[name], before[name])
    ]


#: Sends a request on a beneficiary; returns the answer.
Act = Callable[[Beneficiary], Exchange]

#: Repetitions that tell the effect of a request from that of background jobs.
_TIMES = 5

#: Reads of each of these before the request.
_LOOKS = 3


def judge_beneficiary(
    at: Check,
    rule: str,
    answer: Exchange,
    expected: Mapping[str, Any],
    what: str,
    *,
    act: Act | None = None,
    but: Iterable[str] = (),
    otherwise: Mapping[str, Any] | None = None,
    changes: Iterable[str] = (),
) -> None:
    """Judges the members of a beneficiary, except `but`. One that background jobs may change, and no request
    `changes`, is judged only where it is as expected, or `act` changes it (see `moved_by`)."""
    moving, left_out = MOVING.difference(changes), set(but)
    judge_members(at, rule, answer, expected, what, but=moving | left_out, otherwise=otherwise)
    for name in sorted(({"status", "verified"} & moving - left_out) & expected.keys()):
        try:
            if not mismatches(answer, {name: expected[name]}) or (act and moved_by(at, act, name)):
                at.member(rule, answer, name, expected[name], what=what)
        except Inconclusive as stop:
            at.unclear(rule, stop.why, answer)


def judge_change(
    at: Check,
    rule: str,
    person: Beneficiary,
    before: Exchange,
    answer: Exchange,
    changes: Body,
    act: Act,
    *,
    aside: Iterable[str] = (),
    steadily: bool = False,
) -> None:
    """Judges the change of a beneficiary that an answer showed `before`, and a later read, or several in a
    row if `steadily`: it is accepted, they have the `changes`, all else but `aside` is as before, and
    `updated` has moved. `act` repeats the change on others."""
    if not judge_taken(at, rule, person, answer):
        return
    what, expected = answer.purpose, {**document(before), **changes}
    known = {**person.stated, **changes, **normalized(changes)}
    but = [name for name in aside if name not in changes]
    # beneficiary.destinations judges which destinations the answer shows.
    in_answer = [*but, "payout_destinations"]
    judge_beneficiary(
        at, rule, answer, expected, what, act=act, but=in_answer, otherwise=known, changes=changes
    )
    if any(before.get(name) != value for name, value in changes.items()):
        judge_moved(at, f"{rule}-moves-updated", before, answer, what)
    purpose, looks = f"the beneficiary after {what}", STEADY if steadily else 1
    moving = MOVING.union(but).difference(changes)
    later = person.read_until(purpose, expected, moving, otherwise=known, since=answer, looks=looks)
    if not later.succeeded and before.method == "GET":
        at.accepted(rule, later)
    elif not later.succeeded:
        reason = f"the read after {what} was answered {later.described()}"
        at.unclear(rule, reason, later, cause="read.equals-create")
    else:
        what = f"a read after {what}"
        judge_beneficiary(at, rule, later, expected, what, but=but, otherwise=known, changes=changes)
        judge_not_back(at, rule, later, answer, what)


def moved_by(at: Check, act: Act, name: str, *, of_others: bool = False) -> bool:
    """Repeats a request on new beneficiaries, each beside others; True if a member changes each time on that
    one, and on no other, or, if `of_others`, on another, as it is answered: jobs and other users may change
    any at any time. Raises Inconclusive where an answer says nothing."""
    fixture, elsewhere = at.account(fresh=True), at.account(CREATED)

    def moved(person: Beneficiary, answer: Exchange) -> bool:
        return not alike("getBeneficiary", name, answer.get(name), person.created.get(name))

    for _ in range(_TIMES):
        first, person, last = (Beneficiary(at, fixture) for _ in range(3))
        others = [first, last, Beneficiary(at, elsewhere)]
        # Several times, so that an effect of reading shows.
        before = [
            (each, each.read("a read, to see whether it is as it was created"))
            for each in (person, *others) * _LOOKS
        ]
        answer = act(person)
        after = [(other, other.read("another one, to which nothing was done")) for other in others]
        looks = [answer, *(look for _, look in (*before, *after))]
        for look in looks:
            if unclear := unusable(look):
                raise Inconclusive(unclear, look)
        if not all(look.succeeded for look in looks) or any(moved(*each) for each in before):
            return False
        changed = [look for other, look in after if moved(other, look)]
        if not moved(person, answer) or bool(changed) is not of_others:
            return False
    return True


def judge_moved(at: Check, rule: str, before: Exchange, answer: Exchange, what: str) -> None:
    """Judges that `updated` of an answer is later than that of an earlier one."""
    judgement = outcomes.later(f"{what}: an updated", answer, "updated", before)
    at.expect(rule, *judgement, member="updated")


class Defaults:
    """A default destination of a fixture's beneficiary, and the judgement that refused requests keep it."""

    def __init__(self, at: Check, fixture: Fixture, shape: str) -> None:
        """Creates the destination, of a shape of bodies. Raises Inconclusive where the server refuses it."""
        self.at, self.fixture = at, fixture
        operation = "createPayoutDestination"
        body = {**accepted_body(fixture, operation, shape), "is_default": True}
        self.id = identifier(fixture.create(operation, body))
        self.before = defaults(at, fixture, self.id)

    def judge_refused(self, what: str, answers: Sequence[Exchange]) -> None:
        """Judges that requests changed no default, if all of them were refused."""
        if UNTOUCHED in self.at.rules and answers and all(answer.refused for answer in answers):
            after = defaults(self.at, self.fixture, *shown_defaults(self.before))
            sentence = f"after {what}: the same destination is the default"
            self.at.expect(UNTOUCHED, *same_defaults(sentence, after, self.before), *answers)


def defaults(at: Check, fixture: Fixture, *those: str) -> Exchange:
    """Reads the list of a beneficiary's destinations until its only default is one of those ids; without any,
    until it has no default."""

    def good(answer: Exchange) -> bool:
        held = shown_defaults(answer)
        return not answer.succeeded or (len(held) == 1 and held[0] in those) or not (held or those)

    reading, organization = fixture.call("listPayoutDestinations"), owner(fixture)
    purpose = "the destinations, and which of them is the default"
    # A default that does not move is no delay of the list.
    until = "the default of listPayoutDestinations"
    return at.eventually(lambda: at.find(reading, purpose, organization), good, until)


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
