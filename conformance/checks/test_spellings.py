"""Alternative spellings of paths and methods (section 5): none of them bypasses authentication."""

from __future__ import annotations

import base64
import itertools
import re
from collections.abc import Iterator, Sequence

from conformance.checks.auth_probes import AuthProbes
from conformance.checks.check import CheckContext, check
from conformance.contract import signing
from conformance.contract.fields import documented
from conformance.contract.operations import OPERATIONS
from conformance.judge.oracle import UNKNOWN
from conformance.judge.outcomes import Got, Unclear, unusable
from conformance.wire.messages import Auth, Call, Exchange

RULE = "auth.other-spellings"

#: Two ways to fail authentication: with the API key of an organization, and without any header.
_UNSIGNED = (
    ("with a wrong signature", Auth(signature_form="other middle digit")),
    ("without authentication headers", Auth(omit=signing.HEADERS)),
)


def _resource_in(answer: Exchange, members: Sequence[str]) -> Got:
    """A resource in an answer, that is, two of its documented members."""
    if reason := unusable(answer, documented=False):
        return reason
    if not answer.succeeded or not isinstance(answer.document, dict):
        return ""
    names = [name for name in members if name in answer.document]
    return f"{answer.status} with {', '.join(names[:3])}" if len(names) > 1 else ""


def _spelled(ctx: CheckContext, target: str) -> Iterator[tuple[str, str]]:
    """Alternative spellings of a path, with their names."""
    yield "with a slash after the path", f"{target}/"
    yield "with a doubled slash in the path", "//".join(target.rsplit("/", 1))
    yield "with a doubled slash before the path", f"/{target}"
    if list(OPERATIONS).index(ctx.operation.id) % 2:
        yield "with a dot in the path", "/./".join(target.rsplit("/", 1))
    literals = [part for part in ctx.operation.path.split("/") if part and not part.startswith("{")]
    pattern = "|".join(f"(?<=/){re.escape(part)}(?=/|$)" for part in literals)
    yield "with its path in upper case", re.sub(pattern, lambda match: match[0].upper(), target)
    escaped = f"/%{ord(literals[-1][0]):02x}{literals[-1][1:]}"
    yield "with a letter of the path escaped", escaped.join(target.rsplit(f"/{literals[-1]}", 1))
    yield "with a format behind the path", f"{target}.json"
    yield "with a parameter behind the path", f"{target};x=1"


@check(RULE)
def test_other_spellings_are_guarded(ctx: CheckContext) -> None:
    """Requests that fail authentication, with an added slash, dot, extension, parameter or percent-encoding,
    in upper case, with path or method in a header, with the API key in the query and as user name, with HEAD
    for GET, and with OPTIONS for POST and PATCH, show no resource."""
    probes = AuthProbes(ctx)
    members = documented(ctx.operation.id)

    # Alternate: whether a path is guarded does not depend on the defect.
    ways = itertools.cycle(_UNSIGNED)

    def judge(what: str, call: Call, way: tuple[str, Auth] | None = None) -> None:
        how, auth = way or next(ways)
        purpose = f"a request {how} and {what}"
        answer = probes.send(call.but(auth=auth, operation=None), purpose)
        ctx.expect(RULE, f"{purpose}: no resource shown", _resource_in(answer, members), answer)

    for what, target in _spelled(ctx, probes.usual().target):
        judge(what, probes.usual().but(target=target))
    own = probes.usual().target
    elsewhere = tuple((name, own) for name in ("X-Original-URL", "X-Rewrite-URL"))
    judge("with its path in a header", probes.usual().but(target="/v1", headers=elsewhere))
    key = ctx.target.primary.api_key
    user = base64.b64encode(f"{key}:".encode()).decode()
    headers = (("Authorization", f"Basic {user}"), ("X-HTTP-Method-Override", ctx.operation.method))
    named = probes.usual().but(target=f"{own}?api_key={key}", headers=headers)
    judge("with its method in a header, its API key in the query and as a user's name", named, _UNSIGNED[1])
    if ctx.operation.method == "GET":
        _judge_head(ctx, probes)
    elif ctx.operation.request_schema is not None:
        judge("OPTIONS as its method", probes.usual().but(method="OPTIONS"))


def _judge_head(ctx: CheckContext, probes: AuthProbes) -> None:
    """Judges that the status of HEAD does not reveal whether a resource exists."""
    what, (_, auth) = "a HEAD request with a wrong signature", _UNSIGNED[0]
    head = probes.usual().but(method="HEAD", auth=auth, operation=None)
    known = ctx.send(head, what)
    nowhere = probes.usual(dict.fromkeys(ctx.operation.path_parameters, UNKNOWN))
    unknown = ctx.send(head.but(target=nowhere.target), f"{what} for an unknown id")
    reveals = known.succeeded > unknown.succeeded
    got: Got = f"{known.status}, and {unknown.status} for an unknown id" if reveals else ""
    if unknown.refused_authentication and not known.refused_authentication and not known.succeeded:
        got = Unclear(f"{known.purpose} was answered {known.described()}")
    for answer in (unknown, known):
        got = unusable(answer, documented=False) or got
    ctx.expect(RULE, f"{what}: no word of what is there", got, known, unknown)
