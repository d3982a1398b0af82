"""Requests that fail authentication (section 5): refused before anything else, without an effect, in whatever
spelling."""

from __future__ import annotations

import base64
import itertools
import re
from collections.abc import Iterator, Sequence
from typing import Any

from conformance.checks.auth_probes import AuthProbes, defects
from conformance.checks.check import Check, check
from conformance.checks.engine import Engine, Step, table
from conformance.checks.side_effects import SideEffects
from conformance.contract import signing
from conformance.contract.fields import documented
from conformance.contract.operations import OPERATIONS
from conformance.judge.oracle import UNKNOWN
from conformance.judge.outcomes import Got, Unclear, unusable
from conformance.wire.messages import Auth, Call, Exchange
from conformance.world.calls import parameters, renewed, unknown_like
from conformance.world.case import Case

FIRST, SPELLINGS = "auth.comes-first", "auth.other-spellings"

#: Name, authentication and rule of a request that fails authentication.
_Form = tuple[str, Auth, str]

_WRONG: _Form = ("with a wrong signature", Auth(mistake="other middle digit"), "auth.signature")
_OLD: _Form = ("with a timestamp an hour old", Auth(timestamp_offset=-3600), "auth.timestamp-window")
_BARE: _Form = ("without authentication headers", Auth(omit=signing.HEADERS), "auth.missing-header")


def _replayed(used: Exchange) -> _Form:
    return "with a used nonce", Auth(nonce=used.nonce, timestamp_offset=-2), "auth.nonce-replay"


def _case(engine: Engine, form: _Form, what: str, **changes: Any) -> Case:
    how, auth, rule = form
    control = engine.case(rule, f"a request {how}", auth=auth)
    return engine.case(FIRST, f"a request {how} {what}", auth=auth, control=control, **changes)


@table(FIRST, engine=AuthProbes)
def test_authentication_comes_first(engine: AuthProbes) -> Iterator[Case | Step]:
    """Requests that fail authentication and have another defect as well (unknown or foreign ids, bodies,
    queries, invalid or used idempotency keys) are answered with an authentication error."""
    at, operation = engine.at, engine.at.operation
    fixture = at.account(fresh=operation.traits.once)
    first = fixture.call(operation.id)
    used = engine.passed(at.send(first, "a valid request, whose nonce and idempotency key are used again"))
    there = Engine(at, lambda: fixture)
    for place in (engine, there):
        place.nonces.add(used.nonce or "")
        place.keys.add(first.idempotency_key or "")
    top = parameters(operation.id)[0]
    for what, changes in ((f"for an unknown {top}", {"whose": {top: UNKNOWN}}), *defects(engine)):
        for form in (_WRONG, _replayed(used)):
            yield _case(engine, form, what, **changes)
    if operation.request_schema is not None:
        yield _case(engine, _BARE, "with an empty object", body=b"{}")
    if operation.is_post:
        yield _case(engine, _BARE, "without an idempotency key", key=None)
        key, body = first.idempotency_key, first.body
        for form in (_WRONG, _BARE, _OLD, _replayed(used)):
            case = _case(there, form, "that repeats an idempotency key and its body", key=key, body=body)
            yield from there.steps([case])
        other = b"{}" if body is None else body + b" "
        case = _case(there, _WRONG, "that repeats an idempotency key with another body", key=key, body=other)
        yield from there.steps([case])


@check("refusal.changes-nothing")
def test_failed_authentication_changes_nothing(at: Check) -> None:
    """Valid requests that fail authentication in several ways have no effect."""
    probes = AuthProbes(at)
    fixture = at.account(fresh=True) if at.operation.traits.once else probes.fixture
    forms = {
        "with a wrong signature": Auth(mistake="other middle digit"),
        "without X-Signature": Auth(omit=(signing.SIGNATURE,)),
        "with an unknown API key": Auth(api_key=unknown_like(at.target.primary.api_key)),
        "with a timestamp an hour old": Auth(timestamp_offset=-3600),
        "with a used nonce": Auth(nonce=probes.recent.nonce),
    }

    def attempt() -> list[Exchange]:
        # One amount for all, by which a debit is recognized.
        valid = fixture.call(probes.operation)
        return [
            at.send(renewed(valid).but(auth=auth), f"a request {how}, to see whether it has an effect")
            for how, auth in forms.items()
        ]

    SideEffects(at, fixture).start().judge_refused("requests that fail authentication", attempt(), attempt)


# ---------------------------------------------------------------------- spellings


def _spelled(at: Check, target: str) -> Iterator[tuple[str, str]]:
    """Alternative spellings of a path, with their names."""
    yield "with a slash after the path", f"{target}/"
    yield "with a doubled slash in the path", "//".join(target.rsplit("/", 1))
    yield "with a doubled slash before the path", f"/{target}"
    if list(OPERATIONS).index(at.operation.id) % 2:
        yield "with a dot in the path", "/./".join(target.rsplit("/", 1))
    literals = [part for part in at.operation.path.split("/") if part and not part.startswith("{")]
    pattern = "|".join(f"(?<=/){re.escape(part)}(?=/|$)" for part in literals)
    yield "with its path in upper case", re.sub(pattern, lambda match: match[0].upper(), target)
    escaped = f"/%{ord(literals[-1][0]):02x}{literals[-1][1:]}"
    yield "with a letter of the path escaped", escaped.join(target.rsplit(f"/{literals[-1]}", 1))
    yield "with a format behind the path", f"{target}.json"
    yield "with a parameter behind the path", f"{target};x=1"


@check(SPELLINGS)
def test_other_spellings_are_guarded(at: Check) -> None:
    """Requests that fail authentication, with an added slash, dot, extension, parameter or percent-encoding,
    in upper case, with path or method in a header, with the API key in the query and as user name, with HEAD
    for GET, and with OPTIONS for POST and PATCH, show no resource."""
    probes, members, key = AuthProbes(at), documented(at.operation.id), at.target.primary.api_key
    usual = probes.usual
    own = usual().target
    calls = {what: usual().but(target=target) for what, target in _spelled(at, own)}
    elsewhere = tuple((name, own) for name in ("X-Original-URL", "X-Rewrite-URL"))
    calls["with its path in a header"] = usual().but(target="/v1", headers=elsewhere)
    if at.operation.request_schema is not None:
        calls["OPTIONS as its method"] = usual().but(method="OPTIONS")
    # Alternate: whether a path is guarded does not depend on the defect.
    for (what, call), (how, auth, _) in zip(calls.items(), itertools.cycle((_WRONG, _BARE)), strict=False):
        _judge_spelt(probes, f"a request {how} and {what}", call.but(auth=auth), members)
    user = base64.b64encode(f"{key}:".encode()).decode()
    headers = (("Authorization", f"Basic {user}"), ("X-HTTP-Method-Override", at.operation.method))
    call = usual().but(target=f"{own}?api_key={key}", headers=headers, auth=_BARE[1])
    what = "with its method in a header, its API key in the query and as a user's name"
    _judge_spelt(probes, f"a request {_BARE[0]} and {what}", call, members)
    if at.operation.method == "GET":
        _judge_head(at, probes)


def _judge_spelt(probes: AuthProbes, what: str, call: Call, members: Sequence[str]) -> None:
    """Judges that an answer has no resource, that is, two of its documented members."""
    answer = probes.send(call.but(operation=None), what)
    names = [name for name in members if name in answer.document] if isinstance(answer.document, dict) else []
    resource = f"{answer.status} with {', '.join(names[:3])}" if answer.succeeded and len(names) > 1 else ""
    got = unusable(answer, documented=False) or resource
    probes.at.expect(SPELLINGS, f"{what}: no resource shown", got, answer)


def _judge_head(at: Check, probes: AuthProbes) -> None:
    """Judges that the status of HEAD does not reveal whether a resource exists."""
    what, auth = "a HEAD request with a wrong signature", _WRONG[1]
    head = probes.usual().but(method="HEAD", auth=auth, operation=None)
    known = at.send(head, what)
    nowhere = probes.usual(dict.fromkeys(at.operation.path_parameters, UNKNOWN))
    unknown = at.send(head.but(target=nowhere.target), f"{what} for an unknown id")
    reveals = known.succeeded > unknown.succeeded
    got: Got = f"{known.status}, and {unknown.status} for an unknown id" if reveals else ""
    if unknown.refused_authentication and not known.refused_authentication and not known.succeeded:
        got = Unclear(f"{known.purpose} was answered {known.described()}")
    for answer in (unknown, known):
        got = unusable(answer, documented=False) or got
    at.expect(SPELLINGS, f"{what}: no word of what is there", got, known, unknown)
