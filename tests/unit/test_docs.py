"""Links, commands and snippets of the documents."""

from __future__ import annotations

import ast
import json
import re
import shlex
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from conformance.cli.main import COMMANDS, main
from conformance.reference.seed import new_server, target_tables
from conformance.reference.serving.listener import served
from tests import architecture
from tests.support.running import executed, write_target

ROOT = Path(__file__).parents[2]

DOCUMENTS = sorted(
    [
        ROOT / "README.md",
        *(ROOT / "conformance" / "docs").glob("*.md"),
        *(ROOT / ".github").glob("*.md"),
        *(ROOT / "spec").glob("*.md"),
        *ROOT.glob("CHANGELOG.md"),
    ]
)
GUIDES = sorted((ROOT / "conformance" / "docs").glob("*.md"))


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def fences(path: Path, language: str) -> list[str]:
    """Returns the fenced blocks of a language, dedented."""
    found = re.findall(rf"^( *)```{language}\n(.*?)^ *```", path.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    return [re.sub(rf"^{indentation}", "", text, flags=re.MULTILINE) for indentation, text in found]


def anchors(path: Path) -> set[str]:
    headings = re.findall(r"^#+ +(.+)$", path.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("document", DOCUMENTS, ids=name)
def test_links_lead_somewhere(document: Path) -> None:
    text = re.sub(r"```.*?```", "", document.read_text("utf-8"), flags=re.DOTALL)
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        if link.startswith(("http://", "https://")):
            continue
        path, _, anchor = link.partition("#")
        target = (document.parent / path).resolve() if path else document
        assert target.exists(), f"{name(document)} links to {link}"
        if anchor and target.suffix == ".md":
            assert anchor in anchors(target), f"{name(document)} links to {link}"


@pytest.mark.parametrize("document", DOCUMENTS, ids=name)
def test_snippets_are_valid(document: Path) -> None:
    for text in fences(document, "toml"):
        tomllib.loads(text)
    for text in fences(document, "ya?ml"):
        yaml.safe_load(text)
    for text in fences(document, "json"):
        json.loads(text)
    for text in fences(document, "python"):
        ast.parse(text)


#: Documents whose snippets are not run one by one: signing.md has a test of its own, CONTRIBUTING.md
#: would register checks and faults a second time, a locustfile would monkey-patch this process.
NOT_ALONE = {"signing.md", "CONTRIBUTING.md", "load.md"}


@pytest.mark.parametrize(
    "snippet",
    [
        pytest.param(text, id=f"{document.stem} {number}")
        for document in DOCUMENTS
        if document.name not in NOT_ALONE
        for number, text in enumerate(fences(document, "python"), 1)
    ],
)
def test_python_snippet_runs(snippet: str) -> None:
    exec(compile(snippet, "snippet", "exec"), {})


def test_every_file_of_the_contract_is_in_its_table() -> None:
    table = (ROOT / "spec" / "README.md").read_text("utf-8")
    files = {path.name for path in (ROOT / "spec").iterdir() if path.is_file() and path.name[0] != "."}
    assert [name for name in sorted(files - {"README.md"}) if f"`{name}`" not in table] == []


#: Programs that are not part of the suite: pip, docker, and scripts of a checkout.
FOREIGN = re.compile(r"(pip|docker|st|python3? -m (tests|build|venv)|\.ci/)\b")

OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*")


def test_every_option_that_a_document_names_exists(capsys: pytest.CaptureFixture[str]) -> None:
    """As an option of pytest with the plugin, or of a subcommand; CHANGELOG.md names what is gone."""
    there: set[str] = set()
    for module in (["pytest"], ["conformance.cli", "test"]):
        there |= set(OPTION.findall(executed([sys.executable, "-m", *module, "--help"], ROOT).stdout))
    for command in COMMANDS.keys() - {"test"}:
        with pytest.raises(SystemExit):
            main([command, "--help"])
        there |= set(OPTION.findall(capsys.readouterr().out))
    for document in set(DOCUMENTS) - {ROOT / "CHANGELOG.md"}:
        text = re.sub(r"```.*?```", "", document.read_text("utf-8"), flags=re.DOTALL)
        spans = [span for span in re.findall(r"`([^`]+)`", text) if not FOREIGN.match(span)]
        assert {option for span in spans for option in OPTION.findall(span)} - there == set(), name(document)


def test_diagram_is_drawn_from_the_imports() -> None:
    assert architecture.DOCUMENT.read_text("utf-8") == architecture.drawn(), architecture.__doc__


# ---------------------------------------------------------------------- commands


def commands() -> Iterator[Any]:
    """Yields the commands of the documents that need only the suite and a server."""
    for document in (*GUIDES, ROOT / "README.md", ROOT / "spec" / "signing.md"):
        for block in fences(document, "sh"):
            for line in block.splitlines():
                command = re.sub(r"^[\w.-]+/bin/|\s+#.*$", "", line)
                if re.match(r"(pytest|conformance) ", command) and not command.startswith(ELSEWHERE):
                    if document.stem == "README" and command.startswith("pytest "):
                        # Written for a checkout, where pytest takes the folder from its configuration.
                        command = command.replace("pytest ", "pytest --pyargs conformance ")
                    yield pytest.param(command, id=f"{document.stem}: {line}")


#: Expression that narrows a run to one check, so that it is short.
SHORT = "test_accepted and createAccount"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A user's folder, with a target file for a running server and the results of two runs."""
    path = tmp_path_factory.mktemp("user")
    server, seeded = new_server()
    with served(server) as url:
        write_target(path / "target.toml", json.loads(json.dumps(target_tables(seeded, url))))
        run = f"pytest --pyargs conformance --target target.toml -k '{SHORT}'"
        assert called(run, path) == 0
        results = (path / "reports" / "results.json").read_text("utf-8")
        for name in ("before.json", "after.json"):
            (path / name).write_text(results, "utf-8")
        (path / "known.toml").write_text("", "utf-8")
        yield path


def called(command: str, folder: Path) -> int:
    """Returns the exit status of a command in a folder; fails on a traceback or a usage message."""
    words = shlex.split(command, comments=True)
    program = {"pytest": ["pytest", "-p", "no:cacheprovider"], "conformance": ["conformance.cli"]}[words[0]]
    done = executed(
        [sys.executable, "-m", *program, *words[1:]],
        folder,
        together=True,
        PYTHONPATH=str(ROOT),
        CONFORMANCE_TARGET="target.toml",
    )
    assert "Traceback" not in done.stdout and "usage:" not in done.stdout.lower(), done.stdout
    return done.returncode


#: Commands with tests of their own: they need a failure or an extra, or run until stopped.
ELSEWHERE = ("conformance load", "conformance serve")

#: Answers to the questions of `conformance init`.
ANSWERS = " --force --base-url http://127.0.0.1:8000 --primary-api-key key_1 --primary-customer-id cus_1"


@pytest.mark.parametrize("command", list(commands()))
def test_command_runs(command: str, folder: Path) -> None:
    if command.startswith(("pytest", "conformance test")):
        # Only the options are under test: do not run the whole suite again.
        command += " --markers"
    if command.startswith("conformance init"):
        command = command.replace("target.toml", "new.toml") + ANSWERS
    assert called(command, folder) in (0, 6)


@pytest.mark.parametrize("document", DOCUMENTS, ids=name)
def test_what_a_run_costs_is_stated_in_one_place(document: Path) -> None:
    """Numbers of requests and resources of a run stand in effort.md; the change log has those of its time."""
    text = document.read_text("utf-8")
    numbers = re.findall(r"\brun\b[^.|\n]*\b(?:sends?|leaves?|creates?)\b[^.|\n]{0,40}\b\d+,\d{3}\b", text)
    assert numbers == [] or document.name in ("effort.md", "CHANGELOG.md") or document.parent == ROOT / "spec"
