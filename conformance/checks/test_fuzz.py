"""Schema fuzzing: generated requests of every operation, plain and spoilt ones (sections 4, 5, 7 and 8).

What is generated and how it is judged is in conformance/fuzz; nothing of it is imported before a part runs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.contract import OPERATIONS
from conformance.rules import RULES
from conformance.runner import absent, exploration
from conformance.verdict import Finding, Inconclusive, Verdict

if TYPE_CHECKING:
    from conformance.fuzz.settings import FuzzSettings
    from conformance.suite import Suite


@exploration(*OPERATIONS)
def test_schema_fuzzing(suite: Suite, part: str, settings: FuzzSettings) -> list[Finding]:
    rule = RULES["http.success-json"]
    name = "test_fuzz.test_schema_fuzzing"
    if reason := absent(rule, part, suite.target):
        return [Finding(rule.id, part, Verdict.NOT_APPLICABLE, name, summary=reason)]
    from conformance.fuzz.fuzzing import fuzz

    try:
        return fuzz(suite, part, settings, name)
    except Inconclusive as stop:
        return [
            Finding(
                rule.id,
                part,
                Verdict.INCONCLUSIVE,
                name,
                summary=stop.reason,
                cure=stop.cure,
                cause=stop.cause,
            )
        ]
