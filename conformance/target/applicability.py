"""Applicability of rules to a target, and gaps of its target file."""

from __future__ import annotations

from conformance.contract.rules import Rule
from conformance.contract.traits import TRAITS
from conformance.target.file import Target


def lacking(operation: str, target: Target) -> str:
    """The reason why a target does not have an operation, by what its file declares; empty if it has it."""
    if TRAITS[operation].creates == "payin" and not target.features.payins:
        return "payins are under development; the target file does not turn them on ([features] payins)"
    if TRAITS[operation].draws_on_funds and not target.features.payouts:
        return "the target file declares that no account may be drawn on ([features] payouts = false)"
    return ""


def absent(rule: Rule, operation: str, target: Target) -> str:
    """The reason why a rule does not apply on an operation, by what the target file declares; empty if it
    applies."""
    if reason := lacking(operation, target):
        return reason
    if "secondary" in rule.needs and target.features.secondary is False:
        return "the target file declares that there is no second organization ([features] secondary = false)"
    return ""


def unmet(rule: Rule, target: Target) -> tuple[str, str] | None:
    """The gap in the target file that keeps a rule from being exercised, and its remedy; None without one."""
    if "secondary" in rule.needs and target.secondary is None:
        return (
            "the target file names no second organization",
            "Fill in [secondary], or declare [features] secondary = false.",
        )
    if "other_customer" in rule.needs and target.primary.other_customer_id is None:
        return (
            "the target file names no second customer of the organization",
            "Fill in [primary] other_customer_id.",
        )
    return None
