"""The proofs as commands: exit statuses, and baselines that are compared."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.prove.__main__ import main
from tests.prove.baseline import Section

WHOLE = {"rule": "", "operation": "", "kind": "", "variant": ""}

FAULTS: Section = {
    "auth.nonce[getAccount]: A kind": {"auth.nonce on getAccount": "broken", "caught": "caught"},
    "list.total[listPayouts]: A kind": {"caught": "caught"},
}


def _file(path: Path, faults: Section, **narrowed: str) -> str:
    path.write_text(json.dumps({"narrowed": WHOLE | narrowed, "sampled": False, "faults": faults}), "utf-8")
    return str(path)


@pytest.mark.parametrize(
    ("after", "said"),
    [
        (FAULTS, ""),
        (
            {**FAULTS, "list.total[listPayouts]: A kind": {"caught": "survives"}},
            "caught before, survives now",
        ),
        (dict(list(FAULTS.items())[:1]), "list.total[listPayouts]: A kind: missing"),
    ],
    ids=["same", "survives", "missing"],
)
def test_compare_prints_each_difference(
    after: Section, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = _file(tmp_path / "before.json", FAULTS)
    status = main(["compare", before, _file(tmp_path / "after.json", after)])
    assert status == bool(said)
    assert said in capsys.readouterr().out


def test_compare_expects_of_a_narrow_baseline_no_more_than_it_asked_for(tmp_path: Path) -> None:
    before = _file(tmp_path / "before.json", FAULTS)
    after = _file(tmp_path / "after.json", dict(list(FAULTS.items())[:1]), rule="auth.")
    assert main(["compare", before, after]) == 0


def test_unknown_proof_is_wrong_usage() -> None:
    with pytest.raises(SystemExit) as exit:
        main(["nothing"])
    assert exit.value.code == 2
