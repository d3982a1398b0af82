"""User-defined rules and checks beside the suite's, as in conformance/docs/own-rules.md."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from conformance._files import InputError
from conformance.contract import rules
from conformance.contract.rules import RULES, Level, add_rules
from conformance.reference.app import Server
from conformance.reference.core_messages import Request, Response
from conformance.reference.seed import seed, target_tables
from conformance.reference.serving.listener import served
from conformance.reference.store import Store
from tests.support.running import ROOT, executed, write_target

DOCUMENT = (ROOT / "conformance" / "docs" / "own-rules.md").read_text("utf-8")


def snippet(language: str) -> str:
    found = re.search(rf"```{language}\n(.*?)```", DOCUMENT, re.DOTALL)
    assert found
    return found[1]


class WithoutRequestIds(Server):
    """Sends a request id with each answer, except to one method."""

    def handle(self, request: Request) -> Response:
        response = super().handle(request)
        return response if request.method == "POST" else response.with_header(b"x-request-id", b"req_1")


@dataclass
class Project:
    """A user's folder with rules, a check and a target file."""

    folder: Path

    def run(self, *arguments: str) -> tuple[int, str, dict[str, Any]]:
        done = executed(
            [
                sys.executable,
                "-m",
                "pytest",
                "-p",
                "no:cacheprovider",
                "--conformance-target",
                "target.toml",
                *arguments,
            ],
            self.folder,
            together=True,
            PYTHONPATH=str(ROOT),
        )
        results = self.folder / "reports" / "results.json"
        document = json.loads(results.read_text("utf-8")) if results.exists() else {}
        return done.returncode, done.stdout, document


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    store = Store()
    server = WithoutRequestIds(store)
    seeded = seed(store)
    (tmp_path / "acme-rules.yaml").write_text(snippet("yaml"), "utf-8")
    (tmp_path / "acme").mkdir()
    (tmp_path / "acme" / "test_gateway.py").write_text(snippet("python"), "utf-8")
    with served(server, threads=True) as url:
        write_target(tmp_path / "target.toml", target_tables(seeded, url))
        yield Project(tmp_path)


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["alone", "two-processes"])
def test_own_check_judges_every_operation(project: Project, workers: tuple[str, ...]) -> None:
    status, output, results = project.run("--conformance-rules", "acme-rules.yaml", "acme/", *workers)
    assert status == 1, output
    verdicts = {
        cell["operation"]: cell["verdict"] for cell in results["cells"] if cell["rule"] == "acme.request-id"
    }
    assert len(verdicts) == 16
    assert (verdicts["createAccount"], verdicts["listAccounts"]) == ("failed", "passed")
    [finding] = next(
        cell["findings"]
        for cell in results["cells"]
        if (cell["rule"], cell["operation"]) == ("acme.request-id", "createAccount")
    )
    assert finding["got"] == "no X-Request-Id" and finding["replay"]


def test_configuration_names_the_rules(project: Project) -> None:
    (project.folder / "pytest.ini").write_text("[pytest]\nconformance_rules = acme-rules.yaml\n", "utf-8")
    status, output, _ = project.run("acme/", "-k", "listWallets")
    assert status == 0 and "1 passed" in output, output


def test_mistake_in_the_rules_is_wrong_usage(project: Project) -> None:
    (project.folder / "acme-rules.yaml").write_text("rules: []\n", "utf-8")
    status, output, _ = project.run("--conformance-rules", "acme-rules.yaml", "acme/")
    assert status == 4 and "acme-rules.yaml" in output and "Traceback" not in output


# ---------------------------------------------------------------------- own rules


CATALOGUE = frozenset(RULES)

OWN = """
rules:
  - id: acme.page-size
    section: ["8"]
    level: required
    operations: list
    statement: The gateway refuses pages of more than 50 elements.
"""


@pytest.fixture(autouse=True)
def catalogue_as_it_was() -> Iterator[None]:
    before = dict(RULES)
    yield
    rules._of_servers.clear()
    rules._of_servers.update(before)


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "rules.yaml"
    path.write_text(text, "utf-8")
    return path


def test_own_rule_stands_beside_the_catalogues(tmp_path: Path) -> None:
    path = write(tmp_path, OWN)
    [rule] = add_rules(path)
    assert add_rules(path) == [rule] and RULES["acme.page-size"] is RULES[rule.id]
    assert (rule.level, len(rule.operations)) == (Level.REQUIRED, 4)
    assert rule.id not in CATALOGUE


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[1]", "a mapping with the member rules"),
        ("rules: [", "not valid YAML"),
        (OWN.replace("required", "strict"), "strict"),
        (OWN.replace("operations: list", "operations: lists"), "operation set 'lists'"),
        (OWN.replace("operations: list", "operations: [listNothing]"), "no operation listNothing"),
        (OWN.replace("acme.page-size", "list.walk"), "list.walk: there is such a rule"),
        (OWN.replace("    statement", "    sentence"), "statement"),
    ],
    ids=["array", "yaml", "level", "set", "operation", "taken", "member"],
)
def test_mistakes_are_named(text: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        add_rules(write(tmp_path, text))
    assert said in str(caught.value) and "\n" not in str(caught.value)
    assert set(RULES) == CATALOGUE


def test_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nothing\.yaml: the rules cannot be read"):
        add_rules(tmp_path / "nothing.yaml")
