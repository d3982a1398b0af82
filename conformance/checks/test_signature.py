"""What the signature covers (section 5.3): requests signed for something else, and odd but valid ones."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Mapping

from conformance.contract import signing
from conformance.contract.operations import match
from conformance.contract.traits import TRAITS
from conformance.harness.authentication import AuthProbes, common_fixture, reworded
from conformance.harness.check import check
from conformance.harness.context import CheckContext
from conformance.judge.expectations import Refused
from conformance.wire.messages import MANGLES, Call, to_json
from conformance.world.account import new_key, parameters, unknown_like
from conformance.world.samples import marker

#: Letters of two, three and four bytes in UTF-8.
LETTERS = "é東🏦"

#: Spoilt signatures: all of MANGLES but what is only restyled (open: auth.signature-upper-case).
SPOILT = tuple(name for name in MANGLES if name not in ("", "upper"))

#: Spaces after a body: more than the 64 KiB that some programs hash of one.
_LONG = 66_000


@check("auth.signature")
def test_signatures_of_another_making(ctx: CheckContext) -> None:
    """Signatures made with other secrets or of another request, and the right one mutated in many ways."""
    probes = AuthProbes(ctx)
    others = [
        ("a random secret", secrets.token_hex(20)),
        ("the API key as the secret", ctx.target.primary.api_key),
        ("an empty secret", ""),
    ]
    if ctx.target.secondary is not None:
        others.append(("another organization's secret", ctx.target.secondary.secret))
    for what, secret in others:
        probes.invalid_signature(
            "auth.signature", probes.call().signed(secret=secret), f"a signature made with {what}"
        )
    for mangle in SPOILT:
        probes.invalid_signature(
            "auth.signature", probes.call().signed(mangle=mangle), f"a mutated signature ({mangle})"
        )
    # Neither a bearer token nor where a request says that it is from does instead.
    beside = (("Authorization", f"Bearer {ctx.target.primary.api_key}"), ("X-Forwarded-For", "127.0.0.1"))
    what = "a mutated signature (flip) beside a bearer token and X-Forwarded-For: 127.0.0.1"
    probes.refused("auth.signature", probes.call().but(headers=beside).signed(mangle="flip"), what)
    earlier = probes.passed(ctx.send(probes.valid(), "a valid request, whose signature is used again"))
    what = "the signature of an earlier request"
    call = probes.call().signed(signature=earlier.request_header(signing.SIGNATURE))
    probes.invalid_signature("auth.signature", call, what)


@check("auth.signed-method")
def test_method_is_signed(ctx: CheckContext) -> None:
    """Requests signed for other methods than they are sent with, for their own in lower case, and for
    none."""
    probes = AuthProbes(ctx)
    probes.invalid_signature(
        "auth.signed-method", probes.call().signed(signed_method=""), "a request signed without its method"
    )
    for method in ("GET", "POST", "PATCH", ctx.operation.method.lower()):
        if method != ctx.operation.method:
            call = probes.call().signed(signed_method=method)
            probes.invalid_signature("auth.signed-method", call, f"a request signed as {method}")


# ---------------------------------------------------------------------- path


def _other_path(ctx: CheckContext, probes: AuthProbes) -> str:
    """The path of another operation."""
    other = "listVirtualAccounts" if ctx.operation.id.endswith(("Wallet", "Wallets")) else "listWallets"
    return common_fixture(ctx.run).call(other).target


def _encoded(probes: AuthProbes, valid: Call, *, lower: bool = False) -> Call:
    """The call with one character of its last id percent-encoded, with hexadecimal digits of that case."""
    found = match(valid.method, valid.path)
    assert found is not None
    last = found[1][parameters(probes.operation)[-1]]
    # A code with a letter in it, so that its case shows.
    letter = next(
        (character for character in last if character.isascii() and not f"{ord(character):02x}".isdigit()),
        last[0],
    )
    code = f"%{ord(letter):02x}" if lower else f"%{ord(letter):02X}"
    return valid.but(target=valid.target.replace(last, last.replace(letter, code, 1), 1))


@check("auth.signed-path")
def test_path_is_signed(ctx: CheckContext) -> None:
    """Requests signed without /v1, with a slash more, cut short, for other resources and the decoded path."""
    probes = AuthProbes(ctx)
    target = probes.call().target
    signed = [
        ("without its path", ""),
        ("without /v1", target.removeprefix("/v1")),
        ("with a slash after the path", f"{target}/"),
        ("without the last segment", target.rpartition("/")[0]),
        ("for the path of another operation", _other_path(ctx, probes)),
    ]
    ids = probes.fixture.ids(probes.operation)
    signed += [
        (f"for another {name}", probes.at(**{name: unknown_like(value)}).target)
        for name, value in ids.items()
    ]
    for what, signed_target in signed:
        probes.invalid_signature(
            "auth.signed-path", probes.call().signed(signed_target=signed_target), f"a request signed {what}"
        )
    what = "a request with a percent-encoded path, signed for the decoded one"
    if not ctx.wanted(what):
        return
    answer = probes.send(_encoded(probes, probes.call()).signed(signed_target=target), what)
    if answer.refused and not answer.refused_authentication:
        ctx.skip_judgement("auth.signed-path", f"{what} was answered {answer.described()}", answer)
    else:
        ctx.error(
            "auth.signed-path",
            answer,
            what,
            type="authentication_error",
            code="invalid_signature",
            status=401,
        )


@check("auth.path-as-sent")
def test_path_as_sent(ctx: CheckContext) -> None:
    """A path with one character percent-encoded, in both cases, signed just so; it need not be found."""
    probes = AuthProbes(ctx)
    for what, lower in (("upper-case", False), ("lower-case", True)):
        what = f"a path percent-encoded with {what} digits, signed as sent"
        if not ctx.wanted(what):
            continue
        ctx.authenticated(
            "auth.path-as-sent", ctx.send(_encoded(probes, probes.valid(), lower=lower), what), what
        )


# ---------------------------------------------------------------------- query


@check("auth.signed-query")
def test_query_is_signed(ctx: CheckContext) -> None:
    """Requests signed without their query, for other values, in another order, decoded, re-encoded or cut,
    and for a query that is not sent. Where an operation has no parameters, unknown ones are sent."""
    probes = AuthProbes(ctx)
    rule = "auth.signed-query"
    first, second = ("size=2", "page=1") if ctx.operation.is_list else ("second=2", "first=1")
    sent = f"{first}&{second}&probe=%5F"
    what = "a request with a query, signed as sent"
    valid = ctx.send(probes.valid().with_query(sent), what)
    passes = (
        valid.status is not None
        and valid.status < 500
        and not valid.throttled
        and not valid.refused_authentication
    )
    path = probes.call().target
    for how, query in (
        ("without its query", ""),
        ("for another value in the query", f"{first[:-1]}3&{second}&probe=%5F"),
        ("for the query in reverse order", f"probe=%5F&{second}&{first}"),
        ("for the query in alphabetical order", "&".join(sorted((first, second, "probe=%5F")))),
        ("for the decoded query", f"{first}&{second}&probe=_"),
        ("for the query encoded in lower case", f"{first}&{second}&probe=%5f"),
        ("for the first parameter only", first),
    ):
        target = f"{path}?{query}" if query else path
        probe = probes.call().with_query(sent).signed(signed_target=target)
        if passes:
            probes.invalid_signature(rule, probe, f"a request signed {how}")
            continue
        # A server that leaves the query out refuses the valid request, and accepts this one.
        answer = probes.send(probe, f"a request signed {how}")
        if ctx.usable(rule, answer) and not answer.refused_authentication:
            refused = Refused(f"a request signed {how}", 401, "authentication_error", "invalid_signature")
            ctx.judge(rule, refused, answer)
        else:
            ctx.skip_judgement(
                rule, f"{what} was answered {valid.described()}", valid, cause="auth.query-as-sent"
            )
    probe = probes.call().signed(signed_target=f"{path}?{sent}")
    probes.invalid_signature(rule, probe, "a request signed for a query that is not sent")


#: Valid queries in ways that parsing and writing them again would change.
QUERIES = (
    "page=1&size=2",
    "size=2&page=1",
    "si%7Ae=2&page=1",
    "si%7ae=2&page=1",
    "probe=a+b%20c%2Bd&flag&empty=&probe=2&probe=1&size=2",
    # Signs that may stand in a query as they are (RFC 3986), and that URL libraries encode all the same.
    "probe=it's(1)*!,;:@/?$~&size=2",
)
DATE_QUERIES = (
    "start_date=2020-01-01T00%3A00%3A00Z",
    "start_date=2020-01-01T00%3a00%3a00Z",
    "start_date=2020-01-01T00:00:00Z&page=1",
)


@check("auth.query-as-sent")
def test_query_as_sent(ctx: CheckContext) -> None:
    """Parameters in several orders and encodings, signed just so; they need not be understood."""
    probes = AuthProbes(ctx)
    dates = DATE_QUERIES if "start_date" in ctx.operation.query_parameters else ()
    for query in (*QUERIES, *dates):
        what = f"the query {query}, signed as sent"
        if not ctx.wanted(what):
            continue
        ctx.authenticated("auth.query-as-sent", ctx.send(probes.valid().with_query(query), what), what)


# ---------------------------------------------------------------------- timestamp and nonce


#: The nonces that a request is signed for, from the one that is sent.
_NONCE_CHANGES: Mapping[str, Callable[[str], str]] = {
    "for another nonce": lambda nonce: nonce[::-1],
    "without its nonce": lambda nonce: "",
    "for its nonce in upper case": str.upper,
}


@check("auth.signed-timestamp", "auth.signed-nonce")
def test_timestamp_and_nonce_are_signed(ctx: CheckContext) -> None:
    """Requests signed for another timestamp or nonce, without it, and for the nonce in upper case."""
    probes = AuthProbes(ctx)
    now = ctx.run.clock.now()
    for what, signed in (
        ("for the second before", str(now - 1)),
        ("for the second after", str(now + 1)),
        ("without its timestamp", ""),
    ):
        probe = probes.call().signed(timestamp=str(now), signed_timestamp=signed)
        probes.invalid_signature("auth.signed-timestamp", probe, f"a request signed {what}")
    for what, change in _NONCE_CHANGES.items():
        nonce = "a" + signing.new_nonce()[2:] + "b"
        probe = probes.call().signed(nonce=nonce, signed_nonce=change(nonce))
        probes.invalid_signature("auth.signed-nonce", probe, f"a request signed {what}")
    first = probes.passed(ctx.send(probes.valid(), "a valid request, which comes again with another nonce"))
    again = first.call.signed(timestamp=first.timestamp, signed_nonce=first.nonce)
    if ctx.operation.is_post:
        again = again.but(idempotency_key=new_key())
    probes.invalid_signature(
        "auth.signed-nonce", again, "an accepted request again, with another nonce but its signature"
    )


@check("auth.no-separators")
def test_no_separators(ctx: CheckContext) -> None:
    """Requests signed with separators between the parts of the signature string."""
    probes = AuthProbes(ctx)
    for what, separator in (
        ("line feeds", "\n"),
        ("bars", "|"),
        ("dots", "."),
        ("spaces", " "),
        ("colons", ":"),
    ):
        probes.invalid_signature(
            "auth.no-separators",
            probes.call().signed(separator=separator),
            f"a request signed with {what} between the parts",
        )


# ---------------------------------------------------------------------- body


def _lettered(call: Call, probes: AuthProbes) -> Call:
    """The call with letters outside ASCII in its body."""
    name = TRAITS[probes.operation].free_text
    return call.with_field(name, f"conformance {marker()} {LETTERS}")


@check("auth.signed-body")
def test_body_is_signed(ctx: CheckContext) -> None:
    """Bodies that differ from what was signed by a value, their end, white space, order or escapes only, and
    one that is declared as text and signed as empty."""
    probes = AuthProbes(ctx)
    rule = "auth.signed-body"

    def judge(what: str, sent: bytes, signed: bytes) -> None:
        probes.invalid_signature(rule, probes.call().but(body=sent).signed(signed_body=signed), what)

    body = _lettered(probes.call(), probes).body or b""
    changed = json.loads(body)
    changed[TRAITS[probes.operation].free_text] = changed[TRAITS[probes.operation].free_text].replace(
        "conformance", "conformancE"
    )
    judge("a body with one letter changed after signing", to_json(changed), body)
    judge("a body with a member added after signing", to_json({**json.loads(body), "x": 1}), body)
    judge("a body signed as empty", body, b"")
    # Who reads bodies of one media type only may check the signature of others over nothing.
    text = probes.call().but(content_type="text/plain").signed(signed_body=b"")
    probes.refused(rule, text, "a body declared as text/plain, signed as empty")
    judge("a body of which half was signed", body, body[: len(body) // 2])
    judge(
        "a long body with its last byte changed after signing", body + b" " * 9000 + b"\n", body + b" " * 9001
    )
    for how, other in reworded(body):
        if other != body:
            judge(f"a body signed {how}", body, other)
            if "members" not in how:
                judge(f"a body sent {how}, signed without that", other, body)


@check("auth.signed-empty-body")
def test_absent_body_is_signed_as_empty(ctx: CheckContext) -> None:
    """Requests without a body, signed over one; on POST also a body that is sent but not signed."""
    probes = AuthProbes(ctx)
    rule = "auth.signed-empty-body"
    for body in (b"{}", b"null", b" "):
        probes.invalid_signature(
            rule,
            probes.call().signed(signed_body=body),
            f"a request without a body, signed over {body.decode()!r}",
        )
    if ctx.operation.is_post:
        probe = probes.call().but(body=b"{}").signed(signed_body=b"")
        probes.invalid_signature(rule, probe, "a request with the body {}, signed as empty")


@check("auth.body-as-sent")
def test_body_as_sent(ctx: CheckContext) -> None:
    """Bodies with white space, another order, letters outside ASCII and escapes, and a long one, signed just
    so."""
    probes = AuthProbes(ctx)

    def letters() -> dict[str, object]:
        document: dict[str, object] = json.loads(_lettered(probes.valid(), probes).body or b"{}")
        return document

    escaped = (
        json.dumps(letters(), separators=(",", ":"))
        .replace("\\ud83c", "\\uD83C")
        .replace("conformance ", "conformance\\/ ")
    )
    for what, body in (
        ("a body with letters outside ASCII", to_json(letters())),
        ("a body with escapes", escaped.encode()),
        (
            "a body with a letter and its accent apart",
            to_json(letters()).replace(b"conformance", b"conforme\xcc\x81"),
        ),
        (
            "an indented body in another order",
            json.dumps(dict(reversed(letters().items())), ensure_ascii=False, indent=2).encode(),
        ),
        ("a body with much white space around it", _spaced(letters(), _LONG)),
    ):
        what = f"{what}, signed as sent"
        if not ctx.wanted(what):
            continue
        answer = ctx.send(probes.valid().but(body=body), what)
        if answer.status == 413:
            # How long a body may be is for the server to say.
            answer = ctx.send(probes.valid().but(body=_spaced(letters(), 1)), what)
        ctx.authenticated("auth.body-as-sent", answer, what)


def _spaced(document: object, spaces: int) -> bytes:
    """A JSON body with white space around it, so many spaces of it behind."""
    return b" \r\n\t" + to_json(document) + b"\r\n" + b" " * spaces
