"""Nonces (section 5.4): used once, remembered, consumed even by refused requests, compared as a whole."""

from __future__ import annotations

import time
from collections.abc import Iterator

from conformance.checks.auth_probes import (
    REMEMBERED,
    WINDOW,
    AuthProbes,
    be_patient,
    defects,
    earliest,
    later,
    lengthened,
    replayed,
)
from conformance.checks.check import Check, Steps, check
from conformance.checks.engine import Engine
from conformance.contract.needs import REFERENCES
from conformance.judge.oracle import UNKNOWN
from conformance.judge.outcomes import Judgement, Unclear
from conformance.judge.verdicts import Inconclusive
from conformance.wire.forms import other_digit
from conformance.wire.messages import Auth, Call, Exchange
from conformance.world.calls import parameters, unknown_like
from conformance.world.purposes import AUTHENTICATION
from conformance.world.refused_samples import refusal_of_valid

RULE = "auth.nonce-replay"

#: Ages of old timestamps that are still accepted, in seconds; the second one where clocks differ. A server
#: that expires the nonce 300 seconds after the timestamp, not after its use, and 5 seconds of leeway, forgets
#: it FORGOTTEN seconds after the request.
AGES, FORGOTTEN = (299, 295), 7


@check(RULE, "auth.nonce-replay-idempotent")
def test_nonces_are_used_once(at: Check) -> None:
    """A used nonce is refused in a request with a fresh valid signature: on the same operation, from and to
    one of another method, after a request refused for its path, in the very same request, and on POST with
    its key and body; on lists also between requests of the second organization, on other operations after its
    request refused for its path."""
    probes = AuthProbes(at)
    repeated = "auth.nonce-replay-idempotent"
    first = probes.recent
    earlier = probes.usual().signed(timestamp_offset=-2)
    earlier = earlier.but(body=lengthened(earlier.body), headers=(("User-Agent", "another-client/1.0"),))
    if at.operation.is_list:
        earlier = earlier.with_query("page=1&status=active&statuses=active")
        # What tells another address may be refused for that.
        forwarded = first.call.but(headers=(("X-Forwarded-For", "203.0.113.9"),))
        what = "a nonce used before, as if from another address"
        answer = at.send(forwarded.signed(nonce=first.nonce, timestamp_offset=-4), what)
        if answer.arrived - first.started <= REMEMBERED:
            at.refused(RULE, answer)
    what = "a nonce used before, with another timestamp and by another User-Agent"
    probes.nonce_replay(RULE, first, earlier, what)
    if at.operation.is_post:
        again = first.call.signed(timestamp_offset=-3)
        probes.nonce_replay(repeated, first, again, "a repeated POST with the same key, body and nonce")
    what = "a nonce used before in a request that was refused after authentication"
    engine = probes if at.operation.is_list else probes.second
    if (astray := _astray(engine)) is not None:
        probes.nonce_replay(RULE, astray, engine.call(engine.case("", "")).signed(timestamp_offset=-2), what)
    _judge_shared(at, probes)
    rule, identical = (
        repeated if at.operation.is_post else RULE,
        first.call.signed(timestamp=first.timestamp),
    )
    probes.nonce_replay(rule, first, identical, "the very same request again")
    what = "a nonce that the second organization used before"
    if at.operation.is_list and (second := probes.second) is not probes:
        # Lists only, as they create nothing.
        valid = second.fixture.call(probes.operation)
        used = probes.passed(second.send(valid, f"{what}, now new"))
        probes.nonce_replay(RULE, used, valid.signed(timestamp_offset=-2), what)


def _astray(engine: Engine) -> Exchange | None:
    """Sends a valid request with an unknown id; returns it if the server refuses it after authentication."""
    place = {parameters(engine.operation)[0]: UNKNOWN}
    wrong = engine.call(engine.case("", "", whose=place)).signed(mistake="other middle digit")
    unsigned = engine.send(wrong, "a wrong signature and an unknown top-level id")
    valid = engine.call(engine.case("", "", whose=place))
    astray = engine.send(valid, "a valid request but for an unknown top-level id")
    after = astray.refused and not astray.refused_authentication and not astray.throttled
    return astray if after and unsigned.refused_authentication else None


#: Method -> operations of another method to share a nonce with; the second where the first is suspect.
_PARTNERS = {
    "GET": ("createVirtualAccount", "updateBeneficiary"),
    "POST": ("listAccounts", "getAccountBalances"),
    "PATCH": ("listAccounts", "getAccountBalances"),
}


def _judge_shared(at: Check, probes: AuthProbes) -> None:
    """Judges nonces used on this operation and then on one of another method, and in the other order.

    A partner that fails with a third operation as well is suspect: the defect may be its own. Where all
    partners fail, it is not."""
    here = at.operation.id
    # Of the same method where there is one.
    reads, writes = ("listAccounts", "getAccountBalances"), ("createVirtualAccount", "createBeneficiary")
    third = next(other for other in (reads if at.operation.method == "GET" else writes) if other != here)

    def send(operation: str, what: str, nonce: str | None = None) -> Exchange:
        call = probes.valid() if operation == here else at.lane.account(AUTHENTICATION).call(operation)
        return at.send(call.signed(nonce=nonce, timestamp_offset=-2 if nonce else 0), what)

    def shared(first: str, second: str) -> Judgement:
        new = f"a valid {first}, whose nonce is used again"
        used = probes.recent if first == here else probes.passed(send(first, new))
        what = f"a nonce used before on {first}, now on {second}"
        return replayed(what, send(second, what, used.nonce))

    for order in (1, -1):
        suspects: list[Judgement] = []
        refusing: list[Unclear] = []
        for partner in _PARTNERS[at.operation.method]:
            try:
                suspects.append(shared(*(here, partner)[::order]))
                if not suspects[-1][1] or not shared(*(third, partner)[::order])[1]:
                    at.expect(RULE, *suspects[-1])
                    break
            except Inconclusive as stop:
                reason = f"a nonce shared with {partner}: {stop.why.reason}"
                refusing.append(stop.why.because(reason))
        else:
            for judgement in suspects[:1]:
                at.expect(RULE, *judgement)
            for why in [] if suspects else refusing[:1]:
                at.unclear(RULE, why)


@check(RULE, last=True)
def test_nonces_stay_used(at: Check) -> None:
    """The first nonce of the run, sent again at its end: refused."""
    probes = AuthProbes(at)
    first = earliest(at) or probes.recent
    be_patient(at, lambda: at.lane.account(AUTHENTICATION).call("listAccounts"), "a request in between")
    _judge_old(at, probes, first, REMEMBERED, "--effort deep waits for the rest")


#: Age in seconds for which deep runs wait, and up to which they ask for a nonce of section 8's window.
_OLD, _OLDEST = WINDOW - 12, WINDOW - 4


@check(RULE, waits=True, deep=True)
def test_nonces_stay_used_for_the_whole_window(at: Check) -> Steps[None]:
    """A nonce of almost 300 seconds ago, sent again: refused."""
    probes = AuthProbes(at)
    yield max(0.0, probes.first.started + _OLD - time.time())
    # What ran meanwhile may have taken longer.
    used = earliest(at, _OLDEST) or probes.recent
    _judge_old(at, probes, used, WINDOW - 1, "the rest is a margin for clocks")


def _judge_old(at: Check, probes: AuthProbes, used: Exchange, within: float, rest: str) -> None:
    """Judges that the nonce of an old request is refused, and says how old it was."""
    age, what = time.time() - used.started, f"a nonce used before, {later(at, used)}"
    if probes.nonce_replay(RULE, used, probes.usual(), what, within=within):
        at.reached(RULE, age, f"nonces were remembered for {age:.0f} s of {WINDOW}; {rest}")


@check(RULE, waits=True)
def test_nonces_outlive_timestamps(at: Check) -> Iterator[float]:
    """A nonce beside an almost expired timestamp, sent again once that has expired: refused, as nonces are
    remembered from their use on."""
    probes = AuthProbes(at)
    what = "a nonce used seconds ago beside a timestamp that was almost too old"
    for age in AGES:
        aged = at.send(probes.valid().signed(timestamp_offset=-age), "a nonce beside an old timestamp")
        if not aged.refused_authentication:
            break
    if at.usable(RULE, aged) and not aged.refused_authentication:
        yield max(0.0, aged.arrived + FORGOTTEN - time.time())
        probes.nonce_replay(RULE, aged, probes.usual(), what)


# ---------------------------------------------------------------------- refused requests


def _refused_later(probes: AuthProbes) -> Iterator[tuple[str, Call]]:
    """Correctly signed requests that are refused later or take another code path, with their names."""
    operation = probes.at.operation
    for what, changes in defects(probes):
        yield what, probes.call(probes.case("", what, **changes))
    if operation.required_fields:
        yield "without its required fields", probes.usual().but(body=b"{}")
    elif operation.traits.subset_of:
        yield "that changes nothing", probes.usual().but(body=b"{}")
        yield "with a number for a text", probes.usual().but(body=b'{"first_name":1}')
    if operation.is_post:
        first = probes.send(probes.usual(), "a valid request, whose key comes again")
        if first.succeeded:
            yield "that repeats another with its key", first.call
        if first.succeeded and operation.request_schema is not None:
            text = operation.traits.free_text
            other = first.call.with_field(text, f"{first.call.document[text]} other")
            yield "with a used idempotency key and another body", other
    for member in REFERENCES[operation.id]:
        usual = probes.usual()
        yield f"for an unknown {member}", usual.with_field(member, unknown_like(usual.document[member]))
    if operation.traits.draws_on_funds:
        with probes.at.probe(RULE):
            fixture = probes.at.lane.account(fresh=True, operation=operation.id)
            yield "from a new account, without funds", fixture.call(operation.id)
    if operation.is_list:
        yield "for a page past the last", probes.usual().with_query("page=90000&size=100")


@check("auth.accepts-valid")
def test_resembling_nonces(at: Check) -> None:
    """A nonce that differs from a used one in its last or its first character is accepted."""
    probes = AuthProbes(at)
    sound, used = probes.sound, probes.recent.nonce or ""
    rows = {
        f"a valid request whose nonce differs from a used one in its {which} character": Auth(
            nonce=other_digit(used, position)
        )
        for which, position in (("last", -1), ("first", 0))
    }
    sound.batch(sound.cases("auth.accepts-valid", rows))


@check(RULE)
def test_nonces_of_refused_requests(at: Check) -> None:
    """The nonce of a request refused for its body, key, query, child, payee or foreign parent, or of one that
    replayed or changed nothing, is sent again with a valid request: refused as used."""
    probes = AuthProbes(at)
    for what, call in _refused_later(probes):
        used = probes.send(call, f"a rightly signed request {what}, whose nonce is used again")
        if used.throttled or used.status is None or used.refused_authentication:
            reason = f"{used.purpose} was answered {used.described()}"
            why = refusal_of_valid(used).why.because(reason)
            # A server may answer 401 to what it refuses for another reason.
            choice = used.refused and used.error_type != "authentication_error"
            at.unclear(RULE, why, used, choice=choice)
            continue
        again = f"a nonce used before in a request {what}"
        answer = probes.send(probes.usual().signed(nonce=used.nonce, timestamp_offset=-2), again)
        if not answer.refused_authentication:
            # A server that validates before it authenticates consumes no nonce.
            unsigned = probes.send(
                call.signed(mistake="other middle digit"), f"a wrongly signed request {what}"
            )
            if not unsigned.refused_authentication:
                reason = f"a request {what} is refused before authentication"
                at.unclear(RULE, reason, answer, unsigned, cause="auth.comes-first")
                continue
        at.expect(RULE, *replayed(again, answer), used)
