"""Kinds of bugs: the classes by which security advisories and post-mortems sort them.

The class follows from the rule, and from the sentence where an answer is merely worded otherwise.
"""

from __future__ import annotations

import re
from enum import Enum


class Bug(Enum):
    """A class of bugs, with what becomes of those whom it strikes."""

    RACE = "requests that meet do what each alone would not"
    WRONG_ERROR = "the refusal is there, and clients mistake its reason"
    REFUSES_VALID = "requests that have to be served are refused"
    REPLAY = "a recorded request can be sent again"
    AUTH_BYPASS = "requests are served that nobody signed"
    DOUBLE_EFFECT = "a repeated request is done twice, or its answer lost"
    TENANT_ISOLATION = "one organization reaches what is another's"
    LEAK = "secrets or numbers are shown that have to stay hidden"
    CRASH = "the server fails instead of answering"
    PARTIAL_EFFECT = "a refused request leaves something behind"
    PAGINATION = "lists skip, repeat or miscount"
    FILTER = "filters let through what does not match"
    FORMAT = "answers do not have the documented form"
    VALIDATION = "requests are served that have to be refused"
    LOST_UPDATE = "what is shown is not what was written"


#: The first pattern that begins the rule's id, or is found in the sentence behind it, decides.
_PATTERNS = (
    (Bug.RACE, r"[\w-]+\.([\w-]+-)?race "),
    (Bug.WRONG_ERROR, r"(auth|idempotency|tenancy)\..*another (status|type)|.* as a malformed header"),
    (Bug.REFUSES_VALID, r"http\.(charset-parameter|chunked-body) "),
    (Bug.REFUSES_VALID, r"auth\.(accepts-valid|header-case|timestamp-accepted|[\w-]+-as-sent) "),
    (Bug.REFUSES_VALID, r"idempotency\.key-(accepted|other-uuids) |fields\.(accepts-valid|[\w-]+-accepted) "),
    (Bug.REPLAY, r"auth\.nonce"),
    (Bug.AUTH_BYPASS, r"auth\."),
    (Bug.TENANT_ISOLATION, r"tenancy\.|idempotency\.other-organization "),
    (Bug.DOUBLE_EFFECT, r"idempotency\.(replay|conflict)"),
    (Bug.VALIDATION, r"idempotency\.(payout-)?key"),
    (Bug.LEAK, r"secrets\.|destination\.masked "),
    (Bug.CRASH, r"http\.(no-server-error|lost-requests) "),
    (Bug.PARTIAL_EFFECT, r"refusal\."),
    (Bug.FILTER, r"list\.([\w-]*(date|filter|status)[\w-]*) "),
    (Bug.FORMAT, r"format\.|http\.|error\.|list\.([\w-]*-?(fields|items|envelope)) |wallet\.addresses "),
    (Bug.PAGINATION, r"list\."),
    (
        Bug.VALIDATION,
        r"beneficiary\.update-company-name |fields\.|body\.|payout\.|payin\.|wallet\.|destination\.",
    ),
    (Bug.LOST_UPDATE, r"create\.|read\.|beneficiary\.|balances\."),
)


def bug_of(rule: str, sentence: str) -> Bug:
    """The class of a fault. Raises LookupError for a rule of a family that is not known here."""
    for bug, pattern in _PATTERNS:
        if re.match(pattern, f"{rule} {sentence}"):
            return bug
    raise LookupError(f"no pattern of tests/faults/bugs.py matches {rule}; add one to _PATTERNS")
