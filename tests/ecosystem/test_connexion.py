"""A server on connexion, which knows no OpenAPI 3.1, is made from the 3.0 edition: it starts, and answers."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from conformance.contract.documents import SPEC
from conformance.contract.operations import OPERATIONS
from tests.support.spec_files import examples

connexion = pytest.importorskip("connexion", reason="the `ecosystem` extra is not installed")

DOCUMENT: dict[str, Any] = json.loads((SPEC / "openapi-3.0.json").read_bytes())

HEADERS = {
    "X-API-Key": "key",
    "X-Timestamp": "1741079889",
    "X-Nonce": "0" * 32,
    "X-Signature": "0" * 64,
    "Idempotency-Key": "1c0c6a3e-8f5b-4d1e-9a77-2b64c1f0d3e8",
}


def known_key(key: str, **_: Any) -> dict[str, str]:
    """Accepts any credential."""
    return {"sub": key}


def first_example(content: dict[str, Any]) -> Any:
    return next(example for _, example in examples(content["application/json"], DOCUMENT))


def answering(operation: str) -> Any:
    """Returns a handler that answers with the document's example; an id that begins with "no" is unknown."""
    called = OPERATIONS[operation]
    responses = DOCUMENT["paths"][called.path][called.method.lower()]["responses"]
    status, response = next(iter(responses.items()))

    def handle(**arguments: Any) -> Any:
        if any(str(arguments.get(name)).startswith("no") for name in called.path_parameters):
            return {"error": {"type": "not_found_error", "code": "not_found", "message": "Unknown."}}, 404
        return first_example(response["content"]), int(status)

    return handle


@pytest.fixture(scope="module")
def client() -> Any:
    """A client of a server that validates requests and answers by the document."""
    document = json.loads(json.dumps(DOCUMENT))
    for scheme in document["components"]["securitySchemes"].values():
        scheme["x-apikeyInfoFunc"] = f"{__name__}.{known_key.__name__}"
    app = connexion.AsyncApp(__name__)
    app.add_api(
        document,
        resolver=connexion.Resolver(answering),
        strict_validation=True,
        validate_responses=True,
    )
    return app.test_client()


def sent(client: Any, operation: str, *, id: str = "", body: Any = None, **changes: str) -> Any:
    called = OPERATIONS[operation]
    parameters = DOCUMENT["components"]["parameters"]
    path = re.sub(r"\{(\w+)\}", lambda name: id or parameters[name[1]]["example"], called.path)
    described = DOCUMENT["paths"][called.path][called.method.lower()]
    if body is None and "requestBody" in described:
        body = first_example(described["requestBody"]["content"])
    return client.request(called.method, path, json=body, headers=HEADERS | changes)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_every_operation_answers(client: Any, operation: str) -> None:
    answer = sent(client, operation)
    assert answer.status_code in (200, 201), answer.text
    # The form of an id is not for the framework to judge.
    assert sent(client, operation, id="no-such-id").status_code == 404


def test_what_the_document_rules_out_is_refused(client: Any) -> None:
    assert sent(client, "createAccount", body={}).status_code == 400
    assert sent(client, "createAccount", body={"name": "x" * 256}).status_code == 400
    assert client.get("/v1/accounts/acc_1/wallets", headers={}).status_code == 401
    assert client.get("/v1/accounts/acc_1/wallets?size=101", headers=HEADERS).status_code == 400
    query = "start_date=2025-03-01T00:00:00Z&end_date=2025-04-01T00:00:00Z&size=5"
    assert client.get(f"/v1/accounts/acc_1/wallets?{query}", headers=HEADERS).status_code == 200
