"""Headers by which proxies tell another path, prefix or method (section 5.3): from a caller they count for
nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

from conformance.checks.auth_probes import AuthProbes
from conformance.checks.check import Check, check
from conformance.checks.engine import table
from conformance.checks.members import furnish
from conformance.contract.fields import documented
from conformance.contract.operations import OPERATIONS, Operation
from conformance.judge.comparison import same_account, show, shows
from conformance.judge.oracle import UNKNOWN
from conformance.judge.outcomes import Got, unusable
from conformance.wire.messages import Auth, Call, Exchange, to_json
from conformance.wire.pages import page_of
from conformance.world.calls import parameters, renewed
from conformance.world.case import Case
from conformance.world.corpora import headers
from conformance.world.lane import Fixture
from conformance.world.purposes import SIBLING_TENANT

RULE = "auth.request-line"

#: Name of a parameter, and of a member, from which frameworks take the method of an HTML form.
_METHOD = "_method"

#: What a proxy took from the front of the path.
_PREFIX = "/gateway"


def _proxy_headers(base: str, prefix: str, target: str) -> tuple[tuple[str, str], ...]:
    """The headers of a proxy that was asked for a target below a base path with a prefix."""
    prefixes = ((name, base + prefix) for name in headers.PREFIXES if prefix)
    addresses = ((name, base + prefix + target) for name in headers.ADDRESSES)
    return *prefixes, *addresses, *headers.HOST


def _base(at: Check) -> str:
    return urlsplit(at.target.base_url).path


@table("auth.signed-path", "auth.signed-method", engine=AuthProbes)
def test_what_proxies_tell_is_not_signed(engine: AuthProbes) -> Iterator[Case]:
    """Signatures over the prefix and path, the whole path, or the method that headers tell are refused."""
    base, own, operation = _base(engine.at), engine.target(), engine.at.operation
    rule, name = (
        "auth.signed-path",
        "a request signed for the path with the prefix that headers of proxies tell",
    )
    prefixed = Auth(signed_target=f"{_PREFIX}{base}{own}")
    beside = _proxy_headers(base, _PREFIX, base + own)
    yield engine.case(rule, name, auth=prefixed, headers=beside, front_end=True)
    name = "a request for an unknown path, signed for the path that headers of proxies tell"
    whose = {parameters(operation.id)[0]: UNKNOWN}
    beside = _proxy_headers(base, "", own)
    yield engine.case(rule, name, whose=whose, auth=Auth(signed_target=own), headers=beside, front_end=True)
    method = _other_method(operation, "POST")
    beside = tuple((name, method) for name in headers.METHODS)
    # Frameworks read it in a query and in a body as well.
    changes: dict[str, Any] = {"query": f"{_METHOD}={method}"}
    if operation.request_schema is not None:
        changes["body"] = to_json({**engine.document(), _METHOD: method})
    yield engine.mistake(
        "auth.signed-method", f"signed as {method}", headers=beside, front_end=True, **changes
    )


def _other_method(operation: Operation, of_reads: str) -> str:
    """A method that the request line of an operation has not: where there is one, that of another operation
    on its path."""
    if operation.method == "GET":
        return of_reads
    reads = any(other.path == operation.path and other.method == "GET" for other in OPERATIONS.values())
    return "GET" if reads else "PATCH" if operation.is_post else "POST"


# ---------------------------------------------------------------------- rightly signed


@check(RULE)
def test_request_line_says_what_is_done(at: Check) -> None:
    """Valid requests beside headers that tell the path of another account, and another method: done as the
    request line says, or refused."""
    fixture = at.account(fresh=at.operation.traits.once)
    request = fixture.call(at.operation.id)
    if (other := _elsewhere(at)) is not None and other.path != request.path:
        beside = _proxy_headers(_base(at), "", other.path)
        what = "a request beside headers of proxies that tell another path"
        answer = at.send(request.but(headers=beside, operation=None), what)
        _judge(at, answer, "what the request line names", _of_another(at, fixture, answer, other))
    method = _other_method(at.operation, "DELETE")
    beside = tuple((name, method) for name in headers.METHODS)
    what = f"a request beside headers that tell the method {method}"
    request = at.valid().but(headers=beside, operation=None)
    tries = [request.with_query(f"{_METHOD}={method}"), request]
    if at.operation.request_schema is not None:
        # A server may refuse parameters and members that it does not know.
        tries = [each.but(body=request.with_field(_METHOD, method).body) for each in tries] + tries
    answer = at.until_accepted(map(renewed, tries), what)[-1]
    got = _not_done(at, answer)
    if got and answer.succeeded:
        plain = at.send(at.valid(), "a valid request without these headers")
        if _not_done(at, plain):
            cause = "list.envelope" if at.operation.is_list else "format.fields"
            at.unclear(RULE, f"{plain.purpose} was answered {plain.described()} as well", plain, cause=cause)
            return
    _judge(at, answer, f"what {at.operation.method} does", got)
    if answer.succeeded and at.operation.method == "GET" and not at.operation.is_list:
        at.accepted(RULE, at.send(request.but(headers=()), "a read after DELETE in a header"), answer)


def _elsewhere(at: Check) -> Call | None:
    """The operation in another account, or for another customer, of the organization; None without one."""
    other = at.lane.account(SIBLING_TENANT)
    if parameters(at.operation.id) == ("customer_id",):
        if at.target.primary.other_customer_id is None:
            return None
        other = at.lane.account(owner="cousin")
    if not at.operation.traits.creates:
        # It may have its wallet already.
        with at.probe(RULE):
            furnish(other, at.operation)
    return other.call(at.operation.id)


def _judge(at: Check, answer: Exchange, what: str, got: str) -> None:
    lost: Got = unusable(answer) or (
        got if answer.succeeded else "" if answer.refused else answer.described()
    )
    at.expect(RULE, f"{answer.purpose}: {what}, or a refusal (4xx)", lost, answer)


def _of_another(at: Check, fixture: Fixture, answer: Exchange, other: Call) -> str:
    """Describes what an answer shows of another account, customer or resource than the request line names:
    what `other` asks for."""
    if at.operation.is_list and (page := page_of(answer)) is not None:
        theirs = page_of(at.send(other, "the list of another account"))
        common = {*page.ids} & {*theirs.ids} if theirs is not None else set()
        return f"{len(common)} elements of another's" if common else ""
    foreign, _ = at.lane.invariants.isolation.foreign(answer)
    operation, own = at.operation, fixture.ids(at.operation.id)
    if not foreign and not operation.traits.creates and not operation.is_list:
        name = parameters(operation.id)[-1]
        if not same_account(answer.get("id"), own[name]):
            return f"the id {show(answer.get('id'))}"
    return foreign


def _not_done(at: Check, answer: Exchange) -> str:
    """Describes how an accepted answer is not that of the method in the request line; "" if it is."""
    if at.operation.is_list:
        return "" if page_of(answer) is not None else f"{answer.status} without a page"
    if not isinstance(answer.get("id"), str):
        return f"{answer.status} without the resource's id"
    sent = answer.call.document if at.operation.request_schema is not None else {}
    text = at.operation.traits.free_text
    expected = {name: sent[name] for name in documented(at.operation.id) if name == text and name in sent}
    expected |= at.operation.traits.sets
    names = [name for name in expected if not shows(answer.get(name), expected[name])]
    return f"{names[0]} {show(answer.get(names[0]))}" if names else ""
