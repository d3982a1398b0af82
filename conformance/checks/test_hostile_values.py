"""Odd values of every field of every body are never answered with 5xx (section 4)."""

from __future__ import annotations

from conformance.checks.cases import hostile as cases
from conformance.checks.check import check
from conformance.checks.check_context import CheckContext
from conformance.checks.places import hostile
from conformance.contract.rules import OPERATION_SETS


@check("http.no-server-error", operations=OPERATION_SETS["body"])
def test_odd_values_of_every_field(ctx: CheckContext) -> None:
    """Every field is sent as an empty text, and optional ones as null and in types that the checks of types
    leave out, one at a time in a valid body; each is answered, with a status below 500."""
    hostile(ctx).run(cases.odd_values)


@check("http.no-server-error", operations=OPERATION_SETS["body"])
def test_odd_values_of_all_fields(ctx: CheckContext) -> None:
    """Every field is an empty text, null, a number, true, an array and an object, all of them at once; each
    is answered, with a status below 500."""
    hostile(ctx).run(cases.odd_values_of_all_fields)
