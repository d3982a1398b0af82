"""Calls of operations, and the ids that they name."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from conformance.contract.operations import OPERATIONS, response_problems
from conformance.judge.outcomes import Unclear
from conformance.judge.verdicts import Inconclusive
from conformance.wire.forms import new_key
from conformance.wire.messages import MISSING, Call, Exchange, to_json


def call(operation: str, ids: Mapping[str, str], body: Any = None, **changes: Any) -> Call:
    """Builds a call: path parameters filled in, a JSON body, and a new Idempotency-Key on POST."""
    described = OPERATIONS[operation]
    return Call(
        operation=operation,
        method=described.method,
        target=described.path.format(**{name: quoted(value) for name, value in ids.items()}),
        body=None if body is None else to_json(body),
        idempotency_key=new_key() if described.method == "POST" else None,
        **changes,
    )


def renewed(call: Call) -> Call:
    """Copies a call, with a new Idempotency-Key where it has one."""
    return call.but(idempotency_key=new_key()) if call.idempotency_key else call


def quoted(identifier: str) -> str:
    """Percent-encodes an id as a path segment: all but letters, digits and `_.-~` (RFC 3986, section 2.1)."""
    return quote(identifier, safe="", errors="surrogatepass")


def identifier(exchange: Exchange) -> str:
    """The id of the resource an exchange created; raises Inconclusive when there is none."""
    value = exchange.get("id")
    # An unpaired surrogate cannot be sent back in UTF-8.
    if not isinstance(value, str) or not value or any("\ud800" <= letter <= "\udfff" for letter in value):
        raise _unfit(exchange, "id", exchange.get("id"), "format.id")
    return value


def member(exchange: Exchange, name: str, element: int | None = None) -> str:
    """A text of an answer, or of an element of its list, for later requests; raises Inconclusive, with the
    rule that it breaks, when it has not the documented form."""
    document = exchange.document if element is None else exchange.get("items")[element]
    value = document.get(name, MISSING) if isinstance(document, dict) else MISSING
    pointer = f"/{name}" if element is None else f"/items/{element}/{name}"
    for problem in response_problems(str(exchange.operation), exchange.document):
        if problem.pointer == pointer:
            raise _unfit(exchange, name, value, problem.rule)
    if not isinstance(value, str):
        raise _unfit(exchange, name, value, "format.fields")
    return value


def _unfit(exchange: Exchange, name: str, value: Any, rule: str) -> Inconclusive:
    what = f"no {name}" if value is MISSING else f"the {name} {value!r:.60}"
    reason = f"{exchange.operation} answered {exchange.described()} with {what}, which cannot be used further"
    return Inconclusive(Unclear(reason, rule))


def parameters(operation: str) -> tuple[str, ...]:
    """The path parameters of an operation, the top-level one first."""
    return OPERATIONS[operation].path_parameters


def unknown_like(known: str) -> str:
    """Derives an id that almost certainly does not exist and has the syntax of a known one.

    The prefix stays; digits are replaced by digits, letters by letters (hexadecimal where all are).
    """
    prefix, separator, rest = known.partition("_")
    if not separator:
        prefix, rest = "", known
    if rest.isdigit():
        digits = "".join(secrets.choice("0123456789") for _ in range(max(len(rest) - 1, 11)))
        return f"{prefix}{separator}9{digits}"
    hexadecimal = all(c in "0123456789abcdefABCDEF-" for c in rest)
    letters = "abcdef" if hexadecimal else "abcdefghjkmnpqrstvwxyz"
    # The first characters may encode a version, a time or a shard: they stay where 12 others are left.
    places = [at for at, sign in enumerate(rest) if sign.isascii() and sign.isalnum()]
    changed = set(places[-12:] if len(rest) > 16 else places)
    while True:
        candidate = "".join(
            _other_sign(sign, letters) if at in changed else sign for at, sign in enumerate(rest)
        )
        if candidate != rest or not changed:
            break
    if len(changed) < 6:
        candidate += "".join(secrets.choice("0123456789" if hexadecimal else letters) for _ in range(10))
    return f"{prefix}{separator}{candidate}"


def _other_sign(sign: str, letters: str) -> str:
    """A random digit in the place of an ASCII digit; of a letter one of these letters, in the same case."""
    return secrets.choice("0123456789" if sign.isdigit() else letters.upper() if sign.isupper() else letters)
