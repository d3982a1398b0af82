"""Verdicts do not depend on how a run is distributed."""

from __future__ import annotations

from pathlib import Path

from conformance.judge.findings import Verdict
from conformance.reference.behaviour import Behaviour
from conformance.reference.context import Context, Record
from tests.support.running import cells, run_against

#: Narrowed to one operation, so that a run takes seconds.
OPTIONS = "--operation getVirtualAccount -m 'not fuzz'"


class SlipsOnRead(Behaviour):
    """Shows another label than the stored one."""

    def members(self, ctx: Context, kind: str, record: Record) -> dict[str, object]:
        shown = super().members(ctx, kind, record)
        return {**shown, "label": "Eve"} if ctx.operation == "getVirtualAccount" else shown


def test_verdicts_do_not_depend_on_lanes_or_processes(tmp_path: Path) -> None:
    found = []
    for number, spread in enumerate(("--lanes 1", "--lanes 16", "-n 2")):
        folder = tmp_path / str(number)
        folder.mkdir()
        outcome = run_against(folder, f"{OPTIONS} {spread}", SlipsOnRead())
        assert outcome.status == 1, outcome.output
        found.append({verdict: cells(outcome, verdict) for verdict in map(str, Verdict)})
    assert found[0]["failed"] and found[1:] == found[:1] * 2
