"""Names of members (sections 4.1 to 4.7): letter by letter as documented, in objects too.

Some decoders read names in any letter case, serializers have aliases, and form binders read paths of names.
Members under other names (*strays*) have values of their own, which show where one of them counts."""

from __future__ import annotations

import itertools
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from conformance.checks.beneficiaries import Beneficiary
from conformance.checks.check import Check, check
from conformance.checks.defective_bodies import DefectiveBodies
from conformance.contract.fields import HIDDEN, Field, documented, request_fields
from conformance.contract.operation_sets import OPERATION_SETS
from conformance.contract.operations import OPERATIONS
from conformance.contract.traits import CREATES, TRAITS
from conformance.judge import outcomes
from conformance.judge.comparison import alike, show
from conformance.judge.outcomes import Got
from conformance.wire.messages import MISSING, Exchange, to_json
from conformance.world import samples
from conformance.world.bodies import bodies
from conformance.world.calls import call
from conformance.world.case import Case
from conformance.world.corpora.member_names import FLATTENED, nested, spellings, wrappers
from conformance.world.creations import created_in, creations
from conformance.world.lane import Fixture
from conformance.world.other_values import other_value
from conformance.world.samples import FREE, Body, marker
from conformance.world.shapes import accepted_body, accepts

RULE = "body.member-names"

#: Maximum bytes of strays in one body: front ends refuse long ones.
_MOST = 3000

#: A row of bodies in which all fields of an individual apply.
_PEOPLE = "individual with company_name"


@dataclass(frozen=True)
class Stray:
    """A member under another name, or in another place: the documented names of the field and, in an object,
    of its member (else ""), the name and its form in words, the value, and the path of the object that it
    stands in."""

    field: str
    member: str
    name: str
    form: str
    value: Any
    under: tuple[str, ...] = ()


def _defaults(operation: str) -> Mapping[str, Any]:
    """Fields that the create, or that of what an update changes, has a default for."""
    return TRAITS[TRAITS[operation].subset_of or operation].defaults


def _other(operation: str, field: Field, body: Body) -> Any:
    """Another valid value of a field than that of a body, or its default; the same where others depend on
    it."""
    name, traits = field.name, TRAITS[operation]
    value = body.get(name, _defaults(operation).get(name))
    nameless = name == "beneficiary_type" and "company_name" not in body
    if name.removesuffix("_id") in CREATES or name in (*traits.unique_pair, "type") or nameless:
        return value
    match field.type:
        case "boolean":
            return not value
        case "object":
            address = value or samples.address("state" if "state" in field.members else "region")
            return {**address, "address_line": f"1 {marker()} Street"}
    if name in FREE:
        return marker()
    numbers: dict[str, Callable[[], str]] = {
        "account_number": lambda: samples.digits(10),
        "iban": samples.iban,
        "wallet_address": lambda: f"0x{secrets.token_hex(20)}",
        "tax_id": lambda: samples.digits(9),
    }
    return numbers[name]() if name in numbers else other_value(name, str(value))


def _other_member(name: str, value: Any) -> str:
    """Another valid value of a member of an address."""
    known = {"country": other_value("country", str(value)), "postal_code": samples.digits(5)}
    return known.get(name) or ("CA" if name in ("region", "state") else marker())


def _strays(operation: str, body: Body) -> Iterator[Stray]:
    """Yields strays of each field, and of each member of an object, beside those of a body."""
    resource = TRAITS[operation].creates or OPERATIONS[operation].resource
    answered = [field for field in request_fields(operation) if field.name in documented(operation)]
    text = next((field for field in reversed(answered) if field.free), answered[0])
    for path in wrappers(resource):
        form, value = "in an object that some frameworks unwrap", _other(operation, text, body)
        yield Stray(text.name, "", text.name, form, value, under=path)
    for field in request_fields(operation):
        value = body.get(field.name)
        for name, form in spellings(field.name).items():
            if (other := _other(operation, field, body)) is not None:
                yield Stray(field.name, "", name, form, other)
        for member in field.members:
            inner = value.get(member) if isinstance(value, dict) else None
            for name, form in spellings(member).items() if inner is not None else ():
                # Of a form of its own: a server may be strict about the whole body alone.
                value_of = _other_member(member, inner)
                form_of = f"{form}, in {field.name}"
                yield Stray(field.name, member, name, form_of, value_of, under=(field.name,))
            for form, spelled in FLATTENED.items():
                name = spelled(field.name, member)
                yield Stray(field.name, member, name, form, _other_member(member, inner))


def _portions(strays: Iterable[Stray]) -> Iterator[list[Stray]]:
    """Divides strays among bodies."""
    portion, size = list[Stray](), 0
    for stray in strays:
        length = len(to_json({stray.name: stray.value}))
        if portion and size + length > _MOST:
            yield portion
            portion, size = [], 0
        portion.append(stray)
        size += length
    yield portion


def _with(body: Body, strays: Sequence[Stray], *, first: bool = False) -> Body:
    """Adds strays to a body, behind the documented members or, if `first`, before them."""

    more = nested(
        ((*each.under, each.name), each.value)
        for each in strays
        if each.under != (each.field,) or each.field in body
    )
    return _joined(more, body) if first else _joined(body, more)


def _joined(body: Body, more: Body) -> Body:
    """Adds members to a body and to the objects in it."""
    whole = dict(body)
    for name, value in more.items():
        own = whole.get(name)
        whole[name] = _joined(own, value) if isinstance(own, dict) and isinstance(value, dict) else value
    return whole


def _judge(at: Check, answer: Exchange, body: Body, strays: Sequence[Stray]) -> None:
    """Judges that a request was refused, or its answer shows no stray's value."""
    at.expect(RULE, *outcomes.refused_or_ignored(answer.purpose, answer))
    if answer.succeeded:
        expected = f"{answer.purpose}: members by their documented names only"
        at.expect(RULE, expected, _counted(at, answer, body, strays), answer)


def _counted(at: Check, answer: Exchange, body: Body, strays: Sequence[Stray]) -> Got:
    """Describes the first stray whose value an answer shows in place of that of a body; empty if none."""
    if reason := outcomes.memberless(answer):
        return reason
    operation = answer.operation or ""
    body = {**_defaults(at.operation.id), **body}
    for stray in strays:
        own = body.get(stray.field, MISSING)
        if stray.member:
            value, name = answer.get(stray.field, stray.member), f"{stray.field}.{stray.member}"
            own = own.get(stray.member) if isinstance(own, dict) else MISSING
            same = value == stray.value
        elif stray.field in HIDDEN:
            masks = (each for each in documented(operation) if each.startswith(f"{stray.field}_"))
            name = next(masks, stray.field)
            value = answer.get(name)
            whole = str(own)
            same = isinstance(value, str) and len(value) > 3 and value[-4:] == stray.value[-4:] != whole[-4:]
        else:
            value, name = answer.get(stray.field), stray.field
            same = alike(operation, stray.field, value, stray.value)
        if same and own != stray.value and not alike(operation, stray.field, value, own):
            return f"{name} {show(value)}, which was sent as {show('.'.join((*stray.under, stray.name)))}"
    return ""


def _in_turn(strays: Sequence[Stray]) -> Iterator[tuple[str, list[Stray]]]:
    """Groups strays by the form of their names."""
    for form in dict.fromkeys(each.form for each in strays):
        yield form, [each for each in strays if each.form == form]


# ---------------------------------------------------------------------- creates


@check(RULE, operations=OPERATION_SETS["create"])
def test_members_under_other_names(at: Check) -> None:
    """Members under other names, behind and before the documented ones, do not count, or are refused; so is a
    body with a required field under other names only. Where a server refuses unknown members, each form of a
    name comes alone."""
    operation = at.operation.id
    # Raises Inconclusive where the sample is refused.
    _ = creations(at.lane, operation)
    ignored = True
    for first in (False, True):
        for number in itertools.count():
            fixture = created_in(at.lane, operation)
            body = _valid(fixture, operation)
            if first:
                needed = at.operation.required_fields
                body = {name: value for name, value in body.items() if name in needed}
            portions = list(_portions(_strays(operation, body)))
            what = f"members under other names {'before' if first else 'behind'} the documented ones"
            answer = _send(at, fixture, _with(body, portions[number], first=first), what)
            _judge(at, answer, body, portions[number])
            ignored = ignored and answer.succeeded
            if number == len(portions) - 1:
                break
    if not ignored:
        body = _valid(created_in(at.lane, operation), operation)
        for form, _ in _in_turn([*_strays(operation, body)]):
            fixture = created_in(at.lane, operation)
            body = _valid(fixture, operation)
            strays = [each for each in _strays(operation, body) if each.form == form]
            answer = _send(at, fixture, _with(body, strays), f"names {form} beside the documented ones")
            _judge(at, answer, body, strays)
    engine = DefectiveBodies(at)
    engine.batch(_missing(engine, together=ignored))


def _valid(fixture: Fixture, operation: str) -> Body:
    """Builds a new valid body with as many fields as apply, but for those that have a default."""
    body = bodies(fixture, operation)[0]
    if operation == "createBeneficiary" and accepts(fixture.lane, operation, _PEOPLE):
        body = accepted_body(fixture, operation, _PEOPLE)
    return {name: value for name, value in body.items() if name not in _defaults(operation)}


def _send(at: Check, fixture: Fixture, body: Body, what: str) -> Exchange:
    return at.send(call(at.operation.id, fixture.ids(at.operation.id), body), what)


def _missing(engine: DefectiveBodies, *, together: bool) -> Iterator[Case]:
    """Yields bodies with a required field under other names only: under all of them if `together`, else
    under each; then all required fields under names of one form."""
    required = [field for field in request_fields(engine.operation) if field.required]
    for field in required:
        value, body = engine.good(field.name), engine.without(field.name)
        names = dict.fromkeys(spellings(field.name), value)
        if isinstance(value, dict):
            names |= {
                spelled(field.name, each): value[each] for spelled in FLATTENED.values() for each in value
            }
        if together:
            what = f"{field.name} under {len(names)} other names, such as {next(iter(names))}"
            yield engine.case(RULE, what, body=to_json({**body, **names}))
            continue
        for name, form in spellings(field.name).items():
            what = f"{field.name} under a name {form}"
            yield engine.case(RULE, what, body=to_json({**body, name: value}))
    if together:
        return
    for form in dict.fromkeys(form for field in required for form in spellings(field.name).values()):
        names = {
            each.name: name for each in required for name, of in spellings(each.name).items() if of == form
        }
        body = {names.get(name, name): value for name, value in engine.valid().items()}
        yield engine.case(RULE, f"required fields under names {form}", body=to_json(body))


# ---------------------------------------------------------------------- updates


@check(RULE, operations=("updateBeneficiary",))
def test_update_under_other_names(at: Check) -> None:
    """A PATCH with members under other names, beside a documented one or alone, changes none of them, in its
    answer and in a later read, or is refused. Where a server refuses unknown members, each form of a name
    comes alone."""
    fixture = at.account(fresh=True)
    person = Beneficiary(at, fixture, _valid(fixture, "createBeneficiary"))
    # Nothing that it had before shows that a PATCH changed it.
    known = {field.name: field.choices for field in request_fields(at.operation.id)}
    answered = {name: person.created.get(name) for name in _defaults(at.operation.id)}
    before = {name: value for name, value in answered.items() if value in known[name]}
    body, strays = {**before, **person.created.call.document}, list[Stray]()

    def patch(own: Body, portion: list[Stray], what: str) -> Exchange:
        answer = person.patch(_with(own, portion), what)
        body.update(own if answer.succeeded else {})
        _judge(at, answer, body, portion)
        strays.extend(portion)
        return answer

    answers = list[Exchange]()
    for portion in _portions(_strays(at.operation.id, body)):
        # A server may refuse a PATCH that names nothing.
        beside = {name: value for name, value in body.items() if isinstance(value, dict)}
        what = "members under other names beside a note and an address"
        answers.append(patch({"note": marker(), **beside}, portion, what))
        patch({}, portion, "members under other names alone")
    if not all(answer.succeeded for answer in answers):
        for form, portion in _in_turn([*_strays(at.operation.id, body)]):
            objects = {each.field: body[each.field] for each in portion if each.under == (each.field,)}
            patch(objects, portion, f"names {form} alone")
    later = person.read("the beneficiary after members under other names")
    expected = "a later read: members by their documented names only"
    at.expect(RULE, expected, _counted(at, later, body, strays), later)
