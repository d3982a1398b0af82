"""Ownership of resources: section 5.5 of the specification."""

from __future__ import annotations

from conformance.reference.context import Context, Record
from conformance.reference.refusals import Refusal
from conformance.reference.seams.base import Base


class Tenancy(Base):
    """The seams of section 5.5. Each `on_` method raises the refusal, or returns a record to continue
    with."""

    def resolve(self, ctx: Context) -> None:
        """Stage: finds the resources in the path, outermost first."""
        params = ctx.params
        if "customer_id" in params:
            ctx.customer = self.top_level(ctx, "customer", params["customer_id"])
        if "account_id" in params:
            if ctx.customer is None:
                ctx.account = self.top_level(ctx, "account", params["account_id"])
            else:
                ctx.account = self.child(ctx, "account", params["account_id"], ctx.customer)
        account = ctx.account
        if account is not None and "beneficiary_id" in params:
            ctx.beneficiary = self.child(ctx, "beneficiary", params["beneficiary_id"], account)
        for name in params.keys() - {"customer_id", "account_id", "beneficiary_id"}:
            assert account is not None
            ctx.child = self.child(ctx, name.removesuffix("_id"), params[name], ctx.beneficiary or account)

    def top_level(self, ctx: Context, kind: str, identifier: str) -> Record:
        """The customer or account at the start of the path."""
        record = self.find(ctx, kind, identifier)
        if record is None:
            return self.on_unknown_parent(ctx, kind, identifier)
        if not self.owned(ctx, record):
            return self.on_foreign_parent(ctx, kind, record)
        return record

    def owned(self, ctx: Context, record: Record) -> bool:
        """True if a resource belongs to the caller's organization: tenancy.foreign-parent."""
        return ctx.organization is not None and record["organization"] == ctx.organization.id

    def on_unknown_parent(self, ctx: Context, kind: str, identifier: str) -> Record:
        """Refuses an unknown top-level customer or account: tenancy.unknown-parent."""
        raise Refusal("unknown_parent")

    def on_foreign_parent(self, ctx: Context, kind: str, record: Record) -> Record:
        """Refuses another organization's customer or account: tenancy.foreign-parent, tenancy.no-leak."""
        raise Refusal("foreign_parent")

    def child(self, ctx: Context, kind: str, identifier: str, parent: Record) -> Record:
        """A resource under a resolved parent."""
        record = self.find(ctx, kind, identifier)
        if record is None:
            return self.on_missing_child(ctx, kind, identifier, parent)
        if not self.is_under(ctx, record, parent):
            return self.on_child_elsewhere(ctx, kind, record, parent)
        return record

    def is_under(self, ctx: Context, record: Record, parent: Record) -> bool:
        """True if a resource is directly under another: tenancy.sibling-child,
        tenancy.other-customer-account."""
        return bool(record["parent"] == parent["id"])

    def on_missing_child(self, ctx: Context, kind: str, identifier: str, parent: Record) -> Record:
        """Refuses a child that does not exist: tenancy.missing-child."""
        raise Refusal("missing_child")

    def on_child_elsewhere(self, ctx: Context, kind: str, record: Record, parent: Record) -> Record:
        """Refuses a child of another parent, as if it did not exist: tenancy.sibling-child,
        tenancy.foreign-child, tenancy.other-customer-account, tenancy.foreign-account, tenancy.no-leak."""
        raise Refusal("missing_child")
