"""Servers whose answers show what belongs to another account or customer (section 5.5)."""

from __future__ import annotations

from typing import Any

from conformance.contract.operations import OPERATIONS
from conformance.reference.context import Context, Record
from conformance.reference.seams.resources import KINDS

from .catalogue import faults, seam


def _another(ctx: Context) -> Record | None:
    """Returns the newest resource of the answer's kind that is under another parent."""
    assert ctx.record is not None
    kind, own = KINDS[ctx.operation], ctx.record["parent"]
    newest = ctx.store.select(kind, None, newest_first=True, limit=50)
    return next((record for record in newest if record["parent"] != own), None)


def _in_its_place(self: Any, ctx: Context) -> Any:
    """Shows the other resource, with its own parent."""
    if other := _another(ctx):
        ctx.record = other
    return self.usual()


_ONE = [name for name, operation in OPERATIONS.items() if not operation.is_list]
_LISTS = [name for name, operation in OPERATIONS.items() if operation.is_list]
_STATUSES = [name for name in _LISTS if "statuses" in OPERATIONS[name].query_parameters]

#: What breaks where an id comes again.
_TWICE = ("format.id-unique", "create.initial-state")


def _repeated(ctx: Context) -> bool:
    """Returns True if several statuses are asked for."""
    assert ctx.listing is not None
    return any(
        condition.operator == "IN" and len(condition.value) > 1 for condition in ctx.listing.conditions
    )


faults["tenancy.isolation"] |= {
    "The answer is the newest resource of another parent.": seam(
        "success_document", _in_its_place, operations=_ONE, also=_TWICE
    ),
    "With a parameter in its query the answer is the newest resource of another parent.": seam(
        "success_document",
        lambda self, ctx: _in_its_place(self, ctx) if ctx.query else self.usual(),
        operations=_ONE,
        also=_TWICE,
    ),
    "A list shows the elements of all parents.": seam(
        "list_parent", lambda self, ctx: None, operations=_LISTS
    ),
    "A list with a parameter that it does not know shows the elements of all parents.": seam(
        "list_parent", lambda self, ctx: None if b"expand=" in ctx.query else self.usual(), operations=_LISTS
    ),
    "Several statuses are joined by or to the condition that keeps the parent.": seam(
        "list_parent", lambda self, ctx: None if _repeated(ctx) else self.usual(), operations=_STATUSES
    ),
    "A list with a date and several statuses shows the elements of all parents.": seam(
        "list_parent",
        lambda self, ctx: None if _repeated(ctx) and b"_date" in ctx.query else self.usual(),
        operations=_STATUSES,
    ),
    "The third page on shows the elements of all parents.": seam(
        "list_parent",
        lambda self, ctx: None if ctx.listing is not None and ctx.listing.page > 2 else self.usual(),
        operations=_LISTS,
    ),
}
