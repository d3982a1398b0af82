"""Hypothesis strategy for the results of a run."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from conformance.contract.rules import RULES, Level
from conformance.judge.ledger import Ledger
from conformance.judge.verdicts import Verdict
from conformance.report.document import KnownFailureRecord
from conformance.report.known_failures import KnownFailures
from tests.support.report_samples import judged, whole_run

CELLS = [(rule.id, operation) for rule in RULES.values() for operation in rule.operations]
_JUDGED = [cell for cell in CELLS if RULES[cell[0]].level is not Level.OPEN]
#: Verdicts that a cell can have.
_VERDICTS = (
    Verdict.INCONCLUSIVE,
    Verdict.NOT_RUN,
    Verdict.PASSED,
    Verdict.FAILED,
    Verdict.WARNING,
)


@st.composite
def runs(draw: st.DrawFn) -> tuple[Ledger, dict[str, Any]]:
    """Draws a ledger and the options with which the run is decided."""
    most_severe = draw(st.sampled_from(_VERDICTS))
    chosen = draw(
        st.dictionaries(
            st.sampled_from(_JUDGED), st.just(most_severe) | st.sampled_from(_VERDICTS[:3]), max_size=6
        )
    )
    cells = []
    for (rule, operation), verdict in chosen.items():
        if verdict.is_violation:
            verdict = Verdict.WARNING if RULES[rule].level is Level.IMPLIED else Verdict.FAILED
        if verdict is not Verdict.NOT_RUN:
            cause = draw(st.sampled_from(["", *sorted({cell[0] for cell in chosen})]))
            text = draw(
                st.sampled_from(
                    ["201 with a JSON body", "401 without error type and code", "<b>&\x00\ud800|`"]
                )
            )
            cells.append(judged(rule, operation, verdict, cause=cause, got=text))
    answers = draw(st.sampled_from(["200", "201"]))
    cells.append(
        judged("http.success-status", "createAccount", Verdict.OBSERVED, observations={"status": answers})
    )
    left_out = {cell: Verdict.NOT_RUN for cell, verdict in chosen.items() if verdict is Verdict.NOT_RUN}
    results = whole_run(left_out, *cells)
    results.narrowed = draw(st.sampled_from([[], [], ["-k auth"]]))
    results.lost = draw(st.sampled_from(["", "", "", "the server stopped answering"]))
    results.errors += draw(st.sampled_from([[], [], [], ["a check raised KeyError"]]))
    entries = [
        KnownFailureRecord(index, *cell, "reason", draw(st.sampled_from([None, "2020-01-01"])))
        for index, cell in enumerate(
            draw(st.lists(st.sampled_from(sorted(chosen) or _JUDGED[:3]), unique=True, max_size=2))
        )
    ]
    return results, {
        "fail_on": draw(st.sampled_from([Level.REQUIRED, Level.IMPLIED])),
        "interrupted": draw(st.sampled_from(["", "", "", "stopped from the keyboard"])),
        "known": draw(st.sampled_from([None, KnownFailures(entries)])),
    }
