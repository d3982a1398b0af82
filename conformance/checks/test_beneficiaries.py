"""Beneficiaries (sections 2.3, 3 and 4.2): null fields and disabling."""

from __future__ import annotations

from conformance.checks.beneficiaries import (
    Beneficiary,
    all_changed,
    furnished,
    judge_change,
    moved_by,
    required_only,
    unreliable,
)
from conformance.checks.check import Check, check
from conformance.checks.members import judge_members
from conformance.contract.new_resources import NULLABLE
from conformance.contract.rules import RULES
from conformance.judge.comparison import MOVING, document
from conformance.judge.verdicts import Inconclusive
from conformance.wire.clock import wait_past
from conformance.wire.messages import Exchange
from conformance.world.lane import Fixture
from conformance.world.purposes import CREATED
from conformance.world.samples import WESTERN
from conformance.world.shapes import accepted_body, accepts

#: Name of the probe that disables a plain beneficiary.
_PLAIN = "a beneficiary"


@check("format.nullable", operations=RULES["beneficiary.destinations"].operations)
def test_empty_fields_stay_null(at: Check) -> None:
    """A beneficiary created without optional fields shows them as null when read, updated and disabled."""
    fixture = at.account(fresh=True)
    person = Beneficiary(at, fixture, required_only(fixture))
    if at.operation.traits.disables:
        answer = person.disable("a beneficiary without optional values is disabled")
    elif at.operation.traits.subset_of:
        answer = person.patch({"first_name": "Grace"}, "a beneficiary without optional values is changed")
    else:
        answer = person.read("a beneficiary without optional values is read")
    if at.usable("format.nullable", answer) and answer.succeeded:
        for name in NULLABLE["createBeneficiary"]:
            at.equal("format.nullable", answer.purpose, name, None, answer)


# ---------------------------------------------------------------------- disable


@check("beneficiary.disable", "beneficiary.disable-moves-updated", "beneficiary.disable-twice")
def test_disable(at: Check) -> None:
    """An individual, a business, an updated beneficiary and one that was paid are disabled: the answer has
    status disabled, a later updated and all else unchanged; a later read agrees, and no other beneficiary is
    disabled. A second disable may be refused, else it shows the same."""
    fixture = at.account(fresh=True)
    bystander, elsewhere = Beneficiary(at, fixture), Beneficiary(at, at.account(CREATED))
    aside = unreliable(bystander.created, bystander.read("another beneficiary of the account"))
    people = _to_disable(at, fixture)
    before = {
        name: person.read_until(f"{name} as it is", person.stated, MOVING.union(aside))
        for name, person in people.items()
    }
    latest, last = Beneficiary(at, fixture), [bystander.created, *before.values()][-1]
    # Operations may show different precisions: later in the coarser one.
    for earlier in (last, bystander.created):
        wait_past(earlier.get("updated"), last.arrived)
    for name, person in people.items():
        _judge_disable(at, person, before[name], name, aside)
    for other, whose in ((bystander, "of the account"), (latest, "made last"), (elsewhere, "elsewhere")):
        spared = other.read(f"another beneficiary, {whose}, after all of that")
        disabled = spared.succeeded and spared.get("status") == "disabled"
        if disabled and moved_by(at, _disable, "status", of_others=True):
            at.member(
                "beneficiary.disable", spared, "status", "active", what="another beneficiary was disabled"
            )
    if _PLAIN in people:
        _judge_second(at, people[_PLAIN], aside)


def _disable(person: Beneficiary) -> Exchange:
    return person.disable("another beneficiary is disabled")


def _to_disable(at: Check, fixture: Fixture) -> dict[str, Beneficiary]:
    """Returns the beneficiaries to disable, by name, that the server accepts."""
    people = {_PLAIN: Beneficiary(at, fixture)}
    people["a changed beneficiary"] = changed = Beneficiary(at, fixture)
    changes = [*all_changed(fixture), {"note": "Changed", "first_name": "Grace"}]
    changes = [changes[0] | {"note": WESTERN}, *changes]
    answer = changed.patch_any(changes, "a change before it is disabled")
    if answer.succeeded:
        changed.stated |= answer.call.document
    if accepts(at.lane, "createBeneficiary", "business"):
        business = accepted_body(fixture, "createBeneficiary", "business")
        people["a business"] = Beneficiary(at, fixture, business)

    def plain(place: Fixture) -> Beneficiary:
        try:
            return Beneficiary(at, place, required_only(place))
        except Inconclusive:
            return Beneficiary(at, place)

    people["a beneficiary with a destination"] = furnished(at, plain)
    return people


def _judge_disable(at: Check, person: Beneficiary, before: Exchange, name: str, aside: list[str]) -> None:
    rule = "beneficiary.disable"
    if not before.succeeded:
        at.unclear(rule, f"{name} cannot be read: {before.described()}", before, cause="read.equals-create")
        before = person.created
    answer, changes = person.disable(f"{name} is disabled"), {"status": "disabled"}
    judge_change(at, rule, person, before, answer, changes, _disable, aside=aside, steadily=name == _PLAIN)


def _judge_second(at: Check, person: Beneficiary, aside: list[str]) -> None:
    """Judges the answer to a second disable, if it is no refusal: status disabled, all else as created."""
    again = person.disable("disabled a second time, with another key")
    status, question = again.get("status"), "a beneficiary is disabled a second time"
    choice = f"accepted, status {status}" if again.succeeded and isinstance(status, str) else ""
    at.observe("beneficiary.disable-twice", question, choice or again.described(), again)
    if again.succeeded:
        expected, known = (
            {**each, "status": "disabled"} for each in (document(person.created), person.stated)
        )
        unsure = (MOVING - {"status"}).union(("payout_destinations", *aside))
        what = "disabled a second time"
        judge_members(at, "beneficiary.disable", again, expected, what, but=unsure, otherwise=known)
