"""Diagnoses of refused signatures: key, secret, clock, proxy, or the server's way of signing."""

from __future__ import annotations

import time
from dataclasses import replace
from urllib.parse import urlsplit

from conformance.contract import signing
from conformance.contract.signing_mistakes import Mistake, Parts, signatures
from conformance.diagnosis.examination import Examination
from conformance.target.file import Organization
from conformance.wire.messages import Exchange
from conformance.world.calls import call

_SCHEME = (
    "METHOD + PATH_AND_QUERY + TIMESTAMP + NONCE + BODY without separators, HMAC-SHA256 in lower-case "
    "hexadecimal (section 5.3); compare it with spec/signing-vectors.json."
)


def unauthenticated(examination: Examination, organization: Organization, exchange: Exchange) -> None:
    """Diagnoses why authentication refuses an organization's requests."""
    name, clock = organization.name, examination.clock
    if exchange.error_code == "timestamp_too_old":
        kind = "clock"
        offset = f"{clock.offset:+.0f} s from this machine's" if clock.calibrated else "unknown (no Date)"
        now = time.strftime("%H:%M:%S", time.gmtime())
        reason = f"Its clock, by its Date header, is {offset} ({now} UTC); set both clocks by NTP."
    elif exchange.error_code == "missing_headers":
        kind = "proxy drops headers"
        reason = (
            "All four headers were sent: a proxy or gateway in front of the server, or its framework, drops "
            f"one of {', '.join(signing.HEADERS)}. Let it pass them on."
        )
    elif exchange.error_code == "invalid_signature":
        kind, reason = "signature", _signature(examination, organization)
    elif exchange.error_code == "nonce_replay":
        kind = "nonces"
        reason = "Every nonce was new: the server, or a proxy that sends requests twice, takes them for used."
    else:
        kind, reason = "credentials", f"Check {name}.api_key and {name}.secret."
    refused = f"The server refuses every request signed for [{name}] ({exchange.described()})."
    examination.diagnose(kind, f"{refused} {reason}")


def _signature(examination: Examination, organization: Organization) -> str:
    place, bare = f"{organization.name}.secret", organization.secret.strip()
    if bare != organization.secret:
        accepted = examination.listed(replace(organization, secret=bare)).succeeded
        then = "; without it the server accepts them. Take it out." if accepted else ". Is it part of it?"
        return f"{place} begins or ends in white space{then}"
    if mistake := _accepted_mistake(examination, organization, "listAccounts"):
        return (
            "It accepts one that is built otherwise: the server seems to verify a signature that "
            f"{mistake.text}. It should be {_SCHEME}"
        )
    return f"Check {place}. If it is right, the server does not sign {_SCHEME}"


def query_is_rewritten(examination: Examination, organization: Organization) -> None:
    """Sends an unusual but legal query; one that is refused for its signature was rewritten by a proxy."""
    exchange = examination.listed(organization, "size=1&page=1&size=1&note=a%2Fb%20c")
    if exchange.error_code == "invalid_signature":
        examination.diagnose(
            "query is rewritten",
            f"A signed request is accepted without a query and refused with one ({exchange.described()}): a "
            "proxy in front of the server, or its framework, decodes, sorts or re-encodes the query before "
            "it is verified. The signature covers the path and query as sent (section 5.3).",
            stops=False,
        )


def body_is_rewritten(examination: Examination, organization: Organization, created: Exchange) -> None:
    """Diagnoses a POST that is refused for its signature while a GET is accepted."""
    mistake = _accepted_mistake(examination, organization, "createAccount")
    named = f" It seems that it {mistake.text}." if mistake else ""
    examination.diagnose(
        "body is rewritten",
        f"GET requests signed for [{organization.name}] are accepted, POST requests refused "
        f"({created.described()}): the server, or a proxy, signs another body than the bytes that were "
        f"sent.{named}",
        stops=False,
    )


def _accepted_mistake(examination: Examination, organization: Organization, operation: str) -> Mistake | None:
    """The first common signing mistake that the server accepts instead of the right signature."""
    ids, address = {"customer_id": organization.customer_id}, urlsplit(examination.target.base_url)
    if operation == "createAccount":
        request = call(operation, ids, examination.samples.of("account"))
    else:
        request = call(operation, ids).with_query("size=%31&page=1")
    # Timestamp and nonce are placeholders: which mistakes show does not depend on them.
    parts = Parts(
        request.method,
        (address.path + request.target).encode(),
        "1700000000",
        "0a" * 16,
        request.body or b"",
        organization.api_key,
        f"{address.scheme}://{address.netloc}".encode(),
    )
    for mistake, _ in signatures(parts, organization.secret):
        if examination.send(organization, request.signed(mistake=mistake.name)).succeeded:
            return mistake
    return None
