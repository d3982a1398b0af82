"""Tells a wrong configuration from a wrong server, before the first check.

A handful of requests; each thing that can be wrong with a target ends in one paragraph that names
it and its remedy. A server that answers soundly to any one of them is left to the checks.
"""

from __future__ import annotations

import time

import httpx

from conformance._text import printable
from conformance.contract.operations import OPERATIONS
from conformance.fixtures.account import call
from conformance.fixtures.samples import Samples
from conformance.target.file import Organization, Target, TargetError
from conformance.target.redaction import Redactor
from conformance.wire.client import Client
from conformance.wire.clock import ServerClock
from conformance.wire.messages import MISSING, Exchange
from conformance.wire.transport import new_transport


def preflight(target: Target, transport: httpx.BaseTransport | None = None) -> None:
    """Raises TargetError when the target cannot be judged; the text is one paragraph."""
    transport = transport or new_transport()
    clock = ServerClock()
    for organization in (target.primary, target.secondary):
        if organization is not None:
            client = Client(target.base_url, organization, transport, clock=clock)
            complaint = _complaint(target, organization, client)
            if complaint := complaint or _funded_complaint(target, organization, client):
                raise TargetError(printable(Redactor(target).text(complaint)))


def _complaint(target: Target, organization: Organization, client: Client) -> str:
    ids = {"customer_id": organization.customer_id}
    listed = client.send(call("listAccounts", ids), "preflight")
    client.clock.observe(listed)
    if listed.succeeded and listed.document is not MISSING:
        return ""
    if listed.error and "Connect" in listed.error:
        return _unreachable(target, listed)
    created = client.send(call("createAccount", ids, Samples(target).account()), "preflight")
    if created.succeeded and created.document is not MISSING:
        return ""
    answers = f"GET accounts was answered {listed.described()}, POST accounts {created.described()}"
    both = (listed, created)
    if all(one.status is None for one in both):
        return f"{target.base_url} does not answer HTTP: {listed.error}. Check base_url, its scheme and its port."
    if all(one.status is not None and 300 <= one.status < 400 for one in both):
        where = listed.header("location") or "elsewhere"
        return (
            f"{target.base_url} redirects to {where[:200]}; signed requests are not sent on. "
            "Give the final address as base_url."
        )
    if all(one.document is MISSING and one.response_body for one in both):
        kind = (listed.header("content-type") or "no content type")[:60]
        return (
            f"{target.base_url} does not answer JSON but {kind} (status {listed.status}): this does not look like the "
            "Financial Accounts API. Check base_url; it holds everything before /v1, a path prefix included."
        )
    if all(one.refused_authentication for one in both):
        return _credentials(organization, listed, client.clock)
    if all(one.status == 403 for one in both):
        return (
            f"{organization.name}.customer_id: the server says that this customer belongs to another organization "
            f"({answers}). Check that {organization.name}.api_key and {organization.name}.customer_id go together."
        )
    if all(one.status == 404 for one in both):
        return (
            f"{organization.name}.customer_id: the server does not know this customer, or base_url points to the wrong "
            f"place ({answers}). Check both; base_url holds everything before /v1."
        )
    return ""


#: What shows that there is an account: whichever of them the server has.
_READS_OF_ACCOUNTS = ("getAccountBalances", "listVirtualAccounts")


def _funded_complaint(target: Target, organization: Organization, client: Client) -> str:
    """Whether the funded account is there; a server on which no account can be read is left to the checks."""
    if (funded := organization.funded_account_id) is None or _shows(organization, client, funded):
        return ""
    ids = {"customer_id": organization.customer_id}
    created = client.send(call("createAccount", ids, Samples(target).account()), "preflight")
    account = created.get("id")
    if not created.succeeded or not isinstance(account, str) or not _shows(organization, client, account):
        return ""
    return (
        f"{organization.name}.funded_account_id: the server shows no account {funded} of this customer, although it "
        "shows one that was just created. Correct the id, or leave it out where no account has funds."
    )


def _shows(organization: Organization, client: Client, account: str) -> bool:
    """Whether any read of an account is answered other than with 403 and 404."""
    for operation in _READS_OF_ACCOUNTS:
        ids = {"customer_id": organization.customer_id, "account_id": account}
        known = {name: ids[name] for name in OPERATIONS[operation].path_parameters}
        if client.send(call(operation, known), "preflight").status not in (403, 404):
            return True
    return False


def _unreachable(target: Target, exchange: Exchange) -> str:
    error = exchange.error or ""
    if "CERTIFICATE" in error.upper() or "SSL" in error.upper() or "TLS" in error.upper():
        return (
            f"{target.base_url} has no TLS certificate that this machine trusts ({error}). Use the host name of the "
            "certificate, or name its authority in the environment variable SSL_CERT_FILE; certificates are always verified."
        )
    return f"{target.base_url} cannot be reached ({error}). Start the server, or correct base_url."


def _credentials(organization: Organization, exchange: Exchange, clock: ServerClock) -> str:
    code = exchange.error_code if isinstance(exchange.error_code, str) else ""
    start = f"The server refuses every request signed for [{organization.name}] ({exchange.described()}). "
    if code == "timestamp_too_old":
        seconds = (
            f"{clock.offset:+.0f} s from this machine's"
            if clock.calibrated
            else "unknown (it sends no Date header)"
        )
        return start + (
            f"Its clock, by its Date header, is {seconds} ({time.strftime('%H:%M:%S', time.gmtime())} UTC); "
            "set both clocks by NTP."
        )
    if code == "invalid_signature":
        return start + (
            f"Check {organization.name}.secret. If it is right, the server builds another signature string than "
            "METHOD + PATH_AND_QUERY + TIMESTAMP + NONCE + BODY with the path exactly as sent "
            f"({exchange.method} {exchange.target[:200]}); compare it with spec/signing-vectors.json."
        )
    return start + f"Check {organization.name}.api_key and {organization.name}.secret."
