"""Statements of the specification about a request as a whole: signature, path, key, query and body."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from urllib.parse import unquote_to_bytes

from conformance.contract.operations import OPERATIONS
from conformance.contract.rules import RULES, Level
from conformance.contract.traits import TRAITS
from conformance.judge import queries
from conformance.judge.expectations import Accepted, Answered, Authenticated
from conformance.judge.oracle import auth_rules, keys
from conformance.judge.oracle.body_rules import BodyVerdict, ValidBody, judge_body
from conformance.judge.oracle.reasons import Reason
from conformance.target.file import Target
from conformance.wire.messages import Call

#: Owners of a resource that a path parameter, or a reference in a body, names: the caller's own account,
#: another account of the same customer, an account of the organization's other customer, another
#: organization, nobody.
OWN, SIBLING, COUSIN, FOREIGN, UNKNOWN = "own", "sibling", "cousin", "foreign", "unknown"

#: An own id, one of its letters percent-encoded, with hexadecimal digits in upper or in lower case.
ENCODED, ENCODED_LOWER = "own, percent-encoded", "own, percent-encoded in lower case"

#: A path parameter that is raw text: "raw:" and the text as it stands in the path.
RAW = "raw:"

#: An id that nobody has as such a resource's, but almost: "near:" and the id. It differs from an own one by a
#: character, its letter case or padding, or is that of another kind of resource.
NEAR = "near:"

#: A path parameter and whose resource it names, in the order of the path.
Path = tuple[tuple[str, str], ...]

#: Owner of a resource -> rule, description and statuses of the refusal, for the parameter that comes first in
#: the path.
_PARENTS = {
    FOREIGN: ("tenancy.foreign-parent", "another organization's", (403,)),
    UNKNOWN: ("tenancy.unknown-parent", "an unknown", (404,)),
}

#: The same for the children.
_CHILDREN = {
    FOREIGN: ("tenancy.foreign-child", "another organization's", (404,)),
    UNKNOWN: ("tenancy.missing-child", "an unknown", (404,)),
    SIBLING: ("tenancy.sibling-child", "a sibling account's", (404,)),
    COUSIN: ("tenancy.sibling-child", "another customer's account's", (404,)),
}

#: The same for an account that is a child, where it differs.
_ACCOUNTS = {
    FOREIGN: ("tenancy.foreign-account", "another organization's", (403, 404)),
    COUSIN: ("tenancy.other-customer-account", "another customer's", (404,)),
}


#: The characters of a query (RFC 3986), and escapes.
_QUERY = re.compile(r"(?:[A-Za-z0-9._~!$&'()*+,;=:@/?-]|%[0-9A-Fa-f]{2})*")


@dataclass(frozen=True)
class Known:
    """Facts known of a request beside its bytes.

    `path` says whose resource each path parameter names; None where that is not known. `payee` says whose the
    beneficiary and the destination are that a payout names. `valid` is a body of the operation that the
    server takes. `now` is the server's time in Unix seconds; `nonces` were used in the last 300 seconds,
    `keys` are Idempotency-Keys that were used before.
    """

    path: Path | None = None
    payee: str = OWN
    valid: ValidBody | None = None
    now: float | None = None
    nonces: Collection[str] = ()
    keys: Collection[str] = ()

    @property
    def own_path(self) -> bool:
        """True if all resources that the path names are the caller's own and exist."""
        return self.path is not None and all(kind == OWN for _, kind in self.path)


@dataclass
class ExpectedAnswer:
    """Statements of the specification about one request's answer.

    Any of `refusals` suffices for a refusal; with none, `accepted` may say why it must succeed. With neither
    it is open. `passes` are the rules by which the request must pass authentication, the most specific first;
    none where that is open, too. `answered` holds of every request. `body` is what its body is by itself."""

    answered: Reason
    refusals: list[Reason] = field(default_factory=list)
    accepted: Reason | None = None
    passes: list[Reason] = field(default_factory=list)
    body: BodyVerdict = field(default_factory=BodyVerdict)

    @property
    def reasons(self) -> list[Reason]:
        """Every rule that says something of the answer."""
        return [*self.refusals, *([self.accepted] if self.accepted else []), *self.passes, self.answered]

    @property
    def refusal(self) -> Reason | None:
        """The reason to judge a refusal by: the firmest, and the only one that may name status and error."""
        if not self.refusals:
            return None
        first = min(self.refusals, key=lambda reason: list(Level).index(reason.level))
        if len(self.refusals) == 1:
            return first
        return Reason(first.rule, first.what)

    def by(self, rule: str) -> Reason | None:
        """Demand of a rule on the answer; None without one."""
        return next((reason for reason in self.reasons if reason.rule == rule), None)


def own_path(operation: str) -> Path:
    """The path of an operation in which every resource is the caller's own."""
    return tuple((name, OWN) for name in OPERATIONS[operation].path_parameters)


def expect(call: Call, target: Target, known: Known | None = None) -> ExpectedAnswer:
    """Statements about the answer of a target to a call. Raises KeyError for a call of no operation."""
    known = known or Known()
    assert call.operation is not None
    operation, described = call.operation, OPERATIONS[call.operation]
    query = queries.read(call.query)
    # What is said in another media type is the server's to say.
    is_json = call.content_type == "application/json"
    verdict = BodyVerdict(plain=not call.body)
    if described.request_schema is not None:
        verdict = judge_body(operation, call.body, known.valid) if is_json else BodyVerdict()
    # 501 is allowed where the specification calls an operation one under development.
    also = (501,) if TRAITS[operation].under_development else ()
    answered = Reason("http.no-server-error", "any request", also, demand=Answered)
    expected = ExpectedAnswer(answered, body=verdict)
    places = list(_path_refusals(known.path or ()))
    if TRAITS[operation].subset_of and verdict.document == {}:
        # That an update of nothing is accepted is implied; who refuses it may do so first.
        places = [Reason(reason.rule, reason.what) for reason in places]
    refusals = [
        *places,
        *(keys.refusals(operation, call.idempotency_key) if described.is_post else ()),
        *verdict.refusals,
        *_payee_refusals(known),
    ]
    refusals = [reason for reason in refusals if operation in RULES[reason.rule].operations]
    if known.own_path and not refusals and not call.headers and call.idempotency_key not in known.keys:
        rule = _accepted(call, query, verdict, target)
        if rule and operation in RULES[rule].operations:
            expected.accepted = Reason(rule, _named(call, verdict), demand=Accepted)
    if failures := auth_rules.failures(call, target, known.now, known.nonces):
        first = [] if expected.accepted else _comes_first(failures)
        expected.refusals, expected.accepted = [*failures, *first], None
        return expected
    expected.refusals = refusals
    expected.passes = list(_passes(call, query, known))
    return expected


def _comes_first(failures: list[Reason]) -> list[Reason]:
    """Authentication comes before whatever else may be wrong with a request; the status of the refusal is
    what it is of these failures anyhow. Those that name no type of error may be refused by any 4xx."""
    typed = [reason for reason in failures if reason.type]
    if not typed:
        return []
    statuses = {reason.statuses for reason in typed}
    what = f"{typed[0].what}, which may be wrong in another way as well"
    both = statuses.pop() if len(statuses) == 1 else ()
    return [Reason("auth.comes-first", what, both, auth_rules.TYPE)]


# ---------------------------------------------------------------------- whose resources


def _path_refusals(path: Path) -> Iterator[Reason]:
    for at, (name, kind) in enumerate(path):
        what = name.removesuffix("_id").replace("_", " ")
        if kind.startswith(RAW):
            if at == 0 and _certainly_unknown(kind.removeprefix(RAW)):
                yield Reason("tenancy.unknown-parent", f"the {what} id {kind.removeprefix(RAW)[:40]}")
            return
        if kind.startswith(NEAR):
            # Nobody's; but a server may find the form of such an id wrong before it looks for it.
            rule = "tenancy.missing-child" if at else "tenancy.unknown-parent"
            yield Reason(rule, f"an {what} id almost like an own one")
            return
        if kind in (ENCODED, ENCODED_LOWER):
            # What an encoded letter means is clear enough, but not stated: nothing more is judged.
            return
        known = _PARENTS if at == 0 else _CHILDREN | _ACCOUNTS if name == "account_id" else _CHILDREN
        if kind in known:
            rule, whose, statuses = known[kind]
            yield Reason(rule, f"{whose} {what}", statuses)
            return


def _certainly_unknown(text: str) -> bool:
    """True if raw text in a path is one segment that names nothing, however it is decoded."""
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


# ---------------------------------------------------------------------- what must be let through


def _passes(call: Call, query: queries.Query, known: Known) -> Iterator[Reason]:
    """The rules by which the request must pass authentication."""
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
            yield Reason(rule, "a correctly signed request", demand=Authenticated)


def _plain(query: str) -> bool:
    """True if a query, which need not be understood, holds nothing that a front end could refuse: characters
    of RFC 3986 and escapes of printable text, in pieces of which none is empty."""
    try:
        text = unquote_to_bytes(query).decode("utf-8")
    except UnicodeDecodeError:
        return False
    return bool(_QUERY.fullmatch(query)) and text.isprintable() and all(query.split("&"))


def _accepted(call: Call, query: queries.Query, verdict: BodyVerdict, target: Target) -> str:
    """The rule by which a call without a reason for refusal must be accepted; empty where that is open."""
    assert call.operation is not None
    operation, described = call.operation, OPERATIONS[call.operation]
    if described.is_list:
        return queries.plain_query(operation, query, target.array_style)
    takes_body = described.request_schema is not None
    if call.query or not verdict.plain or (takes_body and call.content_type != "application/json"):
        return ""
    if TRAITS[operation].draws_on_funds or (not described.is_post and not takes_body):
        # Funds are the server's to judge (payout.insufficient-funds); reads have no rule of their own.
        return ""
    accepted = keys.accepted_by(call.idempotency_key or "") if described.is_post else ""
    if described.is_post and accepted != "idempotency.key-accepted":
        return accepted
    if not takes_body:
        return "idempotency.key-accepted"
    if verdict.longest and operation in RULES["fields.max-length-accepted"].operations:
        return "fields.max-length-accepted"
    return "fields.accepts-valid"


def _named(call: Call, verdict: BodyVerdict) -> str:
    assert call.operation is not None
    described = OPERATIONS[call.operation]
    key = call.idempotency_key or ""
    if described.is_post and keys.accepted_by(key) != "idempotency.key-accepted":
        return f"the Idempotency-Key {key[:40]}"
    if verdict.longest:
        return f"{verdict.longest} of exactly its maximum length"
    if described.is_list:
        return f"the query {call.query[:80] or '(none)'}"
    return "a request that keeps every stated limit"
