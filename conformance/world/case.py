"""Cases: an operation's valid request with one named change.

Tables and Hypothesis make cases. A case names resources by their owner, not by id: what Hypothesis draws
must not depend on the server's ids, or no failure could be reproduced.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from conformance.contract.operations import OPERATIONS
from conformance.judge.oracle import FOREIGN, OWN
from conformance.judge.oracle.requests import Path
from conformance.wire.forms import new_key
from conformance.wire.messages import Auth, Call

#: Stands for an Idempotency-Key that is new in each request.
FRESH = "a new one"

#: Authentication as in section 5.
RIGHTLY = Auth()


@dataclass(frozen=True)
class Case:
    """A request of an operation.

    `name` describes the change, `rule` is the rule under test ("": the oracle finds it), `path` the owner of
    each path parameter (see conformance.judge.oracle), `key` the Idempotency-Key (None: no header).
    """

    operation: str
    name: str
    rule: str = ""
    path: Path = ()
    #: Owner of a payout's beneficiary and destination.
    payee: str = OWN
    query: str = ""
    body: bytes | None = None
    content_type: str | None = "application/json"
    key: str | None = FRESH
    headers: tuple[tuple[str, str], ...] = ()
    auth: Auth = RIGHTLY
    #: A front end may refuse it with a body of its own, or a router not find the operation.
    front_end: bool = False
    #: The request without the change: where its answer breaks its own rule, or is the same refusal, this case
    #: is inconclusive, and that rule is the cause.
    control: Case | None = None

    @property
    def there(self) -> bool:
        """True if the path's resource, or the foreign top level of the path, exists: a replica may answer 404
        for a moment."""
        owners = [owner for _, owner in self.path]
        return {*owners} <= {OWN} or owners[0] == FOREIGN


def call_of(case: Case, ids: Mapping[str, str], body: bytes | None) -> Call:
    """Builds the call of a case from ids for its path and a body with placeholders replaced."""
    described = OPERATIONS[case.operation]
    path = re.sub(r"\{(\w+)\}", lambda parameter: ids[parameter[1]], described.path)
    key = new_key() if case.key == FRESH and described.is_post else case.key
    return Call(
        operation=case.operation,
        method=described.method,
        target=path + (f"?{case.query}" if case.query else ""),
        body=body,
        idempotency_key=None if key == FRESH else key,
        content_type=case.content_type,
        headers=case.headers,
        auth=case.auth,
    )
