"""No whole run blames a conforming server, with options drawn at random: `python -m tests.prove runs N`.

Each seed draws the choices of one server, and the lanes, processes or rate of the run that judges it over
HTTP in its own process: interference between tests shows only there. The reports of a run that blames the
server stay in --keep.
"""

from __future__ import annotations

import random
import shlex
import shutil
from pathlib import Path

import pytest

from conformance.report.changes import load
from tests.proofs import first_seed
from tests.support.running import LONGEST, run, write_target
from tests.variants.drawn import drawn
from tests.variants.judging import BLAMED
from tests.variants.serving import serving

#: Options that change which requests are concurrent.
OPTIONS = (
    "",
    "--lanes 1",
    "--lanes 2",
    "--lanes 8",
    "--lanes 16",
    "-m 'not fuzz' --lanes 32",
    "-n 2",
    "-n 2 --lanes 2",
    "-n 2 --lanes 8",
    "-n 3",
    "--rate 150 --effort quick",
    "--effort quick",
    "--effort quick --lanes 8",
)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    first = first_seed(metafunc.config)
    metafunc.parametrize("seed", range(first, first + metafunc.config.option.seeds))


def test_a_run_blames_no_conforming_server(seed: int, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    variant, options = drawn(seed), random.Random(seed).choice(OPTIONS)
    with serving(variant) as tables:
        words = (f"--target={write_target(tmp_path / 'target.toml', tables)}", *shlex.split(options))
        outcome = run(*words, folder=tmp_path / "reports", timeout=LONGEST)
    assert outcome.status in (0, 1, 6), f"{variant.name}; {options}\n{outcome.output[-2000:]}"
    blamed = [
        cell.key
        for cell in load(outcome.folder).cells
        if cell.verdict in BLAMED and cell.rule not in variant.breaks
    ]
    if blamed:
        shutil.copytree(
            outcome.folder, Path(request.config.option.keep or "reports/runs", str(seed)), dirs_exist_ok=True
        )
    assert blamed == [], f"{variant.name}; {options}"
