"""The CI templates are what their systems read, and install the suite rather than the project around them."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]

ACTION: dict[str, Any] = yaml.safe_load((ROOT / ".github/actions/conformance/action.yml").read_text("utf-8"))
GITLAB: dict[str, Any] = yaml.safe_load((ROOT / ".gitlab/conformance.yml").read_text("utf-8"))


def scripts() -> dict[str, str]:
    steps = {step["name"]: step["run"] for step in ACTION["runs"]["steps"] if "run" in step}
    return {**steps, "GitLab": "\n".join(GITLAB[".conformance"]["script"])}


def test_every_input_of_the_action_reaches_a_step() -> None:
    used = str(ACTION["runs"])
    for name in ACTION["inputs"]:
        assert f"${{{{ inputs.{name} }}}}" in used


@pytest.mark.parametrize("name", scripts())
def test_inputs_reach_the_shell_as_variables_only(name: str) -> None:
    """An expression inside a script would run what a pull request writes into it."""
    assert "${{" not in scripts()[name]


@pytest.mark.parametrize("name", ["Install the suite", "GitLab"])
def test_the_suite_is_installed_by_name(name: str) -> None:
    installs = [line for line in scripts()[name].splitlines() if " install " in line]
    assert installs and all(line.rstrip().endswith(('"$SUITE"', '"$CONFORMANCE_SUITE"')) for line in installs)


def test_reports_are_kept_after_a_failed_run() -> None:
    assert GITLAB[".conformance"]["artifacts"]["when"] == "always"
    assert (
        next(step for step in ACTION["runs"]["steps"] if "upload-artifact" in step.get("uses", ""))["if"]
        == "always()"
    )


def jobs() -> list[dict[str, Any]]:
    """The jobs of the guide's GitHub workflows."""
    page = (ROOT / "conformance" / "docs" / "gate-my-ci.md").read_text("utf-8")
    workflows = [yaml.safe_load(text) for text in re.findall(r"```yaml\n(jobs:.*?)```", page, re.DOTALL)]
    return [job for workflow in workflows for job in workflow["jobs"].values()]


def test_the_guide_gives_the_action_inputs_that_it_has() -> None:
    uses = [step for job in jobs() for step in job["steps"] if "OWNER" in step.get("uses", "")]
    assert len(uses) == 2
    for step in uses:
        assert set(step["with"]) <= set(ACTION["inputs"]) and "target" in step["with"]


def test_the_matrix_has_every_python_and_a_report_for_each() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    supported = [text.rpartition(" ")[2] for text in project["classifiers"] if ":: 3." in text]
    [job] = [job for job in jobs() if "strategy" in job]
    assert job["strategy"]["matrix"]["python"] == supported
    [step] = [step for step in job["steps"] if "OWNER" in step.get("uses", "")]
    assert "${{ matrix.python }}" in step["with"]["artifact"]
