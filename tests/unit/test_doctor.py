"""`conformance doctor` names each misconfiguration that it knows, and accepts a correct target."""

from __future__ import annotations

import json
import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from conformance.cli.main import main
from conformance.contract import signing
from conformance.contract.signing_mistakes import MISTAKES, Mistake, Parts
from conformance.diagnosis.examination import Examination
from conformance.diagnosis.examine import examine
from conformance.reference.behaviour import Behaviour
from conformance.reference.seed import new_server, target_tables
from conformance.reference.serving.listener import served
from conformance.target.file import build
from conformance.wire.request_bytes import wire_target
from tests.support.in_process import InProcessTransport
from tests.support.running import write_target
from tests.variants.surroundings import Between

Tables = dict[str, Any]


class Front(Between):
    """A proxy in front of the reference server that changes requests or answers them itself."""

    def __init__(
        self, inner: httpx.BaseTransport, answer: Callable[[httpx.Request], httpx.Response | None]
    ) -> None:
        super().__init__(inner)
        self.answer = answer

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        return self.answer(request) or super().handle_request(request)


def examined(
    change: Callable[[Tables], Any] = lambda tables: None,
    answer: Callable[[httpx.Request], httpx.Response | None] | None = None,
    behaviour: Behaviour | None = None,
    base_url: str = "http://reference.test",
) -> Examination:
    server, seeded = new_server(behaviour)
    tables = target_tables(seeded, base_url)
    change(tables)
    transport: httpx.BaseTransport = InProcessTransport(server)
    return examine(build(tables, "target.toml"), Front(transport, answer) if answer else transport)


def names(examination: Examination) -> list[str]:
    return [diagnosis.name for diagnosis in examination.diagnoses]


def test_a_correct_target_has_no_diagnosis() -> None:
    examination = examined()
    assert names(examination) == []
    assert len(examination.exchanges) <= 20


def test_a_clock_that_is_off_is_no_diagnosis() -> None:
    """The first answer refuses the timestamp, and its Date tells the server's time."""
    first = iter([error(401, "timestamp_too_old")])
    assert names(examined(answer=lambda request: next(first, None))) == []


def put(path: str, value: Any) -> Callable[[Tables], None]:
    table, key = path.split(".")
    return lambda tables: tables[table].__setitem__(key, value)


def drop(path: str) -> Callable[[Tables], None]:
    table, _, key = path.partition(".")
    return lambda tables: tables[table].pop(key) if key else tables.pop(table)


def without_secondary(tables: Tables) -> None:
    del tables["secondary"]
    tables["features"]["secondary"] = False


def without_payouts(tables: Tables) -> None:
    del tables["primary"]["funded_account_id"]
    tables["features"]["payouts"] = False


def swap(tables: Tables) -> None:
    first, second = tables["primary"], tables["secondary"]
    first["customer_id"], second["customer_id"] = second["customer_id"], first["customer_id"]


@pytest.mark.parametrize(
    ("change", "name", "told"),
    [
        (put("primary.api_key", "unknown-key"), "credentials", "primary.api_key"),
        (put("primary.secret", "wrong-secret"), "signature", "primary.secret"),
        (put("secondary.secret", "wrong-secret"), "signature", "secondary.secret"),
        (put("primary.customer_id", "cus_unknown"), "unknown customer", "primary.customer_id"),
        (put("secondary.customer_id", "cus_unknown"), "unknown customer", "secondary.customer_id"),
        (put("primary.other_customer_id", "cus_unknown"), "unknown other customer", "other_customer_id"),
        (put("primary.funded_account_id", "acc_nope"), "unknown funded account", "primary.funded_account_id"),
        (drop("primary.other_customer_id"), "not named", "Fill in [primary] other_customer_id"),
        (drop("primary.funded_account_id"), "no funded account", "Fill in [primary] funded_account_id"),
        (drop("secondary"), "not named", "declare [features] secondary = false"),
        (swap, "customers swapped", "belongs to another organization"),
    ],
    ids=lambda value: value.replace(" ", "-") if isinstance(value, str) else "",
)
def test_wrong_target(change: Callable[[Tables], Any], name: str, told: str) -> None:
    texts = {diagnosis.name: diagnosis.text for diagnosis in examined(change).diagnoses}
    assert told in texts[name]


@pytest.mark.parametrize("change", [without_secondary, without_payouts])
def test_what_is_declared_absent_is_no_diagnosis(change: Callable[[Tables], None]) -> None:
    assert names(examined(change)) == []


HOST, SECRET = "http://reference.test", "00ff" * 8

#: A request as the doctor sends it, in which the mistakes show.
SENT = Parts("GET", b"/v1/customers/cus_a/accounts?size=%31&page=1", "1742000000", "ab" * 16, b"", "key")
SHOWN = [mistake for mistake in MISTAKES if mistake.sign(SENT, SECRET) is not None]


@pytest.mark.parametrize("mistake", SHOWN, ids=lambda mistake: mistake.name.replace(" ", "-"))
def test_wrong_construction_of_the_server_is_named(mistake: Mistake) -> None:
    server, seeded = new_server()
    tables = target_tables(seeded, HOST)
    tables["primary"]["secret"] = SECRET
    del tables["secondary"], server
    examination = examine(build(tables, "target.toml"), httpx.MockTransport(_verifying(mistake, SECRET)))
    [diagnosis] = examination.diagnoses
    assert diagnosis.name == "signature" and mistake.text in diagnosis.text
    assert len(examination.exchanges) <= len(MISTAKES) + 3


def _verifying(mistake: Mistake, secret: str) -> Callable[[httpx.Request], httpx.Response]:
    """Returns a server that accepts only signatures made with this mistake."""

    def answer(request: httpx.Request) -> httpx.Response:
        parts = Parts(
            request.method,
            wire_target(request),
            request.headers[signing.TIMESTAMP],
            request.headers[signing.NONCE],
            request.read(),
            request.headers[signing.API_KEY],
            HOST.encode(),
        )
        if mistake.sign(parts, secret) == request.headers[signing.SIGNATURE]:
            return httpx.Response(200, json={"items": [], "total": 0, "page": 1, "size": 10, "pages": 0})
        return httpx.Response(401, json=REFUSAL)

    return answer


REFUSAL = {"error": {"type": "authentication_error", "code": "invalid_signature", "message": "no"}}


def error(status: int, code: str, kind: str = "authentication_error") -> httpx.Response:
    return httpx.Response(status, json={"error": {"type": kind, "code": code, "message": "no"}})


def with_query(request: httpx.Request) -> httpx.Response | None:
    return error(401, "invalid_signature") if b"?" in wire_target(request) else None


def posts(request: httpx.Request) -> httpx.Response | None:
    return error(401, "invalid_signature") if request.method == "POST" else None


def unknown_path(request: httpx.Request) -> httpx.Response | None:
    """Serves the API below /api, and an HTML page on any other path."""
    if request.url.path.startswith("/api/"):
        return error(401, "missing_headers")
    return httpx.Response(404, headers={"content-type": "text/html"}, content=b"<h1>Not Found</h1>")


def mock(request: httpx.Request) -> httpx.Response | None:
    if request.method == "GET":
        return httpx.Response(200, json={"items": [], "total": 0, "page": 1, "size": 10, "pages": 0})
    return httpx.Response(201, json={"id": "acc_string", "object": "account"})


@pytest.mark.parametrize(
    ("answer", "name"),
    [
        (lambda request: httpx.Response(301, headers={"location": "https://elsewhere.test"}), "redirect"),
        (lambda request: httpx.Response(200, html="<h1>It works</h1>"), "no JSON"),
        (lambda request: error(401, "missing_headers"), "proxy drops headers"),
        (lambda request: error(401, "nonce_replay"), "nonces"),
        (lambda request: error(401, "timestamp_too_old"), "clock"),
        (lambda request: error(401, "unknown_key"), "credentials"),
        (lambda request: httpx.Response(429, headers={"retry-after": "3600"}), "rate limit"),
        (
            lambda request: httpx.Response(400, text="The plain HTTP request was sent to HTTPS port"),
            "http to an https port",
        ),
        (with_query, "query is rewritten"),
        (posts, "body is rewritten"),
        (mock, "one organization twice"),
        (lambda request: error(500, "internal", "api_error"), "valid requests not served"),
        (
            lambda request: error(422, "no", "x") if request.method == "POST" else None,
            "valid requests not served",
        ),
        (
            lambda request: error(500, "no", "x") if request.method == "GET" else None,
            "valid requests not served",
        ),
    ],
    ids=lambda value: value.replace(" ", "-") if isinstance(value, str) else "",
)
def test_wrong_surroundings(answer: Callable[[httpx.Request], httpx.Response | None], name: str) -> None:
    assert name in names(examined(answer=answer))


def test_better_base_url_is_named() -> None:
    [diagnosis] = examined(answer=unknown_path).diagnoses
    assert "http://reference.test/api" in diagnosis.text


def test_a_mistyped_customer_needs_no_other_base_url() -> None:
    """A server that authenticates first refuses unsigned requests at every path."""

    def authenticating_first(request: httpx.Request) -> httpx.Response | None:
        return None if signing.SIGNATURE in request.headers else error(401, "missing_headers")

    [diagnosis] = examined(put("primary.customer_id", "cus_unknown"), authenticating_first).diagnoses
    assert diagnosis.name == "unknown customer" and "/api" not in diagnosis.text


@pytest.mark.parametrize(
    ("error", "behind", "name"),
    [
        (httpx.ConnectError, ssl.SSLCertVerificationError(1, "certificate verify failed"), "TLS certificate"),
        (httpx.ConnectError, OSError("no route to host"), "unreachable"),
        (httpx.ConnectTimeout, None, "unreachable"),
    ],
)
def test_the_reason_of_a_failed_connection_is_named(
    error: type[httpx.TransportError], behind: OSError | None, name: str
) -> None:
    def refuse(request: httpx.Request) -> httpx.Response:
        raise error("no connection") from behind

    assert names(examined(answer=refuse)) == [name]


def test_texts_hold_no_secret_and_no_control_character() -> None:
    examination = examined(
        put("primary.secret", "wrong-secret"), lambda request: error(401, "unknown \x1b[31m wrong-secret")
    )
    [diagnosis] = examination.diagnoses
    assert "wrong-secret" not in diagnosis.text and "\x1b" not in diagnosis.text


@pytest.mark.parametrize(
    ("change", "status", "said"),
    [(None, 0, "The target can be judged"), ("wrong", 4, "cannot be judged yet")],
    ids=["good", "wrong secret"],
)
def test_command(
    change: str | None, status: int, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server, seeded = new_server()
    with served(server) as url:
        tables = target_tables(seeded, url)
        if change:
            tables["primary"]["secret"] = change
        target = write_target(tmp_path / "target.toml", json.loads(json.dumps(tables)))
        assert main(["doctor", "--target", str(target)]) == status
    assert said in capsys.readouterr().out


def test_command_finds_the_target_in_the_environment(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    server, seeded = new_server()
    with served(server) as url:
        # The environment takes precedence over the file, as in a run.
        target = write_target(tmp_path / "target.toml", target_tables(seeded, "http://nowhere.invalid"))
        monkeypatch.setenv("CONFORMANCE_TARGET", str(target))
        monkeypatch.setenv("PYTEST_BASE_URL", url)
        assert main(["doctor"]) == 0
    assert f"Examining {url} ..." in capsys.readouterr().out
