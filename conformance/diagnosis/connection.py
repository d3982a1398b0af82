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
from conformance.wire.messages import MISSING, NO_SERVER, Auth, Call, Exchange, Failure

#: Failures to connect.
UNREACHABLE = (*NO_SERVER, Failure.NOT_CONNECTED)

#: Members by which the API's objects are recognized.
_MEMBERS = frozenset(("items", "id", "error"))

#: OpenSSL's names of the alerts that refuse a client's certificate (RFC 8446, 6.2).
_ALERT = re.compile(
    "ALERT_(CERTIFICATE_REQUIRED|UNKNOWN_CA|(BAD|UNSUPPORTED)_CERTIFICATE|CERTIFICATE_(REVOKED|EXPIRED|UNKNOWN)"
    "|ACCESS_DENIED|HANDSHAKE_FAILURE)"
)

_BASE_URL = "Check base_url; it holds everything before /v1, a path prefix included."


def no_answer(examination: Examination, exchange: Exchange) -> None:
    """Diagnoses an exchange without a readable answer."""
    target, url = examination.target, examination.target.base_url
    error = (exchange.error or "").rstrip(".")
    if exchange.failure is Failure.NOT_TLS:
        name = "https to an http port"
        plain = url.replace("https://", "http://", 1)
        text = f"{url}: this port speaks plain HTTP, not TLS ({error}). Write {plain} as base_url."
    elif exchange.failure is Failure.UNTRUSTED:
        name = "TLS certificate"
        text = (
            f"{url} has no TLS certificate that this machine trusts ({error}). Use the host name of the "
            "certificate, or name its authority: ca in [tls] of the target file, or the environment variable "
            "SSL_CERT_FILE. Certificates are always verified."
        )
    elif exchange.failure in UNREACHABLE:
        name = "unreachable"
        text = f"{url} cannot be reached ({error}). Start the server, or correct base_url; no proxy is used."
    elif _ALERT.search(error):
        name = "client certificate"
        sent = target.tls.client_certificate
        refused = f"it does not accept {sent}" if sent else "none is named"
        text = (
            f"{url} asks for a client certificate; {refused} ({error}). Name one that its authority has "
            "issued and that has not expired: client_certificate and client_key in [tls] of the target file."
        )
    elif exchange.failure is Failure.TIMED_OUT:
        name = "silent server"
        seconds = min(SECONDS, target.limits.request_timeout or SECONDS)
        text = (
            f"{url} accepts connections, but does not answer HTTP within {seconds:g} s ({error}). Look at "
            "the server's log, or correct base_url; behind a slow gateway, call it once before the run."
        )
    else:
        name = "no HTTP"
        text = f"{url} does not answer HTTP: {error}. Check base_url, its scheme and its port."
    examination.diagnose(name, text)


def elsewhere(examination: Examination, answers: tuple[Exchange, Exchange], unsigned: bool) -> bool:
    """Diagnoses answers of something other than the API, and returns True if there is something; `unsigned`
    requests have credentials that nobody knows."""
    url, first = examination.target.base_url, answers[0]
    if all(answer.status is not None and 300 <= answer.status < 400 for answer in answers):
        name, where = "redirect", (first.header("location") or "elsewhere")[:200]
        text = f"{url} redirects to {where}; signed requests are not sent on. Give the final address."
    elif all(answer.throttled for answer in answers):
        name = "rate limit"
        text = (
            f"{url} answers {first.status} to everything, although the suite waited. Lower --rate ([limits] "
            "requests_per_second), or wait until the limit is lifted."
        )
    elif any(b"plain HTTP request was sent to HTTPS port" in answer.response_body for answer in answers):
        name, secure = "http to an https port", url.replace("http://", "https://", 1)
        text = f"{url}: this port speaks TLS. Write {secure} as base_url."
    elif all(_foreign(answer) for answer in answers):
        name = "no JSON"
        text = (
            f"{url} {_instead(first)} (status {first.status}): that is not the Financial Accounts API. "
            f"{_BASE_URL}{_better_base(examination)}"
        )
    elif all(answer.status in (404, 405) for answer in answers) and (better := _better_base(examination)):
        name, text = "base path", f"{url} is not where the API is (status {first.status}).{better}"
    elif unsigned and first.status in (404, 405) and first.status == answers[1].status:
        name = "base path"
        text = (
            f"{url}: the API refuses unknown keys first, but here a request with one is answered "
            f"{first.described()}. {_BASE_URL}"
        )
    else:
        return False
    examination.diagnose(name, text)
    return True


def _foreign(exchange: Exchange) -> bool:
    """True for a body that holds no object of the API; other text before it, null bytes as in UTF-16, and NaN
    are left to the checks."""
    if exchange.document is not MISSING or not exchange.response_body:
        return False
    text = exchange.response_body.replace(b"\0", b"").decode("utf-8", "replace")
    begin = re.search(r'\{\s*"', text)
    with contextlib.suppress(ValueError):
        json_text.refuse_deep(text)
        return begin is None or _MEMBERS.isdisjoint(json.JSONDecoder().raw_decode(text, begin.start())[0])
    return True


def _instead(exchange: Exchange) -> str:
    """Describes an answer that is not JSON, as a predicate."""
    if exchange.truncated:
        return f"answers a list with more than {MAX_BODY:,} bytes, of which no more were read"
    kind = (exchange.header("content-type") or "no content type")[:60]
    body = one_line(exchange.response_body[:60].decode("utf-8", "replace"))
    if kind.partition(";")[0].strip().lower() == "application/json":
        return f'says {kind}, but answers a body that is not JSON and begins "{body}"'
    return f'answers {kind} that begins "{body}"'


def _better_base(examination: Examination) -> str:
    """Suggests another base URL where the API seems to answer, if it does not at the stated one."""
    stated = urlsplit(examination.target.base_url)
    if _answers_as_the_api(examination, stated.path):
        return ""
    for path in ("", "/api"):
        if path != stated.path and _answers_as_the_api(examination, path):
            better = stated._replace(path=path).geturl()
            return f" At {better} the API seems to answer: write base_url = {better!r}."
    return ""


def _answers_as_the_api(examination: Examination, path: str) -> bool:
    """True if an unsigned request below a base path is refused as the API refuses it."""
    primary, stated = examination.target.primary, urlsplit(examination.target.base_url)
    root = stated._replace(path="").geturl()
    target = f"{path}/v1/customers/{primary.customer_id}/accounts"
    request = Call(None, "GET", target, auth=Auth(omit=signing.HEADERS))
    answer = examination.send(primary, request, root)
    return answer.status == 401 and answer.get("error") is not MISSING
