"""Wrong clients: the right one with one decision overridden, at least one for each client rule."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from conformance.contract import signing
from conformance.contract.signing_mistakes import MISTAKES, Mistake, Parts
from conformance.reference.messages import Request
from conformance.reference.routes import match
from tests.clients.client import BENEFICIARY, WALLETS, Client, Refused


def header(request: Request, name: str) -> str | None:
    return next((v.decode() for n, v in request.headers if n.decode().lower() == name.lower()), None)


def with_header(request: Request, name: str, value: str | None) -> Request:
    kept = [(n, v) for n, v in request.headers if n.decode().lower() != name.lower()]
    return replace(request, headers=kept if value is None else [*kept, (name.encode(), value.encode())])


def operation_of(request: Request) -> str:
    found = match(request.target.partition(b"?")[0])
    return found.methods[request.method] if found else ""


def signed(client: Client, request: Request) -> Request:
    """The request signed anew, as it is now."""
    timestamp, nonce = header(request, signing.TIMESTAMP) or "", header(request, signing.NONCE) or ""
    string = signing.signature_string(request.method, request.target, timestamp, nonce, request.body)
    return with_header(request, signing.SIGNATURE, signing.signature(client.tenant.secret, string))


#: Changes one request; None where it cannot.
Change = Callable[[Client, Request], Request | None]


def resigned(change: Callable[[Request], Request | None]) -> Change:
    """A change before the request is signed."""

    def changed(client: Client, request: Request) -> Request | None:
        made = change(request)
        return None if made is None else signed(client, made)

    return changed


def with_fields(change: Callable[[dict[str, Any]], object], *operations: str, only: str = "") -> Change:
    """A change to the members of a body, of some operations, that have a field `only` if it is named."""

    def changed(request: Request) -> Request | None:
        if operation_of(request) not in operations:
            return None
        document = json.loads(request.body)
        if only and only not in document:
            return None
        change(document)
        return replace(request, body=json.dumps(document).encode())

    return resigned(changed)


def mistaken(mistake: Mistake) -> Change:
    """A signature with a usual mistake."""

    def changed(client: Client, request: Request) -> Request | None:
        parts = Parts(
            request.method,
            request.target,
            header(request, signing.TIMESTAMP) or "",
            header(request, signing.NONCE) or "",
            request.body,
            client.tenant.api_key,
            b"http://",
        )
        made = mistake.sign(parts, client.tenant.secret)
        return None if made is None else with_header(request, signing.SIGNATURE, made)

    return changed


def _replaced(name: str, value: str | None, *, bodies: bool = False) -> Change:
    return lambda client, request: with_header(request, name, value) if request.body or not bodies else None


def _amount(amount: object) -> Change:
    return with_fields(lambda document: document.update(amount=amount), "createPayout")


def _sent(name: str, change: Callable[[str], str | None]) -> Change:
    return resigned(lambda request: with_header(request, name, change(header(request, name) or "")))


def _post(change: Callable[[Request], Request]) -> Change:
    return resigned(lambda request: change(request) if request.method == "POST" else None)


def _query(text: str) -> Change:
    def changed(request: Request) -> Request | None:
        path, _, query = request.target.partition(b"?")
        return replace(request, target=path + b"?" + text.encode()) if query else None

    return resigned(changed)


CREATES = (
    "createAccount",
    "createBeneficiary",
    "createPayoutDestination",
    "createPayout",
    "createVirtualAccount",
)
MONEY = ("createPayout", "createPayin")

#: Rule -> changes of one request, each of which it names, and no other rule.
CHANGES: Mapping[str, list[Change]] = {
    "auth.missing-header": [_replaced(name, None) for name in signing.HEADERS],
    "auth.empty-header": [_replaced(name, "") for name in signing.HEADERS],
    "auth.unknown-key": [lambda client, request: with_header(request, signing.API_KEY, "key_nobody")],
    "auth.timestamp-window": [
        _sent(signing.TIMESTAMP, lambda text: text + "000"),
        _sent(signing.TIMESTAMP, lambda text: str(int(text) - 400)),
    ],
    "auth.timestamp-integer": [_sent(signing.TIMESTAMP, lambda text: text + ".5")],
    "auth.signature": [
        lambda client, request: with_header(request, signing.SIGNATURE, "ab" * 32),
        lambda client, request: with_header(request, signing.SIGNATURE, "no signature"),
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
    "client.bearer": [lambda client, request: with_header(request, "Authorization", "Bearer token")],
    "client.nonce-form": [
        _sent(signing.NONCE, lambda text: f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"),
        _sent(signing.NONCE, lambda text: text[:16]),
    ],
    "client.signature-form": [
        lambda client, request: with_header(
            request, signing.SIGNATURE, (header(request, signing.SIGNATURE) or "").upper()
        )
    ],
    "client.secret": [lambda client, request: with_header(request, "X-Secret", client.tenant.secret)],
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
    "body.malformed": [
        resigned(lambda request: replace(request, body=request.body[:-1]) if request.body else None),
        resigned(lambda request: replace(request, body=b"[]") if request.body else None),
    ],
    "fields.required": [
        with_fields(
            lambda document: document.popitem(), "createVirtualAccount", "createPayin", "createPayout"
        )
    ],
    "fields.required-null": [with_fields(lambda document: document.update(name=None), "createAccount")],
    "fields.type": [
        with_fields(lambda document: document.update(name=5), "createAccount"),
        with_fields(lambda document: document.update(email=[]), "createBeneficiary"),
    ],
    "fields.optional-type": [
        with_fields(lambda document: document.update(note={}), "createBeneficiary", "createPayout")
    ],
    "fields.max-length": [with_fields(lambda document: document.update(name="n" * 256), "createAccount")],
    "fields.enum": [with_fields(lambda document: document.update(type="cheque"), "createPayoutDestination")],
    "fields.company-name": [
        with_fields(lambda document: document.update(beneficiary_type="business"), "createBeneficiary")
    ],
    "fields.network": [
        with_fields(lambda document: document.update(type="wallet"), "createPayoutDestination")
    ],
    "fields.country-code": [
        with_fields(lambda document: document.update(country_code="USA"), "createBeneficiary"),
        with_fields(lambda document: document.update(country="USA"), "createPayoutDestination"),
    ],
    "fields.currency-code": [with_fields(lambda document: document.update(currency="DOLLAR"), *MONEY)],
    "fields.unassigned-code": [with_fields(lambda document: document.update(currency="ZZZ"), *MONEY)],
    "fields.currency-kind": [
        with_fields(lambda document: document.update(currency="BTC"), "createVirtualAccount"),
        with_fields(lambda document: document.update(currency="USD"), "createWallet"),
    ],
    "fields.amount": [_amount(amount) for amount in (12.5, "0", "-1.00", "ten", "")],
    "fields.payin-amount-positive": [
        with_fields(lambda document: document.update(amount="0.00"), "createPayin")
    ],
    "fields.address": [
        with_fields(lambda document: document.update(address="1 Main St"), "createBeneficiary")
    ],
    "fields.address-types": [
        with_fields(
            lambda document: document.update(address={**document["address"], "postal_code": 2101}),
            "createBeneficiary",
        )
    ],
}

#: Name of a mistake in a signature -> the rules that may be named for it, by the request.
_PART = {
    "method": "auth.signed-method",
    "target": "auth.signed-(path|query)",
    "timestamp": "auth.signed-timestamp",
    "nonce": "auth.signed-nonce",
    "body": "auth.signed-(empty-)?body",
}


def rules_of(mistake: Mistake, parts: Parts) -> str:
    """A pattern of the rules that may name a mistake, by the parts of the string that it signs."""
    string = mistake.signed(parts)
    if mistake.name == "upper-case hexadecimal":
        return "client.signature-form"
    if string is None or string == parts.string():
        return "auth.signature"
    if not parts.body and string.startswith(parts.string()):
        return _PART["body"]
    for separator in (b"\n", b".", b":", b"|", b",", b" "):
        if string == separator.join(parts.pieces.values()):
            return "auth.no-separators"
    for name in parts.pieces:
        others = [re.escape(piece) if other != name else b".*" for other, piece in parts.pieces.items()]
        if re.fullmatch(b"".join(others), string, re.DOTALL):
            return _PART[name]
    return "auth.signature"


# ---------------------------------------------------------------------- wrong over several requests


class FixedNonce(Client):
    def nonce(self) -> str:
        return "0123456789abcdef" * 2

    def work(self) -> None:
        for _ in range(2):
            try:
                self.call("GET", f"/v1/customers/{self.tenant.customer_id}/accounts")
            except Refused:
                return


class SignsOnce(Client):
    """Sends the signed request again as it is after a lost answer."""

    last: Request | None = None

    def changed(self, request: Request) -> Request:
        if (
            request.method == "POST"
            and self.last
            and header(self.last, "Idempotency-Key") == header(request, "Idempotency-Key")
        ):
            request = self.last
        self.last = request
        return request


class NewKeyOnRetry(Client):
    def changed(self, request: Request) -> Request:
        made = self.key(request.method)
        return with_header(request, "Idempotency-Key", made)


class OneKey(Client):
    """One key for all, also for other bodies."""

    def key(self, method: str) -> str | None:
        return "0b0f8d4e-7c1f-4f0e-9c55-0d8f7a3c9b11" if method == "POST" else None

    def work(self) -> None:
        for name in ("One", "Other"):
            try:
                self.call("POST", f"/v1/customers/{self.tenant.customer_id}/accounts", {"name": name})
            except Refused:
                return


class KeyWithAndWithoutBody(OneKey):
    def work(self) -> None:
        funded = f"/v1/accounts/{self.tenant.funded_account_id}/beneficiaries"
        path = f"{funded}/{Client(self.rig).call('POST', funded, BENEFICIARY)['id']}/disable"
        self.call("POST", path)
        try:
            self.call("POST", path, {"reason": "gone"})
        except Refused:
            return


class FixedTimestamp(Client):
    at = ""

    def timestamp(self) -> str:
        self.at = self.at or super().timestamp()
        return self.at


class StopsEarly(Client):
    """Takes the number of pages from the first answer."""

    def pages(self, path: str, size: int) -> Iterator[Any]:
        first = self.call("GET", f"{path}?page=1&size={size}")
        yield from first["items"]
        for page in range(2, first["pages"] + 1):
            yield from self.call("GET", f"{path}?page={page}&size={size}")["items"]


class OffByOne(Client):
    def work(self) -> None:
        accounts = f"/v1/customers/{self.tenant.customer_id}/accounts"
        for number in range(4):
            self.call("POST", accounts, {"name": f"Account {number}"})
        list(self.pages(accounts, 2))

    def pages(self, path: str, size: int) -> Iterator[Any]:
        page, pages = 1, 1
        while page < pages or page == 1:
            answer = self.call("GET", f"{path}?page={page}&size={size}")
            yield from answer["items"]
            page, pages = page + 1, answer["pages"]


class FirstPageOnly(Client):
    def pages(self, path: str, size: int) -> Iterator[Any]:
        yield from self.call("GET", f"{path}?page=1&size={size}")["items"]


class UntilEmpty(Client):
    def pages(self, path: str, size: int) -> Iterator[Any]:
        page, items = 1, [None]
        while items:
            items = self.call("GET", f"{path}?page={page}&size={size}")["items"]
            yield from items
            page += 1


#: Rule -> a wrong client and the provocations that show it.
CLIENTS: list[tuple[str, type[Client], tuple[str, ...]]] = [
    ("auth.nonce-replay", FixedNonce, ()),
    ("auth.nonce-replay-idempotent", SignsOnce, ("lost-answer",)),
    ("client.retry-key", NewKeyOnRetry, ("lost-answer",)),
    ("client.retry-key", NewKeyOnRetry, ("rate-limit",)),
    ("client.retry-key", NewKeyOnRetry, ("unavailable",)),
    ("idempotency.conflict", OneKey, ()),
    ("idempotency.conflict-no-body", KeyWithAndWithoutBody, ()),
    ("client.timestamp-fresh", FixedTimestamp, ()),
    ("client.walk", StopsEarly, ("growing-lists",)),
    ("client.walk", OffByOne, ()),
    ("client.first-page", FirstPageOnly, ()),
    ("client.walk-beyond", UntilEmpty, ()),
]

# ---------------------------------------------------------------------- what is only observed


class Impatient(Client):
    def waits(self, response: Any) -> None:
        return None


class Stubborn(Client):
    def work(self) -> None:
        path = f"/v1/customers/{self.tenant.customer_id}/accounts/acc_nothing/balances"
        for _ in range(2):
            try:
                self.call("GET", path)
            except Refused:
                continue


class Lost(Client):
    def work(self) -> None:
        try:
            self.call("POST", "/v1/transfers/payouts", {"amount": "1.00"})
        except Refused:
            return


class OneKeyEverywhere(OneKey):
    def work(self) -> None:
        self.call("POST", f"/v1/customers/{self.tenant.customer_id}/accounts", {"name": "One"})
        self.call("POST", f"/v1/accounts/{self.tenant.funded_account_id}/wallets", WALLETS[0])


class Reserializes(OneKey):
    def work(self) -> None:
        self.encoded = lambda document: json.dumps(document).encode()  # type: ignore[method-assign]
        path = f"/v1/customers/{self.tenant.customer_id}/accounts"
        self.call("POST", path, {"name": "One"})
        self.encoded = lambda document: json.dumps(document, indent=1).encode()  # type: ignore[method-assign]
        try:
            self.call("POST", path, {"name": "One"})
        except Refused:
            return


class CorrectsUnderOneKey(OneKey):
    def work(self) -> None:
        for name in ("n" * 256, "short"):
            try:
                self.call("POST", f"/v1/customers/{self.tenant.customer_id}/accounts", {"name": name})
            except Refused:
                continue


#: Open rule -> a client, provocations, and the answer that is observed.
OBSERVED: list[tuple[str, type[Client], tuple[str, ...], str]] = [
    ("client.retry-after", Impatient, ("rate-limit",), "sent again before it was over"),
    ("client.retry-after", Client, ("unavailable",), "waited out"),
    ("client.repeats-refused", Stubborn, (), "sent again unchanged after 404"),
    ("client.not-found", Stubborn, (), "answered 404"),
    ("client.provoked", Client, ("lost-answer",), "sent again with the same key"),
    ("client.provoked", Client, ("unknown-fields",), "went on"),
    ("client.key-other-path", OneKeyEverywhere, (), "sent on several paths"),
    ("http.undocumented-path", Lost, (), "asked for POST /v1/transfers/payouts"),
    ("idempotency.equivalent-body", Reserializes, (), "the same JSON in other bytes"),
    ("idempotency.after-refusal", CorrectsUnderOneKey, (), "the key of the refused request"),
]


class Mutant(Client):
    """A right client, of whose requests a random half goes out changed first, then as it should be."""

    def __init__(self, rig: Any, seed: int) -> None:
        super().__init__(rig)
        self.random = random.Random(seed)
        #: Changes by rule, and the rules that were named.
        self.changes: list[tuple[str, list[str]]] = []

    def changed(self, request: Request) -> Request:
        if self.random.random() < 0.5:
            rules = list(CHANGES)
            while True:
                if self.random.random() < 0.4:
                    mistake = self.random.choice(MISTAKES)
                    rule, change = "", mistaken(mistake)
                else:
                    rule = self.random.choice(rules)
                    change = self.random.choice(CHANGES[rule])
                key = header(request, "Idempotency-Key")
                fresh = self.request(request.method, request.target.decode(), request.body, key)
                made = change(self, fresh)
                if made is not None:
                    break
            if not rule:
                parts = Parts(
                    made.method,
                    made.target,
                    header(made, signing.TIMESTAMP) or "",
                    header(made, signing.NONCE) or "",
                    made.body,
                    self.tenant.api_key,
                    b"http://",
                )
                rule = rules_of(mistake, parts)
            self.rig.handle(made)
            named = [said.rule for said in self.rig.sandbox.judge.recent[-1].broken]
            self.changes.append((rule, named))
        return request
