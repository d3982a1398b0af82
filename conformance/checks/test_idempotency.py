"""Used Idempotency-Keys (sections 1 and 4.0): replays, changes in between, other paths and organizations."""

from __future__ import annotations

import contextlib

from conformance.checks.check import Check, check
from conformance.checks.idempotent_requests import (
    INVALID,
    IdempotentRequest,
    own_place,
    padded,
    restyled,
    with_letters,
)
from conformance.checks.members import judge_members, read_until, shows_changes
from conformance.checks.side_effects import SideEffects
from conformance.contract.json_text import all_texts
from conformance.contract.needs import REFERENCES
from conformance.contract.operation_sets import OPERATION_SETS
from conformance.contract.traits import CHANGING
from conformance.judge import outcomes
from conformance.judge.comparison import document
from conformance.judge.outcomes import unusable
from conformance.judge.verdicts import Inconclusive
from conformance.wire.clock import wait_past
from conformance.wire.forms import new_key
from conformance.wire.messages import Call, Exchange
from conformance.world import samples
from conformance.world.calls import renewed
from conformance.world.corpora.stored_texts import PRECISE
from conformance.world.creations import creations
from conformance.world.lane import Fixture
from conformance.world.refused_samples import refusal_of_valid
from conformance.world.samples import LINES, SIGNS, Body
from conformance.world.sender import REPLAYS
from conformance.world.text_turns import filled

REPLAY, ISOLATION = "idempotency.replay", "idempotency.other-organization"
DELAY = "idempotency.replay-delay"

# ---------------------------------------------------------------------- replays

#: Member that shows that a beneficiary is disabled.
_DISABLED = {"status": "disabled"}


@check(REPLAY, DELAY)
def test_replay(at: Check) -> None:
    """The same key and body on the same path return the original status and body, letters and signs of all
    kinds included, also after another key was used; the operation is neither repeated nor undone. So it is
    where the first request was refused for a time (429, 503) and sent again."""
    place = own_place(at, _with_all_signs)
    watched = SideEffects(at, place)
    if at.operation.traits.listed_by:
        with contextlib.suppress(Inconclusive):
            # Whatever its body takes, such as bank details that are tried, is there before the snapshot.
            place.call(at.operation.id)
        watched.start()
    original = restyled(at, place)
    disabled = False
    if at.operation.traits.disables:
        # A second execution shows in `updated` only if the clock has advanced.
        wait_past(original.exchange.get("updated"))
        disabled = _disabled(at, original, "a disabled beneficiary").get("status") == "disabled"
    begun = at.operation.traits.listed_by and original.fixture is place
    effects = watched if begun else SideEffects(at, original.fixture).start()
    effects.created.add(original.id)
    sent = [original.exchange, original.replay(REPLAY, "the same key and body again")]
    again = "the same key and body once more"
    effects.judge(REPLAY, "a repetition", sent, lambda: original.replay(REPLAY, again))
    at.send(original.another(), "another request with another key")
    what = "the same key and body a third time, after another request with another key"
    original.replay(REPLAY, what, headers=(*_OF_ANOTHER_CLIENT, ("X-Request-Id", new_key())))
    at.observe(DELAY, "how soon is a key replayed?", at.lane.lag.described(REPLAYS), *sent[1:2])
    if disabled:
        what = "a disabled beneficiary, after the same key and body came again"
        judge_members(at, REPLAY, _disabled(at, original, what), _DISABLED)


#: Headers that say nothing about what is done.
_OF_ANOTHER_CLIENT = (
    ("Accept", "*/*;q=0.1"),
    ("Accept-Language", "de-CH"),
    ("User-Agent", "another-client/1.0"),
)


def _with_all_signs(body: Body) -> Body:
    """Texts of a body with what stores escape or lose."""
    text = filled(f"{PRECISE} {SIGNS}")
    texts = {"name": text, "label": text, "note": text + LINES}
    return {name: text for name, text in texts.items() if name in body}


def _disabled(at: Check, original: IdempotentRequest, what: str) -> Exchange:
    """Reads the beneficiary of a disable request until it shows as disabled."""
    path = original.exchange.call.path.rpartition("/")[0]
    return read_until(at, Call("getBeneficiary", "GET", path), what, _DISABLED)


@check(REPLAY, operations=OPERATION_SETS["create"])
def test_replay_of_a_long_answer(at: Check) -> None:
    """Idempotent replays of the create with the longest answer, and of that with most members, return the
    original response."""
    resources = creations(at.lane, at.operation.id)
    longest = max(resources, key=lambda each: len(each.exchange.response_body))
    what = f"the key and body of one created with {longest.kind} again"
    at.same(REPLAY, longest.exchange, at.send(longest.exchange.call, what))
    # A fingerprint of members in the random order of a hash table is another one now and then.
    fullest = max(resources, key=lambda each: len([*all_texts(each.body)]))
    nested = any(isinstance(value, dict) for value in fullest.body.values())
    for number in range(2, 2 + (_REPLAYS_OF_OBJECTS if nested else _REPLAYS)):
        what = f"the key and body of one created with {fullest.kind} again, {number} times"
        if not at.same(REPLAY, fullest.exchange, at.send(fullest.exchange.call, what)):
            break


#: Replays of the body with most members, where it has an object in it, and where not.
_REPLAYS_OF_OBJECTS, _REPLAYS = 20, 4


@check("idempotency.replay-after-change")
def test_replay_after_change(at: Check) -> None:
    """After the resource or its surroundings have changed, the same key and body still return the original
    response and do not revert the change."""
    rule, traits = "idempotency.replay-after-change", at.operation.traits
    fixture, body = own_place(at), None
    if traits.creates in ("payout_destination", "payout", "payin"):
        sample = fixture.body(at.operation.id)
        body = {name: sample[name] for name in sample if name != traits.free_text}
        if traits.creates == "payout_destination":
            # A later default destination may clear it on the first one.
            body["is_default"] = True
    original = IdempotentRequest(at, fixture, body)
    changes = _changes_around(at, original)
    changed = [answer for answer in changes if answer.succeeded]
    if not changed:
        raise refusal_of_valid(changes[0])
    if traits.disables:
        wait_past(changed[-1].get("updated"))
    shown_by = "updateBeneficiary" if traits.shown_only_by_read else ""
    patched = next((each for each in changed if each.operation == "updateBeneficiary"), None)
    state: Body = {}
    if shown_by and patched is not None:
        state = patched.call.document | (_DISABLED if changed[-1].operation == "disableBeneficiary" else {})
        reading, otherwise = fixture.call("getBeneficiary"), document(patched) | state
        if not shows_changes(at, rule, reading, "a changed beneficiary", state, changed, otherwise):
            state = {}
    effects = SideEffects(at, original.fixture, shown_by).start()
    effects.created.update(str(accepted.get("id")) for accepted in (original.exchange, *changed))
    sent = [original.exchange, original.replay(rule, "the same key and body after a change")]
    again = "the same key and body after a change, again"
    effects.judge(rule, "the repetition after a change", sent, lambda: original.replay(rule, again))
    if state and patched is not None:
        what = "a changed beneficiary after its create came again"
        later = read_until(at, fixture.call("getBeneficiary"), what, state)
        judge_members(at, rule, later, state, otherwise=document(patched) | state)


def _changes_around(at: Check, original: IdempotentRequest) -> list[Exchange]:
    """Changes the original's resource and its surroundings as far as the API allows; returns the answers."""
    fixture, operation, word = original.fixture, original.operation, samples.marker()
    calls = [] if at.operation.traits.once else [fixture.call(operation)]
    further: tuple[str, ...] = ("createBeneficiary",)
    match at.operation.traits.creates:
        case "account":
            further = "createBeneficiary", "createVirtualAccount", "createWallet"
        case "beneficiary":
            further = "createPayoutDestination", "updateBeneficiary", "disableBeneficiary"
        case "" if at.operation.traits.disables:
            # A server may refuse changes of a disabled beneficiary, but not another one.
            further = "createBeneficiary", "createPayoutDestination", "updateBeneficiary"
        case "payout_destination":
            calls.append(fixture.call(operation, {**fixture.body(operation), "is_default": True}))
            further = CHANGING
        case "payout":
            further = CHANGING
        case "virtual_account":
            further = "createBeneficiary", "createWallet"
        case "wallet":
            calls += [fixture.call(operation, body) for body in at.lane.samples.wallets()[1:]]
            further = ("createVirtualAccount",)
    address = {**fixture.body("createBeneficiary")["address"], "address_line": f"{word} Street"}
    # A server may know which addresses there are.
    texts = {"note": f"changed {word}", "first_name": f"Grace {word}"}
    bodies = {"updateBeneficiary": (texts, {"address": address})}
    calls += [fixture.call(name, body) for name in further for body in bodies.get(name, (None,))]
    return [at.send(request, f"a change around the original: {request.operation}") for request in calls]


# ---------------------------------------------------------------------- what is left open


@check("idempotency.other-path", REPLAY)
def test_other_path(at: Check) -> None:
    """Records what the same key and body do on another path; a replay on the first one is unaffected."""
    original, what = IdempotentRequest(at), "the same key and body on another path"
    elsewhere = at.account(fresh=True).call(at.operation.id)
    answer = at.send(original.call.but(target=elsewhere.target), what)
    at.record("idempotency.other-path", answer, choice=original.relation(answer))
    if REPLAY in at.rules:
        original.replay(REPLAY, "the same key and body again, after another path had them")


@check("idempotency.after-refusal", REPLAY, "fields.required")
def test_after_refusal(at: Check) -> None:
    """Records whether a refused request consumes its key: refused twice, the key is sent again with a valid
    body, padded to some 3 kB. If that is accepted, a replay returns the same response, also with a key in
    upper case; if it is refused, a replay of another request does."""
    rule, usual = "idempotency.after-refusal", at.valid()
    at.not_exercised(REPLAY, "no request was accepted whose key had been refused before")
    question = "the key of a refused request with a valid body"
    # A server may take keys in lower case only.
    for key in (with_letters().upper(), new_key()):
        valid = usual.but(body=padded(usual.body or b""), idempotency_key=key)
        refused = at.send(valid.but(body=b"{}"), "a request without its required fields")
        if not refused.refused:
            reason = f"a request without its required fields was answered {refused.described()}"
            at.unclear(rule, reason, refused, cause="fields.required")
            return
        what = "the same request without its required fields and key again"
        at.refused("fields.required", at.send(refused.call, what))
        answer = at.send(valid, question)
        if answer.error_code != INVALID:
            break
    at.record(rule, answer)
    if answer.succeeded:
        at.same(REPLAY, answer, at.send(valid, "a request again whose key had been refused before"))
    elif answer.refused and not answer.throttled and not answer.refused_authentication:
        # A refused request may consume its key: in a quick run no other check may judge the rule here.
        with at.probe(REPLAY):
            IdempotentRequest(at).replay(REPLAY, "the key and body of an accepted request again")


# ---------------------------------------------------------------------- other organizations


@check(ISOLATION, REPLAY)
def test_key_of_another_organization(at: Check) -> None:
    """Another organization's request with a used key and its body is treated as new: it creates a resource of
    its own, or is refused as with a fresh key; repeated, it gets that answer again. Sent to the first
    organization's path, it is refused and shows nothing of the original response; the first organization's
    replay is unaffected.

    A payout names its beneficiary, so the other organization's body differs."""
    if at.target.secondary is None:
        at.not_exercised(REPLAY, "no second organization is configured, whose keys to use again")
        return
    original, fixture = IdempotentRequest(at), own_place(at, owner="secondary")
    own = _own_call(at, fixture, original)
    answer = at.send(own, "another organization's key, in the own account", "secondary")
    _judge_new(at, fixture, original, own, answer)
    if answer.succeeded:
        at.same(REPLAY, answer, at.send(own, "another organization's key and body again", "secondary"))
    else:
        at.not_exercised(REPLAY, f"another organization's request was answered {answer.described()}")
    # A key with which the other organization created nothing: else its own response may be replayed.
    _judge_first_path(at, _another(at))
    _judge_still_there(at, original)


def _own_call(at: Check, fixture: Fixture, original: IdempotentRequest) -> Call:
    """The original's key and body in the other organization's fixture."""
    own = fixture.call(at.operation.id).but(idempotency_key=original.call.idempotency_key)
    if payee := {name: own.document[name] for name in REFERENCES[at.operation.id]}:
        return own.with_json({**original.call.document, **payee})
    return own.but(body=original.call.body)


def _judge_new(at: Check, fixture: Fixture, original: IdempotentRequest, own: Call, answer: Exchange) -> None:
    what = "another organization's request with the same key"
    if not at.usable(ISOLATION, answer):
        return
    got = f"{answer.status} with its id" if answer.get("id") == original.id else ""
    nothing = f"{what}: nothing of the first organization's resource"
    at.expect(ISOLATION, nothing, got, answer, original.exchange)
    if not answer.succeeded:
        fresh = at.send(
            renewed(own), "the same request of the other organization with a fresh key", "secondary"
        )
        _judge_as_fresh(at, what, answer, fresh, original.exchange)
        return
    expected = f"{what}: a resource of its own"
    if at.operation.traits.disables:
        payee = fixture.beneficiary_id
        at.expect(ISOLATION, *outcomes.equal(expected, answer.get("id"), payee, answer, original.exchange))
    else:
        parents = [answer.get(name) for name in ("customer_id", "account_id", "beneficiary_id")]
        theirs = any(isinstance(each, str) and each in original.call.ids.values() for each in parents)
        got = "a resource of the first's" if theirs else ""
        at.expect(ISOLATION, expected, got, answer, original.exchange)


def _judge_as_fresh(at: Check, what: str, answer: Exchange, fresh: Exchange, *others: Exchange) -> None:
    """Judges that a refusal is that of the same request with a fresh key."""
    unlike = not answer.succeeded and (fresh.succeeded or (fresh.refused and _kind(answer) != _kind(fresh)))
    expected = f"{what}: the answer that a fresh key brings, {fresh.described()}"
    got = answer.described() if unlike else ""
    at.expect(ISOLATION, expected, unusable(answer) or unusable(fresh) or got, answer, fresh, *others)


def _kind(answer: Exchange) -> tuple[object, object, object]:
    # The other 4xx statuses are open (section 7) and may differ from one refusal to the next.
    fixed = answer.status if answer.status in (401, 403, 404) or not answer.error_type else None
    return fixed, answer.error_type, answer.error_code


def _another(at: Check) -> IdempotentRequest:
    """An accepted request whose key the other organization sent to the same path first; judges that it is
    answered as with a fresh key."""
    fixture, what = own_place(at), "a key that another organization sent to the same path before"
    request = fixture.call(at.operation.id)
    at.send(request, "another organization's request, before the first one's", "secondary")
    answer = at.send(request, what)
    if answer.succeeded:
        return IdempotentRequest(at, fixture, exchange=answer)
    if at.usable(ISOLATION, answer):
        fresh = at.send(renewed(request), "the same request with a fresh key")
        if fresh.succeeded:
            # A lagging replica may not have known the path yet.
            answer = at.send(request, f"{what}, once more")
        _judge_as_fresh(at, what, answer, fresh)
    return IdempotentRequest(at)


def _judge_first_path(at: Check, original: IdempotentRequest) -> None:
    """Judges the original request repeated by the other organization, to the first one's path."""
    what = "another organization's repetition of the very request"
    answer = at.send(original.call, what, "secondary")
    if at.usable(ISOLATION, answer):
        at.refused(ISOLATION, answer)
        repeated = original.id.encode() in answer.response_body
        if original.id in original.call.target:
            repeated = answer.get("id") == original.id
        nothing = f"{what}: nothing of the original response"
        at.expect(ISOLATION, nothing, "parts of it" if repeated else "", answer, original.exchange)


def _judge_still_there(at: Check, original: IdempotentRequest) -> None:
    """Judges that the first organization's replay is unaffected, if replays work at all."""
    what = "the first organization's key and body, after the other organization used them"
    answer = at.send(original.call, what)
    if not at.usable(ISOLATION, answer):
        return
    if not original.repeated_in(answer):
        alone = IdempotentRequest(at)
        if not alone.repeated_in(at.send(alone.call, "a key that no other organization used, again")):
            at.unclear(ISOLATION, "no used key brings the original response", answer, cause=REPLAY)
            return
    at.same(ISOLATION, original.exchange, answer)
