"""Errors of the suite itself: none is lost, and none loses what was judged elsewhere."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from conformance.reference.behaviour import Behaviour
from conformance.reference.context import Context
from conformance.reference.refusals import Refusal
from tests.support.mistakes import NoSignatureCheck
from tests.support.running import cells, run_against


class BareNotFound(Behaviour):
    """Answers 404 without the error envelope."""

    def error_document(self, ctx: Context, refusal: Refusal) -> Any:
        document = super().error_document(ctx, refusal)
        return {"detail": "Not found."} if self.refusal_status(ctx, refusal) == 404 else document


def test_requests_sent_while_every_answer_is_judged_lose_no_test(tmp_path: Path) -> None:
    """Whether an operation exists is asked by a request, which is judged like any other."""
    rules = "--rule error.shape@getBeneficiary --rule tenancy.missing-child@getBeneficiary"
    outcome = run_against(tmp_path, rules, BareNotFound())
    assert outcome.status == 1, outcome.output
    assert outcome.results["errors"] == [] and "RuntimeError" not in outcome.output
    assert ("error.shape", "getBeneficiary") in cells(outcome, "failed")
    assert ("tenancy.missing-child", "getBeneficiary") in cells(outcome, "passed", "failed")


# ---------------------------------------------------------------------- planted exceptions

#: Raises at the second call of a function in each process, at every one of a report's.
PLANTING = """
import importlib, itertools, os

def pytest_sessionstart(session):
    module, _, path = os.environ["PLACE"].partition(":")
    owner = importlib.import_module(module)
    *owners, name = path.split(".", 1) if "FORMATS" in path else path.split(".")
    for each in owners:
        owner = getattr(owner, each)
    calls = itertools.count(1)
    function = owner[name] if isinstance(owner, dict) else getattr(owner, name)

    def planted(*arguments, **options):
        if next(calls) == 2 or isinstance(owner, dict) or name in ("summary", "build_document", "stop"):
            raise ZeroDivisionError("planted")
        return function(*arguments, **options)

    if isinstance(owner, dict):
        owner[name] = planted
    else:
        setattr(owner, name, planted)
"""

TEST = r"test_\w+\[\w+\]: "

#: Where an exception is raised -> what it is told with.
PLACES = {
    "conformance.plugin.worker:steps_of": TEST,
    "conformance.judge.invariants:Invariants.inspect": TEST,
    "conformance.judge.ledger:Ledger.add": TEST,
    "conformance.judge.ledger:Ledger.to_json": TEST,
    "conformance.plugin.lanes:Lanes.outcome": TEST,
    "conformance.plugin.lanes:Lanes.stop": "the end of the run: ",
    "conformance.judge.ledger:Ledger.from_json": TEST,
    "conformance.plugin.session:build_document": "the verdict: ",
    "conformance.plugin.session:summary": "the terminal: ",
    "conformance.report.write:FORMATS.report.html": "report.html could not be made: ",
    "conformance.report.write:FORMATS.results.json": "results.json could not be made: ",
}

KNOWN = """
[[failure]]
rule = "auth.signature"
operation = "getBeneficiary"
reason = "mended in spring"
"""


@pytest.mark.parametrize(
    ("place", "spread"),
    [
        *((place, "--lanes 3") for place in PLACES),
        *(pytest.param(place, "-n 2", marks=pytest.mark.slow) for place in list(PLACES)[:7]),
        *((place, "--lanes 1") for place in PLACES if "Lanes." in place),
    ],
)
def test_an_exception_is_named_and_what_was_judged_stays(place: str, spread: str, tmp_path: Path) -> None:
    told = re.compile(f"{PLACES[place]}.*ZeroDivisionError: planted")
    if "--lanes 3" not in spread:
        place = place.replace(":Lanes.", ":OneLane.")
    (tmp_path / "planting.py").write_text(PLANTING)
    (tmp_path / "known.toml").write_text(KNOWN)
    options = f"--rule auth.header-case --rule auth.signature@getBeneficiary -p planting {spread}"
    if spread == "-n 2":
        options += f" --known-failures {tmp_path / 'known.toml'}"
    outcome = run_against(
        tmp_path, options, NoSignatureCheck(), variables={"PLACE": place, "PYTHONPATH": str(tmp_path)}
    )
    assert outcome.status == 3, outcome.output
    # The terminal wraps its lines.
    assert re.search(told.pattern.replace(" ", ""), "".join(outcome.output.split())), outcome.output
    if "results.json" not in place and "build_document" not in place:
        assert any(told.search(error) for error in outcome.results["errors"]), outcome.results["errors"]
        assert outcome.results["verdict"]["exit_status"] == 3
        assert ("auth.header-case", "listWallets") in cells(outcome, "passed")
        assert ("auth.signature", "getBeneficiary") in cells(outcome, "failed")
    if "html" not in place and "build_document" not in place:
        assert "ZeroDivisionError: planted" in (outcome.folder / "report.html").read_text("utf-8")
    if "summary" not in place and "build_document" not in place:
        assert "Exit status 3." in " ".join(outcome.output.split())
