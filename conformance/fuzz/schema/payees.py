"""Stand-ins for the ids of payees in generated bodies, which the operation fixtures replace by real ones."""

from __future__ import annotations

from conformance.judge.oracle import FOREIGN, OWN, SIBLING, UNKNOWN

#: Owner of a payee -> member of a payout's body -> the stand-in for its id.
STAND_INS = {
    whose: {"beneficiary_id": f"bene_{whose:0>24}", "payout_destination_id": f"dest_{whose:0>24}"}
    for whose in (OWN, SIBLING, FOREIGN, UNKNOWN)
}


def elsewhere(member: str) -> list[str]:
    """The stand-ins for payees that a payout from the account must not reach."""
    return [stand_ins[member] for whose, stand_ins in STAND_INS.items() if whose != OWN]


def whose(body: bytes | None) -> str:
    """Owner of the payees that a body with stand-ins names: the caller, or somebody for whom they are not
    there."""
    others = (stand_in.encode() for member in STAND_INS[OWN] for stand_in in elsewhere(member))
    return UNKNOWN if body is not None and any(other in body for other in others) else OWN
