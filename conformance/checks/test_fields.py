"""Fields of bodies (sections 4.1 to 4.7 and 8): required ones, JSON types, choices, codes and lengths.

Servers may validate each kind of body by a schema of its own: in others than the sample (`where`) one wrong
value for a field is enough."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlencode

from conformance.checks.check import Check, check
from conformance.checks.defective_bodies import Cases, DefectiveBodies, Fields, engines, field_table
from conformance.checks.engine import table
from conformance.checks.side_effects import UNTOUCHED
from conformance.contract.field_rules import FIELD_RULES, OTHER_CURRENCIES, FieldRule
from conformance.contract.fields import Field, request_fields
from conformance.contract.operations import OPERATIONS
from conformance.contract.rules import RULES
from conformance.judge.comparison import sent_document, show
from conformance.judge.outcomes import memberless, unless_malformed
from conformance.wire.messages import Call, Exchange
from conformance.world import samples
from conformance.world.bodies import SAMPLE, bodies
from conformance.world.calls import call
from conformance.world.case import Case
from conformance.world.corpora import readable, values
from conformance.world.corpora.member_names import nested, wrappers
from conformance.world.corpora.texts import WRONG_CODES
from conformance.world.corpora.wrong_values import (
    email,
    email_with_long_name,
    letters,
    longest,
    plain,
    too_long,
    wrong_choices,
    wrong_optional_types,
    wrong_types,
)
from conformance.world.refused_samples import refusal_of_valid
from conformance.world.shapes import by_shape

#: Fields that another field's value may require, each with a valid value.
_CALLED_FOR = {"company_name": "Analytical Engines", "network": "ethereum"}


@field_table("fields.required", lambda field: field.required)
def test_required_field_missing(engine: DefectiveBodies, fields: Fields) -> Cases:
    """A valid body without one required field is refused, each field in turn, in each kind of body that the
    server accepts, and so is an empty object, also with all texts in the query, or all fields in a member of
    the body; nothing is created."""
    rule = "fields.required"
    for field in fields:
        yield engine.defective(rule, f"{field.name} left out", engine.without(field.name))
    if not engine.where:
        # In JavaScript this member may become the prototype of the body, or of all objects.
        yield engine.defective(rule, "an object with all fields in __proto__", {"__proto__": engine.valid()})
        required = {name: engine.valid()[name] for name in engine.at.operation.required_fields}
        paths = wrappers(engine.traits.creates or "")
        under = nested(((*path, name), value) for path in paths for name, value in required.items())
        places = ", ".join(map(".".join, paths))
        yield engine.defective(rule, f"an object with all fields in members of it ({places})", under)
        # Some frameworks read query and body as one.
        texts = [(key, value) for key, value in engine.valid().items() if isinstance(value, str)]
        yield engine.case(
            rule, "an empty object, with its texts in the query", body=b"{}", query=urlencode(texts)
        )
    names = {field.name for field in fields}
    if not engine.where and (engine.valid().keys() != names or len(names) > 1):
        yield engine.defective(rule, "an empty object", {})


@field_table("fields.required-null", lambda field: field.required)
def test_required_field_null(engine: DefectiveBodies, fields: Fields) -> Cases:
    """A valid body with null for a required field is refused, each in turn, in each kind of body accepted."""
    for field in fields:
        yield from engine.wrong("fields.required-null", field, [("null", None)], "{}")


@field_table("fields.type", lambda field: field.required)
def test_required_field_of_another_type(engine: DefectiveBodies, fields: Fields) -> Cases:
    """A valid body in which a required field has a number, a boolean, an array or an object for a string (or
    anything but an object for an address) is refused, on update as well; in each other kind of body that the
    server accepts, a number."""
    for field in fields:
        kinds = [("a number", 1)] if engine.where else wrong_types(field, engine.good(field.name))
        yield from engine.wrong("fields.type", field, kinds)


@field_table("fields.address", lambda field: field.name == "address")
def test_address_that_is_no_object(engine: DefectiveBodies, fields: Fields) -> Cases:
    """A valid body whose address is a string, a number, a boolean or an array is refused."""
    for field in fields:
        yield from engine.wrong("fields.address", field, wrong_types(field, engine.good(field.name)))


@field_table("fields.address-types", lambda field: field.name == "address")
def test_address_with_a_member_of_another_type(engine: DefectiveBodies, fields: Fields) -> Cases:
    """A valid body whose address has a number, a boolean, an array or an object for one of its texts is
    refused. A number stands for each text of the sample, the other types for some, in turn."""
    rule = "fields.address-types"
    turn = RULES[rule].operations.index(engine.operation)
    turns = range(3 * turn, 3 * turn + 3)
    for field in fields:
        good = engine.good(field.name) or samples.address("state")
        kinds: list[tuple[str, str, Any]] = [(member, "a number", 5) for member in field.members]
        if engine.where:
            turns, kinds = range(9 + 2 * turn, 10 + 2 * turn), []
        for number in turns:
            member = field.members[number % len(field.members)]
            others = (("true", True), ("an array", [good[member]]), ("an object", {"value": good[member]}))
            kinds.append((member, *others[number % len(others)]))
        for member, kind, value in kinds:
            name = f"address with {member} as {kind}"
            yield engine.defective(rule, name, engine.having(field.name, {**good, member: value}))


@field_table("fields.optional-type", lambda field: not field.required)
def test_optional_field_of_another_type(engine: DefectiveBodies, fields: Fields) -> Cases:
    """A valid body in which an optional field has an array, an object, a number or a boolean for a string (or
    a text for a boolean or an address) is refused, in a body where the field applies or is shown."""
    if engine.shape == SAMPLE and not engine.traits.subset_of:
        # A server may ignore fields that nothing requires, unless it shows them; found out before the first
        # snapshot, as it creates resources.
        called_for = (field for field in request_fields(engine.operation) if field.name in _CALLED_FOR)
        fields = [*fields, *(field for field in called_for if _echoed(engine, field.name))]
    # Of a field that the valid body lacks, made from "1".
    kinds = ((field, wrong_optional_types(field, engine.good(field.name, "1"))) for field in fields)
    return (case for field, wrong in kinds for case in engine.wrong("fields.optional-type", field, wrong))


def _echoed(engine: DefectiveBodies, name: str) -> bool:
    """True if a resource created with an optional field that nothing requires shows it."""
    body = engine.having(name, _CALLED_FOR[name])
    answer = engine.at.send(call(engine.operation, engine.ids, body), f"a valid body with {name}")
    return answer.succeeded and answer.get(name) == _CALLED_FOR[name]


@table("fields.company-name", UNTOUCHED, engine=lambda at: DefectiveBodies(at, "business"))
def test_business_without_company_name(engine: DefectiveBodies) -> Iterator[Case]:
    """A business beneficiary without company_name, or with null for it, is refused."""
    rule, field = "fields.company-name", "company_name"
    yield engine.defective(rule, "a business without company_name", engine.without(field))
    yield engine.defective(rule, "a business whose company_name is null", engine.having(field, None))


@table("fields.network", UNTOUCHED, engine=lambda at: DefectiveBodies(at, "wallet"))
def test_wallet_destination_without_network(engine: DefectiveBodies) -> Iterator[Case]:
    """A wallet destination without network, in several currencies, or with null for it, is refused."""
    rule, field = "fields.network", "network"
    yield engine.defective(rule, "a wallet destination without network", engine.without(field))
    yield engine.defective(rule, "a wallet destination whose network is null", engine.having(field, None))
    # A server that accepts no other currency refuses these as well.
    for body in bodies(engine.fixture, engine.operation, "wallet"):
        if (currency := body["currency"]) != engine.valid()["currency"]:
            name = f"a wallet destination in {currency} without network"
            yield engine.defective(rule, name, {key: value for key, value in body.items() if key != field})


@check("http.validation-status")
def test_status_of_a_field_failure(at: Check) -> None:
    """Records the status for a missing required field or, on update, for one of the wrong type."""
    engine = DefectiveBodies(at)
    engine.must_accept()
    fields = request_fields(at.operation.id)
    required = next(field for field in fields if field.required and field.type == "string")
    if at.operation.traits.subset_of:
        question, body = "a field of the wrong type", {required.name: [engine.good(required.name)]}
    else:
        question, body = "a missing required field", engine.without(required.name)
    at.record("http.validation-status", engine.send(call(engine.operation, engine.ids, body), question))


# ---------------------------------------------------------------------- choices and codes


@field_table("fields.enum", lambda field: field.choices)
def test_value_outside_the_enumeration(engine: DefectiveBodies, fields: Fields) -> Cases:
    """A valid body with a value that an enumeration does not list, some with the beginning or the end of a
    listed one, is refused, in each kind of body: whatever a word is taken for, the other fields fit it."""
    for field in fields:
        wrong = ((value, value) for value in wrong_choices(field))
        yield from engine.wrong("fields.enum", field, wrong, '"{}"')


def _of_fiat(engine: DefectiveBodies, fields: Fields) -> Fields:
    """Returns the fields with codes of ISO standards: wallets have no fiat currency."""
    return [field for field in fields if field.code != "currency" or engine.shape != "wallet"]


def _codes(engine: DefectiveBodies, fields: Fields) -> Cases:
    """Yields country codes that are not two letters, and currency codes that are not three."""
    for field in _of_fiat(engine, fields):
        wrong = ((readable(value), value) for value in values(WRONG_CODES[field.code]))
        yield from engine.wrong(f"fields.{field.code}-code", field, wrong, '"{}"', elsewhere=2)


@field_table("fields.country-code", lambda field: field.code == "country")
def test_malformed_country_code(engine: DefectiveBodies, fields: Fields) -> Cases:
    """A valid body of any kind whose country code is not two letters is refused."""
    return _codes(engine, fields)


@field_table("fields.currency-code", lambda field: field.code == "currency")
def test_malformed_currency_code(engine: DefectiveBodies, fields: Fields) -> Cases:
    """A valid body whose fiat currency code is not three letters is refused; wallets have none."""
    return _codes(engine, fields)


@check("fields.country-code", "fields.currency-code", "fields.enum", operations=OPERATIONS)
def test_value_written_otherwise(at: Check) -> None:
    """A code or a listed value with a line feed behind it, which `$` of many regular expressions lets by, and
    a listed one in capitals may be taken for it: an answer shows letters alone, or a listed value."""
    written = [field for field in request_fields(at.operation.id) if field.code or field.choices]
    for shape, fields in by_shape(written).items():
        invalid = DefectiveBodies(at, shape)
        for field in _of_fiat(invalid, fields):
            usual = field.choices or ({"country": "US"}.get(field.code, "USD"),)
            form = ("a listed value", usual.__contains__) if field.choices else ("letters", str.isalpha)
            value = invalid.valid().get(field.name) or usual[0]
            rule = f"fields.{field.code}-code" if field.code else "fields.enum"
            for way, text in {"with a line feed": f"{value}\n", "in capitals": value.upper()}.items():
                if text != value:
                    answer = at.send(_call(at, invalid, {field.name: text}), f"{field.name} {way}")
                    _judge_taken(invalid, rule, answer, field.name, *form)


def _judge_taken(
    invalid: DefectiveBodies, rule: str, answer: Exchange, name: str, form: str, fits: Callable[[str], object]
) -> None:
    """Judges that a text written otherwise is refused, or shown in a form that it then `fits`."""
    value = answer.get(name) if answer.succeeded else None
    if invalid.stop and not answer.succeeded:
        return invalid.unclear(rule, answer.purpose, answer)
    if why := memberless(answer):
        return invalid.at.unclear(rule, why, answer)
    text = isinstance(value, str)
    lost = "" if value is None or (text and fits(value)) else show(value)
    judgement = f"{name} of {form}, or a refusal", lost, answer
    invalid.at.expect(rule, *unless_malformed(judgement, *[(answer, name)][text:]), member=name)


#: Rules whose rows have examples of what they exclude.
_EXEMPLIFIED = {row.rule: row for row in FIELD_RULES if row.examples}
_COVERED = {operation for rule in _EXEMPLIFIED for operation in RULES[rule].operations}


@check(*_EXEMPLIFIED, UNTOUCHED, operations=_COVERED)
def test_excluded_values(at: Check) -> None:
    """A valid body of any kind with a value that a rule excludes, such as the country code ZZ or the currency
    code ZZZ, which are not assigned, is refused."""
    for rule in at.rules:
        if row := _EXEMPLIFIED.get(rule):
            fields = [field for field in request_fields(at.operation.id) if row.examples_of(field)]
            for engine, own in engines(at, fields):
                engine.batch(_excluded(engine, row, own))


def _excluded(engine: DefectiveBodies, row: FieldRule, fields: Fields) -> Cases:
    for field, value in row.wrong_values(engine.operation, fields, engine.valid()):
        body = engine.having(field.name, value)
        yield engine.defective(row.rule, f"{field.name} {show(value)}", body)


@table("fields.currency-kind", UNTOUCHED, engine=DefectiveBodies)
def test_currency_of_the_other_kind(engine: DefectiveBodies) -> Iterator[Case]:
    """A virtual account, a bank account or a payin in a cryptocurrency is refused, and so is a wallet in a
    fiat currency."""
    rule, kind = "fields.currency-kind", "fiat" if engine.traits.unique_pair else "crypto"
    if engine.valid().get("type") == "wallet":
        engine.at.not_exercised(rule, "the server accepts no bank account")
        return
    for code in OTHER_CURRENCIES[engine.operation]:
        yield engine.defective(rule, f"currency {code}, which is {kind}", engine.having("currency", code))


# ---------------------------------------------------------------------- lengths

#: A letter outside the basic plane: one code point, two UTF-16 units, four bytes.
_ASTRAL = "\U0001d49c"


@field_table("fields.max-length", lambda field: field.max_length)
def test_longer_than_maximum(engine: DefectiveBodies, fields: Fields) -> Cases:
    """A valid body in which a field is one character too long, in ASCII and in other letters, or far too long
    is refused, each field in turn; one character too long in each other kind of body as well."""
    for field in fields:
        how, kinds = f"of {{}} (at most {field.max_length})", list(too_long(field))
        # Each field in a body of each row.
        count = max(len(kinds), engine.turns)
        yield from engine.wrong(
            "fields.max-length", field, itertools.islice(itertools.cycle(kinds), count), how
        )


def _free_texts(operation: str) -> list[Field]:
    return [field for field in request_fields(operation) if field.free and field.max_length is not None]


@check("fields.max-length-accepted", "fields.other-scripts")
def test_exactly_the_maximum(at: Check) -> None:
    """A field of exactly its maximum length, of non-ASCII letters where it is free text, is accepted and
    returned whole. A server that refuses even a short text of such letters accepts the maximum in ASCII; one
    that keeps to RFC 5321, an e-mail address of 254 characters."""
    limited = [field for field in request_fields(at.operation.id) if field.max_length is not None]
    for shape, fields in by_shape(limited).items():
        invalid = DefectiveBodies(at, shape)
        for field in fields:
            if (value := longest(field)) is not None:
                _judge_longest(at, invalid, field, value)


@check("fields.max-length", operations=tuple(filter(_free_texts, RULES["fields.max-length"].operations)))
def test_longer_by_spaces(at: Check) -> None:
    """A text of its maximum length with two spaces behind it may be taken without them; they count where the
    answer shows them."""
    for shape, fields in by_shape(_free_texts(at.operation.id)).items():
        invalid = DefectiveBodies(at, shape)
        for field in fields:
            changes = {field.name: plain(field) + "  "}
            answer = at.send(_call(at, invalid, changes), f"{field.name} of the maximum and two spaces")
            most = field.max_length
            form, fits = f"{most} characters at most", re.compile(f"(?s).{{0,{most}}}").fullmatch
            _judge_taken(invalid, "fields.max-length", answer, field.name, form, fits)


def _judge_longest(at: Check, invalid: DefectiveBodies, field: Field, value: str) -> None:
    rule, scripts = "fields.max-length-accepted", "fields.other-scripts"

    def send(value: str) -> Exchange:
        signs = "characters" if value.isascii() else "non-ASCII letters"
        return at.send(_call(at, invalid, {field.name: value}), f"{field.name} of {len(value)} {signs}")

    answer = send(value)
    if answer.refused and field.name == "email" and not send(email_with_long_name()).succeeded:
        # As long as RFC 5321 allows.
        answer = send(email(254))
    if invalid.stop and not answer.succeeded:
        for each in (rule, scripts):
            invalid.unclear(each, answer.purpose, answer)
        return
    if answer.refused and not answer.throttled:
        shorter = _call(at, invalid, {})
        if "amount" in answer.call.document:
            # The same amount, which a server may refuse as a duplicate.
            shorter = shorter.with_field("amount", answer.call.document["amount"])
        control = at.send(shorter, "the same body with a shorter value")
        if not control.succeeded:
            why = refusal_of_valid(control).why.because(f"{answer.purpose} was refused, and so was a shorter")
            for each in (rule,) if value.isascii() else (rule, scripts):
                at.unclear(each, why, answer, control, choice=each == scripts)
            return
        if field.short:
            # Of a short text a server may have a list, or a form of its own.
            return
        short = send(letters(8)) if not value.isascii() else None
        if short is not None and at.usable(scripts, short) and not at.accepted(scripts, short):
            answer = send(plain(field))
    elif answer.succeeded and not value.isascii():
        at.accepted(scripts, answer)
    if at.accepted(rule, answer):
        what, name = f"{answer.purpose}, to come back whole", field.name
        at.expect(rule, what, _spoilt(answer, name), answer, member=name)


def _spoilt(answer: Exchange, name: str) -> str:
    """Damage to a returned value, cut off or with letters replaced; create.echo judges other differences."""
    got, value = answer.get(name), str(sent_document(answer.call).get(name))
    if not isinstance(got, str) or not got or got == value:
        return ""
    if value.startswith(got.rstrip(".\u2026")):
        return f"the first {len(got)} characters"
    return "other letters" if len(got) == len(value) and ("?" in got or "\ufffd" in got) else ""


def _call(at: Check, invalid: DefectiveBodies, changes: dict[str, Any]) -> Call:
    """Builds a valid call with some fields changed; each wallet in a new account."""
    if at.operation.traits.subset_of:
        return call(at.operation.id, invalid.ids, changes or invalid.valid())
    if at.operation.traits.unique_pair:
        fixture = at.account(fresh=True)
        return fixture.call("createWallet", {**fixture.body("createWallet"), **changes})
    return call(at.operation.id, invalid.ids, {**invalid.valid(), **changes})


@check("fields.max-length-astral")
def test_characters_outside_the_basic_plane(at: Check) -> None:
    """Records whether a character outside the basic plane counts once or twice towards a maximum."""
    for count in (255, 127):
        what = f"{count} characters outside the basic plane, 255 being the maximum"
        answer = at.send(_call(at, DefectiveBodies(at), {"name": _ASTRAL * count}), what)
        at.record("fields.max-length-astral", answer)
        if answer.succeeded:
            break
