"""A target that cannot be judged is reported in one paragraph instead of hundreds of failures."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import httpx
import pytest

from conformance._files import InputError
from conformance.checks import plan
from conformance.checks.check import run_check
from conformance.diagnosis.examine import preflight, rate_limit
from conformance.judge.findings import Verdict
from conformance.plugin import controller
from conformance.plugin.lanes import suggested
from conformance.reference.app import system_clock
from conformance.reference.seed import new_server, target_tables
from conformance.reference.serving.in_process import InProcessTransport
from conformance.target.file import Target, build
from conformance.world.account import call
from conformance.world.run import Run
from tests.variants.hurry import hurried
from tests.variants.networks import LimitedInFront
from tests.variants.surroundings import Between


def reference(change: dict[str, Any] | None = None, ahead: float = 0.0) -> tuple[Target, InProcessTransport]:
    """Returns a target on an in-process reference server, with some of its keys changed."""
    server, seeded = new_server(clock=lambda: system_clock() + int(ahead * 1_000_000))
    tables = target_tables(seeded, "http://reference.test")
    for path, value in (change or {}).items():
        table, key = path.split(".")
        tables[table][key] = value
    return build(tables, "target.toml"), InProcessTransport(server)


def complaint(target: Target, transport: httpx.BaseTransport | None = None) -> str:
    with pytest.raises(InputError) as caught:
        preflight(target, transport)
    text = str(caught.value)
    assert "\n" not in text
    assert not any(secret in text for secret in target.secrets)
    return text


def test_an_unreadable_funded_account_is_not_reported_missing() -> None:
    """A server without reads, or with broken ones, is left to the checks."""

    class NoReads(Between):
        def handle_request(self, request: httpx.Request) -> httpx.Response:
            if request.method == "GET" and not request.url.path.endswith("/accounts"):
                return httpx.Response(404, json={"error": {"type": "t", "code": "c", "message": "m"}})
            return super().handle_request(request)

    target, transport = reference({"primary.funded_account_id": "acc_nope"})
    preflight(target, NoReads(transport))


def test_a_funded_account_is_not_reported_missing_if_reads_depend_on_earlier_callers() -> None:
    """A server that takes the caller of a read from the last list or write is left to the checks."""

    class Remembering(Between):
        caller = reader = ""

        def handle_request(self, request: httpx.Request) -> httpx.Response:
            if request.method != "GET" or request.url.path.endswith("/accounts"):
                self.caller = request.headers["x-api-key"]
            elif self.caller != self.reader:
                return httpx.Response(403, json={"error": {"type": "t", "code": "c", "message": "m"}})
            return super().handle_request(request)

    target, transport = reference()
    assert target.secondary is not None
    remembering = Remembering(transport)
    remembering.reader = target.primary.api_key
    preflight(target, remembering)
    assert remembering.caller == target.primary.api_key


def test_wrong_clock() -> None:
    class NoDate(InProcessTransport):
        def handle_request(self, request: httpx.Request) -> httpx.Response:
            response = super().handle_request(request)
            del response.headers["date"]
            return response

    target, transport = reference(ahead=4000)
    # With a correct Date header the suite follows the server's clock; without it, it cannot.
    preflight(target, transport)
    text = complaint(target, NoDate(transport.server))
    assert "clock" in text and "NTP" in text


def test_rate_of_a_limiter_is_measured_and_kept() -> None:
    target, transport = reference()
    limited = LimitedInFront(transport, 2)
    assert rate_limit(preflight(target, transport)) == 0
    with hurried():
        rate = rate_limit(preflight(target, limited))
        assert 1 < rate < 3
        limits = replace(target.limits, requests_per_second=rate)
        run = Run(replace(target, limits=limits), limited)
        checks = [(check, name) for check, name in plan({"auth.nonce-replay"}, {"createAccount"})]
        findings = [finding for check, name in checks for finding in run_check(check, name, run)[0]]
    assert {finding.verdict for finding in findings} == {Verdict.PASSED}
    assert run.retry.waited < run.sent / rate / 2


class Written(Between):
    """Rewrites every response body."""

    def __init__(self, inner: httpx.BaseTransport, change: Callable[[bytes], bytes], media_type: str) -> None:
        super().__init__(inner)
        self.change, self.media_type = change, media_type

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        response = super().handle_request(request)
        headers = {**response.headers, "content-type": self.media_type}
        headers.pop("content-length", None)
        return httpx.Response(response.status_code, headers=headers, content=self.change(response.read()))


@pytest.mark.parametrize(
    ("change", "media_type", "rule"),
    [
        (lambda body: b"\xef\xbb\xbf" + body, "application/json", "http.success-json"),
        (
            lambda body: b'{"via":"caf\xe9",' + body[1:],
            "application/json; charset=iso-8859-1",
            "http.success-json",
        ),
        (lambda body: body.decode().encode("utf-16"), "application/json", "http.success-json"),
        (
            lambda body: b"<b>Notice</b>: undefined index {id}\n" + body,
            "application/json",
            "http.success-json",
        ),
        (lambda body: b'{"rate":NaN,' + body[1:], "application/json", "http.success-json"),
        (bytes, "text/json", "http.content-type"),
        (bytes, "text/html", "http.content-type"),
    ],
    ids=["byte order mark", "ISO 8859-1", "UTF-16", "a notice before", "NaN", "text/json", "text/html"],
)
def test_answers_of_the_api_in_another_form_are_judged(
    change: Callable[[bytes], bytes], media_type: str, rule: str
) -> None:
    target, transport = reference()
    written = Written(transport, change, media_type)
    preflight(target, written)
    run = Run(target, written)
    run.client().send(call("listAccounts", {"customer_id": target.primary.customer_id}), "a list")
    assert run.invariants.tallies[rule, "listAccounts"].broken


def test_server_with_a_fault_is_left_to_the_checks() -> None:
    """One broken operation must not keep the others from being judged."""

    class ListsBroken(Between):
        def handle_request(self, request: httpx.Request) -> httpx.Response:
            if request.method == "GET":
                return httpx.Response(500, content=b"oops")
            return super().handle_request(request)

    target, transport = reference()
    preflight(target, ListsBroken(transport))


class Serial(Between):
    """Answers one request after the other, each in 20 ms."""

    def __init__(self, inner: httpx.BaseTransport) -> None:
        super().__init__(inner)
        self._lock = threading.Lock()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        with self._lock:
            time.sleep(0.02)
            return super().handle_request(request)


def test_latency_that_rises_with_the_lanes_gets_fewer_lanes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(controller, "CALM", 0.1)
    said: list[str] = []
    target, transport = reference()
    chosen = []
    for between in (Serial(transport), transport):
        known: Any = SimpleNamespace(_latency=0.02)
        chosen.append(controller.Controller._sustained(known, preflight(target, between), said.append))
    assert chosen == [3, suggested(0.02)]
    assert len(said) == 1 and "--lanes" in said[0]
