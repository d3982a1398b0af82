"""What requests ask of the form of their answers (sections 4 and 7): it is JSON with the same values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from conformance.checks.auth_probes import AuthProbes
from conformance.checks.check import Check, check
from conformance.checks.list_judging import stocked
from conformance.checks.members import mismatches
from conformance.contract.fields import documented, request_fields
from conformance.contract.operations import item_fields, response_problems
from conformance.judge.comparison import MOVING, alike, document, objects, same, sent_document, show
from conformance.judge.oracle import UNKNOWN
from conformance.judge.outcomes import Got, unusable
from conformance.judge.timeliness import untimely
from conformance.wire.messages import MISSING, Auth, Call, Exchange
from conformance.wire.pages import page_of
from conformance.world.calls import parameters, renewed
from conformance.world.corpora import headers, values
from conformance.world.purposes import PAYOUTS
from conformance.world.sender import refusal_of_valid

RULE = "http.negotiation"

#: Further demands beside them: neither is a reason for another form.
_BESIDE = (("Accept-Charset", "utf-16, iso-8859-1;q=0.5"), ("Accept-Encoding", "gzip, identity;q=0.5"))


#: Headers, by name and value.
Asking = tuple[tuple[str, str], ...]

#: What refused requests accept: a list with JSON first makes no server write its errors otherwise.
_REFUSED = tuple(each for each in values(headers.ACCEPTED) if not each.startswith("application/json"))


def _asking(at: Check, accepted: Sequence[str]) -> Iterator[Asking]:
    """Headers that ask for a form, those of each operation by turns."""
    turn = AuthProbes.turn
    place, traits = AuthProbes(at, proven=False), at.operation.traits
    for ahead, languages in enumerate((headers.WORDS, headers.SCRIPTS)):
        accept = turn(place, accepted, 2 * ahead)
        language = turn(place, values(languages), ahead)
        if languages is headers.WORDS and (traits.moves_money or traits.shows_balances):
            # Amounts have decimals.
            language = values(languages)[0]
        yield ("Accept", accept), ("Accept-Language", language), *(_BESIDE if ahead else ())


def _named(asking: Asking) -> str:
    return " and ".join(f"{name}: {value}" if value else f"no {name}" for name, value in asking[:2])


@check(RULE)
def test_answers_are_json_with_the_same_values(at: Check) -> None:
    """Valid and refused requests with and without Accept, in languages of several scripts and calendars: the
    answers are JSON, with the values and errors that the same request has without."""
    pairs = zip(_asking(at, values(headers.ACCEPTED)), _asking(at, _REFUSED), strict=True)
    for number, (asking, refusing) in enumerate(pairs):

        def ask(usual: Call, asking: Asking = asking) -> Exchange:
            return at.shown(usual.but(headers=asking), f"a valid request with {_named(asking)}")

        answer = at.accepted_as(RULE, ask, _valid(at))
        if not answer.succeeded:
            continue
        usual = answer.call.but(headers=())
        plain = at.send(usual, "the same read without") if answer.method == "GET" else None
        expected = f"{answer.purpose}: JSON, with the values it has without"
        at.expect(RULE, expected, _otherwise(answer, plain), answer, *filter(None, [plain]))
        refused = _refused(at, number)
        plain = at.send(refused, "a request that is refused")
        again = renewed(refused).but(headers=refusing)
        answer = at.send(again, f"{plain.purpose}, with {_named(refusing)}")
        expected = f"{answer.purpose}: {plain.described()}, as JSON"
        at.expect(RULE, expected, _refused_otherwise(answer, plain), answer, plain)


def _valid(at: Check) -> Call:
    """A valid call, of a read whose answer has something to show."""
    if at.operation.traits.shows_balances:
        return at.run.account(PAYOUTS).call(at.operation.id)
    return stocked(at).call if at.operation.is_list else at.valid()


def _refused(at: Check, number: int) -> Call:
    """A request for an unknown resource, and one with a wrong signature."""
    place = AuthProbes(at, proven=False)
    if number:
        return place.usual({parameters(at.operation.id)[0]: UNKNOWN})
    return place.usual().but(auth=Auth(mistake="other middle digit"))


def _form(answer: Exchange) -> Got:
    """Describes an answer that is no JSON, or is not declared so."""
    if lost := unusable(answer):
        return lost
    declared = answer.header("content-type") or "no Content-Type"
    if answer.document is MISSING:
        return f"{answer.status} with {answer.unread}, {declared[:80]}"
    is_json = declared.partition(";")[0].strip().lower() == "application/json"
    return "" if is_json else f"{answer.status} with {declared[:80]}"


def _otherwise(answer: Exchange, plain: Exchange | None) -> Got:
    """Describes what an accepted answer shows otherwise than a plain one, or than what was sent."""
    operation = answer.operation or ""
    if form := _form(answer):
        return form
    if problems := response_problems(operation, answer.document):
        return f"{problems[0].pointer or 'the body'}: {problems[0].message}"
    if plain is not None:
        before = _resources(plain)
        for identity, resource in _resources(answer).items():
            for name, value in resource.items():
                other = before.get(identity, {}).get(name, value)
                if name not in MOVING and not same(value, other) and not alike(operation, name, value, other):
                    return f"{name} {show(value)}"
        return untimely(answer)
    body = sent_document(answer.call)
    formed = [each.name for each in request_fields(operation) if each.code or each.kind in ("enum", "amount")]
    expected = {name: body[name] for name in formed if name in body and name in documented(operation)}
    names = mismatches(answer, expected)
    return f"{names[0]} {show(answer.get(names[0]))}" if names else untimely(answer)


def _resources(answer: Exchange) -> dict[str, dict[str, Any]]:
    """The documented members of the resource, or the elements of the list, that a read shows, by id, but for
    money and destinations, which move."""
    items = objects(answer.get("items")) if page_of(answer) is not None else [document(answer)]
    names = (
        {*item_fields(answer.operation or "")}
        if page_of(answer) is not None
        else {*documented(answer.operation or "")}
    )
    return {
        str(item.get("id")): {
            name: item[name] for name in names - {"balances", "payout_destinations"} if name in item
        }
        for item in items
    }


def _refused_otherwise(answer: Exchange, plain: Exchange) -> Got:
    """Describes a refusal that is not that of the plain request: status, type and code stay."""
    if not plain.refused:
        raise refusal_of_valid(plain)
    form = _form(answer)
    if form or answer.described() == plain.described():
        return form
    return answer.described()
