"""Servers that give answers the form that headers ask for."""

from __future__ import annotations

import re
from typing import Any

from conformance.contract.operation_sets import OPERATION_SETS
from conformance.contract.operations import OPERATIONS
from conformance.contract.traits import TRAITS
from conformance.reference.context import Context
from conformance.reference.core_messages import Response
from tests.support.overrides import with_document

from .catalogue import Only, faults
from .rows import answer, succeeded, where

_PAGE = b"<!doctype html><title>Bad request</title>"


def _accept(ctx: Context) -> str:
    return ctx.header(b"accept") or ""


def _language(ctx: Context) -> str:
    return ctx.header(b"accept-language") or ""


def _page(response: Response) -> Response:
    return Response(response.status, [(b"content-type", b"text/html; charset=utf-8")], _PAGE)


def _texts(value: Any, pattern: str, changed: Any) -> Any:
    """Changes the texts of a document that match a pattern."""
    if isinstance(value, dict):
        return {name: _texts(each, pattern, changed) for name, each in value.items()}
    if isinstance(value, list):
        return [_texts(each, pattern, changed) for each in value]
    return changed(value) if isinstance(value, str) and re.fullmatch(pattern, value, re.ASCII) else value


def _rewritten(pattern: str, changed: Any) -> Any:
    return lambda response: with_document(response, _texts(response.document, pattern, changed))


_MONEY, _DATE = r"-?[0-9]+\.[0-9]+", r"[0-9]{4}-[0-9]{2}-[0-9]{2}T.*"

#: Operations whose answers show money.
_AMOUNTS = ["createPayout", "createPayin", "getAccountBalances"]

#: Those that show when something was created.
_DATED = [name for name in OPERATIONS if not TRAITS[name].shows_balances]

#: Kind of language -> what is in its tags.
_SCRIPTS = "ar-|th-|fa-|hi-"


def _digits(text: str) -> str:
    return text.translate({ord(str(digit)): chr(0x0660 + digit) for digit in range(10)})


faults["http.negotiation"] |= {
    "A refusal is a page unless Accept names JSON first.": where(
        "finish",
        lambda self, ctx, response: (
            response.status in self.value and not _accept(ctx).startswith("application/json")
        ),
        lambda self, usual, ctx, response: _page(response),
        each={
            "of who is not authenticated": (401,),
            "of what is not there": (404,),
            "of who may not": Only((403,), {*OPERATIONS} - {*OPERATION_SETS["body"]}),
            "of a body that is wrong": Only((400, 422), OPERATION_SETS["body"]),
        },
    ),
    "An answer is in HTML for browsers, and for who accepts anything.": where(
        "finish",
        lambda self, ctx, *_: "text/html" in _accept(ctx) or _accept(ctx) in ("", "*/*"),
        lambda self, usual, ctx, response: _page(response),
    ),
    "A request that does not accept JSON alone is refused.": where(
        "finish",
        lambda self, ctx, response: succeeded(response) and _accept(ctx) != "application/json",
        lambda *_: Response.of(
            406, {"error": {"type": "not_acceptable", "code": "accept", "message": "JSON only."}}
        ),
    ),
    "Money is written as the language does.": answer(
        lambda self, ctx, shown: (
            _rewritten(_MONEY, lambda text: text.replace(".", ","))(shown)
            if succeeded(shown) and _language(ctx)[:2] in ("de", "fr", "tr", "zh")
            else shown
        ),
        operations=_AMOUNTS,
    ),
    "Numbers and dates are written in the digits of the language.": answer(
        lambda self, ctx, shown: (
            _rewritten(f"{_MONEY}|{_DATE}", _digits)(shown)
            if succeeded(shown) and re.match(f"{_SCRIPTS}|ja-", _language(ctx))
            else shown
        ),
        operations=[name for name in OPERATIONS if name != "getAccountBalances"],
    ),
    "Years are those of the calendar of the language.": answer(
        lambda self, ctx, shown: (
            _rewritten(_DATE, lambda text: f"{int(text[:4]) + 543}{text[4:]}")(shown)
            if succeeded(shown) and re.match(f"{_SCRIPTS}|ja-", _language(ctx))
            else shown
        ),
        operations=_DATED,
    ),
    "Codes of errors are translated.": answer(
        lambda self, ctx, shown: (
            with_document(
                shown,
                {"error": {**shown.document["error"], "code": f"fehler_{shown.document['error']['code']}"}},
            )
            if shown.status >= 400 and _language(ctx)
            else shown
        )
    ),
    "The answer is in the first encoding of Accept-Charset.": where(
        "finish",
        lambda self, ctx, response: response.body and ctx.header(b"accept-charset"),
        lambda self, usual, ctx, response: Response(
            response.status, response.headers, response.body.decode().encode("utf-16")
        ),
    ),
}
