"""Servers that lose requests, keep answers for whoever asks next, or take one letter case for another."""

from __future__ import annotations

from collections.abc import Sequence

from conformance.contract.rules import OPERATION_SETS
from conformance.reference.context import Context
from conformance.reference.messages import JSON_TYPE, Response
from conformance.reference.pipeline import Stage
from conformance.reference.store import Organization

from .catalogue import Faulty, fault, faults, refusal, refuse, seam
from .crashes import Finishes
from .harness import NO_ANSWER

READS = OPERATION_SETS["read"]


@fault("http.lost-requests", each=(8, 15))
class LosesSome(Finishes):
    """One of so many requests is not answered; sent once more, it is."""

    def finished(self, ctx: Context, response: Response) -> Response:
        answered = self.__dict__["answered"] = self.__dict__.get("answered", 0) + 1
        return response.with_header(NO_ANSWER, b"1") if answered % self.value == 0 else response


# --------------------------------------------------------------------------- caches


@fault("tenancy.foreign-parent", operations=READS, each=("of the API", "in front of it"))
class CachedByAddress(Faulty):
    """What was once read at an address is shown to whoever asks for it next."""

    def stages(self, ctx: Context) -> Sequence[Stage]:
        first, *others = super().stages(ctx)
        return (first, self.cached, *others) if self.value == "of the API" else (self.cached, first, *others)

    def cached(self, ctx: Context) -> Response | None:
        """Stage: the answer that is kept, for requests that name a key at least."""
        body = self.__dict__.setdefault("kept", {}).get(ctx.request.target)
        if body is None or ctx.store.organization(ctx.header(b"x-api-key") or "") is None:
            return None
        return Response(200, [JSON_TYPE], body)

    def finish(self, ctx: Context, response: Response) -> Response:
        if response.status == 200:
            self.__dict__.setdefault("kept", {})[ctx.request.target] = response.body
        return super().finish(ctx, response)


# --------------------------------------------------------------------------- letter case


def _in_any_case(ctx: Context, kind: str, identifier: str) -> str:
    rows = ctx.store.query(
        "SELECT id FROM resources WHERE kind = ? AND lower(id) = lower(?)", kind, identifier
    )
    return next((row[0] for row in rows), identifier)


faults["tenancy.unknown-parent"] |= {
    "Ids of customers and accounts are compared without their letter case.": seam(
        "top_level",
        lambda self, ctx, kind, identifier: self.usual(ctx, kind, _in_any_case(ctx, kind, identifier)),
    )
}

faults["tenancy.missing-child"] |= {
    "Ids of children are compared without their letter case.": seam(
        "child",
        lambda self, ctx, kind, identifier, parent: self.usual(
            ctx, kind, _in_any_case(ctx, kind, identifier), parent
        ),
    )
}

faults["auth.unknown-key"] |= {
    "API keys are compared without their letter case.": seam(
        "find_organization",
        lambda self, ctx, key: next(
            (
                Organization(*row)
                for row in ctx.store.query("SELECT id, api_key, secret FROM organizations")
                if row[1].lower() == key.lower()
            ),
            None,
        ),
    )
}


# --------------------------------------------------------------------------- how bodies are declared and sent

faults["http.charset-parameter"] |= {
    "A media type with a parameter is not supported.": seam(
        "check_content_type",
        lambda self, ctx: (
            refuse(refusal(415, "validation_error", "unsupported_media_type"))
            if (ctx.header(b"content-type") or "application/json").lower() != "application/json"
            else None
        ),
    ),
    "Of all parameters only a charset in upper case is known.": seam(
        "check_content_type",
        lambda self, ctx: (
            refuse(refusal(400, "validation_error", "unsupported_charset"))
            if "charset=utf-8" in (ctx.header(b"content-type") or "")
            else None
        ),
    ),
}


def _chunked(ctx: Context) -> bool:
    return "chunked" in (ctx.header(b"transfer-encoding") or "").lower()


faults["http.chunked-body"] |= {
    "A body without a length is refused.": seam(
        "authenticate",
        lambda self, ctx: (
            refuse(refusal(411, "validation_error", "length_required")) if _chunked(ctx) else self.usual()
        ),
    ),
    "A body without a length is signed as empty.": seam(
        "signed_body", lambda self, ctx: b"" if _chunked(ctx) else self.usual()
    ),
}

faults["auth.signed-body"] |= {
    "A body without a length is taken whatever the signature covers.": seam(
        "signed_body",
        lambda self, ctx: b"" if _chunked(ctx) else self.usual(),
        also=("http.chunked-body",),
    ),
    "A body without a length needs no signature.": seam(
        "check_signature", lambda self, ctx: None if _chunked(ctx) else self.usual()
    ),
}
