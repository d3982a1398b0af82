"""Headers, timestamps, keys and nonces of requests (section 5); signatures have a module of their own."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from conformance.contract import signing
from conformance.fixtures.account import new_key, unknown_like
from conformance.fixtures.samples import digits
from conformance.harness.authentication import AGED, Gate, common_scene
from conformance.harness.check import check
from conformance.harness.context import Trial
from conformance.judging.findings import Inconclusive
from conformance.wire.messages import Call, Exchange

#: Seconds that a timestamp may be off (section 8).
WINDOW = 300

#: How far beyond, or within, that a probe is: where the answer's Date header proves the distance, where it
#: cannot because of a slow answer, and where the server sends none.
PROVEN, CALIBRATED, UNCALIBRATED = 5, 10, 100


@check("auth.accepts-valid")
def test_sound_requests_pass(trial: Trial) -> None:
    """A correctly signed request passes authentication, whatever hexadecimal digits its nonce is made of."""
    gate = Gate(trial, proven=False)
    for what, nonce in (
        ("a sound request", None),
        ("a sound request whose nonce has decimal digits only, zeros first", "00" + digits(30)),
    ):
        answer = trial.send(gate.sound().signed(nonce=nonce), what)
        trial.authenticated("auth.accepts-valid", answer, what)


@check("auth.missing-header", "auth.missing-header-status", "auth.bearer-only")
def test_missing_headers(trial: Trial) -> None:
    """Each of the four headers is left out in turn, then all, without and with a bearer token instead."""
    gate = Gate(trial)
    kind, code = "authentication_error", "missing_headers"

    def missing(omitted: tuple[str, ...], what: str) -> None:
        answer = gate.send(gate.call().signed(omit=omitted), what)
        trial.error("auth.missing-header", answer, what, type=kind, code=code)
        gate.implied_401("auth.missing-header-status", answer, what, "auth.missing-header")

    for header in signing.HEADERS:
        missing((header,), f"a request without {header}")
    missing(signing.HEADERS, "a request without any of the four headers")
    bearer = (("Authorization", f"Bearer {trial.target.primary.api_key}"),)
    for omitted, what in (
        (signing.HEADERS, "Authorization: Bearer with the API key instead of the four headers"),
        (signing.HEADERS[1:], "Authorization: Bearer and X-API-Key instead of the four headers"),
    ):
        answer = gate.send(gate.call().but(headers=bearer).signed(omit=omitted), what)
        if (answer.error_type, answer.error_code) != (kind, code):
            alone = gate.send(gate.call().signed(omit=omitted), f"a control: {what}, but for Authorization")
            if alone.described() == answer.described():
                reason = f"{what} makes no difference: {answer.described()} without it, too"
                trial.set_aside("auth.bearer-only", reason, answer, alone, cause="auth.missing-header")
                continue
        trial.error("auth.bearer-only", answer, what, type=kind, code=code)


@check("auth.empty-header")
def test_empty_headers(trial: Trial) -> None:
    """Each of the four headers is sent empty; timestamp and nonce also signed as empty."""
    gate = Gate(trial)
    for header in signing.HEADERS:
        gate.refused("auth.empty-header", gate.call().signed(empty=(header,)), f"an empty {header}")
    for what, call in (
        ("an empty X-Nonce, signed as empty", gate.call().signed(nonce="")),
        ("an empty X-Timestamp, signed as empty", gate.call().signed(timestamp="")),
    ):
        gate.refused("auth.empty-header", call, what)


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
def test_timestamps_outside_the_window(trial: Trial) -> None:
    """Timestamps just over 300 seconds old and ahead, in milliseconds, 0 and of another century."""
    gate = Gate(trial)
    clock = trial.suite.clock

    def send(what: str, **signed: int | str) -> Exchange:
        return gate.send(gate.call().signed(**signed), what)

    def judge(answer: Exchange, what: str) -> None:
        trial.error(
            "auth.timestamp-window",
            answer,
            what,
            type="authentication_error",
            code="timestamp_too_old",
            status=401,
        )

    for sign, direction in ((-1, "old"), (1, "ahead")):
        seconds = WINDOW + (PROVEN if clock.calibrated else UNCALIBRATED)
        answer = send(f"a timestamp {seconds} s {direction}", timestamp_offset=sign * seconds)
        age = _age(answer)
        if not answer.refused and clock.calibrated and not (age and (age[0] > WINDOW or age[1] < -WINDOW)):
            seconds = WINDOW + CALIBRATED
            answer = send(f"a timestamp {seconds} s {direction}", timestamp_offset=sign * seconds)
        judge(answer, f"a timestamp {seconds} s {direction}")
    for what, timestamp in (
        ("a timestamp in milliseconds", str(clock.now() * 1000)),
        ("the timestamp 0", "0"),
        ("a timestamp of the year 2100", "4102444800"),
    ):
        judge(send(what, timestamp=timestamp), what)


@check("auth.timestamp-accepted")
def test_timestamps_inside_the_window(trial: Trial) -> None:
    """Timestamps just under 300 seconds in the past and in the future pass authentication."""
    gate = Gate(trial)
    clock = trial.suite.clock
    for sign, direction in ((-1, "old"), (1, "ahead")):
        seconds = WINDOW - (PROVEN if clock.calibrated else UNCALIBRATED)
        what = f"a timestamp {seconds} s {direction}"
        answer = trial.send(gate.sound().signed(timestamp_offset=sign * seconds), what)
        age = _age(answer)
        if (
            answer.refused_authentication
            and clock.calibrated
            and not (age and age[0] > -WINDOW and age[1] < WINDOW)
        ):
            seconds = WINDOW - CALIBRATED
            what = f"a timestamp {seconds} s {direction}"
            answer = trial.send(gate.sound().signed(timestamp_offset=sign * seconds), what)
        trial.authenticated("auth.timestamp-accepted", answer, what)


@check("auth.timestamp-integer")
def test_timestamps_that_are_no_integer(trial: Trial) -> None:
    """Timestamps that are no integer, near the server's time for readers that are lenient."""
    gate = Gate(trial)
    now = trial.suite.clock.now()
    for what, timestamp in (
        ("the timestamp abc", "abc"),
        ("a timestamp with a fraction", f"{now}.5"),
        ("a timestamp with letters after it", f"{now}abc"),
        ("an ISO 8601 timestamp", datetime.fromtimestamp(now, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")),
        ("the timestamp NaN", "NaN"),
    ):
        gate.refused("auth.timestamp-integer", gate.call().signed(timestamp=timestamp), what)


# ---------------------------------------------------------------------- names and keys


@check("auth.header-case")
def test_header_names_in_any_case(trial: Trial) -> None:
    """The four headers with their names in lower case, in upper case and with the cases swapped."""
    gate = Gate(trial)
    for case, what in (
        ("lower", "in lower case"),
        ("upper", "in upper case"),
        ("swapped", "with the cases swapped"),
    ):
        answer = trial.send(gate.sound().signed(name_case=case), f"header names {what}")
        trial.authenticated("auth.header-case", answer, f"header names {what}")


@check("auth.unknown-key", "auth.unknown-key-status")
def test_unknown_keys(trial: Trial) -> None:
    """API keys that nobody has, some as close to the right one as can be, signed with several secrets."""
    gate = Gate(trial)
    known = trial.target.primary.api_key
    for what, key, secret in (
        ("an unknown API key, signed with a secret of its own", unknown_like(known), secrets.token_hex(20)),
        ("an unknown API key, signed with the right secret", unknown_like(known), None),
        ("an unknown API key, signed with an empty secret", unknown_like(known), ""),
        ("the API key without its last character", known[:-1], None),
        ("the API key with one more character", f"{known}0", None),
    ):
        answer = gate.refused("auth.unknown-key", gate.call().signed(api_key=key, secret=secret), what)
        gate.implied_401("auth.unknown-key-status", answer, what, "auth.unknown-key")


# ---------------------------------------------------------------------- nonces


@check("auth.nonce-replay", "auth.nonce-replay-idempotent")
def test_nonces_are_used_once(trial: Trial) -> None:
    """A nonce comes again with a fresh valid signature: on this operation, from and to one of another method,
    after a request refused for its path, in the very same request, and on POST with its key and body."""
    gate = Gate(trial)
    rule, repeated = "auth.nonce-replay", "auth.nonce-replay-idempotent"
    first = gate.passed(trial.send(trial.sound(), "a sound request, whose nonce is used again"))
    # For test_nonces_stay_used: a nonce counts from when it was used, not from the timestamp beside it.
    aged = gate.sound().signed(timestamp_offset=AGED)
    trial.suite.shelf[f"aged nonce: {trial.operation.id}"] = trial.send(
        aged, "a nonce beside an old timestamp"
    )
    earlier = gate.call().signed(timestamp_offset=-2)
    gate.nonce_replay(rule, first, earlier, "a nonce used before, with another timestamp")
    if trial.operation.is_post:
        again = first.call.signed(timestamp_offset=-3)
        gate.nonce_replay(repeated, first, again, "a repeated POST with the same key, body and nonce")
    what = "a nonce used before in a request that was refused after authentication"
    if (astray := _astray(trial, gate)) is not None:
        gate.nonce_replay(rule, astray, gate.call().signed(timestamp_offset=-2), what)
    _shared_nonces(trial, gate)
    identical = first.call.signed(timestamp=first.timestamp)
    gate.nonce_replay(
        repeated if trial.operation.is_post else rule, first, identical, "the very same request again"
    )


def _astray(trial: Trial, gate: Gate) -> Exchange | None:
    """A sound request but for an unknown id, if the server refuses it after authentication and not before."""
    unsigned = trial.send(
        gate.unknown_parent().signed(mangle="flip"), "a wrong signature and an unknown top-level id"
    )
    astray = trial.send(gate.unknown_parent(), "a sound request but for an unknown top-level id")
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
    return next(one for one in others if one != operation)


def _shared_nonces(trial: Trial, gate: Gate) -> None:
    """Judges nonces that go from this operation to one of another method, and from there to here."""
    here = trial.operation.id
    third = _third(here, trial.operation.method)

    def send(operation: str, what: str, nonce: str | None = None) -> Exchange:
        call = gate.sound() if operation == here else common_scene(trial.suite).call(operation)
        return trial.send(call.signed(nonce=nonce, timestamp_offset=-2 if nonce else 0), what)

    def share(first: str, second: str) -> tuple[Exchange, str]:
        used = gate.passed(send(first, f"a sound {first}, whose nonce is used again"))
        what = f"a nonce used before on {first}, now on {second}"
        return send(second, what, used.nonce), what

    _judge_shared(trial, lambda partner: share(here, partner), lambda partner: share(third, partner))
    _judge_shared(trial, lambda partner: share(partner, here), lambda partner: share(partner, third))


def _judge_shared(
    trial: Trial,
    probe: Callable[[str], tuple[Exchange, str]],
    control: Callable[[str], tuple[Exchange, str]],
) -> None:
    """Judges one way of sharing a nonce with a partner.

    What goes wrong may be the partner's own fault: one that does the same with a third operation is suspect.
    """
    rule = "auth.nonce-replay"
    suspects: list[tuple[Exchange, str]] = []
    for partner in _PARTNERS[trial.operation.method]:
        try:
            answer, what = probe(partner)
            suspects.append((answer, what))
            if _replayed(answer) or _replayed(control(partner)[0]):
                trial.error(rule, answer, what, type="authentication_error", code="nonce_replay", status=401)
                return
        except Inconclusive as stop:
            trial.set_aside(rule, f"a nonce shared with {partner}: {stop.reason}", cause=stop.cause)
    # Not one partner's own fault: nonces are not shared between methods at all.
    for answer, what in suspects[:1]:
        trial.error(rule, answer, what, type="authentication_error", code="nonce_replay", status=401)


def _replayed(answer: Exchange) -> bool:
    found = (answer.status, answer.error_type, answer.error_code)
    return found == (401, "authentication_error", "nonce_replay")


# ---------------------------------------------------------------------- what is left open


def _observe(trial: Trial, rule: str, question: str, call: Call, organization: str = "primary") -> Exchange:
    answer = trial.send(call, question, organization)
    if trial.usable(rule, answer):
        trial.observe(rule, question, answer.described(), answer)
    return answer


@check(
    "auth.nonce-after-failure",
    "auth.nonce-form",
    "auth.signature-upper-case",
    "auth.bearer-beside",
    "auth.precedence",
    "auth.unspecified-codes",
)
def test_open_choices(trial: Trial) -> None:
    """Records what the server does with nonces, signatures and headers where that is left open."""
    gate = Gate(trial)
    failed = trial.send(
        gate.call().signed(mangle="flip"), "a request with a wrong signature, whose nonce is used again"
    )
    _observe(
        trial,
        "auth.nonce-after-failure",
        "a nonce used before with a wrong signature",
        gate.call().signed(nonce=failed.nonce),
    )
    _observe(trial, "auth.nonce-form", "a UUID as the nonce", gate.call().signed(nonce=new_key()))
    _observe(
        trial,
        "auth.nonce-form",
        "a nonce of 64 hexadecimal digits",
        gate.call().signed(nonce=secrets.token_hex(32)),
    )
    _observe(
        trial, "auth.signature-upper-case", "a signature in upper case", gate.call().signed(mangle="upper")
    )
    bearer = gate.call().but(headers=(("Authorization", "Bearer beside"),))
    _observe(trial, "auth.bearer-beside", "Authorization: Bearer beside a valid signature", bearer)
    used = trial.send(gate.call(), "a sound request, whose nonce is used again").nonce
    unknown = unknown_like(trial.target.primary.api_key)
    for question, call in (
        (
            "no X-Nonce and an old timestamp",
            gate.call().signed(omit=(signing.NONCE,), timestamp_offset=-3600),
        ),
        ("an old timestamp and a wrong signature", gate.call().signed(timestamp_offset=-3600, mangle="flip")),
        ("an old timestamp and a used nonce", gate.call().signed(timestamp_offset=-3600, nonce=used)),
        ("a used nonce and a wrong signature", gate.call().signed(nonce=used, mangle="flip")),
        (
            "an unknown API key and an old timestamp",
            gate.call().signed(api_key=unknown, timestamp_offset=-3600),
        ),
    ):
        _observe(trial, "auth.precedence", question, call)
    for header in signing.HEADERS:
        _observe(trial, "auth.unspecified-codes", f"an empty {header}", gate.call().signed(empty=(header,)))
    _observe(trial, "auth.unspecified-codes", "the timestamp abc", gate.call().signed(timestamp="abc"))
    _observe(trial, "auth.unspecified-codes", "an unknown API key", gate.call().signed(api_key=unknown))


@check("auth.nonce-scope")
def test_nonce_of_another_organization(trial: Trial) -> None:
    """Records whether a nonce that one organization used may be used by another."""
    used = Gate(trial).passed(
        trial.send(trial.sound(), "a sound request, whose nonce another organization uses")
    )
    sound = trial.scene("secondary").call(trial.operation.id)
    _observe(
        trial,
        "auth.nonce-scope",
        "a nonce used by another organization",
        sound.signed(nonce=used.nonce),
        "secondary",
    )
