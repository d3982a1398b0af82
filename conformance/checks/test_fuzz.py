"""Schema fuzzing: generated requests of every operation, plain and spoilt ones (sections 4, 5, 7 and 8).

What is generated and how it is judged is in conformance/fuzz; nothing of it is imported before a part runs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.contract.operations import OPERATIONS
from conformance.contract.rules import RULES
from conformance.harness.exploration import exploration
from conformance.judging.findings import Finding, Inconclusive, Verdict
from conformance.target.applicability import absent

if TYPE_CHECKING:
    from conformance.fixtures.run_context import RunContext
    from conformance.harness.exploration import FuzzSettings


@exploration(*OPERATIONS)
def test_schema_fuzzing(run: RunContext, part: str, settings: FuzzSettings) -> list[Finding]:
    rule = RULES["http.success-json"]
    name = "test_fuzz.test_schema_fuzzing"
    if reason := absent(rule, part, run.target):
        return [Finding(rule.id, part, Verdict.NOT_APPLICABLE, name, summary=reason)]
    from conformance.fuzz.schema.explore import fuzz

    try:
        return fuzz(run, part, settings, name)
    except Inconclusive as stop:
        return [
            Finding(
                rule.id,
                part,
                Verdict.INCONCLUSIVE,
                name,
                summary=stop.reason,
                remedy=stop.remedy,
                cause=stop.cause,
            )
        ]
