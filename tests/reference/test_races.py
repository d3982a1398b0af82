"""Simultaneous requests do not interfere: between threads, over HTTP and between processes."""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import uuid
from pathlib import Path
from typing import Any

from conformance.contract import signing
from conformance.reference.app import Server
from conformance.reference.core_messages import Request, Response
from conformance.reference.seed import Tenant, seed
from conformance.reference.store import Store

# --------------------------------------------------------------------------- races between threads


# --------------------------------------------------------------------------- races between processes


def _signed(
    tenant: Tenant,
    method: str,
    target: str,
    body: bytes = b"",
    nonce: str | None = None,
    key: str | None = None,
) -> Request:
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
    workers = [
        spawn.Process(target=_contend, args=(path, script(), together, answers)) for _ in range(processes)
    ]
    for worker in workers:
        worker.start()
    columns = list(zip(*(answers.get(timeout=60) for _ in workers), strict=True))
    for worker in workers:
        worker.join()
    for column in columns[:rounds]:
        assert sorted(status for status, _ in column) == [201, 401, 401, 401]
    for column in columns[rounds : 2 * rounds]:
        assert len(set(column)) == 1 and column[0][0] == 201
    for column in columns[2 * rounds :]:
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
