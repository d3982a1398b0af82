"""Demands on a request as a whole: signature, path, key, query and body."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from urllib.parse import unquote_to_bytes

from conformance.contract.operations import OPERATIONS, Operation
from conformance.contract.rules import RULES, Level
from conformance.contract.traits import TRAITS
from conformance.judge import queries
from conformance.judge.oracle import auth_rules, keys
from conformance.judge.oracle.body_rules import BodyVerdict, ValidBody, judge_body
from conformance.judge.oracle.reasons import Reason
from conformance.judge.outcomes import Demand
from conformance.target.file import Target
from conformance.wire.messages import Call

#: Owners of a resource in a path or body: the caller's account, another account of its customer, an account
#: of the organization's other customer, another organization, nobody.
OWN, SIBLING, COUSIN, FOREIGN, UNKNOWN = "own", "sibling", "cousin", "foreign", "unknown"

#: An own id with one letter percent-encoded, in upper- or lower-case digits.
ENCODED, ENCODED_LOWER = "own, percent-encoded", "own, percent-encoded in lower case"

#: Prefix of raw text in a path.
RAW = "raw:"

#: Prefix of an unknown id that resembles an own one: another character, letter case or padding, or the id of
#: another kind of resource.
NEAR = "near:"

#: Path parameters and the owners of their resources, in order.
Path = tuple[tuple[str, str], ...]

#: Owner -> rule, description and statuses of the refusal, for the first parameter of a path.
_PARENTS = {
    FOREIGN: ("tenancy.foreign-parent", "another organization's", (403,)),
    UNKNOWN: ("tenancy.unknown-parent", "an unknown", (404,)),
}

#: The same for further parameters.
_CHILDREN = {
    FOREIGN: ("tenancy.foreign-child", "another organization's", (404,)),
    UNKNOWN: ("tenancy.missing-child", "an unknown", (404,)),
    SIBLING: ("tenancy.sibling-child", "a sibling account's", (404,)),
    COUSIN: ("tenancy.sibling-child", "another customer's account's", (404,)),
}

#: Exceptions for an account below a customer.
_ACCOUNTS = {
    FOREIGN: ("tenancy.foreign-account", "another organization's", (403, 404)),
    COUSIN: ("tenancy.other-customer-account", "another customer's", (404,)),
}

#: A query by RFC 3986.
_QUERY = re.compile(r"(?:[A-Za-z0-9._~!$&'()*+,;=:@/?-]|%[0-9A-Fa-f]{2})*")


@dataclass(frozen=True)
class Known:
    """Facts about a request that are not in its bytes.

    `path` has the owner of each path parameter's resource (None: unknown), `payee` that of a payout's
    beneficiary and destination. `valid` is a body that the server accepts. `now` is the server's time in Unix
    seconds; `nonces` were used in the last 300 seconds, `keys` are used Idempotency-Keys.
    """

    path: Path | None = None
    payee: str = OWN
    valid: ValidBody | None = None
    now: float | None = None
    nonces: Collection[str] = ()
    keys: Collection[str] = ()

    @property
    def own_path(self) -> bool:
        """True if all resources in the path are the caller's own."""
        return self.path is not None and all(kind == OWN for _, kind in self.path)


@dataclass
class ExpectedAnswer:
    """Demands on the answer to a request.

    Any of `refusals` is a reason to refuse it; without one, `accepted` may require success, else the answer
    is open. `passes` are rules that require it to pass authentication, the most specific first. `answered`
    applies to every request. `body` is the verdict on the body alone."""

    answered: Reason
    refusals: list[Reason] = field(default_factory=list)
    accepted: Reason | None = None
    passes: list[Reason] = field(default_factory=list)
    body: BodyVerdict = field(default_factory=BodyVerdict)

    @property
    def reasons(self) -> list[Reason]:
        """All demands on the answer."""
        return [*self.refusals, *([self.accepted] if self.accepted else []), *self.passes, self.answered]

    @property
    def refusal(self) -> Reason | None:
        """The reason to judge a refusal by: of the strictest level; status and error count if it is the only
        one, and no server may refuse the body instead."""
        if not self.refusals:
            return None
        first = min(self.refusals, key=lambda reason: list(Level).index(reason.level))
        if len(self.refusals) == 1 and (self.body.plain or first.rule.startswith("auth.")):
            return first
        return Reason(first.rule, first.what)

    def by(self, rule: str) -> Reason | None:
        """The demand of a rule on the answer; None without one."""
        return next((reason for reason in self.reasons if reason.rule == rule), None)


def own_path(operation: str) -> Path:
    """Path of an operation with own resources only."""
    return tuple((name, OWN) for name in OPERATIONS[operation].path_parameters)


def expect(call: Call, target: Target, known: Known | None = None) -> ExpectedAnswer:
    """Demands on a target's answer to a call. Raises KeyError for an unknown operation."""
    known = known or Known()
    assert call.operation is not None
    operation, described = call.operation, OPERATIONS[call.operation]
    query = queries.read(call.query)
    # Other media types are open.
    is_json = call.content_type == "application/json"
    verdict = BodyVerdict(plain=not call.body)
    if described.request_schema is not None:
        verdict = judge_body(operation, call.body, known.valid) if is_json else BodyVerdict()
    # 501 is allowed for operations under development.
    also = (501,) if TRAITS[operation].under_development else ()
    answered = Reason("http.no-server-error", "any request", also, demand=Demand.ANSWERED)
    expected = ExpectedAnswer(answered, body=verdict)
    places = list(_path_refusals(known.path or ()))
    if TRAITS[operation].subset_of and verdict.document == {}:
        # A server that refuses an empty update may do so before it looks for the resource.
        places = [Reason(reason.rule, reason.what) for reason in places]
    refusals = [
        *places,
        *(keys.refusals(operation, call.idempotency_key) if described.is_post else ()),
        *verdict.refusals,
        *_payee_refusals(known),
    ]
    refusals = [reason for reason in refusals if operation in RULES[reason.rule].operations]
    if known.own_path and not refusals and not call.headers and call.idempotency_key not in known.keys:
        rule = _accepted(described, call, query, verdict, target)
        if rule and operation in RULES[rule].operations:
            expected.accepted = Reason(rule, _named(described, call, verdict), demand=Demand.ACCEPTED)
    if failures := auth_rules.failures(call, target, known.now, known.nonces):
        first = [] if expected.accepted else _comes_first(failures)
        expected.refusals, expected.accepted = [*failures, *first], None
        return expected
    expected.refusals = refusals
    expected.passes = list(_passes(call, query, known))
    return expected


def _comes_first(failures: list[Reason]) -> list[Reason]:
    """Reason that requires an authentication error whatever else is wrong with the request; none for failures
    without an error type."""
    typed = [reason for reason in failures if reason.type]
    if not typed:
        return []
    statuses = {reason.statuses for reason in typed}
    what = f"{typed[0].what}, which may be wrong in another way as well"
    both = statuses.pop() if len(statuses) == 1 else ()
    return [Reason("auth.comes-first", what, both, auth_rules.TYPE)]


# ---------------------------------------------------------------------- tenancy


def _path_refusals(path: Path) -> Iterator[Reason]:
    for at, (name, kind) in enumerate(path):
        what = name.removesuffix("_id").replace("_", " ")
        if kind.startswith(RAW):
            if at == 0 and _certainly_unknown(kind.removeprefix(RAW)):
                yield Reason("tenancy.unknown-parent", f"the {what} id {kind.removeprefix(RAW)[:40]}")
            return
        if kind.startswith(NEAR):
            # No status: a server may refuse a malformed id before it looks for it.
            rule = "tenancy.missing-child" if at else "tenancy.unknown-parent"
            yield Reason(rule, f"an {what} id almost like an own one")
            return
        if kind in (ENCODED, ENCODED_LOWER):
            # The specification does not state how encoded letters are read.
            return
        known = _PARENTS if at == 0 else _CHILDREN | _ACCOUNTS if name == "account_id" else _CHILDREN
        if kind in known:
            rule, whose, statuses = known[kind]
            yield Reason(rule, f"{whose} {what}", statuses)
            return


def _certainly_unknown(text: str) -> bool:
    """True if raw text is one path segment that names nothing, however it is decoded."""
    try:
        plain = unquote_to_bytes(text).decode("utf-8")
    except UnicodeDecodeError:
        return False
    return bool(re.fullmatch(r"[\w-]{1,100}", plain))


def _payee_refusals(known: Known) -> Iterator[Reason]:
    if known.payee == NEAR:
        yield Reason("tenancy.payout-references", "a payout to an id almost like an own one")
    elif known.payee != OWN:
        what = "a payout to what is not under the account"
        yield Reason("tenancy.payout-references", what)
        yield Reason("tenancy.payout-references-status", what, (404,))


# ---------------------------------------------------------------------- acceptance


def _passes(call: Call, query: queries.Query, known: Known) -> Iterator[Reason]:
    """Yields the rules that require a request to pass authentication."""
    kinds = [kind for _, kind in known.path or ()]
    odd = any(kind.startswith(RAW) and not re.fullmatch(r"[\w-]+", kind.removeprefix(RAW)) for kind in kinds)
    if odd or not (query.readable or _plain(call.query)) or auth_rules.open_form(call, known.now):
        return
    rules = ["auth.header-case"] if call.auth.name_case else []
    if any(kind in (ENCODED, ENCODED_LOWER) for kind in kinds):
        rules.append("auth.path-as-sent")
    if call.query:
        rules.append("auth.query-as-sent")
    if call.body and known.valid is not None:
        rules.append("auth.body-as-sent")
    for rule in (*rules, "auth.accepts-valid", "auth.timestamp-accepted"):
        if call.operation in RULES[rule].operations:
            yield Reason(rule, "a correctly signed request", demand=Demand.AUTHENTICATED)


def _plain(query: str) -> bool:
    """True if no front end could refuse a query: printable text in the grammar of RFC 3986, without empty
    parameters."""
    try:
        text = unquote_to_bytes(query).decode("utf-8")
    except UnicodeDecodeError:
        return False
    return bool(_QUERY.fullmatch(query)) and text.isprintable() and all(query.split("&"))


def _accepted(
    described: Operation, call: Call, query: queries.Query, verdict: BodyVerdict, target: Target
) -> str:
    """The rule that requires a call without reasons for refusal to be accepted; empty if it is open."""
    if described.is_list:
        return queries.plain_query(described.id, query, target.array_style)
    takes_body = described.request_schema is not None
    if call.query or not verdict.plain or (takes_body and call.content_type != "application/json"):
        return ""
    if described.traits.draws_on_funds or (not described.is_post and not takes_body):
        # Funds may be insufficient (payout.insufficient-funds); reads have no rule of their own.
        return ""
    accepted = keys.accepted_by(call.idempotency_key or "") if described.is_post else ""
    if described.is_post and accepted != "idempotency.key-accepted":
        return accepted
    if not takes_body:
        return "idempotency.key-accepted"
    if verdict.longest and described.id in RULES["fields.max-length-accepted"].operations:
        return "fields.max-length-accepted"
    return "fields.accepts-valid"


def _named(described: Operation, call: Call, verdict: BodyVerdict) -> str:
    key = call.idempotency_key or ""
    if described.is_post and keys.accepted_by(key) != "idempotency.key-accepted":
        return f"the Idempotency-Key {key[:40]}"
    if verdict.longest:
        return f"{verdict.longest} of exactly its maximum length"
    if described.is_list:
        return f"the query {call.query[:80] or '(none)'}"
    return "a request that keeps every stated limit"
