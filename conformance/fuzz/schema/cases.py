"""Generated requests before they meet a server: whose resources they name is said in words, never by ids.

Ids that a server gave must not decide what Hypothesis draws, or no failure could be drawn again.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from conformance.contract.operations import OPERATIONS
from conformance.judge.reasons import Reason
from conformance.wire.messages import Call
from conformance.world.account import new_key

#: Stand-ins for ids in bodies; the operation fixtures replace them by real ones.
OWN_BENEFICIARY = "bene_00000000000000000000own0"
OWN_DESTINATION = "dest_00000000000000000000own0"

#: Stand-ins for ids of payees that a payout from the account must not reach.
SIBLING_BENEFICIARY, SIBLING_DESTINATION = "bene_0000000000000000sibling", "dest_0000000000000000sibling"
FOREIGN_BENEFICIARY, FOREIGN_DESTINATION = "bene_0000000000000000foreign", "dest_0000000000000000foreign"
UNKNOWN_BENEFICIARY, UNKNOWN_DESTINATION = "bene_0000000000000000unknown", "dest_0000000000000000unknown"
OUT_OF_REACH = (
    SIBLING_BENEFICIARY,
    SIBLING_DESTINATION,
    FOREIGN_BENEFICIARY,
    FOREIGN_DESTINATION,
    UNKNOWN_BENEFICIARY,
    UNKNOWN_DESTINATION,
)

#: Whose resource a path parameter names.
OWN, SIBLING, FOREIGN, UNKNOWN = "own", "sibling", "foreign", "unknown"

#: A path parameter that is raw text of a generator's: "raw:" and the text as it stands in the path.
RAW = "raw:"

#: An own id, one of its letters percent-encoded.
ENCODED = "own, percent-encoded"


@dataclass(frozen=True)
class Key:
    """The Idempotency-Key of a case: fresh, left out (`value` None), or a fixed text, with what must come of
    it."""

    name: str = "fresh"
    value: str | None = None
    refusal: Reason | None = None
    #: The rule by which the form must be accepted; empty where that is open.
    accepted: str = "idempotency.key-accepted"

    def text(self) -> str | None:
        """What is sent."""
        return new_key() if self.name == "fresh" else self.value


@dataclass(frozen=True)
class Case:
    """One request of an operation. `path` says whose resource each parameter names, `origin` what made the
    case."""

    operation: str
    origin: str
    path: tuple[tuple[str, str], ...] = ()
    query: str = ""
    body: bytes | None = None
    content_type: str | None = "application/json"
    key: Key = field(default_factory=Key)
    trailing: str = ""

    @property
    def own_path(self) -> bool:
        """Whether all resources named are the caller's own and there."""
        return all(kind == OWN for _, kind in self.path) and not self.trailing

    def whose(self, parameter: str) -> str:
        return dict(self.path)[parameter]


def own_path(operation: str) -> tuple[tuple[str, str], ...]:
    """The path of an operation in which every resource is the caller's own."""
    return tuple((name, OWN) for name in OPERATIONS[operation].path_parameters)


def call_of(case: Case, ids: dict[str, str], body: bytes | None) -> Call:
    """The call of a case with ids in its path, in the form in which they are sent."""
    described = OPERATIONS[case.operation]
    path = re.sub(r"\{(\w+)\}", lambda found: ids[found[1]], described.path) + case.trailing
    return Call(
        operation=case.operation,
        method=described.method,
        target=path + (f"?{case.query}" if case.query else ""),
        body=body,
        idempotency_key=case.key.text() if described.is_post or case.key.name != "fresh" else None,
        content_type=case.content_type,
    )
