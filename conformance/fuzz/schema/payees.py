"""Stand-ins for the ids of payees in generated bodies, which the operation fixtures replace by real ones."""

from __future__ import annotations

from conformance.judge.oracle import OWN, UNKNOWN

OWN_BENEFICIARY = "bene_00000000000000000000own0"
OWN_DESTINATION = "dest_00000000000000000000own0"

#: Payees that a payout from the account must not reach.
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


def whose(body: bytes | None) -> str:
    """Owner of the payees that a body with placeholders names: the caller, or somebody for whom they are not
    there."""
    elsewhere = body is not None and any(stand_in.encode() in body for stand_in in OUT_OF_REACH)
    return UNKNOWN if elsewhere else OWN
