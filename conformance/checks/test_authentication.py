"""Headers, timestamps, keys and nonces of requests (section 5); signatures have a module of their own."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from conformance.contract import signing
from conformance.harness.authentication import AGED, AGED_NONCE, AuthProbes, Margins, common_fixture
from conformance.harness.check import check
from conformance.harness.context import CheckContext
from conformance.judge.expectations import Refused
from conformance.judge.findings import Inconclusive
from conformance.wire.messages import Call, Exchange
from conformance.world.account import new_key, unknown_like
from conformance.world.samples import digits

#: Seconds that a timestamp may be off (section 8).
WINDOW = 300

#: Where a timestamp may lie from now.
_DIRECTIONS = (("old", -1), ("ahead", 1))


@check("auth.accepts-valid")
def test_sound_requests_pass(ctx: CheckContext) -> None:
    """A correctly signed request passes authentication, whatever hexadecimal digits its nonce is made of."""
    probes = AuthProbes(ctx, proven=False)
    nonces = (
        ("a valid request", None),
        ("a valid request whose nonce has decimal digits only, zeros first", "00" + digits(30)),
    )
    for what, nonce in ctx.only_wanted(nonces):
        answer = ctx.send(probes.valid().signed(nonce=nonce), what)
        ctx.authenticated("auth.accepts-valid", answer, what)


@check("auth.missing-header", "auth.missing-header-status", "auth.bearer-only")
def test_missing_headers(ctx: CheckContext) -> None:
    """Each of the four headers is left out in turn, then all, without and with a bearer token instead."""
    probes = AuthProbes(ctx)
    kind, code = "authentication_error", "missing_headers"

    def missing(omitted: tuple[str, ...], what: str) -> None:
        if not ctx.wanted(what):
            return
        answer = probes.send(probes.call().signed(omit=omitted), what)
        ctx.error("auth.missing-header", answer, what, type=kind, code=code)
        probes.implied_401("auth.missing-header-status", answer, what, "auth.missing-header")

    for header in signing.HEADERS:
        missing((header,), f"a request without {header}")
    missing(signing.HEADERS, "a request without any of the four headers")
    bearer = (("Authorization", f"Bearer {ctx.target.primary.api_key}"),)
    instead = (
        ("Authorization: Bearer with the API key instead of the four headers", signing.HEADERS),
        ("Authorization: Bearer and X-API-Key instead of the four headers", signing.HEADERS[1:]),
    )
    for what, omitted in ctx.only_wanted(instead):
        answer = probes.send(probes.call().but(headers=bearer).signed(omit=omitted), what)
        if (answer.error_type, answer.error_code) != (kind, code):
            alone = probes.send(
                probes.call().signed(omit=omitted), f"a control: {what}, but for Authorization"
            )
            if alone.described() == answer.described():
                reason = f"{what} makes no difference: {answer.described()} without it, too"
                ctx.skip_judgement("auth.bearer-only", reason, answer, alone, cause="auth.missing-header")
                continue
        # What a request is refused for that has some of the headers is for the server to say.
        some = omitted != signing.HEADERS
        ctx.judge("auth.bearer-only", Refused(what, 0, kind, "" if some else code), answer)


@check("auth.empty-header")
def test_empty_headers(ctx: CheckContext) -> None:
    """Each of the four headers is sent empty; timestamp and nonce also signed as empty."""
    probes = AuthProbes(ctx)
    for header in signing.HEADERS:
        probes.refused("auth.empty-header", probes.call().signed(empty=(header,)), f"an empty {header}")
    for what, call in (
        ("an empty X-Nonce, signed as empty", probes.call().signed(nonce="")),
        ("an empty X-Timestamp, signed as empty", probes.call().signed(timestamp="")),
    ):
        probes.refused("auth.empty-header", call, what)


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
    probes = AuthProbes(ctx)
    clock = ctx.run.clock

    def send(what: str, **signed: int | str) -> Exchange:
        return probes.send(probes.call().signed(**signed), what)

    def judge(answer: Exchange, what: str) -> None:
        too_old = Refused(what, 401, "authentication_error", "timestamp_too_old")
        ctx.judge("auth.timestamp-window", too_old, answer)

    margins = Margins.of(ctx)
    for direction, sign in ctx.only_wanted(_DIRECTIONS):
        seconds = WINDOW + margins.first
        answer = send(f"a timestamp {seconds} s {direction}", timestamp_offset=sign * seconds)
        age = _age(answer)
        if not answer.refused and margins.second and not (age and (age[0] > WINDOW or age[1] < -WINDOW)):
            seconds = WINDOW + margins.second
            answer = send(f"a timestamp {seconds} s {direction}", timestamp_offset=sign * seconds)
        judge(answer, f"a timestamp {seconds} s {direction}")
    others = (
        ("a timestamp in milliseconds", str(clock.now() * 1000)),
        ("the timestamp 0", "0"),
        ("a timestamp of the year 2100", "4102444800"),
    )
    for what, timestamp in ctx.only_wanted(others):
        judge(send(what, timestamp=timestamp), what)


@check("auth.timestamp-accepted")
def test_timestamps_inside_the_window(ctx: CheckContext) -> None:
    """Timestamps just under 300 seconds in the past and in the future pass authentication."""
    probes = AuthProbes(ctx)
    margins = Margins.of(ctx)
    for direction, sign in ctx.only_wanted(_DIRECTIONS):
        seconds = WINDOW - margins.first
        what = f"a timestamp {seconds} s {direction}"
        answer = ctx.send(probes.valid().signed(timestamp_offset=sign * seconds), what)
        age = _age(answer)
        if (
            answer.refused_authentication
            and margins.second
            and not (age and age[0] > -WINDOW and age[1] < WINDOW)
        ):
            seconds = WINDOW - margins.second
            what = f"a timestamp {seconds} s {direction}"
            answer = ctx.send(probes.valid().signed(timestamp_offset=sign * seconds), what)
        ctx.authenticated("auth.timestamp-accepted", answer, what)


@check("auth.timestamp-integer")
def test_timestamps_that_are_no_integer(ctx: CheckContext) -> None:
    """Timestamps that are no integer, near the server's time for readers that are lenient."""
    probes = AuthProbes(ctx)
    now = ctx.run.clock.now()
    for what, timestamp in (
        ("the timestamp abc", "abc"),
        ("a timestamp with a fraction", f"{now}.5"),
        ("a timestamp with letters after it", f"{now}abc"),
        ("an ISO 8601 timestamp", datetime.fromtimestamp(now, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")),
        ("the timestamp NaN", "NaN"),
        ("a timestamp with underscores between its digits", f"{now:_}"),
        ("a timestamp with a plus sign", f"+{now}"),
        ("a timestamp with a space between its digits", f"{str(now)[:4]} {str(now)[4:]}"),
    ):
        probes.refused("auth.timestamp-integer", probes.call().signed(timestamp=timestamp), what)


# ---------------------------------------------------------------------- names and keys


@check("auth.header-case")
def test_header_names_in_any_case(ctx: CheckContext) -> None:
    """The four headers with their names in lower case, in upper case and with the cases swapped."""
    probes = AuthProbes(ctx)
    cases = (
        ("header names in lower case", "lower"),
        ("header names in upper case", "upper"),
        ("header names with the cases swapped", "swapped"),
    )
    for what, case in ctx.only_wanted(cases):
        answer = ctx.send(probes.valid().signed(name_case=case), what)
        ctx.authenticated("auth.header-case", answer, what)


@check("auth.unknown-key", "auth.unknown-key-status")
def test_unknown_keys(ctx: CheckContext) -> None:
    """API keys that nobody has, some as close to the right one as can be, signed with several secrets."""
    probes = AuthProbes(ctx)
    known = ctx.target.primary.api_key
    for what, key, secret in (
        ("an unknown API key, signed with a secret of its own", unknown_like(known), secrets.token_hex(20)),
        ("an unknown API key, signed with the right secret", unknown_like(known), None),
        ("an unknown API key, signed with an empty secret", unknown_like(known), ""),
        ("the API key without its last character", known[:-1], None),
        ("the API key with one more character", f"{known}0", None),
        ("the API key in another letter case", known.swapcase(), None),
    ):
        if key == known:
            continue  # It has no letters.
        answer = probes.refused("auth.unknown-key", probes.call().signed(api_key=key, secret=secret), what)
        if answer is not None:
            probes.implied_401("auth.unknown-key-status", answer, what, "auth.unknown-key")


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
        call = probes.valid() if operation == here else common_fixture(ctx.run).call(operation)
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
                ctx.error(rule, answer, what, type="authentication_error", code="nonce_replay", status=401)
                return
        except Inconclusive as stop:
            ctx.skip_judgement(rule, f"a nonce shared with {partner}: {stop.reason}", cause=stop.cause)
    # Not one partner's own fault: nonces are not shared between methods at all.
    for answer, what in suspects[:1]:
        ctx.error(rule, answer, what, type="authentication_error", code="nonce_replay", status=401)


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
    valid = ctx.fixture("secondary").call(ctx.operation.id)
    _observe(
        ctx,
        "auth.nonce-scope",
        "a nonce used by another organization",
        valid.signed(nonce=used.nonce),
        "secondary",
    )
