"""What requests ask of the form of their answers (sections 4 and 7): it is JSON with the same values."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from conformance.checks.auth_probes import AuthProbes
from conformance.checks.check import Check, check
from conformance.checks.list_judging import stocked
from conformance.checks.members import mismatches
from conformance.contract.fields import documented, request_fields
from conformance.contract.operations import item_fields, response_problems
from conformance.contract.traits import TRAITS
from conformance.judge.comparison import MOVING, alike, document, objects, same, sent_document, show
from conformance.judge.oracle import FOREIGN, UNKNOWN
from conformance.judge.outcomes import Got, Unclear, unusable
from conformance.judge.timeliness import untimely
from conformance.wire.messages import MISSING, Auth, Call, Exchange
from conformance.wire.pages import page_of
from conformance.world.calls import parameters, renewed
from conformance.world.corpora import headers, values
from conformance.world.purposes import PAYOUTS
from conformance.world.refused_samples import refusal_of_valid

RULE = "http.negotiation"

#: Further demands beside them: neither is a reason for another form.
_BESIDE = (("Accept-Charset", "utf-16, iso-8859-1;q=0.5"), ("Accept-Encoding", "gzip, identity;q=0.5"))


#: Statuses of refusals whose body the text states (section 7).
_STATED = (401, 403, 404)

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
            return at.find(usual.but(headers=asking), f"a valid request with {_named(asking)}")

        answer = at.accepted_as(RULE, ask, _valid(at))
        if not answer.succeeded:
            continue
        usual, plain = answer.call.but(headers=()), None
        if answer.method == "GET":

            def both(usual: Call = usual, ask: Callable[[Call], Exchange] = ask) -> tuple[Exchange, Exchange]:
                return ask(usual), at.send(usual, "the same read without")

            pair = answer, at.send(usual, "the same read without")
            # Replicas of different age differ for a while.
            answer, plain = at.eventually(both, lambda pair: not _otherwise(*pair), first=pair)
        got: Got = ""
        if plain is not None and plain.succeeded:
            got = _otherwise(answer, plain)
        elif plain is not None:
            got = Unclear(f"{plain.purpose} was answered {plain.described()}")
        expected = f"{answer.purpose}: JSON, with the values it has without"
        at.expect(RULE, expected, got or _further(at, answer, plain), answer, *filter(None, [plain]))
        refusals = [_refused(at, number), *([_refused_further(at)] if number else [])]
        for refused in filter(None, refusals):
            _judge_refused(at, refused, refusing)


def _judge_refused(at: Check, refused: Call, refusing: tuple[tuple[str, str], ...]) -> None:
    """Judges that a refusal is that of the plain request: as JSON, with its status, type and code where the
    text states them."""
    mistake = refused.auth.mistake
    plain = at.send(refused, "a request with a wrong signature" if mistake else "a request that is refused")
    if mistake and plain.succeeded:
        at.unclear(RULE, f"{plain.purpose} was answered {plain.described()}", plain, cause="auth.signature")
        return
    if not plain.refused:
        raise refusal_of_valid(plain)
    answer = at.send(renewed(refused).but(headers=refusing), f"{plain.purpose}, with {_named(refusing)}")
    got = _further(at, answer, plain)
    stated = plain.status in _STATED
    if not got and (answer.described() != plain.described() if stated else not answer.refused):
        got = answer.described()
    expected = plain.described() if stated else "a refusal (4xx)"
    at.expect(RULE, f"{answer.purpose}: {expected}, as JSON", got, answer, plain)


def _valid(at: Check) -> Call:
    """A valid call, of a read whose answer has something to show."""
    if at.operation.traits.shows_balances:
        return at.lane.account(PAYOUTS).call(at.operation.id)
    return stocked(at).call if at.operation.is_list else at.valid()


def _refused(at: Check, number: int) -> Call:
    """A request for an unknown resource, and one with a wrong signature."""
    place = AuthProbes(at, proven=False)
    if number:
        return place.usual({parameters(at.operation.id)[0]: UNKNOWN})
    return place.usual().but(auth=Auth(mistake="other middle digit"))


def _refused_further(at: Check) -> Call | None:
    """A request with a body that is no object; without a body, for another organization's resource, where
    there is one."""
    place = AuthProbes(at, proven=False)
    if at.operation.request_schema is not None:
        return place.usual().but(body=b"[]")
    return place.usual({parameters(at.operation.id)[0]: FOREIGN}) if at.target.secondary is not None else None


def _faults(answer: Exchange) -> dict[tuple[str, str], str]:
    """What is wrong with an answer by itself: the rule that it breaks and the member, each in words."""
    operation, declared = answer.operation or "", answer.header("content-type") or "no Content-Type"
    if answer.document is MISSING:
        rule = "http.success-json" if answer.succeeded else "error.shape"
        return {(rule, ""): f"{answer.status} with {answer.unread}, {declared[:80]}"}
    faults: dict[tuple[str, str], str] = {}
    if declared.partition(";")[0].strip().lower() != "application/json":
        faults["http.content-type", ""] = f"{answer.status} with {declared[:80]}"
    if answer.succeeded:
        for problem in response_problems(operation, answer.document):
            member = problem.pointer.rpartition("/")[2]
            faults[problem.rule, member] = f"{problem.pointer or 'the body'}: {problem.message}"
        for name in mismatches(answer, _sent(answer)):
            rule = "beneficiary.update" if TRAITS[operation].changes else "create.echo"
            faults[rule, name] = f"{name} {show(answer.get(name))}"
        if untimely_got := untimely(answer):
            faults["format.timestamp-current", ""] = untimely_got
    return faults


def _sent(answer: Exchange) -> dict[str, Any]:
    """The members of what was sent that have a form of their own, and that the answer shows."""
    operation, body = answer.operation or "", sent_document(answer.call)
    formed = [each.name for each in request_fields(operation) if each.code or each.kind in ("enum", "amount")]
    return {name: body[name] for name in formed if name in body and name in documented(operation)}


def _further(at: Check, answer: Exchange, plain: Exchange | None) -> Got:
    """What is wrong with an answer, and not with a plain one: to the same request, else to a valid one, which
    is sent where there is anything."""
    if lost := unusable(answer):
        return lost
    if not (faults := _faults(answer)):
        return ""
    usual = plain or at.send(_valid(at), "a valid request without these headers")
    if lost := unusable(usual):
        return lost
    own = _faults(usual)
    got = next((words for fault, words in faults.items() if fault not in own), "")
    (rule, _), words = next(iter(faults.items()))
    # How fields that are not valid are answered is not shown.
    choice = usual.refused and usual.status not in _STATED
    return got or Unclear(f"{usual.purpose} was answered so as well: {words}", rule, choice=choice)


def _otherwise(answer: Exchange, plain: Exchange) -> str:
    """Describes what a read shows otherwise than a plain one."""
    before = _resources(plain)
    for identity, resource in _resources(answer).items():
        for name, value in resource.items():
            other = before.get(identity, {}).get(name, value)
            if name in MOVING or same(value, other) or alike(answer.operation or "", name, value, other):
                continue
            return f"{name} {show(value)}"
    return ""


def _resources(answer: Exchange) -> dict[str, dict[str, Any]]:
    """The documented members of the resource, or the elements of the list, that a read shows, by id, but for
    money and destinations, which move."""
    members = {*documented(answer.operation or "")}
    # A resource may have a further member of this name.
    listed = "items" in members and page_of(answer) is not None
    items = objects(answer.get("items")) if listed else [document(answer)]
    names = {*item_fields(answer.operation or "")} if listed else members
    return {
        str(item.get("id")): {
            name: item[name] for name in names - {"balances", "payout_destinations"} if name in item
        }
        for item in items
    }
