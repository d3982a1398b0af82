"""Causes of every signed request being refused: the key, the secret, a clock, a proxy, the server's way of
signing."""

from __future__ import annotations

import time
from dataclasses import asdict
from urllib.parse import urlsplit

from conformance.contract import signing
from conformance.contract.signing_mistakes import Mistake, Parts, signatures
from conformance.diagnosis.examination import Examination
from conformance.target.file import Organization
from conformance.wire.messages import Auth, Exchange
from conformance.world.account import call


def refused(examination: Examination, organization: Organization, exchange: Exchange) -> None:
    """Names why an organization's requests are refused as unauthenticated."""
    name = organization.name
    start = f"The server refuses every request signed for [{name}] ({exchange.described()}). "
    match exchange.error_code:
        case "timestamp_too_old":
            examination.found("clock", start + _clock(examination))
        case "missing_headers":
            examination.found(
                "proxy drops headers",
                start
                + "All four headers were sent: a proxy or gateway in front of the server, or the server's "
                f"framework, drops one of {', '.join(signing.HEADERS)}. Let it pass them on.",
            )
        case "invalid_signature":
            examination.found("signature", start + _signature(examination, organization, exchange))
        case "nonce_replay":
            examination.found(
                "nonces",
                start
                + "Every nonce was new: the server, or a proxy that sends requests twice, takes them for "
                "used.",
            )
        case _:
            examination.found("credentials", start + f"Check {name}.api_key and {name}.secret.")


def query_is_rewritten(examination: Examination, organization: Organization) -> None:
    """Asks for a list with an odd but legal query: refused for its signature alone, it was changed on the
    way."""
    exchange = examination.listed(organization, query="size=1&page=1&size=1&note=a%2Fb%20c")
    if exchange.error_code == "invalid_signature":
        examination.found(
            "query is rewritten",
            f"A signed request is accepted without a query and refused with one ({exchange.described()}): a "
            "proxy in front of the server, or its framework, decodes, sorts or re-encodes the query before "
            "it is verified. The signature covers the path and query as sent (section 5.3).",
            stops=False,
        )


def body_is_rewritten(examination: Examination, organization: Organization, created: Exchange) -> None:
    """A POST is refused for its signature, while a GET is accepted."""
    mistake = _used(examination, organization, post=True)
    named = f" It seems that it {mistake.text}." if mistake else ""
    examination.found(
        "body is rewritten",
        f"GET requests signed for [{organization.name}] are accepted, POST requests refused "
        f"({created.described()}): "
        f"the server, or a proxy, signs another body than the bytes that were sent.{named}",
        stops=False,
    )


def _clock(examination: Examination) -> str:
    clock = examination.clock
    seconds = (
        f"{clock.offset:+.0f} s from this machine's"
        if clock.calibrated
        else "unknown (it sends no Date header)"
    )
    return (
        f"Its clock, by its Date header, is {seconds} ({time.strftime('%H:%M:%S', time.gmtime())} UTC); "
        "set both clocks by NTP."
    )


def _signature(examination: Examination, organization: Organization, exchange: Exchange) -> str:
    mistake = _used(examination, organization)
    if mistake is not None:
        return (
            "It accepts one that is built otherwise: the server seems to verify a signature that "
            f"{mistake.text}. Section 5.3 wants METHOD + PATH_AND_QUERY + TIMESTAMP + NONCE + BODY without "
            "separators, HMAC-SHA256 in lower-case hexadecimal; compare it with spec/signing-vectors.json."
        )
    return (
        f"Check {organization.name}.secret. If it is right, the server builds another signature string than "
        "METHOD + PATH_AND_QUERY + TIMESTAMP + NONCE + BODY with the path exactly as sent "
        f"({exchange.method} {exchange.target[:200]}); compare it with spec/signing-vectors.json."
    )


def _used(examination: Examination, organization: Organization, *, post: bool = False) -> Mistake | None:
    """The wrong construction that the server accepts in the place of the right one, if it is a usual one."""
    ids = {"customer_id": organization.customer_id}
    address = urlsplit(examination.target.base_url)
    tried: set[str] = set()
    while True:
        request = (
            call("createAccount", ids, examination.samples.account())
            if post
            else call("listAccounts", ids).with_query("size=%31&page=1")
        )
        parts = Parts(
            request.method,
            (address.path.rstrip("/") + request.target).encode(),
            str(examination.clock.now()),
            signing.new_nonce(),
            request.body or b"",
            organization.api_key,
            f"{address.scheme}://{address.netloc}".encode(),
        )
        options = [pair for pair in signatures(parts, organization.secret) if pair[0].name not in tried]
        if not options:
            return None
        mistake, signature = options[0]
        tried.add(mistake.name)
        auth = Auth(timestamp=parts.timestamp, nonce=parts.nonce, signature=signature)
        if examination.send(organization, request.signed(**asdict(auth))).succeeded:
            return mistake
