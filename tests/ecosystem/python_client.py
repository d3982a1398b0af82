"""Signed calls with the client that openapi-python-client makes of spec/openapi.bundled.json.

openapi-python-client generate --path spec/openapi.bundled.json --meta none --output-path accounts_client
BASE_URL=... API_KEY=... API_SECRET=... CUSTOMER_ID=... python python_client.py
"""

import hashlib
import hmac
import os
import secrets
import time
import uuid
from collections.abc import Generator

import httpx
from accounts_client import Client
from accounts_client.api.accounts import create_account, list_accounts
from accounts_client.models import Account, AccountCreate, AccountList, Error


class Signed(httpx.Auth):
    requires_request_body = True

    def __init__(self, api_key: str, secret: str) -> None:
        self.api_key, self.secret = api_key, secret.encode()

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        timestamp, nonce = str(int(time.time())), secrets.token_hex(16)
        parts = request.method.encode() + request.url.raw_path + timestamp.encode() + nonce.encode()
        signature = hmac.new(self.secret, parts + request.content, hashlib.sha256).hexdigest()
        request.headers.update(
            {"X-API-Key": self.api_key, "X-Timestamp": timestamp, "X-Nonce": nonce, "X-Signature": signature}
        )
        yield request


def client(secret: str) -> Client:
    auth = Signed(os.environ["API_KEY"], secret)
    return Client(base_url=os.environ["BASE_URL"], httpx_args={"auth": auth})


api, customer = client(os.environ["API_SECRET"]), os.environ["CUSTOMER_ID"]
# As text: the generated client writes a UUID into the header as it is, which httpx refuses.
made = create_account.sync(
    customer, client=api, body=AccountCreate(name="Generated in Python"), idempotency_key=str(uuid.uuid4())
)
assert isinstance(made, Account), made
page = list_accounts.sync(customer, client=api, page=1, size=100)
assert isinstance(page, AccountList), page
refused = list_accounts.sync(customer, client=client("another secret"))
assert isinstance(refused, Error), refused
print(made.name, made.id in [account.id for account in page.items], refused.error.code)
