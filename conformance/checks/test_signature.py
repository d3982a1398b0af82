"""Scope of the signature (section 5.3): requests signed over something else, and unusual but valid ones."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Iterator
from typing import Any

from conformance.checks.auth_probes import AuthProbes, sound
from conformance.checks.check import check
from conformance.checks.check_context import CheckContext
from conformance.checks.engine import Engine, table
from conformance.checks.wrong_signatures import CHANGED, HOSTS, TURNS, query_turn, recased
from conformance.contract.signing_mistakes import BEFORE_BODY, SEPARATORS
from conformance.contract.traits import TRAITS
from conformance.judge.findings import Inconclusive
from conformance.judge.oracle import ENCODED, ENCODED_LOWER, UNKNOWN
from conformance.wire.forms import hexadecimal
from conformance.wire.messages import Auth, to_json
from conformance.world.account import parameters
from conformance.world.case import Case
from conformance.world.samples import marker

#: Bytes of a prefix that a server may sign instead of the whole body.
FIRST = 1024

#: Spaces after a body: beyond the 64 KiB that some servers hash, and within any limit.
_LONG, _SHORT = 66_000, 1

#: Letters of two, three and four bytes in UTF-8.
LETTERS = "é東🏦"


@check("auth.signature")
def test_signatures_of_another_making(ctx: CheckContext) -> None:
    """Signatures with other secrets, digests and orders of parts, and correct ones altered, are refused; one
    with a random secret comes from the second organization."""
    probes = AuthProbes(ctx)
    probes.run(_made_otherwise)
    name, auth = "a signature made with a random secret", Auth(secret=secrets.token_hex(20))
    probes.second.run(lambda at: [at.case("auth.signature", name, auth=auth)])


def _made_otherwise(at: Engine) -> Iterator[Case]:
    rule, target = "auth.signature", at.ctx.target
    others = [("an empty secret", "")]
    if target.secondary is not None:
        others.append(("another organization's secret", target.secondary.secret))
    for what, secret in others:
        if secret != target.primary.secret:
            yield at.case(rule, f"a signature made with {what}", auth=Auth(secret=secret))
    for mistake in ("API key as secret", "base64", *recased(at.turn(TURNS), target.primary.secret)):
        yield at.mistake(rule, mistake)
    for form, name in CHANGED.items():
        yield at.case(rule, name, auth=Auth(signature_form=form))
    for character, what in (("0", "zeros"), ("z", "letters z")):
        yield at.case(rule, f"a signature of 64 {what}", auth=Auth(signature=character * 64))
    # Neither a bearer token nor a claimed local address replaces the signature.
    beside = (("Authorization", f"Bearer {target.primary.api_key}"), ("X-Forwarded-For", "127.0.0.1"))
    name = f"{CHANGED['other middle digit']} beside a bearer token and X-Forwarded-For: 127.0.0.1"
    yield at.case(rule, name, headers=beside, auth=Auth(signature_form="other middle digit"))


@table("auth.signed-method", at=AuthProbes)
def test_method_is_signed(at: Engine) -> Iterator[Case]:
    """Requests signed for another method, for the method in lower case, or without one, are refused."""
    rule = "auth.signed-method"
    for mistake in ("no method", "signed as GET", "signed as POST", "signed as PATCH", "lower-case method"):
        if mistake != f"signed as {at.ctx.operation.method}":
            yield at.mistake(rule, mistake)


def _paths(at: Engine) -> Iterator[Case]:
    """Requests signed for another path than their own."""
    other = "listVirtualAccounts" if at.operation.endswith(("Wallet", "Wallets")) else "listWallets"
    path = at.ctx.run.account("authentication").call(other).target
    changes: dict[str, Callable[[str], str]] = {
        "without its path": lambda target: "",
        "without the last segment": lambda target: target.rpartition("/")[0],
        "for the path of another operation": lambda target: path,
    }
    for how, change in changes.items():
        auth = Auth(signed_target=change(at.target()))
        yield at.case("auth.signed-path", f"a request signed {how}", auth=auth)
    for mistake in filter(None, ("no /v1", "trailing slash", at.turn(HOSTS))):
        yield at.mistake("auth.signed-path", mistake)
    for name in at.ctx.operation.path_parameters:
        auth = Auth(signed_target=at.target({name: UNKNOWN}))
        yield at.case("auth.signed-path", f"a request signed for another {name}", auth=auth)


@check("auth.signed-path")
def test_path_is_signed(ctx: CheckContext) -> None:
    """Requests signed without /v1, with a slash more, cut short, for other resources or decoded: refused."""
    engine = AuthProbes(ctx)
    engine.run(_paths)
    rule, name = "auth.signed-path", "a request with a percent-encoded path, signed for the decoded one"
    last, decoded = parameters(engine.operation)[-1], Auth(signed_target=engine.target())
    case = engine.case(rule, name, whose={last: ENCODED}, auth=decoded)
    answer = engine.send(engine.call(case), name)
    if answer.refused and not answer.refused_authentication:
        # A router may not find the encoded path.
        ctx.skip_judgement(rule, f"{name} was answered {answer.described()}", answer)
    else:
        engine.judge(case, answer)


@table("auth.path-as-sent", at=sound)
def test_path_as_sent(at: Engine) -> Iterator[Case]:
    """A path percent-encoded in one character, in both cases, signed as sent, passes authentication."""
    last = parameters(at.operation)[-1]
    for how, whose in (("upper-case", ENCODED), ("lower-case", ENCODED_LOWER)):
        name = f"a path percent-encoded with {how} digits, signed as sent"
        yield at.case("auth.path-as-sent", name, whose={last: whose})


#: Filter -> a valid value.
_FILTERS = {"currency": "USDC", "statuses": "active"}


def _queries(at: Engine, first: str, second: str) -> Iterator[Case]:
    """Requests with a query of two parameters and a percent-encoded one that are signed for another query.
    Where sorting and encoding could mask each other, the query has only one of them."""
    rule, whole = "auth.signed-query", f"{first}&{second}&probe=%5F"
    for how, sent, query in (
        ("for another value in the query", whole, f"{first[:-1]}3&{second}&probe=%5F"),
        ("for the query in reverse order", whole, "&".join(reversed(whole.split("&")))),
        ("for the first parameter only", whole, first),
    ):
        auth = Auth(signed_target=f"{at.target()}?{query}")
        yield at.case(rule, f"a request signed {how}", query=sent, auth=auth)
    for mistake, sent in (
        ("no query", whole),
        ("sorted query", f"{first}&{second}"),
        ("decoded target", f"{second}&probe=%5F&{first}"),
        ("lower-case escapes", whole),
        *query_turn(at, f"{first}&{second}"),
    ):
        yield at.mistake(rule, mistake, query=sent)


@check("auth.signed-query")
def test_query_is_signed(ctx: CheckContext) -> None:
    """Requests signed without the query, for other values, in another order, decoded, re-encoded or cut, or
    for a query that is not sent, are refused. Operations without parameters get unknown ones."""
    probes = AuthProbes(ctx)
    rule = "auth.signed-query"
    first, second = ("size=2", "page=2") if ctx.operation.is_list else ("second=2", "first=1")
    if filters := [name for name in _FILTERS if name in ctx.operation.query_parameters]:
        second = f"{second}&{filters[0]}={_FILTERS[filters[0]]}"
    sent, name = f"{first}&{second}&probe=%5F", "a request with a query, signed as sent"
    valid = ctx.send(probes.valid().with_query(sent), name)
    engine = probes
    try:
        probes.passed(valid)
        engine.run(_queries, first, second)
    except Inconclusive:
        # A server that does not sign the query refuses the valid request and accepts others.
        for case in _queries(engine, first, second):
            answer = engine.send(engine.call(case), case.name)
            if not ctx.usable(rule, answer) or answer.refused_authentication:
                told = f"{name} was answered {valid.described()}"
                ctx.skip_judgement(rule, told, valid, cause="auth.query-as-sent")
            else:
                engine.judge(case, answer)
    unsent = Auth(signed_target=f"{engine.target()}?{sent}")
    engine.run(lambda at: [at.case(rule, "a request signed for a query that is not sent", auth=unsent)])


#: Valid queries that parsing and serializing would change.
QUERIES = (
    "page=1&size=2",
    "size=2&page=1",
    "si%7Ae=2&page=1",
    "si%7ae=2&page=1",
    "probe=a+b%20c%2Bd&flag&empty=&probe=2&probe=1&size=2",
    # Reserved characters that a query may contain (RFC 3986), but URL libraries percent-encode.
    "probe=it's(1)*!,;:@/?$~&size=2",
)
DATE_QUERIES = (
    "start_date=2020-01-01T00%3A00%3A00Z",
    "start_date=2020-01-01T00%3a00%3a00Z",
    "start_date=2020-01-01T00:00:00Z&page=1",
)


@table("auth.query-as-sent", at=sound)
def test_query_as_sent(at: Engine) -> Iterator[Case]:
    """Parameters in several orders and encodings, signed as sent, pass authentication."""
    dates = DATE_QUERIES if "start_date" in at.ctx.operation.query_parameters else ()
    for query in (*QUERIES, *dates):
        yield at.case("auth.query-as-sent", f"the query {query}, signed as sent", query=query)


def _timestamps_and_nonces(at: Engine) -> Iterator[Case]:
    """Requests signed for another timestamp or nonce, without one, or for the nonce in upper case."""
    for mistake in ("1 s earlier", "1 s later", "no timestamp"):
        yield at.mistake("auth.signed-timestamp", mistake)
    rule, nonce = "auth.signed-nonce", _lettered_nonce()
    auth = Auth(nonce=nonce, signed_nonce=nonce[::-1])
    yield at.case(rule, "a request signed for another nonce", auth=auth)
    yield at.mistake(rule, "no nonce")
    yield at.mistake(rule, "upper-case nonce", Auth(nonce=_lettered_nonce()))


def _lettered_nonce() -> str:
    """A nonce that reversing and upper case change."""
    return f"a{hexadecimal(30)}b"


@check("auth.signed-timestamp", "auth.signed-nonce")
def test_timestamp_and_nonce_are_signed(ctx: CheckContext) -> None:
    """Requests signed for another timestamp or nonce, without it, or for the nonce in upper case: refused."""
    probes = AuthProbes(ctx)
    probes.run(_timestamps_and_nonces)
    first = probes.passed(ctx.send(probes.valid(), "a valid request, which comes again with another nonce"))
    name = "an accepted request again, with another nonce but its signature"
    again = Auth(timestamp=first.timestamp, signed_nonce=first.nonce)
    probes.sound.run(lambda at: [at.case("auth.signed-nonce", name, body=first.call.body, auth=again)])


@table("auth.no-separators", at=AuthProbes)
def test_no_separators(at: Engine) -> Iterator[Case]:
    """Requests signed with separators between the parts of the signature string are refused."""
    for mistake in SEPARATORS:
        yield at.mistake("auth.no-separators", mistake)
    if at.ctx.operation.request_schema is not None and at.turn((True, False)):
        yield at.mistake("auth.no-separators", BEFORE_BODY)


# ---------------------------------------------------------------------- bodies


def lettered(at: Engine) -> dict[str, Any]:
    """A valid body with non-ASCII letters."""
    return {**at.document(), TRAITS[at.operation].free_text: f"conformance {marker()} {LETTERS}"}


def reworded(body: bytes) -> Iterator[tuple[str, bytes]]:
    """The same JSON object in other bytes, with the differences in words."""
    document = json.loads(body)
    yield "with white space between its tokens", json.dumps(document, ensure_ascii=False).encode()
    yield "with its non-ASCII letters escaped", json.dumps(document, separators=(",", ":")).encode()
    yield "with a line feed after it", body + b"\n"


def half(body: bytes) -> bytes:
    """The first half of a body, cut between characters."""
    return body[: len(body) // 2].decode(errors="ignore").encode()


@table("auth.signed-body", at=AuthProbes)
def test_body_is_signed(at: Engine) -> Iterator[Case]:
    """Bodies that differ from the signed one in a value, the end, white space, order or escapes, and bodies
    declared as text or a form and signed as empty, are refused."""
    rule, text = "auth.signed-body", TRAITS[at.operation].free_text
    document = lettered(at)
    body = to_json(document)
    changed = to_json({**document, text: document[text].replace("conformance", "conformancE")})

    def signed(name: str, sent: bytes, over: bytes) -> Case:
        # A server may limit the length of bodies.
        long = len(sent) > 4096
        control = at.case("auth.body-as-sent", "the same long body, signed as it is sent", body=sent)
        return at.case(rule, name, body=sent, auth=Auth(signed_body=over), control=control if long else None)

    yield signed("a body with one letter changed after signing", changed, body)
    yield signed("a body with a member added after signing", to_json({**document, "x": 1}), body)
    mistakes = (
        "no body",
        "hashed body",
        "spaced body",
        "sorted body",
        "escaped body",
        "a line feed behind the body",
    )
    for mistake in mistakes:
        if mistake != "sorted body" or list(document) != sorted(document):
            yield at.mistake(rule, mistake, body=body)
    # A server that parses one media type may verify others over an empty body.
    unread = ["text/plain"]
    if at.turn((False, True)):
        # Some frameworks parse a form before the signature is verified.
        unread.append("application/x-www-form-urlencoded")
    for kind in unread:
        name = f"a body declared as {kind}, signed as empty"
        yield at.case(rule, name, content_type=kind, auth=Auth(signed_body=b""))
    padded = body.ljust(2 * FIRST)
    yield signed("a body of which half was signed", padded, half(padded))
    name = "a long body with its last byte changed after signing"
    yield signed(name, body + b" " * 9000 + b"\n", body + b" " * 9001)
    if len(document) > 1:
        name = "a body signed with its members in another order"
        yield signed(name, body, to_json(dict(reversed(document.items()))))
    for how, other in reworded(body):
        yield signed(f"a body sent {how}, signed without that", other, body)


@table("auth.signed-empty-body", at=AuthProbes)
def test_absent_body_is_signed_as_empty(at: Engine) -> Iterator[Case]:
    """Requests without a body, signed over one, are refused; on POST also those with an unsigned body."""
    rule = "auth.signed-empty-body"
    for mistake in ("empty object as body", "null as body"):
        yield at.mistake(rule, mistake)
    yield at.case(rule, "a request without a body, signed over ' '", auth=Auth(signed_body=b" "))
    if at.ctx.operation.is_post:
        name = "a request with the body {}, signed as empty"
        yield at.case(rule, name, body=b"{}", auth=Auth(signed_body=b""))


def _bodies_as_sent(at: Engine) -> Iterator[Case]:
    """Bodies with white space, in another order, with non-ASCII letters and with escapes."""

    def sent(what: str, body: bytes) -> Case:
        return at.case("auth.body-as-sent", f"{what}, signed as sent", body=body)

    escaped = (
        json.dumps(lettered(at), separators=(",", ":"))
        .replace("\\ud83c", "\\uD83C")
        .replace("conformance ", "conformance\\/ 50%25+1 ")
    )
    apart = to_json(lettered(at)).replace(b"conformance", b"conforme\xcc\x81")
    reversed_body = json.dumps(dict(reversed(lettered(at).items())), ensure_ascii=False, indent=2) + "\n"
    yield sent("a body with letters outside ASCII", to_json(lettered(at)))
    yield sent("a body with escapes", escaped.encode())
    yield sent("a body with a letter and its accent apart", apart)
    yield sent("an indented body in another order", reversed_body.encode())


def _spaced_body(at: Engine, spaces: int) -> Case:
    """A body surrounded by white space, so many `spaces` of it trailing."""
    body = b" \r\n\t" + to_json(lettered(at)) + b"\r\n" + b" " * spaces
    name = "a body with much white space around it, signed as sent"
    return at.case("auth.body-as-sent", name, body=body)


@check("auth.body-as-sent")
def test_body_as_sent(ctx: CheckContext) -> None:
    """Bodies with white space, in another order, with non-ASCII letters or escapes, and a long one, signed as
    sent, pass authentication."""
    engine = sound(ctx)
    engine.run(_bodies_as_sent)
    case = _spaced_body(engine, _LONG)
    answer = engine.send(engine.call(case), case.name)
    if answer.status == 413:
        # A server may limit the length of bodies.
        case = _spaced_body(engine, _SHORT)
        answer = engine.send(engine.call(case), case.name)
    engine.judge(case, answer)
