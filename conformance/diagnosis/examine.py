"""Examination of a target, from the connection to the samples, until a diagnosis stops it.

Also diagnoses why all signed requests are refused: key, secret, clock, proxy, or the server's signing.
"""

from __future__ import annotations

import time
from dataclasses import asdict
from urllib.parse import urlsplit

import httpx

from conformance._files import InputError
from conformance._text import printable
from conformance.contract import signing
from conformance.contract.signing_mistakes import Mistake, Parts, signatures
from conformance.diagnosis import connection, named_resources
from conformance.diagnosis.examination import Diagnosis, Examination
from conformance.target.file import Organization, Target
from conformance.target.redaction import Redactor
from conformance.wire.budget import Budget
from conformance.wire.messages import MISSING, Auth, Exchange, Failure
from conformance.wire.transport import Transport
from conformance.world.account import call

#: Requests that measure a rate limit.
MEASURED = 6


def preflight(
    target: Target,
    transport: httpx.BaseTransport | None = None,
    *,
    budget: Budget | None = None,
) -> Examination:
    """Examines a target before a run. Raises InputError, with one paragraph, if it cannot be judged."""
    examination = examine(target, transport, thorough=False, budget=budget)
    if stopped := examination.stopped:
        raise InputError(printable(Redactor(target).text(stopped.text)))
    return examination


def examine(
    target: Target,
    transport: httpx.BaseTransport | None = None,
    *,
    thorough: bool = True,
    budget: Budget | None = None,
) -> Examination:
    """Sends a few requests, about a dozen if `thorough`, and diagnoses the target.

    Without a transport it makes one and closes it. Requests count toward `budget`.
    """
    used = transport or Transport(target.tls)
    examination = Examination(target, used, budget=budget)
    try:
        _examine(examination, thorough)
    finally:
        if transport is None:
            used.close()
    return examination


def _examine(examination: Examination, thorough: bool) -> None:
    target = examination.target
    created = []
    for organization in target.organizations:
        created.append(_organization(examination, organization, thorough))
        if examination.stopped:
            return
    named_resources.funded_account(examination)
    if not thorough or examination.stopped:
        return
    named_resources.organizations_are_one(examination)
    named_resources.other_customer(examination)
    query_is_rewritten(examination, target.primary)
    first = created[0]
    if first is not None:
        named_resources.stateless_mock(examination, first, examination.created(target.primary))
        account = first.get("id")
        if isinstance(account, str) and not examination.stopped:
            answers = named_resources.samples(examination, account)
            named_resources.payout_without_funds(examination, account, answers["beneficiary"])


def _organization(examination: Examination, organization: Organization, thorough: bool) -> Exchange | None:
    """Checks that an organization's requests reach its customer; returns the created account, if any."""
    listed = examination.listed(organization)
    good = listed.succeeded and listed.document is not MISSING
    if good and not thorough:
        return None
    if listed.failure in connection.UNREACHABLE:
        connection.unreachable(examination, listed)
        return None
    if listed.failure is Failure.TIMED_OUT:
        connection.no_http(examination, listed)
        return None
    created = examination.created(organization)
    if created.succeeded and created.document is not MISSING:
        return created
    if good:
        if created.error_code == "invalid_signature":
            body_is_rewritten(examination, organization, created)
        return None
    _both_failed(examination, organization, listed, created)
    return None


def _both_failed(
    examination: Examination, organization: Organization, listed: Exchange, created: Exchange
) -> None:
    """Diagnoses why list and create both fail, if they fail alike."""
    both = (listed, created)
    answers = (
        f"GET accounts was answered {listed.described()}, {created.method} accounts {created.described()}"
    )
    if all(answer.status is None for answer in both):
        connection.no_http(examination, listed)
    elif connection.elsewhere(examination, listed, created):
        return
    elif all(answer.refused_authentication for answer in both):
        unauthenticated(examination, organization, listed)
    elif listed.status == created.status and listed.status in (403, 404):
        named_resources.customer_refused(examination, organization, answers, listed.status)


def latency(examination: Examination) -> float:
    """Minimum latency in seconds, without connecting; 0 without any answer."""
    answered = [exchange.elapsed for exchange in examination.exchanges if exchange.status is not None]
    return min(answered, default=0.0)


def rate_limit(examination: Examination) -> float:
    """Measures the requests a second that the server's rate limiter allows; 0 if the examination met none."""
    if not examination.waits:
        return 0.0
    begun, answered = time.monotonic(), 0
    while answered < MEASURED and not examination.listed(examination.target.primary).throttled:
        answered += 1
    return answered / (time.monotonic() - begun) if answered == MEASURED else 0.0


def sentences(examination: Examination) -> list[Diagnosis]:
    """Diagnoses with printable texts, without secrets."""
    redactor = Redactor(examination.target)
    return [
        Diagnosis(diagnosis.name, printable(redactor.text(diagnosis.text)), diagnosis.stops)
        for diagnosis in examination.diagnoses
    ]


def unauthenticated(examination: Examination, organization: Organization, exchange: Exchange) -> None:
    """Diagnoses why authentication refuses an organization's requests."""
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
    """Sends an unusual but legal query; one that is refused for its signature was rewritten by a proxy."""
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
    """Diagnoses a POST that is refused for its signature while a GET is accepted."""
    mistake = _accepted_mistake(examination, organization, post=True)
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
    mistake = _accepted_mistake(examination, organization)
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


def _accepted_mistake(
    examination: Examination, organization: Organization, *, post: bool = False
) -> Mistake | None:
    """Finds a common signing mistake that the server accepts instead of the right signature."""
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
