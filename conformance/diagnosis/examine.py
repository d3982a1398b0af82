"""The order of an examination: from the connection to the samples, until something is in the way."""

from __future__ import annotations

import time

import httpx

from conformance._files import InputError
from conformance._text import printable
from conformance.diagnosis import connection, credentials, named_resources
from conformance.diagnosis.examination import Diagnosis, Examination
from conformance.target.file import Organization, Target
from conformance.target.redaction import Redactor
from conformance.wire.budget import Budget
from conformance.wire.messages import MISSING, Exchange, Failure
from conformance.wire.transport import new_transport

#: Requests by which the rate of a limiter is measured.
MEASURED = 6


def preflight(
    target: Target,
    transport: httpx.BaseTransport | None = None,
    *,
    budget: Budget | None = None,
    read_only: bool = False,
) -> Examination:
    """Requests before a run's first check. Raises InputError, with one paragraph of text, when the target
    cannot be judged."""
    examination = examine(target, transport, thorough=False, budget=budget, read_only=read_only)
    if stopped := examination.stopped:
        raise InputError(printable(Redactor(target).text(stopped.text)))
    return examination


def examine(
    target: Target,
    transport: httpx.BaseTransport | None = None,
    *,
    thorough: bool = True,
    budget: Budget | None = None,
    read_only: bool = False,
) -> Examination:
    """Sends a few requests, a dozen or so if `thorough`, and names what is wrong with the target.

    Without a transport it makes one and closes it. What is sent counts for a `budget`.
    """
    own = new_transport(target.tls) if transport is None else None
    try:
        used = transport or own
        assert used is not None
        examination = Examination(target, used, budget=budget, read_only=read_only)
        _examine(examination, thorough)
    finally:
        if own is not None:
            own.close()
    return examination


def _examine(examination: Examination, thorough: bool) -> None:
    target = examination.target
    created: dict[str, Exchange] = {}
    for organization in examination.organizations:
        answer = _organization(examination, organization, thorough)
        if examination.stopped:
            return
        if answer is not None:
            created[organization.name] = answer
    named_resources.funded_account(examination)
    if not thorough or examination.stopped:
        return
    named_resources.organizations_are_one(examination)
    named_resources.other_customer(examination)
    credentials.query_is_rewritten(examination, target.primary)
    first = created.get("primary")
    if first is not None:
        named_resources.stateless_mock(examination, first, examination.created(target.primary))
        account = first.get("id")
        if isinstance(account, str) and not examination.stopped:
            answers = named_resources.samples(examination, account)
            named_resources.payout_without_funds(examination, account, answers["beneficiary"])


def _organization(examination: Examination, organization: Organization, thorough: bool) -> Exchange | None:
    """Checks that an organization's requests reach its customer; returns the account created for that, if
    any."""
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
            credentials.body_is_rewritten(examination, organization, created)
        return None
    _refused(examination, organization, listed, created)
    return None


def _refused(
    examination: Examination, organization: Organization, listed: Exchange, created: Exchange
) -> None:
    """Names why neither a list nor a create succeeds, where both fail in one way."""
    both = (listed, created)
    answers = (
        f"GET accounts was answered {listed.described()}, {created.method} accounts {created.described()}"
    )
    if all(answer.status is None for answer in both):
        connection.no_http(examination, listed)
    elif connection.elsewhere(examination, listed, created):
        return
    elif all(answer.refused_authentication for answer in both):
        credentials.refused(examination, organization, listed)
    elif all(answer.status == 403 for answer in both):
        named_resources.customer_refused(examination, organization, answers, 403)
    elif all(answer.status == 404 for answer in both):
        named_resources.customer_refused(examination, organization, answers, 404)


def latency(examination: Examination) -> float:
    """Seconds that an answer takes at least, once a connection is there; 0 where none came."""
    answered = [exchange.elapsed for exchange in examination.exchanges if exchange.status is not None]
    return min(answered, default=0.0)


def rate_limit(examination: Examination) -> float:
    """Requests a second that the server's rate limiter allows, measured where the examination met it; 0 where
    it met none."""
    if not examination.waits:
        return 0.0
    begun, answered = time.monotonic(), 0
    while answered < MEASURED and not examination.listed(examination.target.primary).throttled:
        answered += 1
    return answered / (time.monotonic() - begun) if answered == MEASURED else 0.0


def sentences(examination: Examination) -> list[Diagnosis]:
    """The diagnoses with their texts as they may be shown: no secrets, no control characters."""
    redactor = Redactor(examination.target)
    return [
        Diagnosis(diagnosis.name, printable(redactor.text(diagnosis.text)), diagnosis.stops)
        for diagnosis in examination.diagnoses
    ]
