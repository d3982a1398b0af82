"""Changes of a single request: at least one for each rule that one request can break."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from conformance.contract import signing
from conformance.contract.field_rules import FIELD_RULES, FieldRule
from conformance.contract.fields import request_fields
from conformance.contract.operation_sets import OPERATION_SETS
from conformance.contract.rules import CLIENT_RULES
from conformance.contract.signing_mistakes import Mistake, Parts
from conformance.reference.core_messages import Request
from conformance.reference.routes import match
from tests.clients.client import Client


def header(request: Request, name: str) -> str | None:
    return next((v.decode() for n, v in request.headers if n.decode().lower() == name.lower()), None)


def with_header(request: Request, name: str, value: str | None) -> Request:
    kept = [(n, v) for n, v in request.headers if n.decode().lower() != name.lower()]
    return replace(request, headers=kept if value is None else [*kept, (name.encode(), value.encode())])


def operation_of(request: Request) -> str:
    found = match(request.target.partition(b"?")[0])
    return found.methods[request.method] if found else ""


def signed(client: Client, request: Request) -> Request:
    """Returns the request with a new signature."""
    right = signing.signature(client.tenant.secret, parts_of(client, request).string())
    return with_header(request, signing.SIGNATURE, right)


#: Changes a request; returns None if it does not apply.
Change = Callable[[Client, Request], Request | None]


def resigned(change: Callable[[Request], Request | None]) -> Change:
    """Makes a change that is signed afterwards."""

    def changed(client: Client, request: Request) -> Request | None:
        made = change(request)
        return None if made is None else signed(client, made)

    return changed


def with_body(change: Callable[[dict[str, Any]], object], *operations: str) -> Change:
    """Makes a change of the bodies of some operations."""

    def changed(request: Request) -> Request | None:
        if operation_of(request) not in operations:
            return None
        document = json.loads(request.body)
        change(document)
        return replace(request, body=json.dumps(document).encode())

    return resigned(changed)


def having(*operations: str, **members: Any) -> Change:
    """Makes a change of body members in some operations."""
    return with_body(lambda document: document.update(members), *operations)


def parts_of(client: Client, request: Request) -> Parts:
    """Returns the parts of the string that a request signs."""
    timestamp, nonce = header(request, signing.TIMESTAMP) or "", header(request, signing.NONCE) or ""
    key = client.tenant.api_key
    return Parts(request.method, request.target, timestamp, nonce, request.body, key, b"http://")


def mistaken(mistake: Mistake) -> Change:
    """Makes a change to the signature that a usual mistake gives."""

    def changed(client: Client, request: Request) -> Request | None:
        made = mistake.sign(parts_of(client, request), client.tenant.secret)
        return None if made is None else with_header(request, signing.SIGNATURE, made)

    return changed


def _replaced(name: str, value: str | None, *, bodies: bool = False) -> Change:
    return lambda client, request: with_header(request, name, value) if request.body or not bodies else None


def _sent(name: str, change: Callable[[str], str | None]) -> Change:
    return resigned(lambda request: with_header(request, name, change(header(request, name) or "")))


def _post(change: Callable[[Request], Request]) -> Change:
    return resigned(lambda request: change(request) if request.method == "POST" else None)


def _query(text: str, of: bytes = b"") -> Change:
    def changed(request: Request) -> Request | None:
        path, _, query = request.target.partition(b"?")
        return replace(request, target=path + b"?" + text.encode()) if query and path.endswith(of) else None

    return resigned(changed)


def _basic(client: Client) -> str:
    return "Basic " + base64.b64encode(f"{client.tenant.api_key}:{client.tenant.secret}".encode()).decode()


MONEY = ("createPayout", "createPayin")

#: Rule -> changes of one request, each of which breaks that rule alone.
CHANGES: dict[str, list[Change]] = {
    "auth.missing-header": [_replaced(name, None) for name in signing.HEADERS],
    "auth.empty-header": [_replaced(name, "") for name in signing.HEADERS],
    "auth.unknown-key": [_replaced(signing.API_KEY, "key_nobody")],
    "auth.timestamp-window": [
        _sent(signing.TIMESTAMP, lambda text: text + "000"),
        _sent(signing.TIMESTAMP, lambda text: str(int(text) - 400)),
    ],
    "auth.timestamp-integer": [_sent(signing.TIMESTAMP, lambda text: text + ".5")],
    "auth.signature": [
        _replaced(signing.SIGNATURE, "ab" * 32),
        _replaced(signing.SIGNATURE, "no signature"),
    ],
    "auth.bearer-only": [
        lambda client, request: replace(
            request,
            headers=[
                *[h for h in request.headers if not h[0].startswith(b"X-")],
                (b"Authorization", b"Bearer x"),
            ],
        )
    ],
    "client.bearer": [_replaced("Authorization", "Bearer token")],
    "client.nonce-form": [
        _sent(signing.NONCE, lambda text: f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"),
        _sent(signing.NONCE, lambda text: text[:16]),
    ],
    "client.signature-form": [
        lambda client, request: with_header(
            request, signing.SIGNATURE, (header(request, signing.SIGNATURE) or "").upper()
        )
    ],
    "client.secret": [
        lambda client, request: with_header(request, "X-Secret", client.tenant.secret),
        lambda client, request: with_header(request, "Authorization", _basic(client)),
    ],
    "client.content-type": [_replaced("Content-Type", kind, bodies=True) for kind in (None, "text/plain")],
    "client.post-key": [_post(lambda request: with_header(request, "Idempotency-Key", None))],
    "client.key-elsewhere": [
        resigned(
            lambda request: (
                with_header(request, "Idempotency-Key", "0b0f8d4e-7c1f-4f0e-9c55-0d8f7a3c9b11")
                if request.method != "POST"
                else None
            )
        )
    ],
    "idempotency.key-invalid": [_post(lambda request: with_header(request, "Idempotency-Key", "payout-1"))],
    "list.size-range": [_query("page=1&size=1000"), _query("size=0")],
    "list.page-range": [_query("page=0&size=10"), _query("page=first")],
    "client.filter-form": [
        _query(f"start_date={date}", b"/virtual-accounts")
        for date in ("2026-01-31T00:00:00+02:00", "31/01/2026", "1764163200", "Sat%20Jan%2031%202026", "null")
    ],
    "body.malformed": [
        resigned(lambda request: replace(request, body=request.body[:-1]) if request.body else None),
        resigned(lambda request: replace(request, body=b"[]") if request.body else None),
        resigned(
            lambda request: (
                with_header(replace(request, body=b""), "Content-Type", None)
                if request.body and request.method == "POST"
                else None
            )
        ),
    ],
    "fields.required": [
        with_body(lambda document: document.popitem(), "createVirtualAccount", "createPayin", "createPayout")
    ],
    "fields.required-null": [having("createAccount", name=None)],
    "fields.type": [
        having("createAccount", name=5),
        having("createBeneficiary", email=[]),
    ],
    "fields.optional-type": [having("createBeneficiary", "createPayout", note={})],
    "fields.max-length": [having("createAccount", name="n" * 256)],
    "fields.enum": [having("createPayoutDestination", type="cheque")],
    "fields.company-name": [having("createBeneficiary", beneficiary_type="business")],
    "fields.network": [having("createPayoutDestination", type="wallet")],
    "fields.country-code": [
        having("createBeneficiary", country_code="USA"),
        having("createPayoutDestination", country="USA"),
    ],
    "fields.currency-code": [having(*MONEY, currency="DOLLAR")],
    "fields.currency-kind": [
        having("createVirtualAccount", currency="BTC"),
        having("createWallet", currency="USD"),
    ],
    "fields.amount": [having("createPayout", amount=amount) for amount in (12.5, "0", "-1.00", "ten", "")],
    "fields.payin-amount-positive": [having("createPayin", amount="0.00")],
    "fields.address": [having("createBeneficiary", address="1 Main St")],
    "fields.address-types": [
        with_body(
            lambda document: document.update(address={**document["address"], "postal_code": 2101}),
            "createBeneficiary",
        )
    ],
}


def _excluded(row: FieldRule) -> list[Change]:
    """Returns changes of the fields of creates to values that a rule excludes."""
    return [
        having(create, **{field.name: value})
        for create in OPERATION_SETS["create"]
        if create in CLIENT_RULES[row.rule].operations
        for field, value in row.wrong_values(create, request_fields(create), {})
    ]


CHANGES |= {row.rule: _excluded(row) for row in FIELD_RULES if row.examples and row.rule in CLIENT_RULES}

#: Name of a signature mistake -> rules that may be reported for it, depending on the request.
_PART = {
    "method": "auth.signed-method",
    "target": "auth.signed-(path|query)",
    "timestamp": "auth.signed-timestamp",
    "nonce": "auth.signed-nonce",
    "body": "auth.signed-(empty-)?body",
}


def rules_of(mistake: Mistake, parts: Parts) -> str:
    """Returns a pattern of the rules that may be reported for a mistake with these signed parts."""
    string = mistake.signed(parts)
    if mistake.name == "upper-case hexadecimal":
        return "client.signature-form"
    if string is None or string == parts.string():
        return "auth.signature"
    if not parts.body and string.startswith(parts.string()):
        return _PART["body"]
    for separator in (b"\n", b".", b":", b"|", b",", b" ", b"\t", b"\r\n"):
        if string in (separator.join(parts.pieces.values()), parts.string(body=separator + parts.body)):
            return "auth.no-separators"
    for name in parts.pieces:
        others = [re.escape(piece) if other != name else b".*" for other, piece in parts.pieces.items()]
        if re.fullmatch(b"".join(others), string, re.DOTALL):
            return _PART[name]
    return "auth.signature"
