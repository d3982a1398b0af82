"""A target that cannot be judged ends in one paragraph instead of hundreds of failures."""

from __future__ import annotations

import shutil
import ssl
import subprocess
import threading
from collections.abc import Callable
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest

from conformance.checks import plan
from conformance.checks.check import run_check
from conformance.diagnosis.examine import preflight, rate_limit
from conformance.judge.findings import Verdict
from conformance.reference.app import system_clock
from conformance.reference.seed import new_server, target_tables
from conformance.reference.serving.in_process import InProcessTransport
from conformance.target.file import Target, TargetError, build
from conformance.world.account import call
from conformance.world.run_context import RunContext
from tests.variants.hurry import hurried
from tests.variants.networks import TOO_MANY, Allowance
from tests.variants.surroundings import Between


def reference(change: dict[str, Any] | None = None, ahead: float = 0.0) -> tuple[Target, InProcessTransport]:
    """A target on the reference server in this process, with some of its keys changed."""
    server, seeded = new_server(clock=lambda: system_clock() + int(ahead * 1_000_000))
    tables = target_tables(seeded, "http://reference.test")
    for path, value in (change or {}).items():
        table, key = path.split(".")
        tables[table][key] = value
    return build(tables, "target.toml"), InProcessTransport(server)


def complaint(target: Target, transport: httpx.BaseTransport | None = None) -> str:
    with pytest.raises(TargetError) as caught:
        preflight(target, transport)
    text = str(caught.value)
    assert "\n" not in text
    assert not any(secret in text for secret in target.secrets)
    return text


class Answering(Between):
    """Answers everything alike."""

    def __init__(self, response: httpx.Response) -> None:
        self.response = response

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        return httpx.Response(
            self.response.status_code, headers=self.response.headers, content=self.response.content
        )


def test_valid_target_is_not_complained_about() -> None:
    preflight(*reference())


def test_clock_within_the_window_is_not_complained_about() -> None:
    preflight(*reference(ahead=290))


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"primary.secret": "wrong-secret"}, "primary.secret"),
        ({"primary.api_key": "unknown-key"}, "primary.api_key"),
        ({"secondary.secret": "wrong-secret"}, "secondary.secret"),
        ({"primary.customer_id": "cus_unknown"}, "primary.customer_id"),
        ({"secondary.customer_id": "cus_unknown"}, "secondary.customer_id"),
        ({"primary.funded_account_id": "acc_nope"}, "primary.funded_account_id"),
    ],
)
def test_wrong_credentials_and_ids(change: dict[str, Any], named: str) -> None:
    assert named in complaint(*reference(change))


def test_funded_account_is_not_missed_where_no_account_can_be_read() -> None:
    """A server without the reads, or with broken ones, is left to the checks."""

    class NoReads(Between):
        def handle_request(self, request: httpx.Request) -> httpx.Response:
            if request.method == "GET" and not request.url.path.endswith("/accounts"):
                return httpx.Response(404, json={"error": {"type": "t", "code": "c", "message": "m"}})
            return super().handle_request(request)

    target, transport = reference({"primary.funded_account_id": "acc_nope"})
    preflight(target, NoReads(transport))


def test_customer_of_the_other_organization() -> None:
    target, transport = reference()
    assert target.secondary is not None
    mixed = replace(target, primary=replace(target.primary, customer_id=target.secondary.customer_id))
    assert "belongs to another organization" in complaint(mixed, transport)


def test_wrong_clock() -> None:
    class NoDate(InProcessTransport):
        def handle_request(self, request: httpx.Request) -> httpx.Response:
            response = super().handle_request(request)
            del response.headers["date"]
            return response

    target, transport = reference(ahead=4000)
    # With a truthful Date the suite follows the server's clock; without one it cannot.
    preflight(target, transport)
    text = complaint(target, NoDate(transport.server))
    assert "clock" in text and "NTP" in text


def test_unreachable() -> None:
    target, _ = reference()
    assert "cannot be reached" in complaint(replace(target, base_url="http://127.0.0.1:1"))
    assert "cannot be reached" in complaint(replace(target, base_url="http://no-such-host.invalid"))


@pytest.mark.parametrize(
    ("response", "named"),
    [
        (
            httpx.Response(200, headers={"content-type": "text/html"}, content=b"<h1>It works</h1>"),
            'answers text/html that begins "<h1>It works</h1>"',
        ),
        (
            httpx.Response(404, headers={"content-type": "text/html"}, content=b"<h1>Not Found</h1>"),
            "(status 404)",
        ),
        (
            httpx.Response(200, headers={"content-type": "application/xml"}, content=b"<items/>"),
            'answers application/xml that begins "<items/>"',
        ),
        (
            httpx.Response(301, headers={"location": "https://elsewhere.test/\x1b[31m"}),
            "redirects to https://elsewhere.test",
        ),
        (httpx.Response(404, json={"error": {}}), "does not know this customer"),
    ],
)
def test_something_else_answers(response: httpx.Response, named: str) -> None:
    target, _ = reference()
    text = complaint(target, Answering(response))
    assert named in text and "\x1b" not in text


class Limited(Between):
    """Two requests in each second of the clock."""

    def __init__(self, inner: httpx.BaseTransport) -> None:
        super().__init__(inner)
        self.allowance = Allowance(2)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        if not self.allowance.take():
            return httpx.Response(429, headers={"Retry-After": "1"}, json=TOO_MANY)
        return super().handle_request(request)


def test_rate_of_a_limiter_is_measured_and_kept() -> None:
    target, transport = reference()
    limited = Limited(transport)
    assert rate_limit(preflight(target, transport)) == 0
    with hurried():
        rate = rate_limit(preflight(target, limited))
        assert 1 < rate < 3
        limits = replace(target.limits, requests_per_second=rate)
        run = RunContext(replace(target, limits=limits), limited)
        checks = [(check, name) for check, name in plan({"auth.nonce-replay"}, {"createAccount"})]
        findings = [finding for check, name in checks for finding in run_check(check, name, run)[0]]
    assert {finding.verdict for finding in findings} == {Verdict.PASSED}
    assert run.retry.waited < run.sent / rate / 2


class Written(Between):
    """Writes every body otherwise."""

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
    run = RunContext(target, written)
    run.client().send(call("listAccounts", {"customer_id": target.primary.customer_id}), "a list")
    assert run.invariants.tallies[rule, "listAccounts"].broken


def test_certificate_that_nobody_trusts(tmp_path: Path) -> None:
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("a certificate is made with the openssl command, which is not on this machine")
    subprocess.run(
        [
            openssl,
            "req",
            "-x509",
            "-newkey",
            "rsa:2048",
            "-nodes",
            "-keyout",
            "key.pem",
            "-out",
            "cert.pem",
            "-days",
            "2",
            "-subj",
            "/CN=localhost",
        ],
        cwd=tmp_path,
        check=True,
        capture_output=True,
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "cert.pem", tmp_path / "key.pem")
    server = HTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        text = complaint(replace(reference()[0], base_url=f"https://127.0.0.1:{server.server_port}"))
    finally:
        server.shutdown()
        server.server_close()
    assert "certificate" in text and "SSL_CERT_FILE" in text


def test_server_with_a_fault_is_left_to_the_checks() -> None:
    """One broken operation is no reason not to judge the others."""

    class ListsBroken(Between):
        def handle_request(self, request: httpx.Request) -> httpx.Response:
            if request.method == "GET":
                return httpx.Response(500, content=b"oops")
            return super().handle_request(request)

    target, transport = reference()
    preflight(target, ListsBroken(transport))
