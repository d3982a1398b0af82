"""The oracle: what the specification says of the answer to one request, from the request alone.

    from conformance.judge.oracle import Known, expect, own_path

    known = Known(path=own_path("createWallet"), valid=ValidBody("createWallet", body), now=time.time())
    for reason in expect(call, target, known).reasons:
        print(reason.rule, reason.section, reason.sentence, reason.expectation.judge([exchange]))

`expect` takes a call (operation, target with path and query, Idempotency-Key, body, headers, and how it is
signed), a target (credentials, list style) and what is known beside the bytes: whose resources the path
names, a body that the server takes, the server's time, nonces that are used. It sends nothing, keeps nothing
and reads no clock. What is not known makes it silent, never wrong.

It returns an `ExpectedAnswer`: reasons for a refusal, the reason for acceptance, the rules of authentication
that the request keeps. Each `Reason` has the rule, the expectation, the sentence and the section. A request
that is defective in several ways has several reasons for its refusal; which of them the server names is open
(section 5.4), unless authentication is among them, which comes first.

A row of a check's table names its rule. The engine (`conformance.checks.engine`) sends
the case, asks the oracle, and judges by what it says of that rule. A row whose rule the oracle does
not name raises InternalError: no verdict on the server. The generated part asks the
oracle of whatever Hypothesis drew. A request that a client sends is described by the same `Call`: `Auth` with
API key, timestamp, nonce and signature as they came.

Modules: `requests` puts a request together (path, key, query, body), `auth_rules` reads how it is signed
(section 5), `keys` its Idempotency-Key (section 4.0), `body_rules` its body (sections 4.1 to 4.7); `reasons`
has the form of the answer.
"""

from conformance.judge.oracle.body_rules import BodyVerdict, ValidBody, judge_body
from conformance.judge.oracle.reasons import Reason
from conformance.judge.oracle.requests import (
    COUSIN,
    ENCODED,
    ENCODED_LOWER,
    FOREIGN,
    NEAR,
    OWN,
    RAW,
    SIBLING,
    UNKNOWN,
    ExpectedAnswer,
    Known,
    expect,
    own_path,
)

__all__ = [
    "COUSIN",
    "ENCODED",
    "ENCODED_LOWER",
    "FOREIGN",
    "NEAR",
    "OWN",
    "RAW",
    "SIBLING",
    "UNKNOWN",
    "BodyVerdict",
    "ExpectedAnswer",
    "Known",
    "Reason",
    "ValidBody",
    "expect",
    "judge_body",
    "own_path",
]
