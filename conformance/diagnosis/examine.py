"""Examination of a target, from the connection to its customers, until a diagnosis stops it."""

from __future__ import annotations

import contextlib

import httpx

from conformance._files import InputError
from conformance.diagnosis import connection, named_resources
from conformance.diagnosis.credentials import body_is_rewritten, query_is_rewritten, unauthenticated
from conformance.diagnosis.examination import Diagnosis, Examination
from conformance.target.file import Organization, Target
from conformance.wire.budget import Budget
from conformance.wire.messages import MISSING, Failure
from conformance.wire.transport import Transport


def preflight(
    target: Target, transport: httpx.BaseTransport | None = None, *, budget: Budget | None = None
) -> Examination:
    """Examines a target before a run. Raises InputError, with one paragraph, if it cannot be judged."""
    examination = examine(target, transport, thorough=False, budget=budget)
    if stopped := examination.stopped:
        raise InputError(stopped.text)
    return examination


def examine(
    target: Target,
    transport: httpx.BaseTransport | None = None,
    *,
    thorough: bool = True,
    budget: Budget | None = None,
) -> Examination:
    """Sends a few requests, about a dozen if `thorough`, and diagnoses the target. Requests count toward
    `budget`; without a transport it makes one."""
    with contextlib.nullcontext(transport) if transport else Transport(target.tls) as used:
        examination = Examination(target, used, budget)
        for organization in target.organizations:
            _organization(examination, organization, thorough)
            if examination.stopped:
                return examination
        named_resources.funded_account(examination)
        if thorough and not examination.stopped:
            named_resources.unnamed(examination)
            named_resources.organizations_are_one(examination)
            named_resources.other_customer(examination)
            query_is_rewritten(examination, target.primary)
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
    return next(iter(examination.diagnoses), None)


def _organization(
    examination: Examination, organization: Organization, thorough: bool, last: str = "customer_id"
) -> None:
    """Checks that an organization's requests reach its customer. `last` is the last key that is no
    placeholder."""
    listed = examination.listed(organization)
    good = listed.succeeded and listed.document is not MISSING
    if good and not thorough:
        return
    if listed.failure in (*connection.UNREACHABLE, Failure.TIMED_OUT):
        connection.no_answer(examination, listed)
        return
    created = examination.created(organization)
    before = len(examination.diagnoses)
    if created.succeeded and created.document is not MISSING:
        pass
    elif good:
        if created.error_code == "invalid_signature":
            body_is_rewritten(examination, organization, created)
    elif listed.status is None and created.status is None:
        connection.no_answer(examination, listed)
    elif connection.elsewhere(examination, (listed, created), unsigned=last == "base_url"):
        pass
    elif last != "base_url" and listed.refused_authentication and created.refused_authentication:
        unauthenticated(examination, organization, listed)
    elif last == "customer_id" and listed.status == created.status and listed.status in (403, 404):
        named_resources.customer_refused(examination, organization, (listed, created))
    if last == "customer_id" and len(examination.diagnoses) == before:
        named_resources.not_served(examination, organization, (listed, created))
