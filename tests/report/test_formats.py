"""JUnit, SARIF and Markdown, read by other programs."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft4Validator
from junitparser import JUnitXml
from lxml import etree

from conformance.contract.rules import RULES, Level
from conformance.judge.findings import Verdict
from conformance.judge.ledger import Ledger
from conformance.report.document import Document, KnownFailureRecord
from conformance.report.junit import junit
from conformance.report.known_failures import KnownFailures
from conformance.report.markdown import code, markdown, plain
from conformance.report.sarif import FINGERPRINT, sarif
from tests.support.report_samples import WALK, document, exchange, finding, keep, whole_run

HOSTILE = "<script>alert(1)</script>]]>\x00\x1b[31m\ud800\ufffe & \"'` | @someone [x](javascript:y)"


@pytest.fixture(scope="module")
def made() -> Document:
    """A document with one cell of each verdict, a known failure among them, and hostile texts."""
    results = whole_run(
        {("list.stable", "listWallets"): Verdict.NOT_RUN},
        finding(
            *WALK,
            Verdict.FAILED,
            got=HOSTILE,
            expected=HOSTILE,
            summary=HOSTILE,
            further=[HOSTILE],
            exchanges=[1],
        ),
        finding("list.pages", "listWallets", Verdict.FAILED),
        finding("list.echo", "listWallets", Verdict.INCONCLUSIVE, summary=HOSTILE, remedy=HOSTILE),
        finding("list.empty", "listWallets", Verdict.ERROR, summary=HOSTILE),
        finding("auth.unknown-key-status", "listWallets", Verdict.WARNING, got=HOSTILE),
        finding("http.success-status", "listWallets", Verdict.OBSERVED, observations={HOSTILE: HOSTILE}),
    )
    keep(
        results, exchange(1, HOSTILE.encode("utf-8", "surrogatepass"), response_headers=[(HOSTILE, HOSTILE)])
    )
    known = KnownFailures([KnownFailureRecord(3, "list.pages", "listWallets", HOSTILE, None)], "known.toml")
    return document(results, known=known, options={"target": HOSTILE})


# ---------------------------------------------------------------------- JUnit


def test_junit_states_the_numbers_that_a_reader_counts(made: Document) -> None:
    read = JUnitXml.fromstring(junit(made).encode())
    stated = [(one.tests, one.failures, one.errors, one.skipped) for one in read]
    # One test for each cell, and one for the verdict, which fails only if no cell does.
    assert (read.tests, read.failures, read.errors) == (len(made.cells) + 1, made.verdict.failures, 1)
    # junitparser has no type annotations.
    read.update_statistics()  # type: ignore[no-untyped-call]
    assert [(one.tests, one.failures, one.errors, one.skipped) for one in read] == stated
    assert (read.tests, read.failures, read.errors) == (len(made.cells) + 1, 1, 1)


def test_junit_has_one_suite_for_each_area_and_no_two_cases_of_one_name(made: Document) -> None:
    root = etree.fromstring(junit(made).encode())
    areas = list(dict.fromkeys(rule.partition(".")[0] for rule in RULES))
    assert [run.get("name") for run in root] == [*areas, "verdict"]
    names = [(case.get("classname"), case.get("name")) for case in root.iter("testcase")]
    assert len(set(names)) == len(names)
    case = root.find(".//testcase[@name='list.walk [listWallets]']")
    assert case.get("classname") == "list.walk"
    assert case.find("failure").get("type") == "required"


def test_known_failures_and_inconclusive_cases_are_skipped_with_their_reason(made: Document) -> None:
    root = etree.fromstring(junit(made).encode())

    def skipped(rule: str) -> str:
        return str(root.find(f".//testcase[@name='{rule} [listWallets]']/skipped").get("message"))

    assert skipped("list.pages").startswith("known failure: <script>")
    assert skipped("list.echo").startswith("inconclusive: <script>")
    assert skipped("list.stable") == "not run"


def test_junit_leaves_out_what_the_user_left_out() -> None:
    results = Ledger.of_catalogue(None)
    results.add(finding(*WALK, Verdict.PASSED))
    results.narrowed = ["-k walk"]
    root = etree.fromstring(junit(document(results, None)).encode())
    assert len(root.findall(".//testcase")) == 2


def test_an_incomplete_run_is_no_success_in_junit() -> None:
    text = junit(document(whole_run({WALK: Verdict.INCONCLUSIVE})))
    parsed = JUnitXml.fromstring(text.encode())
    assert (parsed.failures, parsed.errors) == (1, 0)
    assert "verdict: incomplete" in text


# ---------------------------------------------------------------------- SARIF


def test_sarif_keeps_to_what_its_schema_cannot_say(made: Document) -> None:
    [run] = json.loads(sarif(made))["runs"]
    rules = run["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == [*RULES, "operation.missing"]
    assert len({rule["name"] for rule in rules}) == len(rules)
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        # Section 3.27.10: kind fail if and only if a level other than none.
        assert (result["kind"] == "fail") == (result["level"] != "none")
        [location] = result["locations"]
        assert re.fullmatch(r"[A-Za-z0-9%/._~-]+", location["physicalLocation"]["artifactLocation"]["uri"])
        assert location["logicalLocations"][0]["fullyQualifiedName"] == "listWallets"
    assert len({result["partialFingerprints"][FINGERPRINT] for result in run["results"]}) == len(
        run["results"]
    )


def test_sarif_tells_known_failures_and_warnings_apart(made: Document) -> None:
    results = {load["ruleId"]: load for load in json.loads(sarif(made))["runs"][0]["results"]}
    assert set(results) == {"list.walk", "list.pages", "auth.unknown-key-status"}
    assert results["list.walk"]["level"] == "error"
    assert results["auth.unknown-key-status"]["level"] == "warning"
    assert "suppressions" in results["list.pages"]


def test_a_fingerprint_is_the_same_from_run_to_run() -> None:
    def fingerprint(got: str) -> Any:
        log = json.loads(sarif(document(whole_run(None, finding(*WALK, Verdict.FAILED, got=got)))))
        return log["runs"][0]["results"][0]["partialFingerprints"]

    assert fingerprint("one") == fingerprint("another")


# ---------------------------------------------------------------------- causes in both formats

SCHEMAS = Path(__file__).parent / "schemas"
PAGES = "list.pages"


@pytest.fixture(scope="module")
def caused() -> Document:
    """list.pages broken on two operations, with consequences, an inconclusive cell, and no createPayin."""
    results = whole_run(
        {
            (PAGES, "listAccounts"): Verdict.FAILED,
            (PAGES, "listWallets"): Verdict.FAILED,
            WALK: Verdict.FAILED,
            ("list.echo", "listWallets"): Verdict.INCONCLUSIVE,
        }
    )
    results.missing["createPayin"] = "404 not_found_error/resource_not_found"
    return document(results, options={"target": "conformance/target.toml"})


@pytest.mark.parametrize("name", ["made", "caused"])
def test_sarif_is_valid_by_its_schema(name: str, request: pytest.FixtureRequest) -> None:
    schema = json.loads((SCHEMAS / "sarif-2.1.0.json").read_text("utf-8"))
    Draft4Validator.check_schema(schema)
    Draft4Validator(schema).validate(json.loads(sarif(request.getfixturevalue(name))))


@pytest.mark.parametrize("name", ["made", "caused"])
def test_junit_is_valid_by_the_schema_of_jenkins(name: str, request: pytest.FixtureRequest) -> None:
    schema = etree.parse(SCHEMAS / "junit-10.xsd")
    # GitLab reads one more attribute, from pytest's older format.
    case = schema.find(".//{*}element[@name='testcase']/{*}complexType")
    etree.SubElement(case, f"{{{etree.QName(case).namespace}}}attribute", name="file", type="xs:string")
    root = etree.fromstring(junit(request.getfixturevalue(name)).encode())
    etree.XMLSchema(schema).assertValid(root)


def test_sarif_has_one_result_a_cause_with_all_that_followed(caused: Document) -> None:
    cause, missing = json.loads(sarif(caused))["runs"][0]["results"]
    assert (cause["ruleId"], cause["level"]) == (PAGES, "error")
    assert cause["properties"]["operations"] == ["listAccounts", "listWallets"]
    assert cause["properties"]["alsoFailed"] == ["list.walk@listWallets"]
    assert "[listWallets](1)" in cause["message"]["text"] and "list.walk on" in cause["message"]["text"]
    [related] = cause["relatedLocations"]
    assert (related["id"], related["logicalLocations"][0]["fullyQualifiedName"]) == (1, "listWallets")
    assert (missing["ruleId"], missing["properties"]["operations"]) == ("operation.missing", ["createPayin"])


def test_no_two_operations_have_one_fingerprint() -> None:
    def fingerprint(*operations: str) -> str:
        cells = {(PAGES, operation): Verdict.FAILED for operation in operations}
        [result] = json.loads(sarif(document(whole_run(cells))))["runs"][0]["results"]
        return str(result["partialFingerprints"][FINGERPRINT])

    assert (
        len(
            {
                fingerprint("listAccounts"),
                fingerprint("listWallets"),
                fingerprint("listAccounts", "listWallets"),
            }
        )
        == 3
    )


def test_every_rule_of_sarif_has_what_github_shows(caused: Document) -> None:
    for rule in json.loads(sarif(caused))["runs"][0]["tool"]["driver"]["rules"]:
        assert rule["fullDescription"]["text"] and rule["help"]["text"]
        assert len(rule["fullDescription"]["text"]) <= 1024
        assert rule["properties"]["problem.severity"] in ("error", "warning", "recommendation")


def test_a_consequence_of_a_known_failure_is_reported_separately() -> None:
    known = KnownFailures([KnownFailureRecord(3, "list.pages", "listWallets", "later", None)], "known.toml")
    followed = finding(*WALK, Verdict.FAILED, cause="list.pages")
    pages = finding("list.pages", "listWallets", Verdict.FAILED)
    made = document(whole_run(None, pages, followed), known=known)
    assert made.verdict.exit_status == 1
    results = json.loads(sarif(made))["runs"][0]["results"]
    assert {result["ruleId"]: "suppressions" in result for result in results} == {
        PAGES: True,
        "list.walk": False,
    }
    root = etree.fromstring(junit(made).encode())
    assert [failure.getparent().get("name") for failure in root.iter("failure")] == [
        "list.walk [listWallets]"
    ]


def test_what_a_server_says_makes_no_link_in_sarif(made: Document) -> None:
    texts = [result["message"]["text"] for result in json.loads(sarif(made))["runs"][0]["results"]]
    assert any("\\[x\\](javascript:y)" in text for text in texts)
    assert not any(re.search(r"(?<!\\)\[x", text) for text in texts)


def test_junit_has_one_failure_a_cause_and_the_others_name_it(caused: Document) -> None:
    root = etree.fromstring(junit(caused).encode())
    failed = {failure.getparent().get("name"): failure.get("message") for failure in root.iter("failure")}
    assert set(failed) == {"list.pages [listAccounts]", "createPayin"}
    assert "(2 other cases of this cause failed, too)" in failed["list.pages [listAccounts]"]
    for name in ("list.pages [listWallets]", "list.walk [listWallets]"):
        message = root.find(f".//testcase[@name='{name}']/skipped").get("message")
        assert message.startswith("failed, too: see list.pages [listAccounts]; expected ")
    assert "3 cases failed, from 1 cause" in root.find("testsuite[@name='verdict']/testcase/system-out").text
    assert root.get("failures") == "2"


@pytest.mark.parametrize(
    ("target", "file"),
    [
        ("ci/target.toml", "ci/target.toml"),
        ("/home/me/target.toml", "conformance/checks/test_lists.py"),
        ("../target.toml", "conformance/checks/test_lists.py"),
        ("embedded", "conformance/checks/test_lists.py"),
    ],
)
def test_junit_names_a_file_that_can_be_linked_to(target: str, file: str) -> None:
    root = etree.fromstring(junit(document(whole_run(), options={"target": target})).encode())
    assert root.find(".//testcase[@name='list.walk [listWallets]']").get("file") == file


# ---------------------------------------------------------------------- Markdown


def test_hostile_text_is_escaped_in_markdown(made: Document) -> None:
    text = markdown(made)
    outside = re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)", "", text)
    assert not re.search(r"(?<!\\)<script", outside)
    assert not re.search(r"(?<!\\)@someone", outside)
    assert not re.search(r"(?<!\\)\]\(javascript", outside)
    assert "\x00" not in text
    assert "\x1b" not in text


@pytest.mark.parametrize("text", ["plain", "`", "``a`", "a`b``c```d", "", " ", "a|b", "line\nline"])
def test_a_code_span_holds_whatever_it_is_given(text: str) -> None:
    span = code(text)
    ticks = re.match("`+", span)
    if ticks:
        inner = span[len(ticks[0]) : -len(ticks[0])]
        assert ticks[0] not in re.findall("`+", inner)
        assert span.endswith(ticks[0])
    assert "\n" not in span


def test_plain_text_is_escaped_only_where_needed() -> None:
    assert plain("The server conforms, 3 of 4 rules") == "The server conforms, 3 of 4 rules"
    assert plain("<b> & *x*") == r"\<b\> \& \*x\*"


def test_tables_have_as_many_columns_in_every_row(made: Document) -> None:
    tables = re.findall(r"(?:^\|.*\n)+", markdown(made), re.MULTILINE)
    assert tables
    for table in tables:
        assert len({len(re.findall(r"(?<!\\)\|", row)) for row in table.splitlines()}) == 1


def test_the_badge_says_how_many_rules_are_broken() -> None:
    from conformance.report.write import badge

    cells = {("list.walk", operation): Verdict.FAILED for operation in RULES["list.walk"].operations}
    assert "1 rule broken" in badge(document(whole_run(cells)))
    both = document(whole_run({**cells, ("auth.unknown-key-status", "listWallets"): Verdict.WARNING}))
    assert "1 rule broken" in badge(both)
    assert "conforms" in badge(document(whole_run()))
    strict = document(
        whole_run({("auth.unknown-key-status", "listWallets"): Verdict.WARNING}), fail_on=Level.IMPLIED
    )
    assert "1 rule broken" in badge(strict)


def test_sarif_has_an_error_for_what_a_warning_led_to() -> None:
    cause = finding("fields.currency-kind", "createWallet", Verdict.WARNING)
    led_to = finding("fields.type", "createWallet", Verdict.FAILED, cause="fields.currency-kind")
    log = json.loads(sarif(document(whole_run(None, cause, led_to))))
    levels = {result["ruleId"]: result["level"] for result in log["runs"][0]["results"]}
    assert levels == {"fields.currency-kind": "warning", "fields.type": "error"}
