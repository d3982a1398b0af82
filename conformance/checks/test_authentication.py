"""Headers, timestamps, keys and nonces of requests (section 5); signatures have a module of their own."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from email.utils import parsedate_to_datetime

from conformance.checks.auth_probes import AGED, AGED_NONCE, AuthProbes, margins
from conformance.checks.cases import authentication as cases
from conformance.checks.check import check
from conformance.checks.check_context import CheckContext
from conformance.checks.places import defective, sound
from conformance.contract import signing
from conformance.judge.expectations import Refused
from conformance.judge.findings import Inconclusive
from conformance.judge.oracle.auth_rules import WINDOW
from conformance.wire.messages import Auth, Call, Exchange
from conformance.wire.provenance import new_key
from conformance.world.account import unknown_like
from conformance.world.case import Case

#: Directions from now in which a timestamp may lie.
_DIRECTIONS = (("old", -1), ("ahead", 1))


@check("auth.accepts-valid")
def test_sound_requests_pass(ctx: CheckContext) -> None:
    """A correctly signed request passes authentication, whatever hexadecimal digits its nonce is made of."""
    sound(AuthProbes(ctx, proven=False)).run(cases.sound)


@check("auth.missing-header", "auth.missing-header-status", "auth.bearer-only")
def test_missing_headers(ctx: CheckContext) -> None:
    """Each of the four headers is left out in turn, then all, without and with a bearer token instead."""
    defective(AuthProbes(ctx)).run(cases.missing_headers)


@check("auth.empty-header")
def test_empty_headers(ctx: CheckContext) -> None:
    """Each of the four headers is sent empty; timestamp and nonce also signed as empty."""
    defective(AuthProbes(ctx)).run(cases.empty_headers)


# ---------------------------------------------------------------------- timestamps


def _age(exchange: Exchange) -> tuple[float, float] | None:
    """Between how many and how many seconds old the timestamp was when the server saw it, by its Date header.

    The header is cut to the second, and servers that write it once a second may be late by another one.
    """
    try:
        date = parsedate_to_datetime(exchange.header("date") or "").timestamp()
        sent = int(exchange.timestamp or "")
    except (TypeError, ValueError, OverflowError):
        return None
    return date - exchange.elapsed - sent, date + 2 - sent


@check("auth.timestamp-window")
def test_timestamps_outside_the_window(ctx: CheckContext) -> None:
    """Timestamps just over 300 seconds old and ahead, in milliseconds, 0 and of another century."""
    engine = defective(AuthProbes(ctx))

    def send(seconds: int, direction: str) -> tuple[Case, Exchange]:
        name = f"a timestamp {abs(seconds)} s {direction}"
        case = engine.case("auth.timestamp-window", name, auth=Auth(timestamp_offset=seconds))
        return case, engine.send(engine.call(case), name)

    distances = margins(ctx)
    for direction, sign in ctx.only_wanted(_DIRECTIONS):
        for distance in distances:
            case, answer = send(sign * (WINDOW + distance), direction)
            age = _age(answer)
            if answer.refused or (age and (age[0] > WINDOW or age[1] < -WINDOW)):
                break
        engine.judge(case, answer)
    engine.run(cases.distant_timestamps)


@check("auth.timestamp-accepted")
def test_timestamps_inside_the_window(ctx: CheckContext) -> None:
    """Timestamps just under 300 seconds in the past and in the future pass authentication."""
    engine = sound(AuthProbes(ctx))

    def send(seconds: int, direction: str) -> tuple[Case, Exchange]:
        name = f"a timestamp {abs(seconds)} s {direction}"
        case = engine.case("auth.timestamp-accepted", name, auth=Auth(timestamp_offset=seconds))
        return case, engine.send(engine.call(case), name)

    distances = margins(ctx)
    for direction, sign in ctx.only_wanted(_DIRECTIONS):
        for distance in distances:
            case, answer = send(sign * max(0, WINDOW - distance), direction)
            age = _age(answer)
            if not answer.refused_authentication or (age and age[0] > -WINDOW and age[1] < WINDOW):
                break
        engine.judge(case, answer)


@check("auth.timestamp-integer")
def test_timestamps_that_are_no_integer(ctx: CheckContext) -> None:
    """Timestamps that are no integer, near the server's time for readers that are lenient."""
    defective(AuthProbes(ctx)).run(cases.no_integers)


# ---------------------------------------------------------------------- names and keys


@check("auth.header-case")
def test_header_names_in_any_case(ctx: CheckContext) -> None:
    """The four headers with their names in lower case, in upper case and with the cases swapped."""
    sound(AuthProbes(ctx)).run(cases.header_case)


@check("auth.unknown-key", "auth.unknown-key-status")
def test_unknown_keys(ctx: CheckContext) -> None:
    """API keys that nobody has, some as close to the right one as can be, signed with several secrets."""
    defective(AuthProbes(ctx)).run(cases.unknown_keys)


# ---------------------------------------------------------------------- nonces


@check("auth.nonce-replay", "auth.nonce-replay-idempotent")
def test_nonces_are_used_once(ctx: CheckContext) -> None:
    """A nonce comes again with a fresh valid signature: on this operation, from and to one of another method,
    after a request refused for its path, in the very same request, and on POST with its key and body."""
    probes = AuthProbes(ctx)
    rule, repeated = "auth.nonce-replay", "auth.nonce-replay-idempotent"
    first = probes.passed(ctx.send(ctx.valid(), "a valid request, whose nonce is used again"))
    # For test_nonces_stay_used: a nonce counts from when it was used, not from the timestamp beside it.
    aged = probes.valid().signed(timestamp_offset=AGED)
    ctx.run.cache.put(AGED_NONCE.of(ctx.operation.id), ctx.send(aged, "a nonce beside an old timestamp"))
    earlier = probes.call().signed(timestamp_offset=-2)
    probes.nonce_replay(rule, first, earlier, "a nonce used before, with another timestamp")
    if ctx.operation.is_post:
        again = first.call.signed(timestamp_offset=-3)
        probes.nonce_replay(repeated, first, again, "a repeated POST with the same key, body and nonce")
    what = "a nonce used before in a request that was refused after authentication"
    if (astray := _astray(ctx, probes)) is not None:
        probes.nonce_replay(rule, astray, probes.call().signed(timestamp_offset=-2), what)
    _shared_nonces(ctx, probes)
    identical = first.call.signed(timestamp=first.timestamp)
    probes.nonce_replay(
        repeated if ctx.operation.is_post else rule, first, identical, "the very same request again"
    )


def _astray(ctx: CheckContext, probes: AuthProbes) -> Exchange | None:
    """A valid request but for an unknown id, if the server refuses it after authentication and not before."""
    unsigned = ctx.send(
        probes.unknown_parent().signed(mangle="flip"), "a wrong signature and an unknown top-level id"
    )
    astray = ctx.send(probes.unknown_parent(), "a valid request but for an unknown top-level id")
    after = astray.refused and not astray.refused_authentication and not astray.throttled
    return astray if after and unsigned.refused_authentication else None


#: Method -> operations of another method that a nonce is shared with; the second where the first is suspect.
_PARTNERS = {
    "GET": ("createVirtualAccount", "updateBeneficiary"),
    "POST": ("listAccounts", "getAccountBalances"),
    "PATCH": ("listAccounts", "getAccountBalances"),
}


def _third(operation: str, method: str) -> str:
    """Another operation, of the same method where there is one, to try a partner with."""
    others = (
        ("listAccounts", "getAccountBalances")
        if method == "GET"
        else ("createVirtualAccount", "createBeneficiary")
    )
    return next(other for other in others if other != operation)


def _shared_nonces(ctx: CheckContext, probes: AuthProbes) -> None:
    """Judges nonces that go from this operation to one of another method, and from there to here."""
    here = ctx.operation.id
    third = _third(here, ctx.operation.method)

    def send(operation: str, what: str, nonce: str | None = None) -> Exchange:
        call = probes.valid() if operation == here else ctx.run.account("authentication").call(operation)
        return ctx.send(call.signed(nonce=nonce, timestamp_offset=-2 if nonce else 0), what)

    def share(first: str, second: str) -> tuple[Exchange, str]:
        used = probes.passed(send(first, f"a valid {first}, whose nonce is used again"))
        what = f"a nonce used before on {first}, now on {second}"
        return send(second, what, used.nonce), what

    _judge_shared(ctx, lambda partner: share(here, partner), lambda partner: share(third, partner))
    _judge_shared(ctx, lambda partner: share(partner, here), lambda partner: share(partner, third))


def _judge_shared(
    ctx: CheckContext,
    probe: Callable[[str], tuple[Exchange, str]],
    control: Callable[[str], tuple[Exchange, str]],
) -> None:
    """Judges one way of sharing a nonce with a partner.

    What goes wrong may be the partner's own fault: one that does the same with a third operation is suspect.
    """
    rule = "auth.nonce-replay"
    suspects: list[tuple[Exchange, str]] = []
    for partner in _PARTNERS[ctx.operation.method]:
        try:
            answer, what = probe(partner)
            suspects.append((answer, what))
            if _replayed(answer) or _replayed(control(partner)[0]):
                ctx.judge(rule, Refused(what, 401, "authentication_error", "nonce_replay"), answer)
                return
        except Inconclusive as stop:
            ctx.skip_judgement(rule, f"a nonce shared with {partner}: {stop.reason}", stop=stop)
    # Not one partner's own fault: nonces are not shared between methods at all.
    for answer, what in suspects[:1]:
        ctx.judge(rule, Refused(what, 401, "authentication_error", "nonce_replay"), answer)


def _replayed(answer: Exchange) -> bool:
    found = (answer.status, answer.error_type, answer.error_code)
    return found == (401, "authentication_error", "nonce_replay")


# ---------------------------------------------------------------------- what is left open


def _observe(
    ctx: CheckContext, rule: str, question: str, call: Call, organization: str = "primary"
) -> Exchange:
    answer = ctx.send(call, question, organization)
    if ctx.usable(rule, answer):
        ctx.observe(rule, question, answer.described(), answer)
    return answer


@check(
    "auth.nonce-after-failure",
    "auth.nonce-form",
    "auth.signature-upper-case",
    "auth.bearer-beside",
    "auth.body-on-get",
    "auth.precedence",
    "auth.unspecified-codes",
)
def test_open_choices(ctx: CheckContext) -> None:
    """Records what the server does with nonces, signatures and headers where that is left open."""
    probes = AuthProbes(ctx)
    failed = ctx.send(
        probes.call().signed(mangle="flip"), "a request with a wrong signature, whose nonce is used again"
    )
    _observe(
        ctx,
        "auth.nonce-after-failure",
        "a nonce used before with a wrong signature",
        probes.call().signed(nonce=failed.nonce),
    )
    _observe(ctx, "auth.nonce-form", "a UUID as the nonce", probes.call().signed(nonce=new_key()))
    _observe(
        ctx,
        "auth.nonce-form",
        "a nonce of 64 hexadecimal digits",
        probes.call().signed(nonce=secrets.token_hex(32)),
    )
    _observe(
        ctx, "auth.signature-upper-case", "a signature in upper case", probes.call().signed(mangle="upper")
    )
    bearer = probes.call().but(headers=(("Authorization", "Bearer beside"),))
    _observe(ctx, "auth.bearer-beside", "Authorization: Bearer beside a valid signature", bearer)
    unsigned = probes.call().but(body=b"{}", auth=Auth(signed_body=b""))
    _observe(ctx, "auth.body-on-get", "a body that is not signed", unsigned)
    used = ctx.send(probes.call(), "a valid request, whose nonce is used again").nonce
    unknown = unknown_like(ctx.target.primary.api_key)
    for question, call in (
        (
            "no X-Nonce and an old timestamp",
            probes.call().signed(omit=(signing.NONCE,), timestamp_offset=-3600),
        ),
        (
            "an old timestamp and a wrong signature",
            probes.call().signed(timestamp_offset=-3600, mangle="flip"),
        ),
        ("an old timestamp and a used nonce", probes.call().signed(timestamp_offset=-3600, nonce=used)),
        ("a used nonce and a wrong signature", probes.call().signed(nonce=used, mangle="flip")),
        (
            "an unknown API key and an old timestamp",
            probes.call().signed(api_key=unknown, timestamp_offset=-3600),
        ),
    ):
        _observe(ctx, "auth.precedence", question, call)
    for header in signing.HEADERS:
        _observe(ctx, "auth.unspecified-codes", f"an empty {header}", probes.call().signed(empty=(header,)))
    _observe(ctx, "auth.unspecified-codes", "the timestamp abc", probes.call().signed(timestamp="abc"))
    _observe(ctx, "auth.unspecified-codes", "an unknown API key", probes.call().signed(api_key=unknown))


@check("auth.nonce-scope")
def test_nonce_of_another_organization(ctx: CheckContext) -> None:
    """Records whether a nonce that one organization used may be used by another."""
    used = AuthProbes(ctx).passed(
        ctx.send(ctx.valid(), "a valid request, whose nonce another organization uses")
    )
    valid = ctx.account(owner="secondary").call(ctx.operation.id)
    _observe(
        ctx,
        "auth.nonce-scope",
        "a nonce used by another organization",
        valid.signed(nonce=used.nonce),
        "secondary",
    )
