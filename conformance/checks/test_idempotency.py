"""Used Idempotency-Keys (section 4.0): replays and conflicts."""

from __future__ import annotations

import json
from collections.abc import Sequence

from conformance.checks.check import CheckContext, check
from conformance.checks.conflicting_bodies import (
    equivalent_bodies,
    other_forms,
    other_numerals,
    other_values,
    unlike_bodies,
    with_a_numeral,
)
from conformance.checks.idempotent_requests import (
    CONFLICT,
    INVALID,
    IdempotentRequest,
    changes_around,
    further_originals,
    own_place,
    padded,
    place,
    restyled,
    with_all_signs,
    with_letters,
)
from conformance.checks.members import judge_members, look_for
from conformance.checks.side_effects import UNTOUCHED, SideEffects, anew
from conformance.judge.comparison import document
from conformance.judge.verdicts import Inconclusive
from conformance.wire.clock import wait_past
from conformance.wire.forms import new_key
from conformance.wire.messages import Call, Exchange, to_json
from conformance.world.samples import Body, with_long_texts

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
                ctx.unclear(rule, reason, answer, alone)
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
            ctx.unclear(rule, reason, refused, cause="fields.required")
            return
        what = "the same request without its required fields and key again"
        ctx.refused("fields.required", what, ctx.send(refused.call, what))
        answer = ctx.send(valid, "the key of a refused request with a valid body")
        if answer.error_code != INVALID:
            break
    ctx.record(
        rule,
        "the key of a refused request with a valid body",
        answer,
        "accepted" if answer.succeeded else answer.described(),
    )
    what = "a request again whose key had been refused before"
    if answer.succeeded:
        ctx.same("idempotency.replay", what, answer, ctx.send(valid, what))
