"""Examination of a target, from the connection to its customers, until a diagnosis stops it."""

from __future__ import annotations

import math
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import httpx

from conformance._files import InputError
from conformance._text import printable
from conformance.diagnosis import connection, named_resources
from conformance.diagnosis.credentials import body_is_rewritten, query_is_rewritten, unauthenticated
from conformance.diagnosis.examination import Diagnosis, Examination
from conformance.target.file import Organization, Target
from conformance.target.redaction import Redactor
from conformance.wire.budget import Budget
from conformance.wire.messages import MISSING, Exchange, Failure
from conformance.wire.transport import Transport

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


def examine_value(target: Target, table: str, key: str) -> Diagnosis | None:
    """Examines a target whose values after this one may be placeholders; returns the first diagnosis."""
    with Transport(target.tls) as transport:
        examination = Examination(target, transport)
        if key == "other_customer_id":
            named_resources.other_customer(examination)
        elif key == "funded_account_id":
            named_resources.funded_account(examination)
        else:
            _organization(examination, getattr(target, table or "primary"), thorough=False, last=key)
            if (table, key) == ("secondary", "customer_id"):
                named_resources.organizations_are_one(examination)
    return next(iter(sentences(examination)), None)


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
    if (first := created[0]) is not None:
        named_resources.stateless_mock(examination, first, examination.created(target.primary))


def _organization(
    examination: Examination, organization: Organization, thorough: bool, last: str = "customer_id"
) -> Exchange | None:
    """Checks that an organization's requests reach its customer; returns the created account, if any. `last`
    is the last key that is no placeholder."""
    listed = examination.listed(organization)
    good = listed.succeeded and listed.document is not MISSING
    if good and not thorough:
        return None
    if listed.failure in (*connection.UNREACHABLE, Failure.TIMED_OUT):
        examination.found(*connection.no_answer(examination, listed))
        return None
    created = examination.created(organization)
    if created.succeeded and created.document is not MISSING:
        return created
    if not good:
        _both_failed(examination, organization, (listed, created), last)
    elif created.error_code == "invalid_signature":
        body_is_rewritten(examination, organization, created)
    return None


def _both_failed(
    examination: Examination, organization: Organization, both: tuple[Exchange, Exchange], last: str
) -> None:
    """Diagnoses why list and create both fail, if they fail alike."""
    status = both[0].status
    if all(answer.status is None for answer in both):
        examination.found(*connection.no_answer(examination, both[0]))
    elif diagnosis := connection.elsewhere(examination, both):
        examination.found(*diagnosis)
    elif last == "base_url" and status in (404, 405) and status == both[1].status:
        examination.found(*connection.no_authentication(examination, both[0]))
    elif last != "base_url" and all(answer.refused_authentication for answer in both):
        unauthenticated(examination, organization, both[0])
    elif last == "customer_id" and status in (403, 404) and status == both[1].status:
        named_resources.customer_refused(examination, organization, both)


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


def at_once(examination: Examination, number: int) -> float:
    """Seconds that the slowest of so many simultaneous reads takes; infinity if one is not answered."""
    primary = examination.target.primary
    with ThreadPoolExecutor(number) as pool:
        answers = list(pool.map(examination.listed, [primary] * number))
    return max(math.inf if answer.status is None else answer.elapsed for answer in answers)


def sentences(examination: Examination) -> list[Diagnosis]:
    """Diagnoses with printable texts, without secrets."""
    text = Redactor(examination.target).text
    return [replace(each, text=printable(text(each.text))) for each in examination.diagnoses]
