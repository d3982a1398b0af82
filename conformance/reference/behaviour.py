"""All decisions of the server, one method each; override a method for a different server.

    class ForgetsNonces(Behaviour):
        def claim_nonce(self, ctx, nonce):
            return ctx.operation == "createPayout" or super().claim_nonce(ctx, nonce)

Each method names the rules of the catalogue that it implements, or what the specification leaves open.
"""

from __future__ import annotations

from collections.abc import Sequence

from conformance.reference.context import Context
from conformance.reference.pipeline import Stage
from conformance.reference.seams.authentication import Authentication
from conformance.reference.seams.idempotency import Idempotency
from conformance.reference.seams.lists import Lists
from conformance.reference.seams.tenancy import Tenancy


class Behaviour(Authentication, Tenancy, Idempotency, Lists):
    """A server that meets every required and implied rule. It has no state."""

    def stages(self, ctx: Context) -> Sequence[Stage]:
        """The stages before rendering, in their order: auth.comes-first. The order of tenancy and validation
        is open (tenancy.and-validation)."""
        return (self.authenticate, self.resolve, self.replay, self.validate, self.check_state, self.act)
