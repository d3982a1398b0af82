"""The outcomes of tests in pytest's own words, and what its reports have of them."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from typing import Any

import pytest

from conformance.judge.ledger import Ledger
from conformance.judge.verdicts import Verdict
from conformance.plugin.session import Session, job_named
from conformance.plugin.worker import JobOutcome
from conformance.reference.behaviour import Behaviour
from conformance.reference.context import Context
from tests.support.report_samples import judged
from tests.support.running import cells, run_against

KNOWN = '[[failure]]\nrule = "auth.signature"\noperation = "getBeneficiary"\nreason = "mended in spring"\n'


class Careless(Behaviour):
    """Breaks auth.signature, which is required, on two operations, and format.iban, which is implied."""

    def signatures_equal(self, ctx: Context, expected: str, presented: str) -> bool:
        careless = ctx.operation in ("getBeneficiary", "listWallets")
        return careless or super().signatures_equal(ctx, expected, presented)


@pytest.fixture(scope="module", params=["", "-n 2"], ids=["lanes", "processes"])
def junit(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Any]:
    """A run with a known failure, an unknown one and an operation that the server lacks on purpose; the cases
    of pytest's JUnit report, by name."""
    folder = tmp_path_factory.mktemp("words")
    (folder / "known.toml").write_text(KNOWN)
    rules = "--rule auth.signature@getB* --rule auth.signature@listW* --rule fields.payin-amount-positive"
    options = (
        f"{rules} -rsx --junitxml {folder}/junit.xml --known-failures {folder}/known.toml {request.param}"
    )

    def no_payins(tables: dict[str, Any]) -> None:
        tables["features"]["payins"] = False

    outcome = run_against(folder, options, Careless(), no_payins)
    cases = ET.parse(folder / "junit.xml").getroot().iter("testcase")
    return outcome, {case.attrib["name"]: case for case in cases}


def test_failed_skipped_and_xfailed_are_counted_as_tests(junit: Any) -> None:
    outcome, _ = junit
    assert outcome.status == 1, outcome.output
    last = outcome.output.splitlines()[-1]
    assert "1 failed" in last and "1 skipped" in last and "1 xfailed" in last, last
    assert "XFAIL" in outcome.output and "known failure: mended in spring" in outcome.output
    assert "SKIPPED [1]" in outcome.output and "payins" in outcome.output
    assert cells(outcome, "failed") == {
        ("auth.signature", "getBeneficiary"),
        ("auth.signature", "listWallets"),
    }


def test_each_check_has_its_rules_in_the_junit_report(junit: Any) -> None:
    outcome, cases = junit
    assert not any(
        "ledger" in each.attrib["name"] for case in cases.values() for each in case.iter("property")
    )
    case = cases["test_signatures_of_another_making[listWallets]"]
    assert {each.attrib["name"]: each.attrib["value"] for each in case.iter("property")} == {
        "operation": "listWallets",
        "rule": "auth.signature",
        "level": "required",
        "section": "5.3, 5.4.4",
        "verdict": "failed",
    }
    assert case.find("failure") is not None and float(case.attrib["time"]) < outcome.results["run"]["seconds"]


def test_an_outcome_is_that_of_the_most_severe_cell() -> None:
    def verdict(*verdicts: Verdict, every: Verdict | None = None) -> str:
        own = [
            judged(rule, "listWallets", each)
            for rule, each in zip(("list.walk", "list.pages"), verdicts, strict=False)
        ]
        ledger = Ledger(cells=list(own))
        if every is not None:
            ledger.add(judged("error.shape", "listWallets", every, check="every response"))
        return JobOutcome(ledger, own).verdict

    assert verdict(Verdict.PASSED, Verdict.INCONCLUSIVE) == "inconclusive"
    assert verdict(Verdict.INCONCLUSIVE, Verdict.FAILED) == "failed"
    assert verdict(Verdict.NOT_APPLICABLE, every=Verdict.PASSED) == "not applicable"
    assert verdict(Verdict.PASSED, every=Verdict.FAILED) == "failed"
    assert verdict(every=Verdict.PASSED) == "passed"
    assert verdict() == "no occasion"


# ---------------------------------------------------------------------- processes that die


@pytest.mark.parametrize("folder", ["", "conformance/", "../site-packages/conformance/"])
def test_a_check_is_found_by_its_node_id(folder: str) -> None:
    job = job_named(f"{folder}checks/test_authentication.py::test_header_names_in_any_case[listWallets]")
    assert job is not None and job.title == "test_authentication.test_header_names_in_any_case[listWallets]"
    assert job_named("own/test_authentication.py::test_header_names_in_any_case[listWallets]") is None


@pytest.mark.parametrize(
    ("test", "rule"),
    [
        ("checks/test_authentication.py::test_header_names_in_any_case[listWallets]", "auth.header-case"),
        ("fuzz/test_fuzz.py::test_schema_fuzzing[listWallets]", "http.success-json"),
    ],
)
def test_a_check_that_died_with_its_process_is_inconclusive(test: str, rule: str) -> None:
    session, report = (
        Session.__new__(Session),
        pytest.TestReport(test, (test, 0, test), {}, "failed", "", "call"),
    )
    session.ledger = Ledger()
    session.lose(report)
    assert report.skipped and "died" in str(report.longrepr)
    cell = session.ledger.cell(rule, "listWallets")
    assert (cell.verdict, cell.decisive.remedy) == (Verdict.INCONCLUSIVE, "Run it again.")
