"""Lost updates of a balance are found while the rest of the run pays from the same account."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.checks.test_money import BalancesBehind, LastWriteStays
from tests.support.running import run_against
from tests.variants.choice import compose

EVERYTHING_THAT_PAYS = "-m 'not fuzz' --operation createPayout --operation getAccountBalances"


@pytest.mark.slow
@pytest.mark.parametrize("lag", [(), (BalancesBehind,)], ids=["at once", "late"])
@pytest.mark.parametrize("options", ["--lanes=4", "-n 2"])
def test_lost_updates_are_found_beside_other_payouts(
    options: str, lag: tuple[type, ...], tmp_path: Path
) -> None:
    outcome = run_against(
        tmp_path, f"{EVERYTHING_THAT_PAYS} --fail-on implied {options}", compose(*lag, LastWriteStays)
    )
    verdicts = {(cell["rule"], cell["operation"]): cell["verdict"] for cell in outcome.results["cells"]}
    assert verdicts["payout.race", "createPayout"] == "warning"
