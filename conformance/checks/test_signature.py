"""Scope of the signature (section 5.3): requests signed over something else, and unusual but valid ones."""

from __future__ import annotations

import secrets
from collections.abc import Iterator

from conformance.checks.auth_probes import AuthProbes, sound
from conformance.checks.check import Check, check
from conformance.checks.engine import Engine, Step, table
from conformance.contract.operations import OPERATIONS
from conformance.contract.signing_mistakes import BEFORE_BODY, SEPARATORS
from conformance.judge.oracle import ENCODED, ENCODED_LOWER, UNKNOWN
from conformance.judge.verdicts import Inconclusive
from conformance.wire.forms import hexadecimal
from conformance.wire.messages import Auth
from conformance.world.calls import parameters
from conformance.world.case import Case

#: Changes of the correct signature.
CHANGED = (
    # A server that accepts a prefix accepts this one; decoders of hexadecimal refuse half a byte.
    "last byte left out",
    "one byte more",
    # Some leave out half a byte at the end.
    "one digit more",
    # What a lenient decoder of hexadecimal reads as digits, or leaves out.
    "letters for digits",
    "a space between digits",
    # What becomes of a header that comes twice.
    "two signatures",
    # A comparison of the first characters misses it.
    "other middle digit",
    "other last digit",
    "other first digit",
)

#: Other digests that a server may accept too.
DIGESTS = ("SHA-512", "SHA-1", "MD5")

#: Other secrets and orders of parts that a server may accept too, one per operation in turn.
TURNS = (
    "hashed secret",
    "no HMAC",
    "no secret",
    "arguments swapped",
    "nonce before timestamp",
    "timestamp first",
    "scheme before the signature",
    "a line feed behind the secret",
    "shortened secret",
    "lower-case secret",
    "hyphens in the signature",
)

#: What a server may sign before the path, for every second operation.
HOSTS = ("", "host", "", "scheme and host")

#: Mistake and a parameter that reveals it, for every second operation in turn.
QUERY_TURNS = (
    ("plus as %20", "probe=a+b"),
    ("upper-case escapes", "probe=%5f"),
    ("no question mark", "probe=1"),
    ("%20 as plus", "probe=a%20b"),
    ("no empty parameters", "probe=&last=1"),
    ("no equals sign behind a name alone", "probe=&last=1"),
)


def _recased(mistake: str, secret: str) -> list[str]:
    """Returns the mistake; of those in the letter case of the secret, the one that changes the secret."""
    cases = {"lower-case secret": secret.lower(), "capital secret": secret.upper()}
    if mistake not in cases:
        return [mistake]
    return [name for name, other in cases.items() if other != secret][:1]


@table("auth.signature", engine=AuthProbes)
def test_signatures_of_another_making(engine: AuthProbes) -> Iterator[Case | Step]:
    """Signatures with other secrets, digests and orders of parts, and correct ones altered, are refused; one
    with a random secret comes from the second organization."""
    rule, target = "auth.signature", engine.at.target
    others = [("an empty secret", "")]
    if target.secondary is not None:
        others.append(("another organization's secret", target.secondary.secret))
    for what, secret in others:
        if secret != target.primary.secret:
            yield engine.case(rule, f"a signature made with {what}", auth=Auth(secret=secret))
    turn = _recased(engine.turn(TURNS), target.primary.secret)
    for mistake in ("API key as secret", "base64", *DIGESTS, *turn):
        yield engine.mistake(rule, mistake)
    for mistake in CHANGED:
        yield engine.mistake(rule, mistake)
    for character, what in (("0", "zeros"), ("z", "letters z")):
        yield engine.case(rule, f"a signature of 64 {what}", auth=Auth(signature=character * 64))
    # Neither a bearer token nor a claimed local address replaces the signature.
    beside = (("Authorization", f"Bearer {target.primary.api_key}"), ("X-Forwarded-For", "127.0.0.1"))
    name = "a wrong signature beside a bearer token and X-Forwarded-For: 127.0.0.1"
    yield engine.case(rule, name, headers=beside, auth=Auth(mistake="other middle digit"))
    name, auth = "a signature made with a random secret", Auth(secret=secrets.token_hex(20))
    second = engine.second
    yield from second.steps([second.case(rule, name, auth=auth)])


@table("auth.signed-method", engine=AuthProbes)
def test_method_is_signed(engine: Engine) -> Iterator[Case]:
    """Requests signed for another method, for the method in lower case, or without one, are refused."""
    for mistake in ("no method", "signed as GET", "signed as POST", "signed as PATCH", "lower-case method"):
        if mistake != f"signed as {engine.at.operation.method}":
            yield engine.mistake("auth.signed-method", mistake)


@table("auth.signed-path", engine=AuthProbes)
def test_path_is_signed(engine: AuthProbes) -> Iterator[Case]:
    """Requests signed without /v1, with a slash more, cut short, for other resources or decoded: refused."""
    rule = "auth.signed-path"
    other = "listVirtualAccounts" if engine.operation.endswith(("Wallet", "Wallets")) else "listWallets"
    path = engine.fixture.call(other).target
    rows = {
        "a request signed without its path": Auth(signed_target=""),
        "a request signed without the last segment": Auth(signed_target=engine.target().rpartition("/")[0]),
        "a request signed for the path of another operation": Auth(signed_target=path),
    }
    yield from engine.cases(rule, rows)
    for mistake in filter(None, ("no /v1", "trailing slash", engine.turn(HOSTS))):
        yield engine.mistake(rule, mistake)
    for name in engine.at.operation.path_parameters:
        auth = Auth(signed_target=engine.target({name: UNKNOWN}))
        yield engine.case(rule, f"a request signed for another {name}", auth=auth)
    whose, name = {parameters(engine.operation)[-1]: ENCODED}, "a request with a percent-encoded path"
    valid = engine.sound.send(engine.sound.call(engine.sound.case("", "", whose=whose)), name)
    # A router may not find the encoded path.
    if not valid.refused or valid.refused_authentication:
        decoded = Auth(signed_target=engine.target())
        yield engine.case(rule, f"{name}, signed for the decoded one", whose=whose, auth=decoded)


@table("auth.path-as-sent", engine=sound)
def test_path_as_sent(engine: Engine) -> Iterator[Case]:
    """A path percent-encoded in one character, in both cases, signed as sent, passes authentication."""
    last = parameters(engine.operation)[-1]
    for how, whose in (("upper-case", ENCODED), ("lower-case", ENCODED_LOWER)):
        name = f"a path percent-encoded with {how} digits, signed as sent"
        yield engine.case("auth.path-as-sent", name, whose={last: whose})


#: Filter -> a valid value.
_FILTERS = {"currency": "USDC", "statuses": "active"}


def _queries(engine: Engine, first: str, second: str) -> Iterator[Case]:
    """Requests with a query of two parameters and a percent-encoded one that are signed for another query.
    Where sorting and encoding could mask each other, the query has only one of them."""
    rule, whole = "auth.signed-query", f"{first}&{second}&probe=%5F"
    for how, query in (
        ("for another value in the query", f"{first[:-1]}3&{second}&probe=%5F"),
        ("for the query in reverse order", "&".join(reversed(whole.split("&")))),
        ("for the first parameter only", first),
    ):
        auth = Auth(signed_target=f"{engine.target()}?{query}")
        yield engine.case(rule, f"a request signed {how}", query=whole, auth=auth)
    for mistake, sent in (
        ("no query", whole),
        ("sorted query", f"{first}&{second}"),
        ("decoded target", f"{second}&probe=%5F&{first}"),
        ("lower-case escapes", whole),
    ):
        yield engine.mistake(rule, mistake, query=sent)
    turn, pause = divmod(list(OPERATIONS).index(engine.operation), 2)
    if not pause:
        mistake, parameter = QUERY_TURNS[turn % len(QUERY_TURNS)]
        yield engine.mistake(rule, mistake, query=f"{first}&{second}&{parameter}")


@check("auth.signed-query")
def test_query_is_signed(at: Check) -> None:
    """Requests signed without the query, for other values, in another order, decoded, re-encoded or cut, or
    for a query that is not sent, are refused. Operations without parameters get unknown ones."""
    probes = AuthProbes(at)
    rule = "auth.signed-query"
    first, second = ("size=2", "page=2") if at.operation.is_list else ("second=2", "first=1")
    if filters := [name for name in _FILTERS if name in at.operation.query_parameters]:
        second = f"{second}&{filters[0]}={_FILTERS[filters[0]]}"
    sent, name = f"{first}&{second}&probe=%5F", "a request with a query, signed as sent"
    valid = at.send(probes.valid().with_query(sent), name)
    engine = probes
    try:
        probes.passed(valid)
        engine.batch(_queries(engine, first, second))
    except Inconclusive:
        # A server that does not sign the query refuses the valid request and accepts others.
        for case in _queries(engine, first, second):
            answer = engine.send(engine.call(case), case.name)
            if not at.usable(rule, answer) or answer.refused_authentication:
                reason = f"{name} was answered {valid.described()}"
                choice = valid.refused_otherwise or (valid.refused and not valid.refused_authentication)
                at.unclear(rule, reason, valid, cause="auth.query-as-sent", choice=choice)
            else:
                engine.judge(case, answer)
    unsent = Auth(signed_target=f"{engine.target()}?{sent}")
    engine.batch([engine.case(rule, "a request signed for a query that is not sent", auth=unsent)])


#: Valid queries that parsing and serializing would change.
QUERIES = (
    "page=1&size=2",
    # False in PHP and Perl.
    "0",
    "size=2&page=1",
    "si%7Ae=2&page=1",
    "si%7ae=2&page=1",
    "probe=a+b%20c%2Bd%23&flag&empty=&probe=2&probe=1&size=2",
    # Reserved characters that a query may contain (RFC 3986), but URL libraries percent-encode.
    "probe=it's(1)*!,;:@/?$~&size=2",
)
DATE_QUERIES = (
    "start_date=2020-01-01T00%3A00%3A00Z",
    "start_date=2020-01-01T00%3a00%3a00Z",
    "start_date=2020-01-01T00:00:00Z&page=1",
)


@table("auth.query-as-sent", engine=sound)
def test_query_as_sent(engine: Engine) -> Iterator[Case]:
    """Parameters in several orders and encodings, signed as sent, pass authentication."""
    for query in (*QUERIES, *(DATE_QUERIES if "start_date" in engine.at.operation.query_parameters else ())):
        yield engine.case("auth.query-as-sent", f"the query {query}, signed as sent", query=query)


@table("auth.signed-timestamp", "auth.signed-nonce", engine=AuthProbes)
def test_timestamp_and_nonce_are_signed(engine: AuthProbes) -> Iterator[Case | Step]:
    """Requests signed for another timestamp or nonce, without it, or for the nonce in upper case: refused."""
    for mistake in ("1 s earlier", "1 s later", "no timestamp"):
        yield engine.mistake("auth.signed-timestamp", mistake)
    rule, nonce = "auth.signed-nonce", _lettered_nonce()
    auth = Auth(nonce=nonce, signed_nonce=nonce[::-1])
    yield engine.case(rule, "a request signed for another nonce", auth=auth)
    yield engine.mistake(rule, "no nonce")
    yield engine.mistake(rule, "upper-case nonce", Auth(nonce=_lettered_nonce()))
    what = "a valid request, which comes again with another nonce"
    first = engine.passed(engine.at.send(engine.valid(), what))
    name = "an accepted request again, with another nonce but its signature"
    again = Auth(timestamp=first.timestamp, signed_nonce=first.nonce)
    yield from engine.sound.steps([engine.sound.case(rule, name, body=first.call.body, auth=again)])


def _lettered_nonce() -> str:
    """A nonce that reversing and upper case change."""
    return f"a{hexadecimal(30)}b"


@table("auth.no-separators", engine=AuthProbes)
def test_no_separators(engine: Engine) -> Iterator[Case]:
    """Requests signed with separators between the parts of the signature string are refused."""
    for mistake in SEPARATORS:
        yield engine.mistake("auth.no-separators", mistake)
    if engine.at.operation.request_schema is not None and engine.turn((True, False)):
        yield engine.mistake("auth.no-separators", BEFORE_BODY)
