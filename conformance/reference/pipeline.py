"""The pipeline of every request: authenticate, resolve, replay, validate, check state, act, render.

Each stage either returns None (go on), returns a response (the request is answered) or raises
Refusal. All of it is one transaction, which is committed whatever the outcome: a refused request
changes nothing because every refusal is decided before the first effect.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from conformance.reference.context import Context, new_context
from conformance.reference.core_messages import Request, Response
from conformance.reference.refusals import Refusal
from conformance.reference.routes import match

if TYPE_CHECKING:
    from conformance.reference.app import Server
    from conformance.reference.behaviour import Behaviour

Stage = Callable[[Context], Response | None]


def answer(server: Server, request: Request) -> tuple[Context, Response]:
    """The answer to a request, and its context."""
    behaviour = server.behaviour
    ctx = new_context(server, request, server.clock())
    try:
        route(server, ctx)
        if not request.whole:
            behaviour.on_broken_off(ctx)
    except Refusal as refusal:
        response = behaviour.render_refusal(ctx, refusal)
    else:
        with behaviour.transaction(ctx):
            response = run(behaviour, ctx)
    response.headers.extend(behaviour.common_headers(ctx))
    return ctx, behaviour.finish(ctx, response)


def route(server: Server, ctx: Context) -> None:
    """Finds the operation; undocumented paths and methods are refused before authentication (open:
    http.undocumented-path, http.undocumented-method)."""
    if len(ctx.request.body) > server.behaviour.body_limit:
        raise Refusal("body_too_large")
    prefix = server.prefix
    documented = match(ctx.path[len(prefix) :]) if ctx.path.startswith(prefix) else None
    if documented is None:
        raise Refusal("unknown_path")
    operation = documented.methods.get(ctx.request.method)
    if operation is None:
        raise Refusal("unknown_method", headers=[(b"allow", ", ".join(sorted(documented.methods)).encode())])
    ctx.operation, ctx.params = operation, documented.params


def run(behaviour: Behaviour, ctx: Context) -> Response:
    """Runs the stages on a routed request."""
    try:
        for stage in behaviour.stages(ctx):
            response = stage(ctx)
            if response is not None:
                return response
        response = behaviour.render(ctx)
    except Refusal as refusal:
        behaviour.refused(ctx, refusal)
        response = behaviour.render_refusal(ctx, refusal)
        if not behaviour.remembers_refusal(ctx, refusal):
            return response
    behaviour.remember(ctx, response)
    return response
