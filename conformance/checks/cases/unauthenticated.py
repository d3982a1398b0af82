"""Requests that fail authentication and may be wrong in another way as well: section 5."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from conformance.checks.engine import Engine
from conformance.contract import signing
from conformance.judge.findings import Inconclusive
from conformance.judge.oracle import FOREIGN, UNKNOWN
from conformance.wire.messages import Auth, Exchange
from conformance.world.account import parameters
from conformance.world.case import Case

#: Name, authentication and rule of a request that fails authentication.
_Form = tuple[str, Auth, str]

_WRONG: _Form = ("with a wrong signature", Auth(mangle="flip"), "auth.signature")
_BARE: _Form = ("without authentication headers", Auth(omit=signing.HEADERS), "auth.missing-header")


def _replayed(used: Exchange) -> _Form:
    return "with a used nonce", Auth(nonce=used.nonce, timestamp_offset=-2), "auth.nonce-replay"


def _case(at: Engine, form: _Form, what: str, **changes: Any) -> Case:
    how, auth, rule = form
    control = at.case(rule, f"a request {how}", auth=auth)
    return at.case("auth.comes-first", f"a request {how} {what}", auth=auth, control=control, **changes)


def otherwise_wrong(at: Engine, used: Exchange) -> Iterator[Case]:
    """Requests to places that are not the caller's, with wrong bodies, queries and Idempotency-Keys. `used`
    was answered before: its nonce comes again."""
    replayed = _replayed(used)
    places = [("an unknown top-level resource", {parameters(at.operation)[0]: UNKNOWN})]
    places += [(f"an unknown {child}", {child: UNKNOWN}) for child in parameters(at.operation)[1:]]
    if at.ctx.target.secondary is not None:
        place = {parameters(at.operation)[0]: FOREIGN}
        with contextlib.suppress(Inconclusive):
            at.target(place)
            places.append(("another organization's top-level resource", place))
    for what, whose in places:
        for form in (_WRONG, replayed):
            yield _case(at, form, f"to {what}", whose=whose)
    changes: list[tuple[str, dict[str, Any], tuple[_Form, ...]]] = []
    if at.ctx.operation.request_schema is not None:
        changes.append(("with malformed JSON", {"body": b'{"'}, (_WRONG,)))
        changes.append(("with an empty object", {"body": b"{}"}, (_BARE,)))
        changes.append(("with an empty array", {"body": b"[]"}, (replayed,)))
    if at.ctx.operation.query_parameters:
        changes.append(("for page 0 of size x", {"query": "page=0&size=x"}, (_WRONG,)))
    if at.ctx.operation.is_post:
        what = "with an idempotency key that is not a UUID"
        changes.append(("without an idempotency key", {"key": None}, (_BARE,)))
        changes.append((what, {"key": "no-uuid"}, (_WRONG, replayed)))
    for what, changed, forms in changes:
        for form in forms:
            yield _case(at, form, what, **changed)


def used_keys(at: Engine, used: Exchange) -> Iterator[Case]:
    """Requests with the Idempotency-Key of one that was answered in the same place before."""
    call = used.call
    for form in (_WRONG, _BARE, _replayed(used)):
        what = "with a used idempotency key and its body"
        yield _case(at, form, what, key=call.idempotency_key, body=call.body)
    body = b"{}" if call.body is None else call.body + b" "
    what = "with a used idempotency key and another body"
    yield _case(at, _WRONG, what, key=call.idempotency_key, body=body)
