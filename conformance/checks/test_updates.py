"""Updates of beneficiaries (sections 2.3, 3 and 4.2): a PATCH changes the given members and no others."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from conformance.checks.beneficiaries import (
    Beneficiary,
    all_changed,
    furnished,
    judge_beneficiary,
    judge_change,
    judge_moved,
    judge_taken,
    new_values,
    required_only,
    unreliable,
)
from conformance.checks.check import Check, check
from conformance.checks.members import judge_members, read_until
from conformance.checks.side_effects import SideEffects
from conformance.contract.fields import request_fields
from conformance.contract.operations import response_schema
from conformance.contract.schemas import nullable
from conformance.judge.comparison import MOVING, document, normalized, show
from conformance.judge.outcomes import unusable
from conformance.judge.verdicts import Inconclusive
from conformance.wire.clock import wait_past
from conformance.wire.messages import MISSING, Exchange
from conformance.world import samples
from conformance.world.bodies import BODIES, bodies
from conformance.world.calls import call
from conformance.world.lane import Fixture
from conformance.world.parts import abroad
from conformance.world.purposes import CREATED
from conformance.world.refused_samples import refusal_of_valid
from conformance.world.samples import Body
from conformance.world.shapes import SHAPES, accepted_body, accepts


@check("beneficiary.update", "beneficiary.update-moves-updated", "beneficiary.update-text-exact")
def test_update_changes_what_it_names(at: Check) -> None:
    """Each field is changed alone, and several at once, on a new beneficiary with all fields set: the answer
    has the new values, leaves the others unchanged and moves `updated`; a later read shows the same."""
    fixture = at.account(fresh=True)
    bystander, elsewhere = Beneficiary(at, fixture), Beneficiary(at, at.account(CREATED))
    aside = unreliable(bystander.created, bystander.read("another beneficiary of the account"))
    changes = list(_changes(at, fixture))
    first, last = changes[0].person, changes[-1].person.created
    # One wait for all: `updated` may have whole seconds.
    wait_past(last.get("updated"), last.arrived)
    # Fill a read cache before the change.
    first.read("a beneficiary before it is changed")
    for change in changes:
        _judge_change(at, change, aside, steadily=change is changes[0])
    # A server may want these unique: then it refuses them. http.no-server-error judges how.
    sent = bystander.created.call.document
    theirs = {name: sent[name] for name in _FORMS if name in sent}
    first.patch(theirs, "a PATCH to what another beneficiary of the account has")
    for other, whose in ((bystander, "of the account"), (elsewhere, "of another account")):
        created = document(other.created)
        purpose = f"another beneficiary {whose}, after all of that"
        untouched = other.read_until(purpose, created, MOVING.union(aside))
        what = "another beneficiary was changed"
        judge_beneficiary(at, "beneficiary.update", untouched, created, what, but=aside)


def _patch(person: Beneficiary) -> Exchange:
    return person.patch({"note": f"changed {samples.marker()}"}, "a PATCH of note")


def _judge_change(at: Check, change: Change, aside: list[str], *, steadily: bool = False) -> None:
    """Judges one PATCH and a later read, or several reads in a row if `steadily`."""
    rule, person, what = "beneficiary.update", change.person, f"a PATCH of {change.name}"
    answer = person.patch_any(change.bodies, what)
    if change.refusable and not answer.succeeded:
        return
    body = answer.call.document
    judge_change(at, rule, person, person.created, answer, body, _patch, aside=aside, steadily=steadily)
    for name in normalized(body) if answer.succeeded else ():
        at.member("beneficiary.update-text-exact", answer, name, body[name])


@check("beneficiary.update", "beneficiary.update-moves-updated")
def test_updates_build_on_one_another(at: Check) -> None:
    """Later PATCHes keep what earlier ones changed, each field but note, also on a beneficiary created with
    the required fields only; omitted nulls stay null."""
    fixture = at.account(fresh=True)
    person = Beneficiary(at, fixture, required_only(fixture))
    expected, last = document(person.created), person.created
    for tries in ([{"note": "first"}], all_changed(fixture), [{"note": "second"}]):
        bodies = [{name: body[name] for name in body if name != "note" or len(body) == 1} for body in tries]
        wait_past(last.get("updated"), last.arrived)
        answer = person.patch_any(bodies, "one of three PATCHes in a row")
        body, what = answer.call.document, answer.purpose
        if judge_taken(at, "beneficiary.update", person, answer):
            judge_moved(at, "beneficiary.update-moves-updated", last, answer, what)
            expected, last = {**expected, **body}, answer
            person.stated |= body
            judge_beneficiary(at, "beneficiary.update", answer, expected, what, otherwise=person.stated)


@check("beneficiary.update")
def test_update_of_a_disabled_beneficiary(at: Check) -> None:
    """A PATCH of a disabled beneficiary is refused, or changes the given members alone and leaves it
    disabled, in its answer and in a later read: one of most fields, and one of the others."""
    rule, what = "beneficiary.update", "a PATCH of a disabled beneficiary"
    fixture = at.account(fresh=True)
    shape = "individual with company_name"
    person = Beneficiary(at, fixture, accepted_body(fixture, "createBeneficiary", shape))
    disabled = person.disable("a beneficiary is disabled")
    look = person.read_until("the disabled beneficiary", {"status": "disabled"}, ())
    for each in (disabled, look):
        if each.get("status") != "disabled":
            shows = f"{each.described()}, status {show(each.get('status'))}"
            reason = f"a beneficiary cannot be disabled: {each.purpose} was answered {shows}"
            at.unclear(rule, reason, disabled, cause="beneficiary.disable")
            return
    values = new_values(fixture)
    others = {"company_name": f"Deluxe {samples.marker()}", "country_code": abroad(values)}
    most = {name: value for name, value in values.items() if name not in others}
    each_alone = [{name: value} for name, value in others.items()]
    expected, moved = document(look), MOVING - {"status"}
    known = {**person.stated, "status": "disabled"}
    accepted = False
    for tries in ([most, {"note": samples.marker()}], [others, *each_alone]):
        answer = person.patch_any(tries, what)
        if not answer.succeeded:
            continue
        accepted, body = True, answer.call.document
        expected, known = {**expected, **body}, {**known, **body, **normalized(body)}
        later = person.read_until(f"the beneficiary after {what}", expected, moved, otherwise=known)
        for each in (answer, later):
            judge_members(at, rule, each, expected, but=moved, otherwise=known)
    if not accepted:
        at.not_exercised(rule, f"{what} was answered {answer.described()}")


@check("refusal.changes-nothing", "beneficiary.update", operations=("updateBeneficiary",))
def test_update_is_all_or_nothing(at: Check) -> None:
    """A PATCH with a valid and an invalid field, in either order, is refused atomically: a later read shows
    every field, `updated` included, unchanged. A valid PATCH afterwards is accepted, and changes no more than
    it names."""
    rule, fixture = "refusal.changes-nothing", at.account(fresh=True)
    person = Beneficiary(at, fixture)
    too_long = "x" * 300
    probes: dict[str, Body] = {
        "a valid title, then last_name too long": {"title": "Mr", "last_name": too_long},
        "first_name too long, then a valid note": {"first_name": too_long, "note": "changed"},
        "a valid first_name, then a wrong country_code": {"first_name": "Grace", "country_code": "USA"},
        "a wrong beneficiary_type, then a valid address": {
            "beneficiary_type": "robot",
            "address": samples.address("region"),
        },
        "a valid note, then an address with a city that is no text": {
            "note": "changed",
            "address": {**samples.address("region"), "address_line": "22 Other Road", "city": 5},
        },
    }
    effects = SideEffects(at, fixture, ids=person.ids).start()
    refused: list[Exchange] = []
    for what, body in probes.items():
        answer = person.patch(body, f"a PATCH with {what}")
        if not at.usable(rule, answer):
            continue
        if answer.refused:
            refused.append(answer)
            again = functools.partial(at.send, answer.call, "once more")
            effects.judge(rule, f"a refused PATCH with {what}", [answer], again)
            continue
        reason = f"a PATCH with {what} was answered {answer.described()}"
        at.unclear(rule, reason, answer, cause="fields.max-length")
        effects.start()
    what, note = "a valid PATCH after refused ones", samples.marker()
    valid = person.patch({"note": note}, what)
    names = {name for body in probes.values() for name in body} - {"note"}
    if judge_taken(at, "beneficiary.update", person, valid):
        at.member("beneficiary.update", valid, "note", note)
        if len(refused) == len(probes):
            # What a refused request has changed in memory may be stored with the next one.
            created = {name: value for name, value in document(person.created).items() if name in names}
            judge_members(at, rule, valid, created, otherwise=person.stated, shown_by=refused)


@check("beneficiary.update-empty")
def test_empty_update(at: Check) -> None:
    """A PATCH with an empty object is accepted; its answer and a later read are unchanged."""
    rule, fixture = "beneficiary.update-empty", at.account(fresh=True)
    person = Beneficiary(at, fixture)
    destination = call("createPayoutDestination", person.ids, fixture.bank_account())
    holds = {"payout_destinations": [document(at.accept(destination, "a destination of it"))]}
    before = person.read_until("the beneficiary as it is", holds)
    if not before.succeeded:
        raise refusal_of_valid(before)

    def patch(each: Beneficiary) -> Exchange:
        return each.patch({}, "a PATCH with an empty object")

    judge_change(at, rule, person, before, patch(person), {}, patch)


@check("beneficiary.update-company-name", "refusal.changes-nothing")
def test_update_that_leaves_a_business_without_company_name(at: Check) -> None:
    """A PATCH that removes the company_name of a business, or makes an individual without one a business, is
    refused, or leaves no business without it. Refused ones change neither member."""
    rule, fixture = "beneficiary.update-company-name", at.account(fresh=True)
    nameless, turned = {"company_name": None}, {"beneficiary_type": "business"}
    for what, shape, body in (
        ("company_name null on a business", "business", nameless),
        ("beneficiary_type business alone", "individual", turned),
        ("beneficiary_type business beside company_name null", "individual", turned | nameless),
    ):
        person = Beneficiary(at, fixture, accepted_body(fixture, "createBeneficiary", shape))
        effects = SideEffects(at, fixture, ids=person.ids).start()
        answer = person.patch(body, f"a PATCH of {what}")
        of_business = answer.succeeded and answer.get("beneficiary_type") == "business"
        unnamed = of_business and answer.get("company_name") in (None, "", MISSING)
        got = unusable(answer) or ("a business without company_name" if unnamed else "")
        at.expect(rule, f"{answer.purpose}: refused, or a company_name", got, answer)
        if answer.refused:
            again = functools.partial(at.send, answer.call, "once more")
            effects.judge("refusal.changes-nothing", f"a refused PATCH of {what}", [answer], again)


@check("beneficiary.update", "beneficiary.update-cleared")
def test_values_that_clear_a_field(at: Check) -> None:
    """Each field is changed to null, and each of strings to an empty one: either is refused, or empties the
    field if that may be; else null leaves it. A read after all of that shows what the answers have shown."""
    fixture = at.account(fresh=True)
    body = accepted_body(fixture, "createBeneficiary", "individual with company_name")
    members = response_schema("getBeneficiary")["properties"]
    fields = [field for field in request_fields(at.operation.id) if field.name in body]
    names = [field.name for field in fields]
    strings = [field.name for field in fields if field.kind != "object"]
    answered = 0
    for value, chosen in ((None, names), ("", strings)):
        body = accepted_body(fixture, "createBeneficiary", "individual with company_name")
        person, expected = Beneficiary(at, fixture, body), dict[str, Any]()
        answers = list[Exchange]()
        for name in chosen:
            what = f"a PATCH of {name} to {'an empty text' if value == '' else 'null'}"
            answer = person.patch({name: value}, what)
            if answer.succeeded and name in document(answer):
                answers.append(answer)
                expected[name] = answer.get(name)
            got = unusable(answer) or ("" if answer.refused else show(answer.get(name)))
            may_be = value == "" or nullable(members[name])
            empty = may_be and answer.succeeded and answer.get(name) in (None, "", MISSING)
            wanted = f"{what}: refused" + ", or the field empty" * may_be
            at.expect("beneficiary.update-cleared", wanted, "" if empty else got, answer, member=name)
            if not may_be and answer.succeeded:
                as_it_was = {name: person.created.get(name)}
                judge_members(at, "beneficiary.update", answer, as_it_was, f"{what}, refused or ignored")
        if not answers:
            continue
        answered += len(answers)
        what = f"a read after updates with {'empty texts' if value == '' else 'null'}"
        later = read_until(at, call("getBeneficiary", person.ids), what, expected)
        judge_members(at, "beneficiary.update", later, expected, shown_by=answers)
    if not answered:
        at.not_exercised("beneficiary.update", "the server takes neither null nor empty texts")


_ACUTE = str.maketrans("aeiou", "\u00e1\u00e9\u00ed\u00f3\u00fa")


@dataclass(frozen=True)
class Change:
    """A PATCH and its beneficiary, by the name of its probe. The first of `bodies` that the server accepts is
    judged; it may refuse all if `refusable`."""

    name: str
    bodies: list[Body]
    person: Beneficiary
    refusable: bool = False


#: Fields whose texts have a form; a server may want them unique.
_FORMS = [field.name for field in request_fields("updateBeneficiary") if field.form]

#: Field that a PATCH changes -> the texts of its beneficiary that equal it or are made of it: servers keep
#: derived members in step.
_DERIVED: Mapping[str, Sequence[Mapping[str, str]]] = {
    "title": ({"display_name": "{title} {first_name} {last_name}"},),
    "first_name": (
        {"display_name": "{first_name} {last_name}", "middle_name": "{first_name}"},
        {"display_name": "{first_name} {middle_name} {last_name}"},
    ),
    "middle_name": (
        {"display_name": "{first_name} {middle_name} {last_name}", "first_name": "{middle_name}"},
    ),
    "last_name": (
        {"display_name": "{first_name} {last_name}"},
        {"display_name": "{last_name}, {first_name}"},
        {"display_name": "{last_name} {first_name}"},
    ),
    "display_name": (dict.fromkeys(("display_name", "company_name", "note"), "{first_name} {last_name}"),),
    **{name: ({"note": f"{{{name}}}"},) for name in _FORMS},
    "note": ({"note": "{display_name}"},),
}


def _person(at: Check, fixture: Fixture, body: Body, derived: Mapping[str, str]) -> Beneficiary:
    """Creates a beneficiary with derived texts, unless the target file sets them or the server refuses it."""
    fixed = fixture.lane.samples.over("beneficiary")
    # Of letters only, as a server may refuse digits in a name.
    own = {"last_name": samples.marker().title()} if "last_name" not in fixed else {}
    texts = {**body, **own}
    names = [name for name in derived if name in body and name not in fixed]
    own_texts = {name: derived[name].format_map(texts) for name in names}
    with contextlib.suppress(Inconclusive):
        return Beneficiary(at, fixture, {**texts, **own_texts})
    return Beneficiary(at, fixture, body)


def _changes(at: Check, fixture: Fixture) -> Iterator[Change]:
    """The changes, each with a new beneficiary, those of single fields in this account, the others in another
    one: an account may hold only so many."""
    shape = "individual with company_name"
    for name in new_values(fixture):
        for derived in _DERIVED.get(name, ({},)):
            body, values = accepted_body(fixture, "createBeneficiary", shape), new_values(fixture, "city")
            person = _person(at, fixture, body, derived)
            body = person.created.call.document
            # Values that a server which compares loosely takes for those that it has.
            near = {
                "first_name": body["first_name"].upper(),
                "middle_name": body["middle_name"].translate(_ACUTE),
                "last_name": f"{body['last_name']}.",
                "display_name": f"{body['display_name']} II",
                "address": new_values(fixture, "region")["address"],
                "country_code": abroad(values),
            }
            yield Change(name, [{name: source[name]} for source in (near, values) if name in source], person)

    def usual(place: Fixture) -> Beneficiary:
        return Beneficiary(at, place, accepted_body(place, "createBeneficiary", shape))

    display_name = f"Grace B. Hopper {samples.marker()}"
    several = {**new_values(fixture, "city"), "display_name": display_name}
    yield Change("several fields", [several], furnished(at, usual))
    fixture = at.account(CREATED)
    company = {"company_name": f"Compilers {samples.marker()}"}
    # A server may allow a business neither title nor middle name.
    several = {
        name: value
        for name, value in new_values(fixture, "postal_code").items()
        if name not in ("beneficiary_type", "company_name", "title", "middle_name")
    }
    if accepts(at.lane, "createBeneficiary", "business"):
        bodies_of = (accepted_body(fixture, "createBeneficiary", "business") for _ in range(3))
        first, second, turned = (
            _person(at, fixture, body, {"display_name": "{company_name}"}) for body in bodies_of
        )
        yield Change("company_name", [company], first)
        yield Change("note of a business", [{**several, "first_name": "Mary", "last_name": "Lee"}], second)
        yield Change("beneficiary_type of a business", [{"beneficiary_type": "individual"}], turned)
        yield Change("beneficiary_type of what was a business", [{"beneficiary_type": "business"}], turned)
        # Last: a server that changes the type of others too would spoil the probe before.
        body = {"beneficiary_type": "business", **company}
        yield Change("beneficiary_type and company_name", [body], Beneficiary(at, fixture))
    for name in (row for row in BODIES[at.operation.id] if row not in SHAPES[at.operation.id]):
        if tries := bodies(fixture, at.operation.id, name):
            yield Change(name, tries, Beneficiary(at, fixture), refusable=True)
