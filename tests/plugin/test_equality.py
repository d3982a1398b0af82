"""A run comes to the same verdicts however it is spread; `python -m tests.equality` tries more servers."""

from __future__ import annotations

import pytest

from conformance.reference.behaviour import Behaviour
from conformance.reference.context import Context, Record
from conformance.reference.seed import new_server
from tests import equality
from tests.equality import SPREADS, Judged, differences, main, named, servers

#: One operation, so that it takes seconds.
OPTIONS = ("--operation", "getVirtualAccount", "-m", "not fuzz")


class SlipsOnRead(Behaviour):
    """Shows another label than it keeps."""

    def virtual_account_fields(self, ctx: Context, record: Record) -> dict[str, object]:
        shown = super().virtual_account_fields(ctx, record)
        return {**shown, "label": "Eve"} if ctx.operation == "getVirtualAccount" else shown


def test_merged_shards_come_to_the_verdicts_of_one_lane() -> None:
    judged = Judged("slips", lambda: new_server(SlipsOnRead(), number=1))
    assert list(differences(judged, OPTIONS, ("one lane", "3 merged shards"))) == []


def test_another_verdict_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    found = iter([{("a.rule", "getBeneficiary"): "passed"}, {("a.rule", "getBeneficiary"): "failed"}])
    monkeypatch.setattr(equality, "verdicts", lambda *given: next(found))
    lines = list(differences(Judged("one", new_server), (), ("one lane", "16 lanes")))
    assert lines == ["one: a.rule on getBeneficiary: passed with one lane, failed with 16 lanes"]


def test_servers_are_drawn_from_faults_and_variants() -> None:
    drawn = servers(3, 2, 7)
    assert len(drawn) == 5
    assert [judged.name for judged in drawn] == [judged.name for judged in servers(3, 2, 7)]
    assert set(SPREADS) == {"one lane", "16 lanes", "-n 2", "3 merged shards"}


def test_servers_are_chosen_by_their_names(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Many faults have "late" in their names.
    assert [judged.name for judged in named(["late"])] == ["late"]
    assert {"late", "nobody twice"} < {judged.name for judged in named(["late", "e"])}
    monkeypatch.setattr(equality, "differences", lambda judged, *told: [str(told)])
    assert main(["--only", "nobody twice", "--spread", "-n 2", "--options=--lf"]) == 1
    assert str((["--lf"], ("one lane", "-n 2"))) in capsys.readouterr().out
    assert main(["--only", "no such server"]) == 2
    assert "No server has a name" in capsys.readouterr().err
