"""Valid bodies are accepted (sections 4.1 to 4.7): without optional fields, with any listed choice."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal

from conformance.checks.check import Check, check
from conformance.contract.fields import request_fields
from conformance.contract.operation_sets import OPERATION_SETS
from conformance.contract.operations import OPERATIONS
from conformance.contract.traits import TRAITS
from conformance.judge.comparison import show
from conformance.judge.effects import plain
from conformance.wire.messages import Exchange
from conformance.world import samples
from conformance.world.bodies import BODIES, bodies
from conformance.world.calls import call, renewed
from conformance.world.creations import created_in
from conformance.world.lane import Fixture
from conformance.world.refused_samples import refusal_of_valid
from conformance.world.samples import Body
from conformance.world.shapes import accepted_body, accepts, with_all_texts

RULE = "fields.accepts-valid"

#: Signs that are escaped in HTML, JSON or SQL; those that front ends refuse as markup apart from the others.
SIGNS = ("&\"'\\", "<")

#: Probe, and row, of common names that simple validation refuses.
_NAMES = "names with a hyphen, of one letter and of several words"

#: operationId -> probe -> row of BODIES.
_ADDITIONS = {
    "createBeneficiary": {
        "beneficiary_type individual": "individual",
        "beneficiary_type business": "business",
        _NAMES: _NAMES,
    },
    "createPayoutDestination": {
        "is_default true": "the default",
        "is_default false": "no default",
        "account_type checking": "account_type checking",
        "account_type savings": "account_type savings",
    },
    # With fewer digits than the samples' amounts: above a minimum that a server may have, and within the
    # funds.
    "createPayout": {"the amount 1": "the amount 1", "the amount 1.1": "the amount 1.1"},
    "createPayin": {"the amount 10": "the amount 10", "the amount 10.1": "the amount 10.1"},
    "createVirtualAccount": {"an address": "an address"},
}


def sound_bodies(fixture: Fixture, operation: str) -> dict[str, Body]:
    """Returns new valid bodies by name: the sample, without optional fields, and with additions."""

    def without(*names: str) -> Body:
        return {name: value for name, value in fixture.body(operation).items() if name not in names}

    kind = OPERATIONS[operation].resource
    sample = "payout_destination.bank_account" if kind == "payout_destination" else kind
    fixed = fixture.lane.samples.over(sample).keys()
    # Nothing open depends on what applies in every shape, unlike bank details (section 2.10).
    usual = [field.name for field in request_fields(operation) if not field.required and not field.shape]
    optional = [name for name in usual if name in without() and name not in fixed]
    rows = {"the sample": without()}
    rows |= {f"the sample without {name}": without(name) for name in optional}
    if len(optional) > 1:
        rows["required fields only"] = without(*optional)
    # A required free text takes any words up to its maximum, as it tells resources apart.
    if (name := TRAITS[operation].free_text) in OPERATIONS[operation].required_fields:
        for words in ("Savings", "Travel 2026 and more"):
            body = {**without(), name: f"{words} {samples.marker()}"}
            rows[f"{name} {words!r} and a word of its own"] = body
    for name, row in _ADDITIONS.get(operation, {}).items():
        changes = BODIES[operation][row]
        members = set() if callable(changes) else set(changes[0])
        if not members & fixed and ("account_type" not in members or "account_type" in without()):
            tries = bodies(fixture, operation, row)
            several = len(tries) > 1 and accepts(fixture.lane, operation, row)
            rows[name] = accepted_body(fixture, operation, row) if several else tries[0]
    return rows


@check(RULE, operations=tuple(operation for operation in OPERATIONS if not TRAITS[operation].subset_of))
def test_sound_bodies_are_accepted(at: Check) -> None:
    """The sample, the sample without each and without all of its optional fields, with other words in a
    required text, and with each listed choice are accepted, if at least one of them is."""
    operation = at.operation.id
    answers, aside = dict[str, Exchange](), dict[str, Exchange]()
    for what, body in sound_bodies(created_in(at.lane, operation), operation).items():
        fixture = _place(at, body)
        ids = fixture.ids(operation)
        answer = at.find(call(operation, ids, body), f"{what}, which is valid")
        if at.operation.traits.unique_pair and not answer.succeeded:
            # Where a pair is unique in all accounts, other labels are refused as well.
            labels = (fixture.body(operation)["label"], f"Savings {samples.marker()}")
            others = [
                call(operation, ids, {**body, "label": each}) for each in labels if each != body["label"]
            ]
            if not at.until_accepted(others, "another label in the same account")[-1].succeeded:
                continue
        if at.operation.traits.draws_on_funds and not answer.succeeded:
            again, *others = (call(operation, ids, other) for other in _payouts_of_no_less(fixture, body))
            if (later := at.send(again, "the same of a greater amount")).succeeded:
                # The first amount may have been refused as a duplicate.
                answer = later
            elif not at.until_accepted(others, "another payout of no less")[-1].succeeded:
                # The funds or a daily limit are exhausted.
                aside[what] = answer
                continue
        answers[what] = answer
    accepted = [what for what, answer in answers.items() if answer.succeeded]
    refused = [answer for answer in answers.values() if answer.refused]
    # A wallet with another label was accepted where one is refused: there is room.
    if accepted and refused and not at.operation.traits.unique_pair:
        _look_for_quota(at, accepted[0], refused[-1])
    _judge_all(at, answers or aside)


def _place(at: Check, body: Body) -> Fixture:
    """The fixture for a valid body: each wallet has an account of its own, in which its pair is not taken,
    and each default destination a new beneficiary, as a second default may be refused."""
    fixture = created_in(at.lane, at.operation.id)
    return Fixture(at.lane, account_id=fixture.account_id) if body.get("is_default") else fixture


def _look_for_quota(at: Check, what: str, refused: Exchange) -> None:
    """Sends another body of a name that was accepted to the path of a refused one. Raises Inconclusive if it
    is refused there."""
    body = sound_bodies(created_in(at.lane, at.operation.id), at.operation.id)[what]
    again = renewed(refused.call.with_json(body))
    answer = at.send(again, f"{what}, which was accepted before, where another was refused")
    if answer.refused:
        raise refusal_of_valid(answer)


def _payouts_of_no_less(fixture: Fixture, body: Body) -> Iterator[Body]:
    """Yields payouts of at least the same amount: first the body with a greater amount, then the sample and
    its required fields alone, in amounts with two decimals, none and one."""
    asked = plain(body["amount"]) or Decimal(1)
    yield {**body, "amount": f"{asked + 1}"}
    usual, whole = fixture.body("createPayout"), math.ceil(asked)
    required = {name: usual[name] for name in OPERATIONS["createPayout"].required_fields}
    for amount in (f"{whole}.99", f"{whole}", f"{whole}.5"):
        yield from ({**other, "amount": amount} for other in (usual, required))


@check(RULE, operations=("updateBeneficiary",))
def test_sound_updates_are_accepted(at: Check) -> None:
    """A PATCH of each field of the sample alone, of all of them, of each beneficiary_type, and of a business'
    company_name is accepted, if at least one of these is."""
    fixture = at.account(fresh=True)
    sample = fixture.lane.samples.beneficiary()
    patches = {f"a PATCH of {name} alone": {name: value} for name, value in sample.items()}
    patches["a PATCH of all fields of the sample"] = sample
    if not samples.BUSINESS.keys() & set(fixture.lane.samples.over("beneficiary")):
        business = samples.changed({}, samples.BUSINESS)
        patches["a PATCH of beneficiary_type individual"] = {"beneficiary_type": "individual"}
        patches["a PATCH of beneficiary_type business and company_name"] = business
        patches["a PATCH of a business' company_name alone"] = {"company_name": business["company_name"]}
    calls = {what: fixture.call(at.operation.id, body) for what, body in patches.items()}
    _judge_all(at, {what: at.find(call, f"{what}, which is valid") for what, call in calls.items()})


# ---------------------------------------------------------------------- texts of any words


def _needed_texts(operation: str) -> list[str]:
    """The required fields that take any words."""
    return [field.name for field in request_fields(operation) if field.required and field.free]


def _limited_texts(operation: str) -> dict[str, int]:
    """The fields that take any words, with their maximum lengths."""
    return {
        field.name: field.max_length for field in request_fields(operation) if field.free and field.max_length
    }


@check(RULE, operations=tuple(filter(_needed_texts, OPERATION_SETS["body"])))
def test_zero_as_a_text(at: Check) -> None:
    """A required text that is 0, which counts as false in some languages, is accepted where another digit is
    accepted twice: a server may have a form of names, or want unique ones."""
    names = _needed_texts(at.operation.id)
    _judge_texts(at, RULE, dict.fromkeys(names, "0"), dict.fromkeys(names, "7"))


@check("fields.max-length-accepted", operations=tuple(filter(_limited_texts, OPERATION_SETS["body"])))
def test_longest_text_of_signs(at: Check) -> None:
    """A text of the maximum length, of signs that are escaped where texts become HTML, JSON or SQL, is taken
    and returned whole where one of so few of these signs is that it has room when they are escaped."""
    rule, limits = "fields.max-length-accepted", _limited_texts(at.operation.id)

    for signs in SIGNS:
        longest = {name: f"{samples.marker()} {signs * limit}"[:limit] for name, limit in limits.items()}
        short = {
            name: f"{samples.marker()} {(signs * limit)[: limit // 7]}" for name, limit in limits.items()
        }
        for answer in _judge_texts(at, rule, longest, short, _of_signs):
            for name, text in longest.items():
                got = answer.get(name)
                if name in answer.call.document and isinstance(got, str):
                    cut = len(got) < len(text) and got[:20] == text[:20]
                    lost = f"{len(got)} characters of it" if cut else ""
                    expected = f"{name} {_of_signs(text)}, to come back whole"
                    at.expect(rule, expected, lost, answer, member=name)


def _of_signs(text: str) -> str:
    return f"of {len(text)} characters, the last ones {show(text[-4:])}"


def _judge_texts(
    at: Check,
    rule: str,
    texts: Mapping[str, str],
    others: Mapping[str, str],
    described: Callable[[str], str] = show,
) -> list[Exchange]:
    """Judges that texts are accepted, all in one body or else each in one of its own, where another text in
    its place is accepted twice. Returns the accepted answers."""
    operation, traits = at.operation.id, at.operation.traits
    fixture = at.account(fresh=True) if traits.subset_of else created_in(at.lane, operation)

    def send(chosen: Mapping[str, str]) -> Exchange:
        # A wallet takes an account of its own.
        place = created_in(at.lane, operation) if traits.once else fixture
        body = {} if traits.subset_of else with_all_texts(place, operation)
        what = " and ".join(f"{name} {described(text)}" for name, text in chosen.items())
        return at.send(place.call(operation, {**body, **chosen}), what)

    if (together := send(texts)).succeeded:
        at.accepted(rule, together)
        return [together]
    answers = list[Exchange]()
    for name, text in texts.items() if at.usable(rule, together) else ():
        answer = send({name: text})
        if not at.usable(rule, answer):
            continue
        answers += [answer] if answer.succeeded else []
        if answer.succeeded or all(send({name: others[name]}).succeeded for _ in range(2)):
            at.accepted(rule, answer)
        else:
            other = f"{name} {described(others[name])}"
            at.not_exercised(rule, f"{answer.purpose} was refused, but so was {other}")
    return answers


def _judge_all(at: Check, answers: Mapping[str, Exchange]) -> None:
    """Judges that all were accepted. Raises Inconclusive where none was, as a sample may not fit a server."""
    if answers and not any(answer.succeeded for answer in answers.values()):
        raise refusal_of_valid(next(iter(answers.values())))
    for answer in answers.values():
        at.accepted(RULE, answer)
