"""Errors of the suite itself: none is lost, none loses what was judged."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from conformance.reference.behaviour import Behaviour
from conformance.reference.context import Context
from conformance.reference.refusals import Refusal
from tests.support.running import cells, run_against


class BareNotFound(Behaviour):
    """Answers 404 without the error envelope."""

    def error_document(self, ctx: Context, refusal: Refusal) -> Any:
        document = super().error_document(ctx, refusal)
        return {"detail": "Not found."} if self.refusal_status(ctx, refusal) == 404 else document


def test_requests_sent_while_every_answer_is_judged_lose_no_test(tmp_path: Path) -> None:
    """Whether an operation exists is asked by a request, which is judged like any other."""
    rules = "--rule error.shape@getBeneficiary --rule tenancy.missing-child@getBeneficiary"
    outcome = run_against(tmp_path, rules, BareNotFound())
    assert outcome.status == 1, outcome.output
    assert outcome.results["errors"] == [] and "RuntimeError" not in outcome.output
    assert ("error.shape", "getBeneficiary") in cells(outcome, "failed")
    assert ("tenancy.missing-child", "getBeneficiary") in cells(outcome, "passed", "failed")
