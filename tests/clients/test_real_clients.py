"""Correct clients over sockets, built on common HTTP libraries, with all provocations at once."""

from __future__ import annotations

import shutil
import subprocess

import httpx
import pytest

from conformance.clients.provocations import PROVOCATIONS
from conformance.reference.app import system_clock
from conformance.reference.core_messages import Request, Response
from conformance.reference.serving.listener import served
from tests.clients.client import Client, Clock, Rig

LOST = Response(0, delivered=False)


class _Now(Clock):
    """The system clock; waiting returns at once."""

    def __call__(self) -> int:
        self.now = system_clock()
        return self.now

    def wait(self, seconds: float) -> None:
        self()


class _OnSockets(Client):
    url = ""
    rounds = 1


class _Httpx(_OnSockets):
    client = httpx.Client(timeout=60)

    def send(self, request: Request) -> Response:
        url = self.url + request.target.decode()
        try:
            answer = self.client.request(request.method, url, headers=request.headers, content=request.body)
        except httpx.TransportError:
            return LOST
        return Response(answer.status_code, [*answer.headers.raw], answer.content)


class _Curl(_OnSockets):
    def send(self, request: Request) -> Response:
        command = ["curl", "-s", "-w", "%{http_code}", "-m", "60", "-X", request.method]
        for name, value in request.headers:
            command += ["-H", f"{name.decode()}: {value.decode()}"]
        command += ["--data-binary", "@-"] if request.body else []
        url = self.url + request.target.decode()
        made = subprocess.run([*command, url], input=request.body, capture_output=True, check=False)
        status = int(made.stdout[-3:] or 0)
        return Response(status, [], made.stdout[:-3]) if status else LOST


@pytest.fixture
def rig() -> Rig:
    """A sandbox with all provocations, and without waiting times."""
    rig = Rig(*PROVOCATIONS, clock=_Now())
    rig.provocations.retry_after, rig.provocations.late = 0, 0.05
    return rig


@pytest.mark.parametrize("kind", [_Httpx, _Curl])
def test_a_correct_client_on_sockets_breaks_no_rule(rig: Rig, kind: type[_OnSockets]) -> None:
    if kind is _Curl and not shutil.which("curl"):
        pytest.skip("there is no curl on this machine")
    client = kind(rig)
    with served(rig.sandbox) as client.url:
        client.work()
    # With the server closed, as a request is judged after its answer.
    assert rig.broken() == {}
    assert {name for one in rig.sandbox.judge.recent for name in one.provoked} == set(PROVOCATIONS)


def test_a_client_that_gives_up_waiting_and_takes_another_key_is_caught(rig: Rig) -> None:
    """The client closes the connection before the delayed answer."""
    rig.provocations.names, rig.provocations.late = {"late-answer"}, 60
    client = _Httpx(rig)
    client.client = httpx.Client(timeout=0.2)
    path = f"/v1/customers/{client.tenant.customer_id}/accounts"
    with served(rig.sandbox) as client.url:
        for _ in range(2):
            client.send(client.request("POST", path, b'{"name": "One"}', client.key("POST")))
    assert set(rig.broken()) == {"client.retry-key"}
