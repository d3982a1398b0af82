"""The suite beside all plugins of the extra `plugins`, loaded at once."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest

from tests.support.mistakes import AnySignature
from tests.support.running import run, run_against

RULE = "auth.header-case@listAccounts"

#: Modules of the plugins in the extra `plugins`.
FOREIGN = [
    "allure_pytest", "pytest_asyncio", "pytest_benchmark", "pytest_cov", "pytest_django", "pytest_html",
    "pytest_jsonreport", "pytest_mock", "pytest_order", "pytest_playwright", "pytest_profiling",
    "pytest_randomly", "pytest_repeat", "pytest_rerunfailures", "pytest_rich", "pytest_split", "pytest_sugar",
    "pytest_timeout", "xprocess",
]  # fmt: skip

pytestmark = pytest.mark.skipif(
    any(importlib.util.find_spec(module) is None for module in FOREIGN),
    reason="other people's plugins are not installed: pip install '.[plugins]'",
)


@pytest.mark.parametrize("mode", ["load", "loadgroup", "worksteal"])
def test_all_plugins_at_once_however_work_is_shared(mode: str, tmp_path: Path) -> None:
    outcome = run("--rule", RULE, "-n", "2", "--dist", mode, folder=tmp_path / "reports", cwd=tmp_path)
    assert outcome.status == 0, outcome.output


@pytest.mark.parametrize(
    "flags",
    [
        "--timeout 60 --reruns 1 --html own.html --self-contained-html --json-report --alluredir allure",
        "--cov=tests --count 2 --splits 1 --group 1 --order-scope module --benchmark-disable",
        "--rich -p no:sugar",
    ],
)
def test_plugins_with_their_options(flags: str, tmp_path: Path) -> None:
    outcome = run("--rule", RULE, *flags.split(), folder=tmp_path / "reports", cwd=tmp_path)
    assert outcome.status == 0, outcome.output


def test_a_violation_is_a_failure_in_other_peoples_reports(tmp_path: Path) -> None:
    """Reported as failed, not as an error."""
    theirs = "--reruns 1 --json-report --html own.html --self-contained-html --alluredir allure"
    options = f"--rule auth.signature@listAccounts {theirs}"
    outcome = run_against(tmp_path, options, AnySignature(), cwd=tmp_path)
    assert outcome.status == 1, outcome.output
    allure = [json.loads(path.read_text("utf-8")) for path in (tmp_path / "allure").glob("*-result.json")]
    assert allure and {result["status"] for result in allure} == {"failed"}
    summary = json.loads((tmp_path / ".report.json").read_text("utf-8"))["summary"]
    assert summary["failed"] >= 1 and "error" not in summary
    assert "auth.signature" in (tmp_path / "own.html").read_text("utf-8")
