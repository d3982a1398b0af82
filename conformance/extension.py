"""The names for checks of your own: client, context and expectations in one module.

Write your rules in a YAML file of the form of spec/rules.yaml, and name it with the option
--conformance-rules or the setting conformance_rules of pytest. A check is a test that takes `ctx`:

    from conformance.extension import Refused, check

    @check("acme.page-size")
    def test_large_pages_are_refused(ctx):
        answer = ctx.send(ctx.valid().with_query({"size": 50}), "a page of 50")
        ctx.judge("acme.page-size", Refused("a page of 50"), answer)

It runs on every operation of its rules, with findings, reports and replay files like any other. See
conformance/docs/own-rules.md.
"""

from conformance.checks.check import check
from conformance.checks.check_context import CheckContext
from conformance.contract.operations import OPERATIONS
from conformance.contract.rules import RULES
from conformance.judge.expectations import (
    Accepted,
    Answered,
    At,
    AtMostOne,
    Authenticated,
    CannotTell,
    Equal,
    Expectation,
    Later,
    Member,
    Refused,
    RefusedOrIgnored,
    SameAnswer,
    Sent,
    Status,
    Unchanged,
    predicate,
)
from conformance.judge.findings import Inconclusive, NotApplicable
from conformance.judge.paging import Listed
from conformance.wire.messages import MISSING, Auth, Call, Exchange
from conformance.wire.provenance import derive, fresh

__all__ = [
    "MISSING",
    "OPERATIONS",
    "RULES",
    "Accepted",
    "Answered",
    "At",
    "AtMostOne",
    "Auth",
    "Authenticated",
    "Call",
    "CannotTell",
    "CheckContext",
    "Equal",
    "Exchange",
    "Expectation",
    "Inconclusive",
    "Later",
    "Listed",
    "Member",
    "NotApplicable",
    "Refused",
    "RefusedOrIgnored",
    "SameAnswer",
    "Sent",
    "Status",
    "Unchanged",
    "check",
    "derive",
    "fresh",
    "predicate",
]
