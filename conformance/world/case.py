"""Cases: one request with one intent, an operation's valid call but for one named change.

Tables make cases, and so does Hypothesis. A case says in words whose resources it names, never by ids: ids
that a server gave must not decide what Hypothesis draws, or no failure could be drawn again.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from conformance.contract.operations import OPERATIONS
from conformance.judge.oracle import FOREIGN, OWN
from conformance.judge.oracle.requests import Path
from conformance.wire.messages import Auth, Call
from conformance.wire.provenance import new_key

#: An Idempotency-Key that is new in each request.
FRESH = "a new one"

#: Signed as the specification has it.
RIGHTLY = Auth()


@dataclass(frozen=True)
class Case:
    """One request of an operation.

    `name` says what it changes. `rule` is the rule that it is about (generated ones have none: the oracle
    finds it). `path` says whose resource each parameter names (see conformance.judge.oracle), `key` is the
    Idempotency-Key (None: left out).
    """

    operation: str
    name: str
    rule: str = ""
    path: Path = ()
    #: Owner of the beneficiary and the destination that a payout names.
    payee: str = OWN
    query: str = ""
    body: bytes | None = None
    content_type: str | None = "application/json"
    key: str | None = FRESH
    headers: tuple[tuple[str, str], ...] = ()
    auth: Auth = RIGHTLY
    #: A front end may refuse it in words of its own, or a router take it for no operation's.
    front_end: bool = False
    #: A request without what this one is about: where it is not answered as its own rule has it, or refused
    #: in the same way, this one shows nothing, and that rule is the cause.
    control: Case | None = None

    @property
    def there(self) -> bool:
        """True if the resource that the path leads to, or its top level, exists: the caller's own, or another
        organization's. One of several replicas may not know it yet."""
        owners = [owner for _, owner in self.path]
        return {*owners} <= {OWN} or owners[0] == FOREIGN


def call_of(case: Case, ids: Mapping[str, str], body: bytes | None) -> Call:
    """The call of a case with ids in its path and this body (stand-ins for ids replaced)."""
    described = OPERATIONS[case.operation]
    path = re.sub(r"\{(\w+)\}", lambda found: ids[found[1]], described.path)
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
