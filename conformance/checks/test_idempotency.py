"""Idempotency keys (section 4.0): accepted and invalid keys, replays, conflicts."""

from __future__ import annotations

import json
from collections.abc import Sequence

from conformance.checks.check import check
from conformance.checks.check_context import CheckContext
from conformance.checks.engine import Engine
from conformance.checks.idempotent_requests import (
    CONFLICT,
    IdempotentRequest,
    changes_around,
    equivalent_bodies,
    further_originals,
    invalid_keys,
    other_forms,
    other_numerals,
    other_values,
    own_place,
    padded,
    place,
    restyled,
    unlike_bodies,
    with_a_numeral,
    with_all_signs,
    with_letters,
)
from conformance.checks.members import judge_members, look_for
from conformance.checks.repetition import anew
from conformance.checks.side_effects import UNTOUCHED, SideEffects
from conformance.checks.usual_form import judge_as_usual
from conformance.contract.signing import NAME_CASES
from conformance.judge.comparison import document
from conformance.judge.findings import Inconclusive
from conformance.wire.clock import wait_past
from conformance.wire.forms import new_key
from conformance.wire.messages import Call, Exchange, to_json
from conformance.world.samples import Body, with_long_texts

INVALID = "invalid_idempotency_key"


# ---------------------------------------------------------------------- which keys are accepted


@check(
    "idempotency.key-required",
    "idempotency.payout-key-required",
    UNTOUCHED,
)
def test_missing_key(ctx: CheckContext) -> None:
    """A POST without Idempotency-Key is refused and has no effect; with a key it is accepted."""
    fixture = place(ctx)
    valid = fixture.call(ctx.operation.id)
    effects = SideEffects(ctx, fixture).start()
    # Neither header replaces Idempotency-Key.
    others = (("X-Idempotency-Key", new_key()), ("X-Request-Id", new_key()))
    bare = valid.but(idempotency_key=None, headers=others)
    answer = ctx.send(bare, "no Idempotency-Key")
    for rule in ("idempotency.key-required", "idempotency.payout-key-required"):
        if rule in ctx.rules:
            ctx.refused(rule, "a POST without Idempotency-Key", answer)
    if answer.succeeded:
        # The rule is implied, and without a refusal there is no effect to judge.
        ctx.not_exercised(UNTOUCHED, "a POST without Idempotency-Key is not refused")
        return
    effects.judge(
        UNTOUCHED,
        "a POST without Idempotency-Key",
        [answer],
        lambda: [ctx.send(again, "no Idempotency-Key, again") for again in anew(ctx.run, [bare])],
    )
    ctx.accept(valid, "the same request with a key")


@check("idempotency.key-invalid", UNTOUCHED)
def test_invalid_key(ctx: CheckContext) -> None:
    """A key that is not a UUID is refused with invalid_idempotency_key and has no effect; with a UUID the
    request is accepted."""
    fixture = place(ctx)
    engine = Engine(ctx, lambda: fixture)
    valid = fixture.call(ctx.operation.id)

    def again() -> list[Exchange]:
        (repeated,) = anew(ctx.run, [valid])
        rows = invalid_keys(engine, repeated.body)
        return [engine.send(engine.call(case), case.name) for case in rows]

    effects = SideEffects(ctx, fixture).start()
    answers = engine.run(invalid_keys, valid.body)
    what = "requests with an invalid Idempotency-Key"
    effects.judge_refused(what, answers, again)
    ctx.accept(valid, "the same request with a UUID as key")


@check("idempotency.key-accepted", "idempotency.key-other-uuids")
def test_valid_keys(ctx: CheckContext) -> None:
    """Version 4 UUIDs in lower case are accepted as keys, in any letter case of the header's name (RFC 9110,
    5.1); so are other versions and upper case."""
    answers: list[tuple[str, Exchange, Call]] = []
    usual, others = "idempotency.key-accepted", "idempotency.key-other-uuids"
    keys = [(f"a version 4 UUID of variant {digit}", new_key(variant=digit), usual) for digit in "89ab"]
    cases = dict(zip((what for what, *_ in keys), NAME_CASES, strict=False))
    # A fixed variant makes runs comparable.
    for version in (1, 5, 7):
        keys.append((f"a version {version} UUID", new_key(version=version, variant="a"), others))
    keys.append(("a version 4 UUID in upper case", with_letters("a").upper(), others))
    for what, key, rule in keys:
        # An account of its own for each key, where the operation succeeds only once in one.
        usual_form = ctx.valid()
        valid = usual_form.but(idempotency_key=key).signed(name_case=cases.get(what, ""))
        answers.append((rule, ctx.send(valid, what), usual_form))
    for rule, answer, usual_form in answers:
        if answer.error_code in (INVALID, CONFLICT[1]) or answer.error_type == CONFLICT[0]:
            ctx.accepted(rule, answer.purpose, answer)
        else:
            # A server may take one wallet of a pair in all accounts, or one payout of an amount a day.
            judge_as_usual(ctx, rule, answer, usual_form)


@check("idempotency.key-forms")
def test_key_forms(ctx: CheckContext) -> None:
    """Records whether other text forms of a UUID, and an empty header, are accepted as Idempotency-Key."""
    forms = {
        "a UUID without hyphens": new_key().replace("-", ""),
        "a UUID in braces": f"{{{new_key()}}}",
        "a UUID as URN": f"urn:uuid:{new_key()}",
        "an empty Idempotency-Key": "",
    }
    for what, key in forms.items():
        answer = ctx.send(ctx.valid().but(idempotency_key=key), what)
        ctx.record("idempotency.key-forms", what, answer, _outcome(answer))


@check("idempotency.key-case")
def test_key_in_the_other_case(ctx: CheckContext) -> None:
    """Records whether a used key in upper case is the same key (an idempotent replay) or another one."""
    rule, key = "idempotency.key-case", with_letters()
    first = ctx.accept(ctx.valid().but(idempotency_key=key), "the first use of an idempotency key")
    answer = ctx.send(first.call.but(idempotency_key=key.upper()), "the same key in upper case")
    same = answer.succeeded and answer.get("id") == first.get("id")
    seen = "the same key" if same else "another key" if answer.succeeded else ""
    ctx.record(rule, "a used key in upper case", answer, seen)


@check("idempotency.key-elsewhere")
def test_key_on_get_and_patch(ctx: CheckContext) -> None:
    """Records whether an Idempotency-Key on GET or PATCH is accepted, once and repeated."""
    rule = "idempotency.key-elsewhere"
    key = new_key()
    for what in ("an Idempotency-Key", "the same Idempotency-Key again"):
        answer = ctx.send(ctx.valid().but(idempotency_key=key), f"{what} on {ctx.operation.method}")
        ctx.record(rule, f"{what} on {ctx.operation.method}", answer, _outcome(answer))


def _outcome(answer: Exchange) -> str:
    return "accepted" if answer.succeeded else answer.described()


# ---------------------------------------------------------------------- replays


@check("idempotency.replay")
def test_replay(ctx: CheckContext) -> None:
    """The same key and body on the same path return the original status and body, letters and signs of all
    kinds included, also after another key was used; the operation is neither repeated nor undone."""
    rule = "idempotency.replay"
    original = restyled(ctx, with_all_signs)
    disabled = False
    if ctx.operation.traits.disables:
        # A second execution shows in `updated` only if the clock has advanced.
        wait_past(original.exchange.get("updated"))
        disabled = _disabled(ctx, original, "a disabled beneficiary").get("status") == "disabled"
    effects = SideEffects(ctx, original.fixture).start()
    effects.accepted.add(original.id)
    answer = original.replay(rule, "the same key and body again")
    effects.judge(
        rule,
        "a repetition",
        [original.exchange, answer],
        lambda: original.replay(rule, "the same key and body once more"),
    )
    original.another()
    what = "the same key and body a third time, after another request with another key"
    original.replay(rule, what, headers=(("Accept", "*/*;q=0.1"), ("X-Request-Id", new_key())))
    if disabled:
        what = "a disabled beneficiary, after the same key and body came again"
        later = _disabled(ctx, original, what)
        if ctx.usable(rule, later) and later.succeeded:
            judge_members(ctx, rule, later, _DISABLED, what)


#: Member that shows that a beneficiary is disabled.
_DISABLED = {"status": "disabled"}


def _disabled(ctx: CheckContext, original: IdempotentRequest, what: str) -> Exchange:
    """Reads the beneficiary of a disable request until it shows as disabled."""
    path = original.exchange.call.path.rpartition("/")[0]
    return look_for(ctx, Call("getBeneficiary", "GET", path), what, _DISABLED)


@check("idempotency.replay-after-change")
def test_replay_after_change(ctx: CheckContext) -> None:
    """After the resource or its surroundings have changed, the same key and body still return the original
    response and do not revert the change."""
    rule = "idempotency.replay-after-change"
    fixture = own_place(ctx)
    body = None
    if ctx.operation.traits.creates in ("payout_destination", "payout", "payin"):
        sample = fixture.body(ctx.operation.id)
        body = {name: sample[name] for name in sample if name not in ("label", "note", "description")}
    if body is not None and ctx.operation.traits.creates == "payout_destination":
        # A later default destination may clear it on the first one.
        body["is_default"] = True
    original = IdempotentRequest(ctx, fixture, body)
    changed = [exchange for exchange in changes_around(ctx, original) if exchange.succeeded]
    if not changed:
        raise Inconclusive("none of the requests that change what surrounds the resource was accepted")
    if ctx.operation.traits.disables:
        wait_past(changed[-1].get("updated"))
    shown_by = "updateBeneficiary" if ctx.operation.traits.shown_only_by_read else ""
    effects = SideEffects(ctx, original.fixture, shown_by).start()
    effects.accepted.update(str(accepted.get("id")) for accepted in (original.exchange, *changed))
    answer = original.replay(rule, "the same key and body after a change")
    effects.judge(
        rule,
        "the repetition after a change",
        [original.exchange, answer],
        lambda: original.replay(rule, "the same key and body after a change, again"),
    )
    patched = next((each for each in changed if each.operation == "updateBeneficiary"), None)
    if shown_by and patched is not None:
        state = {"status": "disabled"} if changed[-1].operation == "disableBeneficiary" else {}
        expected, what = patched.call.document | state, "a changed beneficiary after its create came again"
        later = look_for(ctx, fixture.call("getBeneficiary"), what, expected)
        if ctx.usable(rule, later) and later.succeeded:
            judge_members(ctx, rule, later, expected, what, otherwise=document(patched) | state)


#: Original request, description of the difference, body to send with its key.
_Conflict = tuple[IdempotentRequest, str, Body]


@check("idempotency.conflict", "idempotency.replay", UNTOUCHED)
def test_conflict(ctx: CheckContext) -> None:
    """A used key with a valid body that differs in one field is refused with idempotency_key_conflict, before
    and after a replay, without an effect; the original body still returns its response."""
    what = "requests with a used key and another body"
    first = restyled(ctx, with_long_texts)
    originals = [first, *further_originals(ctx, first)]
    conflicts: list[_Conflict] = []
    known: set[str] = set()
    for original in originals:
        others = list(other_values(original, but=known))
        others += other_forms(original) if original is first else ()
        conflicts += [(original, *other) for other in others]
        known |= original.call.document.keys()
    # Only a read of the beneficiary shows whether another body took effect.
    shown_by = "updateBeneficiary" if ctx.operation.traits.shown_only_by_read else ""
    effects = SideEffects(ctx, first.fixture, shown_by).start()
    effects.accepted.update(original.id for original in originals)
    answers = _judge_conflicts(ctx, conflicts)

    def again() -> list[Exchange]:
        calls = anew(ctx.run, [answer.call for answer in answers])
        # An amount may come again: with the original's own, what differed in it is the original request.
        bodies = {original.call.body for original in originals}
        others = [call for call in calls if call.body not in bodies]
        return [ctx.send(call, "a used key with another body, again") for call in others]

    effects.judge_refused(what, answers, again)
    refused = [answer for answer in answers if answer.refused]
    if shown_by and refused:
        SideEffects(ctx, first.fixture).judge(UNTOUCHED, what, refused)
    if ctx.operation.traits.unique_pair:
        first.judge_pair(refused)
    what = "the original key and body after the conflicts"
    first.replay("idempotency.replay", what, content_type="application/json; charset=utf-8")
    for original in originals[1:]:
        original.replay("idempotency.replay", what)
    _judge_conflicts(ctx, [(original, f"{how} once more", body) for original, how, body in conflicts[:1]])


@check("idempotency.conflict-equivalent", "idempotency.conflict")
def test_conflict_with_an_equivalent_body(ctx: CheckContext) -> None:
    """A used key with a different body that means the same is refused; with a text that is another numeral of
    the same number, as a conflict."""
    original = restyled(ctx, with_a_numeral)
    numerals = other_numerals(original.call.document)
    _judge_conflicts(ctx, [(original, how, body) for how, body in numerals])
    for difference, body in equivalent_bodies(ctx.operation.id, original.call.document):
        what = f"a used key, but {difference}"
        answer = ctx.send(original.call.but(body=to_json(body)), what)
        ctx.refused("idempotency.conflict-equivalent", what, answer)


def _judge_conflicts(ctx: CheckContext, conflicts: Sequence[_Conflict]) -> list[Exchange]:
    """Judges that each body is refused as a conflict; returns the answers, those to a fresh key included."""
    rule, answers = "idempotency.conflict", []
    for original, what, body in conflicts:
        answer = ctx.send(original.call.but(body=to_json(body)), f"a used key, but {what}")
        answers.append(answer)
        if answer.refused and (answer.error_type, answer.error_code) != CONFLICT:
            # Validation may come before the key is compared: try the body with a fresh key.
            alone = original.with_fresh_key(body)
            if not alone.succeeded:
                reason = f"{what}: such a body is refused with a fresh key, too ({alone.described()})"
                ctx.skip_judgement(rule, reason, answer, alone)
                continue
            answers.append(alone)
        ctx.refused(rule, answer.purpose, answer, 0, CONFLICT[0], CONFLICT[1])
    return answers


@check(
    "idempotency.conflict-no-body",
    "idempotency.replay",
)
def test_conflict_without_body(ctx: CheckContext) -> None:
    """A key used without a body is refused with one; without, it still returns the original response."""
    rule = "idempotency.conflict-no-body"
    original = IdempotentRequest(ctx)
    what = "a key used without a body, now with one"
    answer = ctx.send(original.call.but(body=b'{"note":"another request"}'), what)
    ctx.refused(rule, what, answer)
    original.replay("idempotency.replay", "the original request without a body, afterwards")


# ---------------------------------------------------------------------- what is left open


@check("idempotency.equivalent-body", "idempotency.conflict")
def test_equivalent_body(ctx: CheckContext) -> None:
    """Records whether the same JSON with other white space or member order is a replay or a conflict. Behind
    3000 spaces, another text, or the text under another name, is a conflict; so is no body."""
    rule = "idempotency.equivalent-body"
    try:
        original = IdempotentRequest(ctx, spaced=True)
    except Inconclusive:
        original = IdempotentRequest(ctx)
    document = original.call.document
    spaced = json.dumps(document, ensure_ascii=False, indent=1).encode()
    forms = {"the same JSON with other white space": spaced}
    if len(document) > 1:
        forms["the same JSON with another key order"] = to_json(dict(reversed(document.items())))
    for what, body in forms.items():
        answer = ctx.send(original.call.but(body=body), what)
        ctx.record(rule, what, answer, original.relation(answer))
    for what, different in unlike_bodies(document, ctx.operation.traits.free_text):
        answer = ctx.send(original.call.but(body=padded(to_json(different))), what)
        ctx.refused("idempotency.conflict", what, answer)
    what = "a used key, but no body"
    ctx.refused("idempotency.conflict", what, ctx.send(original.call.but(body=None), what))


@check("idempotency.other-path", "idempotency.replay")
def test_other_path(ctx: CheckContext) -> None:
    """Records what the same key and body do on another path; a replay on the first one is unaffected."""
    rule = "idempotency.other-path"
    original = IdempotentRequest(ctx)
    elsewhere = ctx.account(fresh=True).call(ctx.operation.id)
    answer = ctx.send(original.call.but(target=elsewhere.target), "the same key and body on another path")
    ctx.record(rule, "the same key and body on another path", answer, original.relation(answer))
    if "idempotency.replay" in ctx.rules:
        original.replay("idempotency.replay", "the same key and body again, after another path had them")


@check("idempotency.after-refusal", "idempotency.replay", "fields.required")
def test_after_refusal(ctx: CheckContext) -> None:
    """Records whether a refused request consumes its key: refused twice, the key is sent again with a valid
    body, padded to some 3 kB. If that is accepted, a replay returns the same response, also with a key in
    upper case."""
    rule, usual = "idempotency.after-refusal", place(ctx).call(ctx.operation.id)
    ctx.not_exercised("idempotency.replay", "no request was accepted whose key had been refused before")
    # A server may take keys in lower case only.
    for key in (with_letters().upper(), new_key()):
        valid = usual.but(body=padded(usual.body or b""), idempotency_key=key)
        refused = ctx.send(valid.but(body=b"{}"), "a request without its required fields")
        if not refused.refused:
            reason = f"a request without its required fields was answered {refused.described()}"
            ctx.skip_judgement(rule, reason, refused, cause="fields.required")
            return
        what = "the same request without its required fields and key again"
        ctx.refused("fields.required", what, ctx.send(refused.call, what))
        answer = ctx.send(valid, "the key of a refused request with a valid body")
        if answer.error_code != INVALID:
            break
    ctx.record(rule, "the key of a refused request with a valid body", answer, _outcome(answer))
    what = "a request again whose key had been refused before"
    if answer.succeeded:
        ctx.same("idempotency.replay", what, answer, ctx.send(valid, what))
