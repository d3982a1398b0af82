"""Valid requests of the suite that a server refuses: why, and what may help."""

from __future__ import annotations

from conformance.contract.traits import CREATES, traits_of
from conformance.judge.outcomes import Unclear
from conformance.judge.verdicts import Inconclusive
from conformance.wire.client import SLOWER
from conformance.wire.messages import Exchange

#: Create -> members of the target file that can remedy a refused sample: its table, or what else helps.
SAMPLE_REMEDIES = {create: f"[samples.{kind}]" for kind, create in CREATES.items()} | {
    "createPayoutDestination": "[samples.payout_destination.bank_account] or "
    "[samples.payout_destination.wallet]",
    "createPayout": "[primary] funded_account_id, beneficiary_id with payout_destination_id, "
    "[samples.payout], or [features] payouts = false",
    "createWallet": "[samples.wallet] pairs",
    "createPayin": "[samples.payin], or [features] payins = false",
}


def refusal_of_valid(exchange: Exchange) -> Inconclusive:
    """The Inconclusive for a valid request that was refused, with its cause or remedy."""
    operation = exchange.operation
    cause = remedy = ""
    if exchange.unsent:
        remedy = "Start the server again."
    elif exchange.status is None or (exchange.status >= 500 and not exchange.throttled):
        cause = "http.no-server-error"
    elif exchange.throttled:
        remedy = SLOWER
    elif exchange.refused_authentication:
        cause = "auth.accepts-valid"
    elif exchange.succeeded:
        cause = "http.success-json"
    elif exchange.status in (405, 501):
        remedy = f"If the server does not have {operation} yet, write it first."
    elif exchange.status == 404:
        remedy = (
            "If what it names takes longer to be found, say so in the target file: [limits] shows_within."
        )
    elif operation in SAMPLE_REMEDIES:
        remedy = (
            "If the server takes only so many, raise that limit, or judge a part at a time (--operation). If "
            "it is right to refuse this one, say in the target file what it accepts: "
            f"{SAMPLE_REMEDIES[operation]}."
        )
    elif traits_of(operation).changes:
        remedy = "If a job of the server disables new beneficiaries, switch it off for the run."
    reason = f"the valid {operation} was answered {exchange.explained()}"
    return Inconclusive(Unclear(reason, cause, remedy), exchange)
