"""Sample failures for replay files: of one answer, of two that must agree, of a value."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from conformance.judge.expectations import Expectation, Outcome, Refused, SameAnswer
from conformance.judge.findings import Finding
from conformance.judge.ledger import Entry, judge
from conformance.reference.behaviour import Behaviour
from conformance.replay import as_python, document_of, load, save
from conformance.wire.messages import Exchange
from conformance.world.run_context import RunContext
from tests.support.running import executed
from tests.support.runs import run_on


def finding(rule: str, operation: str, expectation: Expectation, *exchanges: Exchange) -> Finding:
    """Returns a violation of an expectation, whether or not the exchanges violate it."""
    entry, judged = Entry(rule, operation, "test_x.test_y"), judge(expectation, exchanges)
    if judged.outcome.good:
        judged = replace(judged, outcome=Outcome(False, "something else"))
    entry.take(judged)
    return entry.finding()


class PerformsAgain(Behaviour):
    def replayed(self, ctx: Any, answer: Any) -> Any:
        return None


class NoNonces(Behaviour):
    def claim_nonce(self, ctx: Any, nonce: str) -> bool:
        return True


class LongTexts(Behaviour):
    def check_length(self, ctx: Any, field: Any, value: str) -> None:
        pass


def replayed_twice(run: RunContext) -> Finding:
    """Returns a failure that needs an account, a beneficiary and a key used twice."""
    fixture = run.account()
    request = fixture.call("createPayoutDestination")
    first = run.send(fixture.client, request, "first")
    again = run.send(fixture.client, request, "again")
    return finding("idempotency.replay", "createPayoutDestination", SameAnswer("again"), first, again)


def used_nonce(run: RunContext) -> Finding:
    fixture = run.account()
    first = run.send(fixture.client, fixture.call("listWallets"), "first")
    again = run.send(
        fixture.client, fixture.call("getBeneficiary").signed(nonce=first.nonce), "its nonce again"
    )
    used = Refused("a used nonce", 401, "authentication_error", "nonce_replay")
    return finding("auth.nonce-replay", "getBeneficiary", used, again)


def long_title(run: RunContext) -> Finding:
    fixture = run.account()
    patch = run.send(
        fixture.client,
        fixture.call("updateBeneficiary", {"title": "{{key_1}} \u0436'\"" + "x" * 20}),
        "too long",
    )
    return finding("fields.max-length", "updateBeneficiary", Refused("a title of 30"), patch)


def saved(behaviour: type[Behaviour], fail: Callable[[RunContext], Finding], folder: Path) -> Path:
    """Writes the replay file of a failure on a server of a behaviour."""
    run = run_on(behaviour())
    found = fail(run)
    # The exchanges of shared fixtures came first and are not the check's own.
    own = [exchange for exchange in run.record.values() if not exchange.purpose.startswith("a valid")]
    path = save(found, own, run, folder)
    assert path is not None
    return path


def generated(finding: Finding, run: RunContext) -> dict[str, Any]:
    """Returns the replay document of a generated failure, as a worker makes it."""
    document = document_of(finding, [run.record[number] for number in finding.exchanges], run)
    assert document is not None
    return document


def recorded(
    behaviour: type[Behaviour], fail: Callable[[RunContext], Finding], folder: Path
) -> dict[str, Any]:
    """Returns the document of that replay file."""
    return load(saved(behaviour, fail, folder))


def scripted(
    document: dict[str, Any], folder: Path, url: str, organization: Any
) -> subprocess.CompletedProcess[str]:
    """Runs the script of a replay document in a folder, against a server and with an organization's
    credentials."""
    script = folder / "script.py"
    script.write_text(as_python(document), "utf-8")
    return executed(
        [sys.executable, "-I", script],
        folder,
        CONFORMANCE_BASE_URL=url,
        CONFORMANCE_PRIMARY_API_KEY=organization.api_key,
        CONFORMANCE_PRIMARY_SECRET=organization.secret,
        CONFORMANCE_PRIMARY_CUSTOMER_ID=organization.customer_id,
        UNRELATED=organization.secret,
    )
