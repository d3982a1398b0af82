"""The reference server can be broken, or made to choose otherwise, by overriding one seam; and races."""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import threading
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from reference_world import World, refusal

from conformance import signing
from conformance.exchange import Call, Exchange
from conformance.reference.app import Server
from conformance.reference.behaviour import Behaviour
from conformance.reference.context import Context
from conformance.reference.messages import Request, Response
from conformance.reference.refusals import Refusal
from conformance.reference.seed import Tenant, seed
from conformance.reference.store import Condition, Store

# --------------------------------------------------------------------------- faults, one seam each


class ExactCase(Behaviour):
    """auth.header-case"""

    def authentication_header(self, ctx: Context, name: str) -> str | None:
        return next((value.decode() for key, value in ctx.request.headers if key == name.encode()), None)


class LateAuthentication(Behaviour):
    """auth.comes-first"""

    def stages(self, ctx: Context) -> Any:
        return (self.check_key, self.resolve, self.authenticate, self.replay, self.validate, self.act)


class TooLenient(Behaviour):
    """fields.max-length, of one field of one operation"""

    def check_length(self, ctx: Context, field: Any, value: str) -> None:
        if (ctx.operation, field.name) != ("createBeneficiary", "title"):
            super().check_length(ctx, field, value)


class ActsThenRefuses(Behaviour):
    """refusal.changes-nothing"""

    def refused(self, ctx: Context, refusal: Refusal) -> None:
        if refusal.kind == "invalid_signature" and ctx.operation == "createAccount":
            self.resolve(ctx)
            self.validate(ctx)
            self.act(ctx)


class ForgetsBodies(Behaviour):
    """idempotency.conflict, on one operation"""

    def same_body(self, ctx: Context, answer: Any) -> bool:
        return ctx.operation == "createPayin" or super().same_body(ctx, answer)


class SharedKeys(Behaviour):
    """idempotency.other-organization"""

    def answer_scope(self, ctx: Context) -> str:
        return ctx.operation


class OpenDoors(Behaviour):
    """tenancy.foreign-parent, tenancy.no-leak"""

    def on_foreign_parent(self, ctx: Context, kind: str, record: Any) -> Any:
        return record


class ShowsIbans(Behaviour):
    """secrets.hidden, in one place"""

    def iban_masked(self, ctx: Context, record: Any) -> str | None:
        return record["iban"] if ctx.operation == "getBeneficiary" else super().iban_masked(ctx, record)


class LateStart(Behaviour):
    """list.start-date"""

    def start_date_condition(self, ctx: Context, query: Any) -> Condition | None:
        condition = super().start_date_condition(ctx, query)
        return condition and condition._replace(operator=">")


class NotJson(Behaviour):
    """http.content-type"""

    def finish(self, ctx: Context, response: Response) -> Response:
        if ctx.operation != "listWallets":
            return response
        return response.with_header(b"content-type", b"text/html")


class NumbersForMoney(Behaviour):
    """format.money"""

    def amount_text(self, ctx: Context, record: Any) -> Any:
        return float(record["amount"])


def _foreign(world: World) -> Call:
    return world.call("listAccounts", customer_id=world.seeded.secondary.customer_id)


def _shared_key(world: World) -> bool:
    call = world.call("createAccount")
    mine, theirs = world.send(call), world.send(call.but(target=_foreign(world).target), "secondary")
    return mine.get("id") == theirs.get("id")


def _acted(world: World) -> bool:
    before = world.rows()
    assert refusal(world.send(world.call("createAccount").signed(secret="x"))) == (401, "invalid_signature")
    return world.rows() > before


def _conflicting(world: World) -> bool:
    call = world.call("createPayin")
    return world.send(call).document == world.send(call.with_field("amount", "11")).document


def _late(world: World) -> bool:
    first = world.send(world.call("listPayoutDestinations"))
    query = {"start_date": first.get("items", 0, "created")}
    return world.send(world.call("listPayoutDestinations").with_query(query)).get("total") == 0


FAULTS: list[tuple[type[Behaviour], Callable[[World], bool]]] = [
    (LateAuthentication, lambda world: world.send(_foreign(world).signed(secret="x")).status == 403),
    (TooLenient, lambda world: world.send(
        world.call("createBeneficiary").with_field("title", "x" * 21)).succeeded),
    (ActsThenRefuses, _acted),
    (ForgetsBodies, _conflicting),
    (SharedKeys, _shared_key),
    (OpenDoors, lambda world: world.send(_foreign(world)).succeeded),
    (ShowsIbans, lambda world: "DE89370400440532013000" in str(world.make("getBeneficiary"))),
    (LateStart, _late),
    (NotJson, lambda world: world.send(world.call("listWallets")).header("content-type") == "text/html"),
    (NumbersForMoney, lambda world: world.make("createPayin")["amount"] == 10.0),
]


@pytest.mark.parametrize(("fault", "broken"), FAULTS, ids=[fault.__name__ for fault, _ in FAULTS])
def test_a_seam_breaks_its_rule_and_the_reference_keeps_it(
    fault: type[Behaviour], broken: Callable[[World], bool],
) -> None:
    assert broken(World(fault()))
    assert not broken(World())


def test_header_names_reach_the_behaviour_as_sent() -> None:
    call = World().call("listAccounts").signed(name_case="swapped")
    assert World().send(call).succeeded
    assert refusal(World(ExactCase()).send(call)) == (401, "missing_headers")


def test_a_broken_behaviour_is_answered_with_500(caplog: pytest.LogCaptureFixture) -> None:
    class Broken(Behaviour):
        def act(self, ctx: Context) -> None:
            raise KeyError(ctx.operation)

    store = Store()
    seeded = seed(store)
    answer = _handle(Server(store, Broken()), seeded.primary, "GET",
                     f"/v1/customers/{seeded.primary.customer_id}/accounts")
    assert (answer.status, answer.document["error"]["type"]) == (500, "server_error")
    assert "KeyError" in caplog.text


# --------------------------------------------------------------------------- variants


class Otherwise(Behaviour):
    """Chooses otherwise wherever the specification is open."""

    timestamp_digits = 0
    array_style = "comma"
    newest_first = True

    def stages(self, ctx: Context) -> Any:
        return (self.authenticate, self.replay, self.validate, self.resolve, self.check_state, self.act)

    def success_status(self, ctx: Context) -> int:
        return 200

    def refusal_status(self, ctx: Context, refusal: Refusal) -> int:
        return 400 if refusal.status == 422 else refusal.status

    def in_range(self, ctx: Context, name: str, value: int, highest: int | None) -> int:
        return max(1, min(value, highest or value))

    def shape(self, ctx: Context, kind: str, document: dict[str, Any]) -> dict[str, Any]:
        if kind == "payout_destination":
            document = {name: value for name, value in document.items() if value is not None}
        return {**document, "links": []}

    def remembers_refusal(self, ctx: Context, refusal: Refusal) -> bool:
        return True

    def common_headers(self, ctx: Context) -> list[tuple[bytes, bytes]]:
        return []


def test_a_variant_chooses_otherwise() -> None:
    world = World(Otherwise())
    account = world.call("createAccount")
    assert world.send(account).succeeded
    assert refusal(world.send(account, "secondary")) == (403, "forbidden")
    made = world.send(world.call("createPayoutDestination"))
    assert made.status == 200 and made.header("date") is None
    assert "swift_code" not in made.document and made.get("links") == []
    assert made.get("created") == "2027-01-15T08:00:00Z"
    listing = world.call("listPayoutDestinations")
    page = world.send(listing.with_query("size=1000&page=-3&statuses=active,inactive"))
    assert (page.get("size"), page.get("page"), page.get("items", 0, "id")) == (100, 1, made.get("id"))
    assert world.make("updateBeneficiary")["updated"] > made.get("created")
    world.clock.forward(3.7)
    late = world.make("createPayoutDestination")
    assert late["created"] == "2027-01-15T08:00:03Z"
    assert world.send(listing.with_query({"start_date": late["created"]})).get("total") == 1
    assert world.send(listing.with_query({"end_date": "2027-01-15T08:00:03.5Z"})).get("total") == 3
    call = world.call("createPayout", {"amount": "0", "currency": "USD"})
    refused = world.send(call)
    assert refused.status == 400
    assert world.send(call).response_body == refused.response_body
    assert refusal(world.send(call.with_field("amount", "1"))) == (409, "idempotency_key_conflict")
    assert world.send(call).response_body == refused.response_body


# --------------------------------------------------------------------------- races between threads


def _race(world: World, calls: list[Call]) -> list[Exchange]:
    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(world.send, calls))


class Unguarded(Behaviour):
    """Looks, lets everybody else look, then acts: auth.nonce-race, idempotency.race, wallet.race."""

    def __init__(self) -> None:
        self.looked: threading.Barrier | None = None

    def _wait(self) -> None:
        if self.looked is not None:
            self.looked.wait(10)

    def transaction(self, ctx: Context) -> Any:
        return contextlib.nullcontext()


class NonceRace(Unguarded):
    def claim_nonce(self, ctx: Context, nonce: str) -> bool:
        known = ctx.store.nonce_claimed(self.nonce_scope(ctx), nonce, ctx.now)
        self._wait()
        super().claim_nonce(ctx, nonce)
        return not known


class KeyRace(Unguarded):
    def stored_answer(self, ctx: Context) -> Any:
        answer = super().stored_answer(ctx)
        self._wait()
        return answer


class WalletRace(Unguarded):
    def claim_wallet_pair(self, ctx: Context) -> bool:
        taken = ctx.store.count("wallet", self.parent(ctx)["id"])
        self._wait()
        return not taken


def _accepted_nonces(world: World) -> int:
    calls = [world.call("createAccount").signed(nonce="b" * 32) for _ in range(4)]
    return sum(exchange.succeeded for exchange in _race(world, calls))


def _done_with_one_key(world: World) -> int:
    before = world.rows()
    exchanges = _race(world, [world.call("createPayin").but(idempotency_key=str(uuid.UUID(int=4)))] * 4)
    assert all(exchange.status == 201 for exchange in exchanges)
    return world.rows() - before


def _wallets(world: World) -> int:
    exchanges = _race(world, [world.call("createWallet") for _ in range(4)])
    assert {exchange.status for exchange in exchanges} <= {201, 409}
    return world.make("listWallets")["total"]


@pytest.mark.parametrize(("fault", "effects"), [
    (NonceRace, _accepted_nonces), (KeyRace, _done_with_one_key), (WalletRace, _wallets),
])
def test_races_between_threads(fault: type[Unguarded], effects: Callable[[World], int]) -> None:
    assert effects(World()) == 1
    behaviour = fault()
    world = World(behaviour)
    behaviour.looked = threading.Barrier(4)
    assert effects(world) == 4


# --------------------------------------------------------------------------- races between processes


def _signed(tenant: Tenant, method: str, target: str, body: bytes = b"", nonce: str | None = None,
            key: str | None = None) -> Request:
    head = signing.signed_headers(tenant.api_key, tenant.secret, method, target.encode(), body, nonce=nonce)
    head |= {"Idempotency-Key": key or str(uuid.uuid4())}
    headers = [(name.encode(), text.encode()) for name, text in head.items()]
    return Request(method, target.encode(), headers, body)


def _handle(server: Server, tenant: Tenant, method: str, target: str, body: bytes = b"") -> Response:
    return server.handle(_signed(tenant, method, target, body))


def _contend(path: Path, requests: list[Request], together: Any, answers: Any) -> None:
    store = Store(path)
    server = Server(store)
    together.wait(30)
    answers.put([(response.status, response.body) for response in map(server.handle, requests)])
    store.close()


def test_races_between_processes(tmp_path: Path) -> None:
    path = tmp_path / "reference.sqlite3"
    store = Store(path)
    tenant = seed(store).primary
    server = Server(store)
    accounts = f"/v1/customers/{tenant.customer_id}/accounts"
    account = _handle(server, tenant, "POST", accounts, b'{"name": "x"}').document["id"]
    pairs = [("USDC", "ethereum"), ("USDC", "polygon"), ("USDT", "ethereum"), ("USDT", "polygon")]
    bodies = [json.dumps({"currency": a, "network": b, "label": "x"}).encode() for a, b in pairs]
    processes, rounds = 4, 25
    same_nonce = [_signed(tenant, "POST", accounts, b'{"name": "n"}') for _ in range(rounds)]
    keys = [str(uuid.uuid4()) for _ in range(rounds)]

    def script() -> list[Request]:
        same_key = [_signed(tenant, "POST", accounts, b'{"name": "k"}', key=key) for key in keys]
        wallets = [_signed(tenant, "POST", f"/v1/accounts/{account}/wallets", body) for body in bodies]
        return [*same_nonce, *same_key, *wallets]

    spawn = multiprocessing.get_context("spawn")
    together, answers = spawn.Barrier(processes), spawn.Queue()
    workers = [spawn.Process(target=_contend, args=(path, script(), together, answers))
               for _ in range(processes)]
    for worker in workers:
        worker.start()
    columns = list(zip(*(answers.get(timeout=60) for _ in workers), strict=True))
    for worker in workers:
        worker.join()
    for column in columns[:rounds]:
        assert sorted(status for status, _ in column) == [201, 401, 401, 401]
    for column in columns[rounds:2 * rounds]:
        assert len(set(column)) == 1 and column[0][0] == 201
    for column in columns[2 * rounds:]:
        assert sorted(status for status, _ in column) == [201, 409, 409, 409]
    assert store.count("account", tenant.customer_id) == 2 + 2 * rounds
    assert store.count("wallet", account) == len(pairs)
    store.close()




def _open(paths: list[Path], together: Any, answers: Any) -> None:
    for path in paths:
        together.wait(30)
        try:
            with contextlib.closing(Store(path)) as store:
                answers.put((path, seed(store).primary.api_key))
        except Exception as error:
            answers.put((path, repr(error)))


def test_processes_agree_on_a_new_database(tmp_path: Path) -> None:
    spawn = multiprocessing.get_context("spawn")
    paths, processes = [tmp_path / f"{number}.sqlite3" for number in range(15)], 4
    together, answers = spawn.Barrier(processes), spawn.Queue()
    workers = [spawn.Process(target=_open, args=(paths, together, answers)) for _ in range(processes)]
    for worker in workers:
        worker.start()
    found = {answers.get(timeout=60) for _ in workers for _ in paths}
    for worker in workers:
        worker.join()
    assert {path for path, _ in found} == set(paths) and len(found) == len(paths), found
    assert all(key.startswith("key_") for _, key in found)
