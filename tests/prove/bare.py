"""A bare client: signs and sends requests over one http.client connection, every second one a create.

`python -m tests.prove.bare TARGET NUMBER` imports nothing of the suite, so its run time is that of the
requests.
"""

from __future__ import annotations

import hashlib
import hmac
import http.client
import json
import secrets
import sys
import time
import tomllib
import uuid
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit


def main(target: Path, number: int) -> None:
    """Sends this many requests. Raises RuntimeError for an answer that is not a success."""
    tables: dict[str, Any] = tomllib.loads(target.read_text("utf-8"))
    own, base = tables["primary"], urlsplit(tables["base_url"])
    connection = http.client.HTTPConnection(base.hostname or "", base.port)
    collection = f"{base.path}/v1/customers/{own['customer_id']}/accounts"
    created = ""

    def send(method: str, path: str, body: bytes = b"") -> Any:
        timestamp, nonce = str(int(time.time())), secrets.token_hex(16)
        string = f"{method}{path}{timestamp}{nonce}".encode() + body
        headers = {
            "X-API-Key": own["api_key"],
            "X-Timestamp": timestamp,
            "X-Nonce": nonce,
            "X-Signature": hmac.new(own["secret"].encode(), string, hashlib.sha256).hexdigest(),
        }
        if body:
            headers |= {"Content-Type": "application/json", "Idempotency-Key": str(uuid.uuid4())}
        connection.request(method, path, body or None, headers)
        answer = connection.getresponse()
        document = json.loads(answer.read())
        if answer.status >= 300:
            raise RuntimeError(f"{method} {path}: {answer.status} {document}")
        return document

    for index in range(number):
        if index % 2:
            send("GET", f"{collection}/{created}/balances")
        else:
            created = send("POST", collection, json.dumps({"name": f"Account {index}"}).encode())["id"]


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
