"""Faulty clients for rules about several requests: the correct one with one decision overridden."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from conformance.contract.signing_mistakes import MISTAKES
from conformance.reference.core_messages import Request
from tests.clients.changes import CHANGES, Change, header, mistaken, parts_of, rules_of, with_header
from tests.clients.client import BENEFICIARY, WALLETS, Client, Refused, Rig
from tests.support.programs import Program


class FixedNonce(Client):
    def nonce(self) -> str:
        return "0123456789abcdef" * 2

    def work(self) -> None:
        for _ in range(2):
            self.call("GET", f"/v1/customers/{self.tenant.customer_id}/accounts")


class SignsOnce(Client):
    """Resends the signed request unchanged after a lost answer."""

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
    """Uses one key for all requests, whatever the body."""

    def key(self, method: str) -> str | None:
        return "0b0f8d4e-7c1f-4f0e-9c55-0d8f7a3c9b11" if method == "POST" else None

    def work(self) -> None:
        for name in ("One", "Other"):
            self.call("POST", f"/v1/customers/{self.tenant.customer_id}/accounts", {"name": name})


class KeyOfCorrection(OneKey):
    """Uses the key of a corrected request for another one."""

    def work(self) -> None:
        path = f"/v1/accounts/{self.tenant.funded_account_id}/virtual-accounts"
        # Small letters are open, and refused by the sandbox.
        for currency, label in (("eur", "One"), ("EUR", "One"), ("EUR", "Other")):
            with contextlib.suppress(Refused):
                self.call("POST", path, {"currency": currency, "label": label})


class KeyWithAndWithoutBody(OneKey):
    def work(self) -> None:
        funded = f"/v1/accounts/{self.tenant.funded_account_id}/beneficiaries"
        path = f"{funded}/{Client(self.rig).call('POST', funded, BENEFICIARY)['id']}/disable"
        self.call("POST", path)
        self.call("POST", path, {"reason": "gone"})


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


# ---------------------------------------------------------------------- observed behaviour


class Impatient(Client):
    def waits(self, response: Any) -> None:
        return None


class Stubborn(Client):
    def work(self) -> None:
        path = f"/v1/customers/{self.tenant.customer_id}/accounts/acc_nothing/balances"
        for _ in range(2):
            with contextlib.suppress(Refused):
                self.call("GET", path)


class Lenient(Client):
    """Sends what other servers may take."""

    def work(self) -> None:
        path = f"/v1/accounts/{self.tenant.funded_account_id}/virtual-accounts"
        with contextlib.suppress(Refused):
            self.call("POST", path, {"currency": "eur", "label": "One", "reference": "17"})
        self.call("GET", f"{path}?per_page=100")


class Lost(Client):
    def work(self) -> None:
        self.call("POST", "/v1/transfers/payouts", {"amount": "1.00"})


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
        self.call("POST", path, {"name": "One"})


class CorrectsUnderOneKey(OneKey):
    def work(self) -> None:
        for name in ("n" * 256, "short"):
            with contextlib.suppress(Refused):
                self.call("POST", f"/v1/customers/{self.tenant.customer_id}/accounts", {"name": name})


class Once(Client):
    """Changes the first request that the change applies to."""

    change: Change
    done = False

    def changed(self, request: Request) -> Request:
        made = None if self.done else self.change(self, request)
        self.done = self.done or bool(made)
        return made or request


@dataclass(frozen=True)
class WrongClient(Program):
    """A client, the provocations that reveal it, the change of a request that it makes, and if its rule is
    open, the observed answer."""

    provoked: tuple[str, ...] = ()
    change: Change | None = None
    answer: str = ""

    def make(self, rig: Rig) -> Client:
        """Returns a new client."""
        client: Client = self.base(rig)
        if isinstance(client, Once) and self.change is not None:
            client.change = self.change
        return client


def _client(rule: str, base: type[Client], *provoked: str, answer: str = "") -> WrongClient:
    name = " ".join((rule, base.__name__, *provoked))
    return WrongClient((rule,), "", name, base.__doc__ or "", base, provoked, answer=answer)


CLIENTS = [
    _client("auth.nonce-replay", FixedNonce),
    _client("auth.nonce-replay-idempotent", SignsOnce, "lost-answer"),
    _client("client.retry-key", NewKeyOnRetry, "lost-answer"),
    _client("client.retry-key", NewKeyOnRetry, "unavailable"),
    _client("idempotency.conflict", OneKey),
    _client("idempotency.conflict", KeyOfCorrection),
    _client("idempotency.conflict-no-body", KeyWithAndWithoutBody),
    _client("client.timestamp-fresh", FixedTimestamp),
    _client("client.walk", StopsEarly, "growing-lists"),
    _client("client.walk", OffByOne),
    _client("client.first-page", FirstPageOnly),
    _client("client.walk-beyond", UntilEmpty),
    _client("client.retry-after", Impatient, "rate-limit", answer="sent again before it was over"),
    _client("client.retry-after", Client, "unavailable", answer="waited out"),
    _client("client.repeats-refused", Stubborn, answer="sent again unchanged after 404"),
    _client("client.refused", Stubborn, answer="answered 404 resource_not_found"),
    _client("client.refused", Lenient, answer="answered 422 invalid_currency (currency)"),
    _client("body.unknown-fields", Lenient, answer="the member reference"),
    _client("client.unknown-parameter", Lenient, answer="the parameter per_page"),
    _client("client.provoked", Client, "lost-answer", answer="sent again with the same key"),
    _client("client.provoked", Client, "unknown-fields", answer="went on"),
    _client("client.key-other-path", OneKeyEverywhere, answer="sent on several paths"),
    _client("http.undocumented-path", Lost, answer="asked for POST /v1/transfers/payouts"),
    _client("idempotency.equivalent-body", Reserializes, answer="the same JSON in other bytes"),
    _client("idempotency.after-refusal", CorrectsUnderOneKey, answer="the key of the refused request"),
    *(
        WrongClient((rule,), "", f"{rule} {number}", Once.__doc__ or "", Once, change=change)
        for rule, changes in CHANGES.items()
        for number, change in enumerate(changes)
    ),
]


class Mistaken(Client):
    """Sends each request with every mistaken signature first, then correctly."""

    def __init__(self, rig: Any) -> None:
        super().__init__(rig)
        #: Pattern of the rule that a mistake breaks, and the reported rules.
        self.mistakes: list[tuple[str, list[str]]] = []

    def changed(self, request: Request) -> Request:
        for mistake in MISTAKES:
            key = header(request, "Idempotency-Key")
            made = mistaken(mistake)(
                self, self.request(request.method, request.target.decode(), request.body, key)
            )
            if made is not None:
                self.rig.handle(made)
                named = [said.rule for said in self.rig.sandbox.judge.recent[-1].broken]
                self.mistakes.append((rules_of(mistake, parts_of(self, made)), named))
        return request
