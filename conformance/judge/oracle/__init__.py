"""The oracle: what the specification demands of the answer to a request, from the request alone.

    from conformance.judge.oracle import Known, expect, own_path

    known = Known(path=own_path("createWallet"), valid=ValidBody("createWallet", body), now=time.time())
    for reason in expect(call, target, known).reasons:
        expected, got, *_ = reason.judge(exchange)
        print(reason.rule, expected, got)

`expect` takes a call, a target (credentials, list style) and facts that are not in the request: owners of the
resources in the path, a body that the server accepts, the server's time, used nonces. It is pure: it sends
nothing and reads no clock. Unknown facts mean fewer reasons, never wrong ones.

It returns an `ExpectedAnswer`: reasons for refusal, the reason for acceptance, the rules of authentication
that the request satisfies. Which of several reasons for refusal the server reports is open (section 5.4),
except that authentication comes first.

The engine (`conformance.checks.engine`) sends the case of a table's row, and judges the answer by what the
oracle says of the row's rule; a rule that it does not name raises InternalError. Generated requests, and
those of clients under test, are judged alike.

Modules: `requests` (path, query, and all parts together), `auth_rules` (section 5), `keys` (section 4.0),
`body_rules` (sections 4.1 to 4.7), `reasons` (types).
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
