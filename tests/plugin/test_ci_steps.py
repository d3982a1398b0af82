"""The composite GitHub action and the GitLab job: their shell steps are run, and their text is checked.

The current environment replaces the one that they would install. Everything else is real: bash, the suite, a
conforming server and a faulty one.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from conformance.reference.serving.listener import served
from tests.support.mistakes import AnySignature
from tests.support.running import PATIENCE, ROOT, executed, faulty, write_target

ACTION: dict[str, Any] = yaml.safe_load((ROOT / ".github/actions/conformance/action.yml").read_text("utf-8"))
JOB: dict[str, Any] = yaml.safe_load((ROOT / ".gitlab/conformance.yml").read_text("utf-8"))[".conformance"]

#: Options of the runs: quotes group the words of one option, and the `*` must not be expanded to file names.
OPTIONS = "-m 'not fuzz' --rule auth.signed-m* --operation listAccounts"

#: Rules that these options select.
SELECTED = {"auth.signed-method"}

#: Replaces pip in each folder that `python -m venv` creates.
PIP = '#!/bin/sh\nprintf "%s\\n" "$@" >>"$INSTALLED"\n'
PYTEST = f'#!/bin/sh\nexec {sys.executable} -m pytest "$@"\n'
PYTHON = """#!/bin/sh
[ "$1 $2" = "-m venv" ] && mkdir -p "$3/bin" && cp "$STANDINS/pip" "$STANDINS/pytest" "$3/bin"
"""


@pytest.fixture(scope="module")
def targets(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Path]]:
    """Target files of a conforming server and of a faulty one."""
    folder = tmp_path_factory.mktemp("targets")
    good, bad = faulty(), faulty(AnySignature())
    with served(good[0]) as good_url, served(bad[0]) as bad_url:
        yield {
            "good": write_target(folder / "good.toml", good[1](good_url)),
            "bad": write_target(folder / "bad.toml", bad[1](bad_url)),
        }


@pytest.fixture
def job(tmp_path: Path) -> Path:
    """Folder of a job with the user's repository, which contains a file that the pattern in OPTIONS
    matches."""
    standins = tmp_path / "standins"
    standins.mkdir()
    for name, text in {"pip": PIP, "pytest": PYTEST, "python": PYTHON}.items():
        (standins / name).write_text(text)
        (standins / name).chmod(0o755)
    (tmp_path / "repository").mkdir()
    (tmp_path / "repository" / "auth.signed-messages").touch()
    return tmp_path


def shell(script: str, job: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Runs the script of a step with the shell and in the folder of its CI system."""
    (job / "step.sh").write_text(script, "utf-8")
    command: list[str | Path] = ["bash", "--noprofile", "--norc", "-eo", "pipefail", job / "step.sh"]
    given = {
        "PATH": f"{job / 'standins'}:/usr/bin:/bin",
        "PYTHONPATH": str(ROOT),
        "STANDINS": str(job / "standins"),
        "INSTALLED": str(job / "installed"),
        "CI": "true",
    }
    return executed(command, job / "repository", together=True, timeout=PATIENCE, **given, **variables)


def action(job: Path, **inputs: str) -> subprocess.CompletedProcess[str]:
    """Runs the action's shell steps until one fails."""
    given = {name.replace("-", "_"): str(told.get("default", "")) for name, told in ACTION["inputs"].items()}
    given |= inputs

    def filled(text: str) -> str:
        text = text.replace("${{ github.action_path }}", str(ROOT / ".github/actions/conformance"))
        return re.sub(
            r"\$\{\{ inputs\.([\w-]+) \}\}", lambda found: given[found[1].replace("-", "_")], str(text)
        )

    done = None
    for step in ACTION["runs"]["steps"]:
        if "run" in step and (done is None or done.returncode == 0):
            variables = {name: filled(value) for name, value in step["env"].items()}
            done = shell(
                step["run"],
                job,
                RUNNER_TEMP=str(job / "temp"),
                GITHUB_ACTIONS="true",
                GITHUB_STEP_SUMMARY=str(job / "summary.md"),
                GITHUB_OUTPUT=str(job / "output"),
                **variables,
            )
    assert done is not None
    return done


def results(folder: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((folder / "results.json").read_text("utf-8"))
    return document


def judged(document: dict[str, Any]) -> set[str]:
    return {cell["rule"] for cell in document["cells"] if cell["verdict"] in ("passed", "failed")}


def test_the_action_passes_a_server_that_conforms(job: Path, targets: dict[str, Path]) -> None:
    """The inputs reach the run, which uses two workers by default."""
    done = action(job, target=str(targets["good"]), options=OPTIONS, report_dir="kept report")
    assert done.returncode == 0, done.stdout
    suite = str(ROOT / ".github/actions/conformance" / "../../..")
    assert (job / "installed").read_text().splitlines() == [
        "install", "-q", "-c", f"{suite}/constraints.txt", suite,
    ]  # fmt: skip
    document = results(job / "repository" / "kept report")
    assert judged(document) == SELECTED and document["run"]["workers"] == 2
    assert document["run"]["selection"] == "-m 'not fuzz' --rule 'auth.signed-m*' --operation listAccounts"
    assert document["verdict"]["sentence"].split(":")[0] in (job / "summary.md").read_text("utf-8")
    assert (job / "output").read_text() == "exit-status=0\n"
    # Only the report is left in the user's repository.
    assert {path.name for path in (job / "repository").iterdir()} == {"kept report", "auth.signed-messages"}


def test_the_action_fails_a_server_that_does_not(job: Path, targets: dict[str, Path]) -> None:
    """The report stays where the upload step, which always runs, expects it."""
    text = targets["bad"].read_text("utf-8")
    [url] = re.findall('^base_url = "(.+)"', text, re.MULTILINE)
    (job / "repository" / "target.toml").write_text(text.replace(url, "http://127.0.0.1:9"), "utf-8")
    done = action(job, target="target.toml", base_url=url, options=OPTIONS, workers="0")
    assert done.returncode == 1, done.stdout
    assert "does not conform" in (job / "summary.md").read_text("utf-8")
    assert (job / "output").read_text() == "exit-status=1\n"
    folder = job / "repository" / ACTION["inputs"]["report-dir"]["default"]
    assert results(folder)["verdict"]["exit_status"] == 1


def test_the_gitlab_job(job: Path, targets: dict[str, Path]) -> None:
    variables = {**JOB["variables"], "CONFORMANCE_TARGET": str(targets["bad"])}
    variables["CONFORMANCE_OPTIONS"] = OPTIONS
    done = shell("\n".join(JOB["script"]), job, GITLAB_CI="true", HOME=str(job / "home"), **variables)
    assert done.returncode == 1, done.stdout
    assert (job / "installed").read_text().splitlines() == ["install", "-q", "financial-accounts-conformance"]
    [folder] = JOB["artifacts"]["paths"]
    document = results(job / "repository" / folder)
    assert judged(document) == SELECTED and document["verdict"]["exit_status"] == 1
    assert (job / "repository" / JOB["artifacts"]["reports"]["junit"]).exists()
    assert {path.name for path in (job / "repository").iterdir()} == {
        folder.rstrip("/"),
        "auth.signed-messages",
    }


@pytest.mark.parametrize("options", ["$(touch made)", "`touch made`", "; touch made", "-k 'a;touch made'"])
def test_options_run_nothing(options: str, job: Path) -> None:
    action(job, target="nothing.toml", workers="0", options=options)
    assert not (job / "repository" / "made").exists()


# ---------------------------------------------------------------------- text of the workflows


def scripts() -> dict[str, str]:
    steps = {step["name"]: step["run"] for step in ACTION["runs"]["steps"] if "run" in step}
    return {**steps, "GitLab": "\n".join(JOB["script"])}


@pytest.mark.parametrize("name", scripts())
def test_inputs_reach_the_shell_as_variables_only(name: str) -> None:
    """An expression inside a script would execute text from a pull request."""
    assert "${{" not in scripts()[name]


def test_reports_are_kept_after_a_failed_run() -> None:
    assert JOB["artifacts"]["when"] == "always"
    [keep] = [step for step in ACTION["runs"]["steps"] if "upload-artifact" in step.get("uses", "")]
    assert keep["with"]["path"] == "${{ inputs.report-dir }}" and keep["if"] == "always()"


@pytest.mark.parametrize(
    ("arguments", "status"), [(["--help"], 0), (["-h"], 0), (["--al"], 2), (["--all", "more"], 2)], ids=str
)
def test_arguments_of_the_check_before_a_merge(arguments: list[str], status: int, tmp_path: Path) -> None:
    """Help and an unknown argument end with the usage, before anything is begun."""
    done = executed([ROOT / ".ci" / "run", *arguments], tmp_path, together=True)
    assert done.returncode == status
    assert "Usage: .ci/run [--all]" in done.stdout and "Everything before a merge" in done.stdout
    assert "== " not in done.stdout
