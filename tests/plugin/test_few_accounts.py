"""A server limited to 12 accounts for each customer, fewer than checks and lanes would use."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.running import run_against
from tests.variants.choice import compose
from tests.variants.payments import FewAccounts


@pytest.fixture(scope="module")
def one_lane(tmp_path_factory: pytest.TempPathFactory) -> set[tuple[str, str]]:
    return inconclusive(tmp_path_factory.mktemp("one"), "--lanes=1")


def inconclusive(folder: Path, options: str) -> set[tuple[str, str]]:
    """Returns the inconclusive cells of a run, which must not fail any."""
    outcome = run_against(folder, f"-m 'not fuzz' {options}", compose(FewAccounts))
    cells = outcome.results["cells"]
    assert not [cell for cell in cells if cell["verdict"] == "failed"]
    return {(cell["rule"], cell["operation"]) for cell in cells if cell["verdict"] == "inconclusive"}


def test_checks_of_accounts_are_conclusive_in_one_lane(one_lane: set[tuple[str, str]]) -> None:
    assert one_lane, "of wallets an account has one a pair: they show that there are too few accounts"
    assert not [each for each in one_lane if each[1] in ("createAccount", "listAccounts")]


def test_lanes_leave_their_accounts_to_one(one_lane: set[tuple[str, str]], tmp_path: Path) -> None:
    assert len(inconclusive(tmp_path, "--lanes=4")) < 1.5 * len(one_lane)
