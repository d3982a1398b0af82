"""Diagnoses of a base URL where nothing answers, or something other than the API."""

from __future__ import annotations

import contextlib
import json
import re
from urllib.parse import urlsplit

from conformance._text import one_line
from conformance.contract import json_text, signing
from conformance.diagnosis.examination import SECONDS, Examination
from conformance.wire.answers import MAX_BODY
from conformance.wire.client import Client
from conformance.wire.messages import MISSING, NO_SERVER, Auth, Call, Exchange, Failure

#: Failures to connect.
UNREACHABLE = (*NO_SERVER, Failure.NOT_CONNECTED)

#: Character encodings tried on an answer, and members by which the API's objects are recognized.
_ENCODINGS = ("utf-8", "utf-16-le", "utf-16-be")
_MEMBERS = frozenset(("items", "id", "error"))

#: Bytes of a body that a diagnosis shows.
_SEEN = 60

#: OpenSSL's names of the alerts that refuse a client's certificate (RFC 8446, 6.2).
_ALERT = re.compile(
    "ALERT_(CERTIFICATE_REQUIRED|UNKNOWN_CA|(BAD|UNSUPPORTED)_CERTIFICATE|CERTIFICATE_(REVOKED|EXPIRED|UNKNOWN)"
    "|ACCESS_DENIED|HANDSHAKE_FAILURE)"
)

_OBJECT = re.compile(r'\{\s*"')
_DECODER = json.JSONDecoder()


def unreachable(examination: Examination, exchange: Exchange) -> None:
    """Diagnoses a failure to connect."""
    base_url, error = examination.target.base_url, exchange.error or ""
    if exchange.failure is Failure.NOT_TLS:
        plain = base_url.replace("https://", "http://", 1)
        examination.found(
            "https to an http port",
            f"{base_url}: this port speaks plain HTTP, not TLS ({error}). Write {plain} as base_url.",
        )
    elif exchange.failure is Failure.UNTRUSTED:
        examination.found(
            "TLS certificate",
            f"{base_url} has no TLS certificate that this machine trusts ({error}). Use the host name of the "
            "certificate, or name its authority: ca in [tls] of the target file, or the environment variable "
            "SSL_CERT_FILE. Certificates are always verified.",
        )
    else:
        examination.found(
            "unreachable", f"{base_url} cannot be reached ({error}). Start the server, or correct base_url."
        )


def no_http(examination: Examination, exchange: Exchange) -> None:
    """Diagnoses connections without a readable answer."""
    base_url, error = examination.target.base_url, (exchange.error or "").rstrip(".")
    if _ALERT.search(error):
        shown = examination.target.tls.client_certificate
        remedy = (
            f"It does not accept the one of [tls] client_certificate ({shown}): name one that its authority "
            "has issued, that has not expired, and the key of that."
            if shown
            else "Name one that it accepts: client_certificate and client_key in [tls] of the target file."
        )
        examination.found(
            "client certificate", f"{base_url} asks for a client certificate ({error}). {remedy}"
        )
        return
    if exchange.failure is Failure.TIMED_OUT:
        seconds = min(SECONDS, examination.target.limits.request_timeout or SECONDS)
        examination.found(
            "silent server",
            f"{base_url} accepts connections, but does not answer HTTP within {seconds:g} s ({error}). "
            "Look at the server's log, or correct base_url; behind a slow gateway, call the server once "
            "before the run.",
        )
        return
    examination.found(
        "no HTTP",
        f"{base_url} does not answer HTTP: {error}. Check base_url, its scheme and its port.",
    )


def elsewhere(examination: Examination, listed: Exchange, created: Exchange) -> bool:
    """Diagnoses answers of something other than the API; False if there is nothing to diagnose."""
    answers = (listed, created)
    base_url = examination.target.base_url
    if all(answer.status is not None and 300 <= answer.status < 400 for answer in answers):
        where = (listed.header("location") or "elsewhere")[:200]
        examination.found(
            "redirect",
            f"{base_url} redirects to {where}; signed requests are not sent on. Give the final address as "
            "base_url.",
        )
        return True
    if all(answer.throttled for answer in answers):
        examination.found(
            "rate limit",
            f"{base_url} answers {listed.status} to everything, although the suite waited. Lower "
            "--rate ([limits] requests_per_second), or wait until the limit is lifted.",
        )
        return True
    if any(b"plain HTTP request was sent to HTTPS port" in answer.response_body for answer in answers):
        examination.found(
            "http to an https port",
            f"{base_url}: this port speaks TLS. Write {base_url.replace('http://', 'https://', 1)} as "
            "base_url.",
        )
        return True
    if all(_foreign(answer) for answer in answers):
        examination.found(
            "no JSON",
            f"{base_url} {_instead(listed)} (status {listed.status}): that is not the "
            "Financial Accounts API. Check base_url; it holds everything before /v1, a path prefix included."
            f"{_better_base(examination)}",
        )
        return True
    if all(answer.status in (404, 405) for answer in answers) and (better := _better_base(examination)):
        examination.found(
            "base path", f"{base_url} is not where the API is (status {listed.status}).{better}"
        )
        return True
    return False


def _foreign(exchange: Exchange) -> bool:
    """True for a body that holds no object of the API."""
    return exchange.document is MISSING and bool(exchange.response_body) and not _legible(exchange)


def _legible(exchange: Exchange) -> bool:
    """True if a body holds an object of the API, even in another encoding, after a byte order mark or other
    text, or with NaN; checks judge that."""
    for encoding in _ENCODINGS:
        text = exchange.response_body.decode(encoding, "replace")
        begin = _OBJECT.search(text)
        if begin is None:
            continue
        with contextlib.suppress(ValueError):
            json_text.refuse_deep(text)
            if not _MEMBERS.isdisjoint(_DECODER.raw_decode(text, begin.start())[0]):
                return True
    return False


def _instead(exchange: Exchange) -> str:
    """Describes an answer that is not JSON, as a predicate."""
    if exchange.truncated:
        return f"answers a list with more than {MAX_BODY:,} bytes, of which no more were read"
    kind = (exchange.header("content-type") or "no content type")[:60]
    body = one_line(exchange.response_body[:_SEEN].decode("utf-8", "replace"))
    seen = f'that begins "{body}"'
    if kind.partition(";")[0].strip().lower() == "application/json":
        return f"says {kind}, but answers a body that is not JSON and {seen.removeprefix('that ')}"
    return f"answers {kind} {seen}"


def _better_base(examination: Examination) -> str:
    """Suggests another base URL where an unsigned request is refused as by the API; empty without one."""
    primary, given = examination.target.primary, urlsplit(examination.target.base_url)
    path = given.path.rstrip("/")
    for prefix in ("", "/api"):
        if prefix == path:
            continue
        target = f"{prefix}/v1/customers/{primary.customer_id}/accounts"
        exchange = _unsigned(examination, target, path)
        if exchange.status == 401 and exchange.get("error") is not MISSING:
            better = given._replace(path=prefix).geturl()
            return f" At {better} the API seems to answer: write base_url = {better!r}."
    return ""


def _unsigned(examination: Examination, target: str, prefix: str) -> Exchange:
    """Sends an unsigned GET; `target` does not begin with the base URL's path, `prefix`."""
    primary = examination.target.primary
    root = examination.target.base_url.removesuffix(prefix) if prefix else examination.target.base_url
    client = Client(root, primary, examination.transport)
    request = Call(None, "GET", target, auth=Auth(omit=signing.HEADERS))
    exchange = client.send(request, "examination")
    examination.exchanges.append(exchange)
    return exchange
