"""Diagnoses of the customers and accounts that a target file names."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

from conformance._text import listed
from conformance.contract.operations import OPERATIONS
from conformance.contract.rules import RULES, Level
from conformance.diagnosis.examination import Examination
from conformance.judge.effects import amounts
from conformance.target.applicability import absent, unmet
from conformance.target.file import Organization
from conformance.wire.messages import Exchange
from conformance.world.calls import call


def customer_refused(
    examination: Examination, organization: Organization, answers: tuple[Exchange, Exchange]
) -> None:
    """Diagnoses 403 or 404 for the organization's own customer."""
    name, secondary = organization.name, examination.target.secondary
    said = " and ".join(dict.fromkeys(answer.described() for answer in answers))
    swapped = replace(organization, customer_id=secondary.customer_id if secondary else "")
    if answers[0].status == 404:
        examination.diagnose(
            "unknown customer",
            f"{name}.customer_id: the server does not know this customer ({said}), or base_url points to the "
            "wrong place. Check both; base_url holds everything before /v1.",
        )
    elif secondary and name == "primary" and examination.listed(swapped).succeeded:
        examination.diagnose(
            "customers swapped",
            "primary.customer_id belongs to another organization and secondary.customer_id to the first: the "
            "customers, or the keys, of the two are swapped. Exchange them.",
        )
    else:
        examination.diagnose(
            "customer of another organization",
            f"{name}.customer_id: this customer belongs to another organization ({said}). Check that "
            f"{name}.api_key and {name}.customer_id go together.",
        )


def not_served(
    examination: Examination, organization: Organization, answers: tuple[Exchange, Exchange]
) -> None:
    """Diagnoses valid requests for the organization's accounts that have another answer than a 2xx."""
    others = [
        f"{each.operation} with {each.explained()}"
        for each in answers
        if not (each.succeeded or each.refused_authentication)
    ]
    if others:
        examination.diagnose(
            "valid requests not served",
            f"{organization.name}: the server answers valid requests, {' and '.join(others)}. What needs "
            "them stays inconclusive. Look at its log; where it wants other values, set [samples].",
            stops=False,
        )


def organizations_are_one(examination: Examination) -> None:
    """Diagnoses two keys of one organization."""
    primary, secondary = examination.target.primary, examination.target.secondary
    if secondary is None:
        return
    visitors = (
        replace(primary, customer_id=secondary.customer_id),
        replace(secondary, customer_id=primary.customer_id),
    )
    if all(examination.listed(visitor).succeeded for visitor in visitors):
        examination.diagnose(
            "one organization twice",
            "The keys of [primary] and [secondary] both reach the customers of both: they are two keys of "
            "one organization, or the server does not tell organizations apart. If it is the former, name "
            "another organization's key, or declare [features] secondary = false.",
            stops=False,
        )


def other_customer(examination: Examination) -> None:
    """Diagnoses an `other_customer_id` that is no second customer of the organization."""
    primary = examination.target.primary
    if primary.other_customer_id is None:
        return
    listed = examination.listed(replace(primary, customer_id=primary.other_customer_id))
    if listed.status in (403, 404):
        examination.diagnose(
            "unknown other customer",
            f"primary.other_customer_id: the server answers {listed.described()}. Name another customer of "
            "the same organization, or leave the key out.",
        )


def unnamed(examination: Examination) -> None:
    """Diagnoses what the target file neither names nor declares absent although required rules need it."""
    target = examination.target
    gaps: dict[tuple[str, str], list[str]] = defaultdict(list)
    for rule in RULES.values():
        applies = not all(absent(rule, operation, target) for operation in rule.operations)
        if rule.level is Level.REQUIRED and applies and (missing := unmet(rule, target)):
            gaps[missing].append(rule.id)
    for (reason, remedy), rules in gaps.items():
        text = f"{reason}. Without it a whole run ends incomplete: {listed(rules)} cannot be judged. {remedy}"
        examination.diagnose("not named", text[0].upper() + text[1:], stops=False)
    account = None if target.primary.funded_account_id else examination.created(target.primary).get("id")
    if (
        isinstance(account, str)
        and target.features.payouts
        and _without_funds(_account_read(examination, account))
    ):
        examination.diagnose(
            "no funded account",
            "The target file names no account that payouts may draw on, and a new one has no balance: where "
            "the server wants funds, payouts stay inconclusive, and a whole run ends incomplete. Fill in "
            "[primary] funded_account_id, or declare [features] payouts = false.",
            stops=False,
        )


def funded_account(examination: Examination) -> None:
    """Diagnoses a `funded_account_id` that is no account, or has no funds; a server that shows no account at
    all is left to the checks."""
    primary, funded = examination.target.primary, examination.target.primary.funded_account_id
    if not examination.target.features.payouts or funded is None:
        return
    if (answer := _account_read(examination, funded)) is None:
        account = examination.created(primary).get("id")
        # Read again, since a cache may depend on earlier requests, which the checks judge.
        if (
            isinstance(account, str)
            and _account_read(examination, account)
            and not _account_read(examination, funded)
        ):
            examination.diagnose(
                "unknown funded account",
                f"primary.funded_account_id: the server shows no account {funded} of this customer, "
                "although it shows one that was just created. Correct the id, or leave it out where no "
                "account has funds.",
            )
        return
    if _without_funds(answer):
        examination.diagnose(
            "funded account without funds",
            "primary.funded_account_id has no available balance above zero in any currency: where the server "
            "wants funds, payouts stay inconclusive. Put money on it.",
            stops=False,
        )


def _without_funds(answer: Exchange | None) -> bool:
    """Whether a read of an account shows that no balance is available."""
    if answer is None or answer.operation != "getAccountBalances" or not answer.succeeded:
        return False
    funds = (amounts(answer.get("balances")) or {}).items()
    return not any(amount > 0 for (_, member), amount in funds if member == "available_balance")


def _account_read(examination: Examination, account: str) -> Exchange | None:
    """The first read of an account that is answered with neither 403 nor 404."""
    primary = examination.target.primary
    ids = {"customer_id": primary.customer_id, "account_id": account}
    for operation in ("getAccountBalances", "listVirtualAccounts"):
        known = {name: ids[name] for name in OPERATIONS[operation].path_parameters}
        answer = examination.send(primary, call(operation, known))
        if answer.status not in (403, 404):
            return answer
    return None
