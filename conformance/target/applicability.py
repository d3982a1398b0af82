"""Applicability of rules to a target."""

from __future__ import annotations

from conformance.contract.rules import Rule
from conformance.contract.traits import TRAITS
from conformance.target.file import Target

#: Why there is no second organization: declared so, or not named, with the remedy.
NO_SECOND = "the target file declares that there is no second organization ([features] secondary = false)"
UNNAMED_SECOND = (
    "the target file names no second organization",
    "Fill in [secondary], or declare [features] secondary = false.",
)


def lacking(operation: str, target: Target) -> str:
    """Reason why the target file declares an operation absent; empty if it does not."""
    if TRAITS[operation].under_development and not target.features.payins:
        return "payins are under development; the target file does not turn them on ([features] payins)"
    if TRAITS[operation].draws_on_funds and not target.features.payouts:
        return "the target file declares that no account may be drawn on ([features] payouts = false)"
    return ""


def absent(rule: Rule, operation: str, target: Target) -> str:
    """Reason why the target file makes a rule inapplicable on an operation; empty if it applies."""
    if reason := lacking(operation, target):
        return reason
    if "secondary" in rule.needs and target.features.secondary is False:
        return NO_SECOND
    return ""


def unmet(rule: Rule, target: Target) -> tuple[str, str] | None:
    """Gap in the target file that keeps a rule from being exercised, and the remedy; None without one."""
    if "secondary" in rule.needs and target.secondary is None:
        return UNNAMED_SECOND
    if "other_customer" in rule.needs and target.primary.other_customer_id is None:
        return (
            "the target file names no second customer of the organization",
            "Fill in [primary] other_customer_id.",
        )
    return None
