"""Bodies and their signatures (sections 4 and 5.3): other bodies than the signed one, and unusual forms."""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterator
from typing import Any

from conformance.checks.auth_probes import AuthProbes, sound
from conformance.checks.check import Check, check
from conformance.checks.engine import Engine, table
from conformance.wire.messages import Auth, Call, Exchange, to_json
from conformance.world.bodies import bodies
from conformance.world.case import Case
from conformance.world.samples import marker
from conformance.world.shapes import SHAPES

#: Bytes of a prefix that a server may sign instead of the whole body.
FIRST = 1024

#: Spaces after a body, beyond the 64 KiB that some servers hash.
_LONG = 66_000

#: Letters of two, three and four bytes in UTF-8.
LETTERS = "é東🏦"

#: A letter and its accent apart, which normal forms put together.
COMBINED = "e\u0301"


def lettered(engine: Engine) -> dict[str, Any]:
    """A valid body with non-ASCII letters."""
    return {**engine.document(), engine.traits.free_text: f"conformance {marker()} {LETTERS}"}


_OF_BODIES = (
    "no body",
    "hashed body",
    "spaced body",
    "sorted body",
    "escaped body",
    "a line feed behind the body",
)

#: What becomes of a body that is turned into text before it is verified -> bytes that show it.
_OF_TEXTS = {
    "dropped bytes": b"\xff",
    "replaced bytes": b"\xff",
    "question marks": b"\xff",
    "normalized body": COMBINED.encode(),
}


@table("auth.signed-body", engine=AuthProbes)
def test_body_is_signed(engine: Engine) -> Iterator[Case]:
    """Bodies that differ from the signed one in a value, the end, white space, order, escapes, accents or
    bytes that are no UTF-8, and bodies declared as text or a form and signed as empty, are refused."""
    rule, text = "auth.signed-body", engine.traits.free_text
    document = lettered(engine)
    body = to_json(document)
    changed = to_json({**document, text: document[text].replace("conformance", "conformancE")})

    def signed(name: str, sent: bytes, over: bytes) -> Case:
        # A server may limit the length of bodies.
        control = engine.case("auth.body-as-sent", "the same long body, signed as it is sent", body=sent)
        return engine.case(
            rule,
            name,
            body=sent,
            auth=Auth(signed_body=over),
            control=control if len(sent) > 4096 else None,
        )

    yield signed("a body with one letter changed after signing", changed, body)
    yield signed("a body with a member added after signing", to_json({**document, "x": 1}), body)
    for mistake in _OF_BODIES:
        if mistake != "sorted body" or list(document) != sorted(document):
            yield engine.mistake(rule, mistake, body=body)
    for mistake, letter in _OF_TEXTS.items():
        odd = body.replace(b"conformance", b"conformance" + letter)
        yield engine.mistake(rule, mistake, body=odd)
    name = "a body with a byte order mark put before it after signing"
    yield signed(name, codecs.BOM_UTF8 + body, body)
    # A server that parses one media type may verify others over an empty body.
    unread = ["text/plain"]
    if engine.turn((False, True)):
        # Some frameworks parse a form before the signature is verified.
        unread.append("application/x-www-form-urlencoded")
    for kind in unread:
        name = f"a body declared as {kind}, signed as empty"
        yield engine.case(rule, name, content_type=kind, auth=Auth(signed_body=b""))
    padded = body.ljust(2 * FIRST)
    yield signed("a body of which half was signed", padded, padded[:FIRST])
    name = "a long body with its last byte changed after signing"
    yield signed(name, body + b" " * 9000 + b"\n", body + b" " * 9001)
    if len(document) > 1:
        name = "a body signed with its members in another order"
        yield signed(name, body, to_json(dict(reversed(document.items()))))
    for how, other in (
        ("with white space between its tokens", json.dumps(document, ensure_ascii=False).encode()),
        ("with its non-ASCII letters escaped", json.dumps(document, separators=(",", ":")).encode()),
        ("with a line feed after it", body + b"\n"),
    ):
        yield signed(f"a body sent {how}, signed without that", other, body)


@table("auth.signed-empty-body", engine=AuthProbes)
def test_absent_body_is_signed_as_empty(engine: Engine) -> Iterator[Case]:
    """Requests without a body, signed over one, are refused; on POST also those with an unsigned body."""
    rule = "auth.signed-empty-body"
    for mistake in ("empty object as body", "null as body"):
        yield engine.mistake(rule, mistake)
    yield engine.case(rule, "a request without a body, signed over ' '", auth=Auth(signed_body=b" "))
    if engine.at.operation.is_post:
        name = "a request with the body {}, signed as empty"
        yield engine.case(rule, name, body=b"{}", auth=Auth(signed_body=b""))


@table("auth.body-on-get", engine=AuthProbes)
def test_body_of_a_get_is_signed(engine: Engine) -> Iterator[Case]:
    """A GET with a body that is left out of its signature is refused."""
    name = "a GET with the body {}, signed as empty"
    # A front end may refuse any GET with a body.
    yield engine.case("auth.body-on-get", name, body=b"{}", auth=Auth(signed_body=b""), front_end=True)


@table("auth.body-as-sent", engine=sound)
def test_body_as_sent(engine: Engine) -> Iterator[Case]:
    """Bodies with white space, in another order, with non-ASCII letters or escapes, of each kind, and a long
    one, signed as sent, pass authentication."""

    def sent(what: str, body: bytes) -> Case:
        return engine.case("auth.body-as-sent", f"{what}, signed as sent", body=body)

    escaped = (
        json.dumps(lettered(engine), separators=(",", ":"))
        .replace("\\ud83c", "\\uD83C")
        .replace("conformance ", "\\u0063onformance\\/ 50%25+1 ")
    )
    apart = to_json(lettered(engine)).replace(b"conformance", f"conform{COMBINED}".encode())
    reversed_body = json.dumps(dict(reversed(lettered(engine).items())), ensure_ascii=False, indent=2) + "\n"
    yield sent("a body with letters outside ASCII", to_json(lettered(engine)))
    yield sent("a body with escapes", escaped.encode())
    yield sent("a body with a letter and its accent apart", apart)
    yield sent("an indented body in another order", reversed_body.encode())

    for shape in SHAPES.get(engine.operation, ()):
        for body in bodies(engine.fixture, engine.operation, shape)[:1]:
            yield sent(f"a body of another kind ({shape})", to_json(body))

    # A server may limit the length of bodies: the shorter one is within any limit.
    for trailing in (" ", " " * _LONG):
        spaced = b" \r\n\t" + to_json(lettered(engine)) + b"\r\n" + trailing.encode()
        yield sent(f"a body with {'much ' * (len(trailing) > 1)}white space around it", spaced)


# ---------------------------------------------------------------------- how bodies are sent


@check("http.charset-parameter")
def test_charset_parameter(at: Check) -> None:
    """A valid body declared as application/json; charset=utf-8 is accepted."""
    declared = "application/json; charset=utf-8"
    what = f"a valid body declared as {declared}"
    at.accepted_as("http.charset-parameter", lambda usual: at.send(usual.but(content_type=declared), what))


class _Chunks(AuthProbes):
    """Engine of chunked bodies. Without its body, an update is signed as empty, and may be accepted."""

    def judge(self, case: Case, answer: Exchange) -> None:
        text = self.at.operation.traits.free_text
        taken = answer.get(text) == answer.call.document.get(text)
        if taken or not (answer.succeeded and answer.method == "PATCH"):
            super().judge(case, answer)


@check("http.chunked-body", "auth.signed-body")
def test_chunked_body(at: Check) -> None:
    """A chunked body with white space, signed over its bytes, is accepted; signed as empty or
    without the white space, refused."""
    what, chunked = "a valid body sent in chunks", (("Transfer-Encoding", "chunked"),)

    def spaced(usual: Call) -> Exchange:
        return at.send(usual.but(headers=chunked, body=json.dumps(usual.document).encode()), what)

    at.accepted_as("http.chunked-body", spaced)
    engine = _Chunks(at)
    body = json.dumps(engine.document()).encode()
    rows = {
        f"{what}, {how}": {"headers": chunked, "body": body, "auth": Auth(signed_body=signed)}
        for how, signed in (
            ("signed as empty", b""),
            ("signed without its white space", to_json(json.loads(body))),
        )
    }
    engine.batch(engine.cases("auth.signed-body", rows))
