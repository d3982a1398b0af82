"""Mock servers and test tools with the bundled document: Prism, portman (for Postman) and Dredd."""

from __future__ import annotations

import json
import re
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from conformance.contract.operations import OPERATIONS, response_problems
from tests.ecosystem.bundle import BUNDLED
from tests.ecosystem.tools import MODULES, PATIENCE, node, npm
from tests.support.wire import free_port

HEADERS = {"X-API-Key": "key", "X-Timestamp": "1741079889", "X-Nonce": "0" * 32, "X-Signature": "0" * 64}

DOCUMENT: dict[str, Any] = json.loads(BUNDLED.read_bytes())


@pytest.fixture(scope="module")
def prism() -> Iterator[str]:
    """The address of a Prism server that mocks the bundled document."""
    node()
    port = free_port()
    process = subprocess.Popen(
        [str(MODULES / ".bin" / "prism"), "mock", "-p", str(port), str(BUNDLED)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        assert process.stdout is not None
        deadline, said = time.monotonic() + PATIENCE, ""
        while "Prism is listening" not in said:
            line = process.stdout.readline()
            assert line and time.monotonic() < deadline, said
            said += line
        yield f"http://127.0.0.1:{port}"
    finally:
        process.kill()
        process.communicate()


def _request(operation: str) -> tuple[str, str, Any, dict[str, str]]:
    called = OPERATIONS[operation]
    path = re.sub(
        r"\{(\w+)\}", lambda match: DOCUMENT["components"]["parameters"][match[1]]["example"], called.path
    )
    body = None
    if called.request_schema is not None:
        content = DOCUMENT["paths"][called.path][called.method.lower()]["requestBody"]["content"]
        examples = content["application/json"]
        body = examples.get("example") or next(iter(examples["examples"].values()))["value"]
    key = {"Idempotency-Key": "1c0c6a3e-8f5b-4d1e-9a77-2b64c1f0d3e8"} if called.is_post else {}
    return called.method, path, body, {**HEADERS, **key}


@pytest.mark.parametrize("operation", OPERATIONS)
def test_prism_answers_the_examples(prism: str, operation: str) -> None:
    method, path, body, headers = _request(operation)
    answer = httpx.request(method, prism + path, json=body, headers=headers, timeout=30)
    assert answer.status_code == (201 if operation.startswith("create") else 200), answer.text
    assert response_problems(operation, answer.json()) == []


def test_prism_refuses_a_request_without_the_four_headers(prism: str) -> None:
    answer = httpx.get(prism + _request("listWallets")[1], timeout=30)
    assert (answer.status_code, answer.json()["error"]["type"]) == (401, "authentication_error")


def test_portman_writes_tests_for_every_operation(tmp_path: Path) -> None:
    tests = {
        "openApiOperation": "*::/*",
        "statusSuccess": {"enabled": True},
        "schemaValidation": {"enabled": True},
    }
    (tmp_path / "portman.json").write_text(json.dumps({"version": 1.0, "tests": {"contractTests": [tests]}}))
    collection = tmp_path / "collection.json"
    npm("portman", "-l", BUNDLED, "-c", "portman.json", "-o", collection, folder=tmp_path)
    requests = list(_requests(json.loads(collection.read_bytes())["item"]))
    assert len(requests) == len(OPERATIONS)
    for request in requests:
        events = [event for event in request["event"] if event["listen"] == "test"]
        script = "\n".join(line for event in events for line in event["script"]["exec"])
        assert "pm.response.to.be.success" in script and "jsonSchema(schema" in script, request["name"]


def _requests(items: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for item in items:
        if "item" in item:
            yield from _requests(item["item"])
        else:
            yield item


def test_dredd_finds_every_operation(tmp_path: Path) -> None:
    done = npm("dredd", BUNDLED, "http://127.0.0.1:9", "--names", folder=tmp_path, check=False)
    said = re.sub("\x1b\\[[0-9]+m", "", done.stdout + done.stderr)
    assert "error:" not in said, said
    found = {
        (path, summary)
        for path, summary in re.findall(r"info: (/\S+) > (.+?) > 20[01] > application/json", said)
    }
    described = {
        (path, operation["summary"])
        for path, item in DOCUMENT["paths"].items()
        for method, operation in item.items()
        if method != "parameters"
    }
    assert found == described
