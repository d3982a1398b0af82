"""Answers that contain something to judge, and their documented members, judged one by one (section 2)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from conformance.checks.check import Check
from conformance.contract import timestamps
from conformance.contract.fields import documented
from conformance.contract.new_resources import sent
from conformance.contract.operations import Operation
from conformance.contract.traits import CREATES, TRAITS, traits_of
from conformance.judge import outcomes
from conformance.judge.comparison import alike, same_instant, show
from conformance.judge.outcomes import Got, Unclear
from conformance.wire.messages import MISSING, Call, Exchange
from conformance.world.creations import creations
from conformance.world.lane import Fixture
from conformance.world.purposes import PAYOUTS, POPULATED, purpose_of
from conformance.world.samples import Body
from conformance.world.text_turns import Place, with_texts


def judge_members(
    at: Check,
    rule: str,
    exchange: Exchange,
    expected: Mapping[str, Any],
    what: str = "",
    *,
    but: Iterable[str] = (),
    otherwise: Mapping[str, Any] | None = None,
    shown_by: Sequence[Exchange] = (),
) -> None:
    """Judges the documented members of an answer, described by its purpose or as `what`, except `but`, by
    their expected values, or by those of a second source (`otherwise`): where two sources disagree, either is
    right. `shown_by` are answers that the values come from. format.object judges `object`; refusals are
    judged elsewhere."""
    if not exchange.succeeded:
        at.usable(rule, exchange)
        return
    what = what or exchange.purpose
    for name in _judged(exchange, expected, but):
        other = (otherwise or {}).get(name, MISSING)
        judgement = outcomes.member(what, exchange, name, expected[name], other)
        judgement = outcomes.unless_malformed(judgement, *((each, name) for each in shown_by))
        at.expect(rule, *judgement, *shown_by, member=name)


def _judged(exchange: Exchange, expected: Mapping[str, Any], but: Iterable[str]) -> list[str]:
    judged = expected.keys() - {"object", *but}
    return [name for name in documented(exchange.operation or "") if name in judged]


def send_with_texts(
    at: Check, fixture: Fixture, body: Body, texts: Mapping[Place, str | None], what: str
) -> Exchange | None:
    """Sends a valid body with texts that servers are known to alter, then with fewer of them, as a server may
    refuse some. Judges that the first accepted answer shows what was sent, and returns it; None where all are
    refused, or no text has a place."""
    operation = at.operation.id
    fixed = at.lane.samples.over(at.operation.resource)
    own = {place: text for place, text in texts.items() if place[0] not in fixed}
    calls = [fixture.call(operation, tried) for tried in with_texts(operation, body, own)]
    for answer in at.until_accepted(calls, what)[-1:]:
        if answer.succeeded:
            judge_members(at, "create.echo", answer, sent(operation, answer.call.document), what)
            return answer
    return None


def judge_last_words(
    at: Check, rule: str, exchange: Exchange, places: Iterable[tuple[str, str]], what: str
) -> None:
    """Judges that texts in members of an answer, or of objects in it, are returned with their last words."""
    for place in places:
        path = [name for name in place if name]
        if isinstance(exchange.get(*path), str):
            expected, got = f"{what}: {'.'.join(path)} to its last word", _lost_word(exchange, path)
            at.expect(rule, expected, got, exchange, member=path[0])


def _lost_word(exchange: Exchange, path: Sequence[str]) -> Got:
    """A text that is returned without its last word, of ASCII letters, whatever became of those before."""
    value, text = exchange.get(*path), exchange.call.document
    for name in path:
        text = text.get(name) if isinstance(text, dict) else None
    if not isinstance(value, str) or not isinstance(text, str):
        return Unclear(f"{path[-1]} is no text that was sent")
    return "" if text.split()[-1] in value else show(value)


def judge_as_sent(
    at: Check, rule: str, answer: Exchange, name: str, what: str, others: Iterable[Exchange]
) -> None:
    """Judges that one of several requests at once is answered with the value that it sent."""
    value = answer.get(name)
    own = alike(answer.operation or "", name, value, answer.call.document.get(name))
    got = outcomes.memberless(answer) or ("" if own else show(value))
    at.expect(rule, f"{what}: its own {name}", got, answer, *others, member=name)


def mismatches(
    exchange: Exchange,
    expected: Mapping[str, Any],
    *,
    but: Iterable[str] = (),
    otherwise: Mapping[str, Any] | None = None,
) -> list[str]:
    """Returns the documented members that `judge_members` would find wrong."""
    second = otherwise or {}
    return [
        name
        for name in _judged(exchange, expected, but)
        if outcomes.member("", exchange, name, expected[name], second.get(name, MISSING))[1] != ""
    ]


def read_until(
    at: Check,
    call: Call,
    purpose: str,
    expected: Mapping[str, Any],
    *,
    but: Iterable[str] = (),
    otherwise: Mapping[str, Any] | None = None,
    since: Exchange | None = None,
    looks: int = 1,
) -> Exchange:
    """Reads a resource until `looks` consecutive reads show the expected members, and no older state than
    `since` (eventual consistency); returns the last read."""
    left_out = list(but)

    def shows(answer: Exchange) -> bool:
        if answer.succeeded and "id" in expected and mismatches(answer, {"id": expected["id"]}):
            # No delay explains an answer about another resource.
            return True
        if since is not None and went_back(answer, since):
            return False
        return answer.succeeded and not mismatches(answer, expected, but=left_out, otherwise=otherwise)

    def look() -> Exchange:
        for _ in range(looks):
            if not shows(answer := at.send(call, purpose)):
                break
        return answer

    return at.eventually(look, shows, call.operation or "")


def shows_changes(
    at: Check,
    rule: str,
    reading: Call,
    purpose: str,
    state: Mapping[str, Any],
    changes: Sequence[Exchange],
    otherwise: Mapping[str, Any] | None = None,
) -> bool:
    """True if a read of a beneficiary shows the state that accepted changes gave it; else notes that it does
    not, whatever else is judged, because of the change that should have made it so."""
    look = read_until(at, reading, purpose, state)
    if not (wrong := mismatches(look, state, otherwise=otherwise)):
        return True
    kind = "disable" if wrong[0] in TRAITS["disableBeneficiary"].sets else "update"
    change = next(each for each in changes if each.operation == f"{kind}Beneficiary")
    reason = f"{purpose} shows {wrong[0]} {show(look.get(wrong[0]))} without that, too"
    at.unclear(rule, reason, change, cause=f"beneficiary.{kind}")
    return False


def went_back(later: Exchange, earlier: Exchange) -> bool:
    """True if `updated` of a later read is before an earlier one's: background jobs only advance it."""
    new, old = later.get("updated"), earlier.get("updated")
    instants = timestamps.parse(new), timestamps.parse(old)
    if None in instants or same_instant(new, old):
        return False
    return instants < instants[::-1]


def judge_not_back(at: Check, rule: str, later: Exchange, earlier: Exchange, what: str) -> None:
    """Judges that `updated` of a later read is not before an earlier one's."""
    expected = f"{what}: updated {show(earlier.get('updated'))} or later"
    got = show(later.get("updated")) if went_back(later, earlier) else ""
    at.expect(rule, expected, got, later, earlier, member="updated")


FUNDED = "Name an account that has balances: [primary] funded_account_id."


def furnish(fixture: Fixture, operation: Operation) -> None:
    """Creates a resource of the kind that an operation shows, unless a fixture has one, or nothing would show
    it later. Raises Inconclusive where the server refuses it."""
    create = traits_of(CREATES.get(operation.resource))
    if create.listed_by or create.read_by:
        fixture.part(operation.resource)


def _populated(at: Check) -> Fixture:
    """Returns a fixture in which the check's operation has something to show."""
    operation = at.operation
    fixture = at.lane.account(purpose_of(operation.filled_by or operation.id, POPULATED))
    if operation.traits.shows_balances:
        return at.lane.account(PAYOUTS) if at.target.primary.funded_account_id else fixture
    if operation.traits.disables:
        fixture = at.account(fresh=True)
    if "beneficiary_id" in operation.path_parameters:
        _ = fixture.destination
    elif traits_of(operation.filled_by).unique_pair:
        return creations(at.lane, operation.filled_by)[0].fixture
    elif operation.is_list:
        furnish(fixture, operation)
    return fixture


def showing(at: Check, purpose: str) -> Exchange:
    """Returns the answer of the check's operation in a populated fixture; repeats a list until it shows an
    element (eventual consistency)."""
    request = _populated(at).call(at.operation.id)
    return at.eventually(
        lambda: at.accept(request, purpose),
        lambda answer: not at.operation.filled_by or answer.get("items") != [],
    )


def no_balance(at: Check, rule: str, answer: Exchange) -> None:
    """Notes that an account shows no balance, which a rule is about."""
    reason = "the account shows no balance, so that no form of one was seen"
    if at.target.features.payouts or at.target.primary.funded_account_id:
        at.unclear(rule, reason, answer, remedy=FUNDED)
    else:
        # Without payouts no account need ever hold money.
        at.not_applicable(rule, f"{reason}, and none may be drawn on ([features] payouts)")
