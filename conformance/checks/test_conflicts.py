"""Used Idempotency-Keys with another body (section 4.0.2): refused as conflicts, whatever the difference."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

from conformance.checks.check import Check, check
from conformance.checks.defective_bodies import judge_pair
from conformance.checks.idempotent_requests import CONFLICT, IdempotentRequest, own_place, padded, restyled
from conformance.checks.side_effects import UNTOUCHED, SideEffects, anew
from conformance.contract.fields import FREE_TEXT, HIDDEN, request_fields
from conformance.judge.verdicts import Inconclusive
from conformance.wire.messages import Exchange, to_json
from conformance.world import samples
from conformance.world.bodies import BODIES, bodies
from conformance.world.calls import identifier
from conformance.world.corpora.fingerprints import COLLIDING
from conformance.world.lane import Fixture
from conformance.world.other_values import other_end, other_last, other_value
from conformance.world.samples import FREE, LETTER, Body, with_long_texts
from conformance.world.shapes import accepted_body, accepts

RULE = "idempotency.conflict"

#: A difference in words, and the body that has it.
_Other = tuple[str, Body]

#: Original request, description of the difference, body to send with its key.
_Conflict = tuple[IdempotentRequest, str, Body]


@check(RULE, "idempotency.replay", UNTOUCHED)
def test_conflict(at: Check) -> None:
    """A used key with a valid body that differs in one field is refused with idempotency_key_conflict, before
    and after a replay, without an effect; the original body still returns its response."""
    what = "requests with a used key and another body"
    first = restyled(at, own_place(at, with_long_texts))
    originals = [first, *_further_originals(at, first)]
    conflicts: list[_Conflict] = []
    names: set[str] = set()
    for original in originals:
        others = [*_other_values(original, names), *(_other_forms(at, first) if original is first else ())]
        conflicts += [(original, *other) for other in others]
        names |= original.call.document.keys()
    # Only a read of the beneficiary shows whether another body took effect.
    shown_by = "updateBeneficiary" if at.operation.traits.shown_only_by_read else ""
    effects = SideEffects(at, first.fixture, shown_by).start()
    effects.created.update(original.id for original in originals)
    answers = _judge_conflicts(at, conflicts)

    def again() -> list[Exchange]:
        # Not with the original's amount: what differed in it would be the original request.
        sent = [*(original.call for original in originals), *(answer.call for answer in answers)]
        calls = anew(at.lane, sent)[len(originals) :]
        return [at.send(call, "a used key with another body, again") for call in calls]

    effects.judge_refused(what, answers, again)
    refused = [answer for answer in answers if answer.refused]
    if shown_by and refused:
        SideEffects(at, first.fixture).judge(UNTOUCHED, what, refused)
    # Only the first one of another pair counts: a server may limit the wallets of an account.
    body, pair = first.call.document, at.operation.traits.unique_pair
    others = [each for each in refused if any(each.call.document[name] != body[name] for name in pair)]
    for other in others[:1]:
        judge_pair(at, first.fixture, other.call.document, [other], beside=body)
    what = "the original key and body after the conflicts"
    first.replay("idempotency.replay", what, content_type="application/json; charset=utf-8")
    for original in originals[1:]:
        original.replay("idempotency.replay", what)
    _judge_conflicts(at, [(original, f"{how} once more", body) for original, how, body in conflicts[:1]])


def _further_originals(at: Check, first: IdempotentRequest) -> Iterator[IdempotentRequest]:
    """Yields accepted requests of other shapes, with fields that the sample lacks."""
    create, fixture = first.operation, first.fixture
    shapes = {"createBeneficiary": ("business",), "createPayoutDestination": ("IBAN", "wallet")}
    names = [shape for shape in shapes.get(create, ()) if accepts(at.lane, create, shape)]
    tries = [accepted_body(fixture, create, shape) for shape in names]
    if create == "createPayoutDestination" and tries:
        # One body with the fields of two types, so that only the type need differ.
        tries.append({**tries[-1], **first.call.document})
    if "address" not in first.call.document and "an address" in BODIES[create]:
        tries += bodies(fixture, create, "an address")[:1]
    for body in tries:
        with at.probe(RULE):
            yield IdempotentRequest(at, fixture, body)


def _judge_conflicts(at: Check, conflicts: Sequence[_Conflict]) -> list[Exchange]:
    """Judges that each body is refused as a conflict; returns the answers, those to a fresh key included."""
    answers: list[Exchange] = []
    for original, what, body in conflicts:
        answer = at.send(original.call.but(body=to_json(body)), f"a used key, but {what}")
        answers.append(answer)
        if answer.refused and (answer.error_type, answer.error_code) != CONFLICT:
            # Validation may come before the key is compared: try the body with a fresh key.
            alone = original.with_fresh_key(body)
            if not alone.succeeded:
                reason = f"{what}: such a body is refused with a fresh key, too ({alone.described()})"
                at.unclear(RULE, reason, answer, alone, choice=alone.refused)
                continue
            answers.append(alone)
        at.refused(RULE, answer, 0, *CONFLICT, original.exchange)
    return answers


# ---------------------------------------------------------------------- other bodies


def _other_values(original: IdempotentRequest, but: Collection[str]) -> Iterator[_Other]:
    """Yields bodies that differ from the original's in the value of one field, except `but`, as valid as can
    be known."""
    body = original.call.document
    for name, value in body.items():
        if name in but:
            continue
        if isinstance(value, dict):
            for member, inner in value.items():
                if isinstance(inner, str):
                    changed = {**value, member: other_value(member, inner) or other_end(inner)}
                    yield f"another {member} in {name}", {**body, name: changed}
        elif isinstance(value, str) and (other := _other(name, value, original)) not in (None, value):
            yield f"another {name}", {**body, name: other}
            if name in HIDDEN:
                yield f"another end of {name}", {**body, name: other_last(name, value)}
            if name == "account_number":
                yield f"a zero before {name}", {**body, name: f"0{value}"}


def _other(name: str, value: str, original: IdempotentRequest) -> Any:
    """Returns another value of a field, as valid as can be known; None without one."""
    at, fixture = original.at, original.fixture
    if name in FREE:
        return other_end(value)
    if pair_names := at.operation.traits.unique_pair:
        if name not in pair_names:
            return None
        configured = [pair[name == "network"] for pair in at.lane.samples.wallet_pairs]
        others = [*configured, *(("USDT", "USDC") if name == "currency" else ("ethereum", "polygon"))]
        return next(other for other in others if other != value)
    with at.probe(RULE):
        match name:
            case "payout_destination_id":
                second = fixture.call("createPayoutDestination")
                return identifier(at.accept(second, "a second destination to name"))
            case "beneficiary_id":
                # Another fixture in the same account has another beneficiary.
                return Fixture(at.lane, account_id=fixture.account_id).beneficiary_id
        return other_value(name, value)
    return None


def _texts(body: Body) -> list[str]:
    """Returns the names of the free texts of a body."""
    return [name for name in FREE if isinstance(body.get(name), str)]


def _in_text(change: Callable[[str], str], where: Callable[[str], object] = bool) -> Callable[[Body], Body]:
    """Changes the first free text that `where` holds of."""
    return lambda body: {name: change(body[name]) for name in [n for n in _texts(body) if where(body[n])][:1]}


def _in_names(change: Callable[[str, str], tuple[str, str]], *names: str) -> Callable[[Body], Body]:
    """Changes two texts, of one letter or more."""

    def changed(body: Body) -> Body:
        texts = [body.get(name) for name in names]
        if not all(isinstance(text, str) and len(text) > 1 for text in texts):
            return {}
        return dict(zip(names, change(str(texts[0]), str(texts[1])), strict=True))

    return changed


def _swapped(text: str) -> str:
    """Swaps two neighbours of a text that differ, digits if there are any."""
    pair = re.search(r"([0-9])(?!\1)[0-9]", text) or re.search(r"(.)(?!\1).", text)
    return text if pair is None else text[: pair.start()] + pair[0][::-1] + text[pair.end() :]


def _holds(word: str, text: str) -> bool:
    return word in text


def _replaced(word: str, by: str, text: str) -> str:
    return text.replace(word, by)


#: Texts of valid bodies exchanged, split at another letter or respelled: equal where values are compared
#: without names, concatenated or normalized. The last effect shows on one resource.
_RESPELLED: Mapping[str, Callable[[Body], Body]] = {
    "first_name and last_name exchanged": _in_names(lambda a, b: (b, a), "first_name", "last_name"),
    "a letter of last_name moved to first_name": _in_names(
        lambda a, b: (a + b[0], b[1:]), "first_name", "last_name"
    ),
    "a letter of middle_name moved to first_name": _in_names(
        lambda a, b: (a + b[0], b[1:]), "first_name", "middle_name"
    ),
    "a text without its spaces": _in_text(
        lambda text: text.replace(" ", ""), lambda text: " " in text.strip()
    ),
    "a text in upper case": _in_text(lambda text: re.sub("[0-9A-Za-z]+", lambda word: word[0].upper(), text)),
    "two characters of a text swapped": _in_text(_swapped),
    "two digits of the amount swapped": lambda body: {
        name: _swapped(body[name]) for name in ("amount",) if isinstance(body.get(name), str)
    },
    **{
        f"in a text {pair.reason}": _in_text(
            functools.partial(_replaced, *pair.value), functools.partial(_holds, pair.value[0])
        )
        for pair in COLLIDING
    },
}


def _other_forms(at: Check, original: IdempotentRequest) -> Iterator[_Other]:
    """Yields valid bodies with a field more or less than the original's, or with texts rearranged or
    respelled."""
    body = original.call.document
    for name in [name for name in body if name in FREE and name not in at.operation.required_fields][-1:]:
        yield f"without {name}", {other: body[other] for other in body if other != name}
    match at.operation.traits.creates:
        case "virtual_account":
            yield "with address", {**body, "address": samples.address("state")}
        case "payout_destination":
            yield "with is_default", {**body, "is_default": True}
    for name, value in body.items():
        if isinstance(value, str) and LETTER in value:
            yield f"another Cyrillic letter in {name}", {**body, name: value.replace(LETTER, "\u0448")}
    # Changed values come last: on one resource, the last effect shows.
    for difference, change in _RESPELLED.items():
        if (other := {**body, **change(body)}) != body:
            yield difference, other


# ---------------------------------------------------------------------- bodies that mean the same


@check("idempotency.conflict-equivalent", RULE)
def test_conflict_with_an_equivalent_body(at: Check) -> None:
    """A used key with a different body that means the same is refused; with a text that is another numeral of
    the same number, as a conflict."""

    def with_a_numeral(body: Body) -> Body:
        return {name: f"{samples.digits(6)}00" for name in _texts(body)[:1]}

    original = restyled(at, own_place(at, with_a_numeral))
    body = original.call.document
    for name in _texts(body):
        if re.fullmatch("[0-9]{6}00", text := body[name]):
            # Equal in loose comparisons.
            numerals = f"{text[:-2]}e2", f"{text}.0", f"0{text}"
            others = [(f"{name} {each} in the place of {text}", {**body, name: each}) for each in numerals]
            _judge_conflicts(at, [(original, *other) for other in others])
    for difference, changes in _equivalent(at, body):
        what = f"a used key, but {difference}"
        answer = at.send(original.call.but(body=to_json({**body, **changes})), what)
        at.refused("idempotency.conflict-equivalent", answer)


def _equivalent(at: Check, body: Body) -> Iterator[_Other]:
    """Yields changes of a valid body that mean the same once they are parsed."""
    defaults = at.operation.traits.defaults
    fields = [field.name for field in request_fields(at.operation.id) if not field.required]
    yield "with an unknown member", {"conformance": samples.marker()}
    for name, default in defaults.items():
        if name not in body:
            yield f"with {name}, written out with its default", {name: default}
    for name in [name for name in fields if name not in {*body, *defaults}][:1]:
        yield f"with {name} null instead of left out", {name: None}
    if "." in (amount := str(body.get("amount"))):
        yield "with a zero more in its amount", {"amount": f"{amount}0"}
        yield "with its amount as a number", {"amount": float(amount)}
    for name in _texts(body)[:1]:
        yield f"with a space behind its {name}", {name: f"{body[name]} "}


@check("idempotency.conflict-no-body", "idempotency.replay")
def test_conflict_without_body(at: Check) -> None:
    """A key used without a body is refused with one; without, it still returns the original response."""
    rule, what = "idempotency.conflict-no-body", "a key used without a body, now with one"
    original = IdempotentRequest(at)
    at.refused(rule, at.send(original.call.but(body=b'{"note":"another request"}'), what))
    original.replay("idempotency.replay", "the original request without a body, afterwards")


@check("idempotency.equivalent-body", RULE)
def test_equivalent_body(at: Check) -> None:
    """Records whether the same JSON with other white space or member order is a replay or a conflict. Amid
    3000 spaces, another text, or the text under another name, is a conflict; so is no body."""
    try:
        original = IdempotentRequest(at, spaced=True)
    except Inconclusive:
        original = IdempotentRequest(at)
    body, text = original.call.document, at.operation.traits.free_text
    forms = {"the same JSON with other white space": json.dumps(body, ensure_ascii=False, indent=1).encode()}
    if len(body) > 1:
        forms["the same JSON with another key order"] = to_json(dict(reversed(body.items())))
    for what, form in forms.items():
        answer = at.send(original.call.but(body=form), what)
        at.record("idempotency.equivalent-body", answer, choice=original.relation(answer))
    different: dict[str, Body | None] = {}
    if isinstance(body.get(text), str):
        # Equal to a server that compares only the first or last bytes, or values without names.
        different[f"another {text}, between much white space"] = {**body, text: other_end(body[text])}
        for spelling in (f"conformance_{text}", text.title()):
            renamed = {spelling if name == text else name: body[name] for name in body}
            different[f"its {text} under the name {spelling}"] = renamed
    different["no body"] = None
    for difference, other in different.items():
        what = f"a used key, but {difference}"
        answer = at.send(original.call.but(body=padded(to_json(other)) if other else None), what)
        at.refused(RULE, answer)
    for field in request_fields(at.operation.id):
        if field.name in FREE_TEXT and field.max_length is None:
            _judge_long_text(at, field.name)


#: Characters before and behind what differs in a long text: more than a kilobyte.
_AROUND = 1100


def _judge_long_text(at: Check, name: str) -> None:
    """Judges that two bodies conflict that differ far from the beginning and the end of a text, if the server
    takes a long one."""

    def text(middle: str) -> str:
        return f"{start}{middle}{'y' * _AROUND}"

    start, place = f"{samples.marker()}{'x' * _AROUND}", own_place(at)
    with at.probe(RULE):
        original = IdempotentRequest(at, place, {**place.body(at.operation.id), name: text("x")})
        other = {**original.call.document, name: text("y")}
        _judge_conflicts(at, [(original, f"another letter amid {2 * _AROUND} of {name}", other)])
