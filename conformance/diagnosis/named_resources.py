"""Diagnoses of the customers, accounts and samples in a target file."""

from __future__ import annotations

from typing import Any

from conformance.contract.operations import OPERATIONS
from conformance.contract.traits import TRAITS, traits_of
from conformance.diagnosis.examination import Examination
from conformance.judge.effects import amounts
from conformance.target.file import Organization
from conformance.wire.messages import Exchange
from conformance.world.account import call


def customer_refused(examination: Examination, organization: Organization, answers: str, status: int) -> None:
    """Diagnoses 403 or 404 for the organization's own customer."""
    name, secondary = organization.name, examination.target.secondary
    if status == 404:
        examination.found(
            "unknown customer",
            f"{name}.customer_id: the server does not know this customer, or base_url points to the wrong "
            f"place ({answers}). Check both; base_url holds everything before /v1.",
        )
        return
    if secondary is not None and organization is examination.target.primary:
        swapped = Organization(name, organization.api_key, organization.secret, secondary.customer_id)
        if examination.listed(swapped).succeeded:
            examination.found(
                "customers swapped",
                "primary.customer_id belongs to another organization and secondary.customer_id to the first: "
                "the customers, or the keys, of the two are swapped. Exchange primary.customer_id and "
                "secondary.customer_id.",
            )
            return
    examination.found(
        "customer of another organization",
        f"{name}.customer_id: the server says that this customer belongs to another organization "
        f"({answers}). Check that {name}.api_key and {name}.customer_id go together.",
    )


def organizations_are_one(examination: Examination) -> None:
    """Diagnoses two keys of one organization."""
    primary, secondary = examination.target.primary, examination.target.secondary
    if secondary is None:
        return
    visiting = Organization("secondary", secondary.api_key, secondary.secret, primary.customer_id)
    own = Organization("primary", primary.api_key, primary.secret, secondary.customer_id)
    if examination.listed(visiting).succeeded and examination.listed(own).succeeded:
        examination.found(
            "one organization twice",
            "The keys of [primary] and [secondary] both reach the customers of both: they are two keys of "
            "one organization, or the server does not tell organizations apart. If it is the former, name "
            "another organization's key, or declare [features] secondary = false.",
            stops=False,
        )


def other_customer(examination: Examination) -> None:
    """Diagnoses an `other_customer_id` that is no second customer of the organization."""
    primary = examination.target.primary
    other = primary.other_customer_id
    if other is None:
        return
    listed = examination.listed(Organization("primary", primary.api_key, primary.secret, other))
    if listed.status in (403, 404):
        examination.found(
            "unknown other customer",
            f"primary.other_customer_id: the server answers {listed.described()}. Name another customer of "
            "the same organization, or leave the key out.",
        )


#: Reads that show an account; a server may lack one of them.
_READS_OF_ACCOUNTS = ("getAccountBalances", "listVirtualAccounts")


def funded_account(examination: Examination) -> None:
    """Diagnoses a `funded_account_id` that is no account, or has no funds; a server that shows no account at
    all is left to the checks."""
    primary, features = examination.target.primary, examination.target.features
    funded = primary.funded_account_id
    if not features.payouts or funded is None:
        return
    if not _shows(examination, funded):
        account = examination.created(primary).get("id")
        # Read again, since a cache may depend on earlier requests, which the checks judge.
        if isinstance(account, str) and _shows(examination, account) and not _shows(examination, funded):
            examination.found(
                "unknown funded account",
                f"primary.funded_account_id: the server shows no account {funded} of this customer, "
                "although it shows one that was just created. Correct the id, or leave it out where no "
                "account has funds.",
            )
        return
    answer = examination.exchanges[-1]
    if traits_of(answer.operation).shows_balances and answer.succeeded and not _available(answer):
        examination.found(
            "funded account without funds",
            "primary.funded_account_id has no available balance above zero in any currency: where the server "
            "wants funds, payouts stay inconclusive. Put money on it.",
            stops=False,
        )


def _shows(examination: Examination, account: str) -> bool:
    """True if any read of an account is answered with neither 403 nor 404."""
    primary = examination.target.primary
    for operation in _READS_OF_ACCOUNTS:
        ids = {"customer_id": primary.customer_id, "account_id": account}
        known = {name: ids[name] for name in OPERATIONS[operation].path_parameters}
        if examination.send(primary, call(operation, known)).status not in (403, 404):
            return True
    return False


def _available(answer: Exchange) -> bool:
    found = amounts(answer.get("balances")) or {}
    return any(amount > 0 for (_, member), amount in found.items() if member == "available_balance")


def samples(examination: Examination, account_id: str) -> dict[str, Exchange]:
    """Sends the sample of each kind once, and diagnoses refusals; returns the answers by kind."""
    primary, made = examination.target.primary, examination.samples
    bodies: dict[str, Any] = {
        "createBeneficiary": made.beneficiary(),
        "createVirtualAccount": made.virtual_account(),
        "createWallet": made.wallet(),
    }
    answers = {}
    for operation, body in bodies.items():
        kind = TRAITS[operation].creates
        answer = examination.send(primary, call(operation, {"account_id": account_id}, body))
        answers[kind] = answer
        if answer.refused and answer.status not in (404, 405, 429):
            examination.found(
                f"sample refused: {kind}",
                f"The server refuses the sample {kind.replace('_', ' ')} ({answer.explained()}). If it "
                f"is right to, say in [samples.{kind}] what it accepts; else {operation} will fail its "
                "checks.",
                stops=False,
            )
    return answers


def payout_without_funds(examination: Examination, account_id: str, beneficiary: Exchange) -> None:
    """Diagnoses a refused payout from a new account if the target file names no funded account."""
    primary, made = examination.target.primary, examination.samples
    payee = beneficiary.get("id")
    declared = primary.funded_account_id is not None or not examination.target.features.payouts
    if declared or not beneficiary.succeeded or not isinstance(payee, str):
        return
    ids = {"account_id": account_id, "beneficiary_id": payee}
    for details in made.bank_accounts():
        destination = examination.send(primary, call("createPayoutDestination", ids, details))
        identifier = destination.get("id")
        if destination.succeeded and isinstance(identifier, str):
            body = made.payout(payee, identifier, details["currency"])
            answer = examination.send(primary, call("createPayout", ids, body))
            if answer.refused and answer.status not in (404, 405, 429):
                examination.found(
                    "payout without funds",
                    f"A payout from a new account is refused ({answer.explained()}), and the target file "
                    "names no account to draw on: rules on createPayout would stay inconclusive. Name one in "
                    "[primary] funded_account_id, or declare [features] payouts = false.",
                    stops=False,
                )
            return


def stateless_mock(examination: Examination, first: Exchange, second: Exchange) -> None:
    """Diagnoses a mock without state: two creates return one id, and invalid credentials are accepted."""
    primary = examination.target.primary
    if not (first.succeeded and second.succeeded) or first.get("id") != second.get("id"):
        return
    nobody = Organization("primary", "no-such-key", "no-such-secret", primary.customer_id)
    if examination.listed(nobody).succeeded:
        examination.found(
            "stateless mock",
            f"{examination.target.base_url} looks like a stateless mock: two new accounts have one id, and "
            "made-up credentials are accepted. Nothing that it answers tells of a server; give the address "
            "of the real one.",
        )
