"""What the specification says of a generated request as a whole: its path, key, query and body together."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import unquote_to_bytes

from conformance.contract.operations import OPERATIONS
from conformance.contract.rules import RULES
from conformance.fuzz.schema import cases
from conformance.fuzz.schema.bodies import BodyVerdict, ValidBody, judge_body
from conformance.fuzz.schema.cases import Case
from conformance.judge import queries
from conformance.judge.reasons import ExpectedAnswer, Reason
from conformance.target.file import Target

#: Whose resource -> the rule and status of the refusal, for the parameter that comes first in the path.
_PARENTS = {
    cases.FOREIGN: ("tenancy.foreign-parent", "another organization's", (403,)),
    cases.UNKNOWN: ("tenancy.unknown-parent", "an unknown", (404,)),
}

#: The same for the children.
_CHILDREN = {
    cases.FOREIGN: ("tenancy.foreign-child", "another organization's", (404,)),
    cases.UNKNOWN: ("tenancy.missing-child", "an unknown", (404,)),
    cases.SIBLING: ("tenancy.sibling-child", "a sibling account's", (404,)),
}


def expect(
    case: Case, body: bytes | None, valid: ValidBody | None, target: Target
) -> tuple[ExpectedAnswer, BodyVerdict]:
    """What a case must be answered, sent with this body (stand-ins replaced); and what its body is by
    itself."""
    described = OPERATIONS[case.operation]
    query = queries.read(case.query)
    verdict = BodyVerdict(plain=not body)
    expected = ExpectedAnswer()
    if described.request_schema is not None:
        # What is said in another media type is the server's to say.
        is_json = case.content_type == "application/json"
        verdict = judge_body(case.operation, body, valid) if is_json else BodyVerdict()
    expected.refusals = [
        *_path_refusals(case),
        *([case.key.refusal] if case.key.refusal else []),
        *verdict.refusals,
    ]
    if case.body and any(stand_in.encode() in case.body for stand_in in cases.OUT_OF_REACH):
        expected.refusals.append(
            Reason("tenancy.payout-references", "a payout to what is not under the account")
        )
    expected.refusals = [
        reason for reason in expected.refusals if case.operation in RULES[reason.rule].operations
    ]
    expected.authenticates = _authenticates(case, query, body, valid)
    if case.own_path and not expected.refusals and (rule := _accepted(case, query, verdict, target)):
        expected.accepted = Reason(rule, _named(case, verdict))
    return expected, verdict


def _path_refusals(case: Case) -> Iterator[Reason]:
    for at, (name, kind) in enumerate(case.path):
        what = name.removesuffix("_id").replace("_", " ")
        if kind.startswith(cases.RAW):
            if at == 0 and _certainly_unknown(kind.removeprefix(cases.RAW)):
                yield Reason("tenancy.unknown-parent", f"the {what} id {kind.removeprefix(cases.RAW)[:40]}")
            return
        if kind == cases.ENCODED:
            # What an encoded letter means is clear enough, but not stated: nothing more is judged.
            return
        known = _CHILDREN if at else _PARENTS
        if kind in known:
            rule, whose = known[kind][:2]
            statuses: tuple[int, ...] = known[kind][2]
            if rule == "tenancy.foreign-child" and name == "account_id":
                rule, statuses = "tenancy.foreign-account", (403, 404)
            yield Reason(rule, f"{whose} {what}", statuses)
            return


def _certainly_unknown(text: str) -> bool:
    """Whether raw text in a path is one segment that names nothing, however it is decoded."""
    try:
        plain = unquote_to_bytes(text).decode("utf-8")
    except UnicodeDecodeError:
        return False
    return bool(re.fullmatch(r"[\w-]{1,100}", plain))


def _authenticates(case: Case, query: queries.Query, body: bytes | None, valid: ValidBody | None) -> str:
    kinds = [kind for _, kind in case.path]
    if (
        any(
            kind.startswith(cases.RAW) and not re.fullmatch(r"[\w-]+", kind.removeprefix(cases.RAW))
            for kind in kinds
        )
        or not query.readable
    ):
        return ""
    for rule, given in (
        ("auth.path-as-sent", cases.ENCODED in kinds),
        ("auth.query-as-sent", bool(case.query)),
        ("auth.body-as-sent", bool(body) and valid is not None),
    ):
        if given and case.operation in RULES[rule].operations:
            return rule
    return "auth.accepts-valid"


def _accepted(case: Case, query: queries.Query, verdict: BodyVerdict, target: Target) -> str:
    """The rule by which a case without a reason for refusal must be accepted; empty where that is open."""
    described = OPERATIONS[case.operation]
    if described.is_list:
        return queries.plain_query(case.operation, query, target.array_style)
    if (
        case.query
        or not verdict.plain
        or (body_expected(case.operation) and case.content_type != "application/json")
    ):
        return ""
    if case.operation == "createPayout" or (not described.is_post and not body_expected(case.operation)):
        # Funds are the server's to judge (payout.insufficient-funds); reads have no rule of their own.
        return ""
    if case.key.name != "fresh":
        return case.key.accepted
    if not body_expected(case.operation):
        return "idempotency.key-accepted"
    if verdict.longest and case.operation in RULES["fields.max-length-accepted"].operations:
        return "fields.max-length-accepted"
    return "fields.accepts-valid"


def body_expected(operation: str) -> bool:
    """Whether an operation takes a body."""
    return OPERATIONS[operation].request_schema is not None


def _named(case: Case, verdict: BodyVerdict) -> str:
    if case.key.name != "fresh":
        return f"the Idempotency-Key {case.key.name}"
    if verdict.longest:
        return f"{verdict.longest} of exactly its maximum length"
    if OPERATIONS[case.operation].is_list:
        return f"the query {case.query[:80] or '(none)'}"
    return "a request that keeps every stated limit"
