"""Servers that store answers by a header of the request, and show them before they look at whose they are."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence

from conformance.contract.operations import OPERATIONS
from conformance.reference.context import Context
from conformance.reference.core_messages import Response
from conformance.reference.pipeline import Stage
from tests.support.overrides import with_header

from .catalogue import Faulty, faults, of
from .rows import succeeded

Key = Callable[[Context], Hashable]


def _named(name: bytes, *others: Callable[[Context], Hashable]) -> Key:
    """What answers are stored by: a header and more; nothing without the header."""
    return lambda ctx: (
        (name, ctx.headers[name], *(each(ctx) for each in others)) if name in ctx.headers else None
    )


def _path(ctx: Context) -> bytes:
    return ctx.path


def _method(ctx: Context) -> str:
    return ctx.request.method


class StoredBeforeTenancy(Faulty):
    """Shows a stored answer to whoever names it, once authenticated."""

    everywhere = True

    def stages(self, ctx: Context) -> Sequence[Stage]:
        first, *others = super().stages(ctx)
        return (first, self._stored, *others)

    def _stored(self, ctx: Context) -> Response | None:
        return self.state.get(self.value(ctx)) if self.here(ctx) else None

    def finish(self, ctx: Context, response: Response) -> Response:
        response = super().finish(ctx, response)
        if succeeded(response):
            etag = b'"%x"' % (hash(response.body) % 2**64)
            for name in (self.value(ctx), (b"if-none-match", etag)):
                if name is not None and (self.here(ctx) or ctx.request.method == "POST"):
                    self.state.setdefault(name, with_header(response, b"etag", etag))
            return with_header(response, b"etag", etag)
        return response


_READ = [name for name, operation in OPERATIONS.items() if not operation.is_post]

faults["tenancy.foreign-parent"] |= {
    "Answers to reads and PATCHes are stored by a header, and shown before it is known whose they are.": of(
        StoredBeforeTenancy,
        operations=_READ,
        each={
            "key": _named(b"idempotency-key"),
            "key and path": _named(b"idempotency-key", _path),
            "key and method": _named(b"idempotency-key", _method),
            "key, method and path": _named(b"idempotency-key", _method, _path),
            "request id": _named(b"x-request-id"),
            "correlation id and path": _named(b"x-correlation-id", _path),
            "ETag": _named(b"if-none-match"),
        },
    ),
}
