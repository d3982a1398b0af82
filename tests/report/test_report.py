"""Reports: the same verdict in every format, and what each format owes its readers."""

from __future__ import annotations

import html as html_module
import json
import os
import re
import stat
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import date
from pathlib import Path
from typing import Any, get_args, get_type_hints
from xml.etree import ElementTree

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from conformance.contract.rules import RULES, SPEC, Level
from conformance.harness.exploration import FuzzSettings
from conformance.judging.findings import Finding, Verdict
from conformance.plugin.worker import Worker
from conformance.report import write
from conformance.report.terminal import summary
from conformance.report.write import FORMATS, WriteProblem, write_all
from conformance.results import evidence
from conformance.results.building import build
from conformance.results.causes import causes
from conformance.results.codec import from_json, to_json
from conformance.results.document import Document, ExchangeRecord
from conformance.results.known_failures import Entry, KnownFailures
from conformance.results.latency import latency
from conformance.results.model import Results, Timing
from conformance.results.outcome import EXIT_STATUS, decide
from conformance.results.pinned_choices import PinnedChoices
from conformance.target.file import Features, Target
from tests.support.report_samples import (
    API_KEY,
    SECRET,
    TARGET,
    document,
    exchange,
    finding,
    keep,
    run_info,
    whole_run,
)

SCHEMA = Draft202012Validator(json.loads((SPEC / "results.schema.json").read_text("utf-8")))
WALK = ("list.walk", "listWallets")

CELLS = [(rule.id, operation) for rule in RULES.values() for operation in rule.operations]
_JUDGED = [cell for cell in CELLS if RULES[cell[0]].level is not Level.OPEN]
#: Verdicts that a run can give to a cell.
_VERDICTS = (
    Verdict.INCONCLUSIVE,
    Verdict.NOT_RUN,
    Verdict.PASSED,
    Verdict.ERROR,
    Verdict.FAILED,
    Verdict.WARNING,
)


@st.composite
def runs(draw: st.DrawFn) -> tuple[Results, dict[str, Any]]:
    """Results of any kind, and how the run went."""
    most_severe = draw(st.sampled_from(_VERDICTS))
    chosen = draw(
        st.dictionaries(
            st.sampled_from(_JUDGED), st.just(most_severe) | st.sampled_from(_VERDICTS[:3]), max_size=6
        )
    )
    findings = []
    for (rule, operation), verdict in chosen.items():
        if verdict.is_violation:
            verdict = Verdict.WARNING if RULES[rule].level is Level.IMPLIED else Verdict.FAILED
        if verdict is not Verdict.NOT_RUN:
            cause = draw(st.sampled_from(["", *sorted({cell[0] for cell in chosen})]))
            text = draw(
                st.sampled_from(
                    ["201 with a JSON body", "401 without error type and code", "<b>&\x00\ud800|`"]
                )
            )
            findings.append(finding(rule, operation, verdict, cause=cause, got=text))
    answers = draw(st.sampled_from(["200", "201"]))
    findings.append(
        finding("http.success-status", "createAccount", Verdict.OBSERVED, observations={"status": answers})
    )
    left_out = {cell: Verdict.NOT_RUN for cell, verdict in chosen.items() if verdict is Verdict.NOT_RUN}
    results = whole_run(left_out, *findings)
    results.selection = draw(st.sampled_from(["", "", "-k auth"]))
    results.lost = draw(st.sampled_from(["", "", "", "the server stopped answering"]))
    results.errors += draw(st.sampled_from([[], [], [], ["a check raised KeyError"]]))
    entries = [
        Entry(index, *cell, "reason", draw(st.sampled_from([None, date(2020, 1, 1)])))
        for index, cell in enumerate(
            draw(st.lists(st.sampled_from(sorted(chosen) or _JUDGED[:3]), unique=True, max_size=2))
        )
    ]
    return results, {
        "fail_on": draw(st.sampled_from([Level.REQUIRED, Level.IMPLIED])),
        "interrupted": draw(st.sampled_from(["", "", "", "stopped from the keyboard"])),
        "known": draw(st.sampled_from([None, KnownFailures(entries, "known.toml")])),
        "pinned": draw(
            st.sampled_from(
                [None, PinnedChoices({("http.success-status", "createAccount", "status"): "201"})]
            )
        ),
    }


def test_several_verdicts_come_to_the_most_severe() -> None:
    assert Verdict.most_severe([Verdict.PASSED, Verdict.INCONCLUSIVE, Verdict.WARNING]) is Verdict.WARNING
    assert Verdict.most_severe([Verdict.PASSED, Verdict.OBSERVED]) is Verdict.OBSERVED
    assert Verdict.most_severe([]) is None


@settings(max_examples=4, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(runs())
def test_documents_fit_their_schema(run: tuple[Results, dict[str, Any]]) -> None:
    results, how = run
    SCHEMA.validate(document(results, **how).to_json())


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(runs())
def test_every_format_gives_the_verdict_of_the_exit_status(run: tuple[Results, dict[str, Any]]) -> None:
    results, how = run
    made = document(results, **how)
    verdict = made.verdict
    status, sentence = verdict.exit_status, verdict.sentence
    assert EXIT_STATUS[verdict.name] == status
    assert decide(results, **how).exit_status == status
    assert decide(results, **how).sentence == sentence

    texts = {name: make(made) for name, (_, make) in FORMATS.items()}
    assert json.loads(texts["json"])["verdict"] == made.to_json()["verdict"]
    log = json.loads(texts["sarif"])["runs"][0]
    assert log["invocations"][0]["exitCode"] == status
    assert log["invocations"][0]["exitCodeDescription"] == sentence
    if verdict.name == "violations":
        assert any(result["level"] == "error" and "suppressions" not in result for result in log["results"])
    cases = list(ElementTree.fromstring(texts["junit"]).iter("testcase"))
    assert any(case.find("failure") is not None or case.find("error") is not None for case in cases) == (
        status != 0
    )
    assert f"exit status {status}," in texts["markdown"]
    assert f"conformance: {verdict.title}" in texts["markdown"]
    page = html_module.unescape(texts["html"])
    assert f"Exit status {status} ·" in page
    assert sentence in page
    ElementTree.fromstring(texts["badge"])
    lines = [line for line, _ in summary(made, folder=None, width=10_000, verbose=False)]
    assert f"{sentence} Exit status {status}." in lines
    assert any(line.startswith("::error ") for line in write.annotations(made)) == (status != 0)


@pytest.mark.parametrize(
    ("verdicts", "how", "status"),
    [
        ({}, {}, 0),
        ({WALK: Verdict.FAILED}, {}, 1),
        ({WALK: Verdict.INCONCLUSIVE}, {}, 6),
        ({WALK: Verdict.NOT_RUN}, {}, 6),
        ({WALK: Verdict.ERROR}, {}, 3),
        ({("auth.unknown-key-status", "listAccounts"): Verdict.WARNING}, {}, 0),
        ({("auth.unknown-key-status", "listAccounts"): Verdict.WARNING}, {"fail_on": Level.IMPLIED}, 1),
        ({("auth.unknown-key-status", "listAccounts"): Verdict.INCONCLUSIVE}, {}, 0),
        ({("auth.unknown-key-status", "listAccounts"): Verdict.INCONCLUSIVE}, {"fail_on": Level.IMPLIED}, 6),
        ({("auth.precedence", "listAccounts"): Verdict.INCONCLUSIVE}, {"fail_on": Level.IMPLIED}, 0),
        ({WALK: Verdict.FAILED}, {"interrupted": "by the user"}, 2),
        ({}, {"interrupted": "by the user"}, 2),
    ],
)
def test_exit_status(verdicts: Mapping[tuple[str, str], Verdict], how: dict[str, Any], status: int) -> None:
    assert decide(whole_run(verdicts), **{"fail_on": Level.REQUIRED, **how}).exit_status == status


def test_a_run_that_exercised_nothing_does_not_conform() -> None:
    nothing = Results(TARGET)
    assert decide(nothing, Level.REQUIRED).exit_status == 6
    nothing.selection = "-k nothing"
    assert decide(nothing, Level.REQUIRED).exit_status == 6


def test_what_the_user_left_out_is_named_and_not_held_against_the_server() -> None:
    results = whole_run({WALK: Verdict.NOT_RUN})
    results.selection = "-m 'not fuzz'"
    assert decide(results, Level.REQUIRED).exit_status == 0
    assert "-m 'not fuzz'" in decide(results, Level.REQUIRED).sentence
    assert "conforms" not in decide(results, Level.REQUIRED).sentence


def test_a_lost_server_never_conforms() -> None:
    results = whole_run()
    results.lost = "no answer to ten requests"
    assert decide(results, Level.REQUIRED).exit_status == 6
    assert "no answer to ten requests" in decide(results, Level.REQUIRED).sentence
    broken = whole_run({WALK: Verdict.FAILED})
    broken.lost = results.lost
    assert decide(broken, Level.REQUIRED).exit_status == 1
    assert decide(broken, Level.REQUIRED, interrupted=results.lost).exit_status == 1


def test_what_the_target_file_declares_absent_neither_fails_nor_is_missing() -> None:
    bare = Target("http://sandbox.test", TARGET.primary, None, Features(payouts=False, secondary=False))
    assert decide(whole_run(target=bare), Level.IMPLIED).exit_status == 0


# ---------------------------------------------------------------------- causes


def test_a_rule_on_several_operations_is_one_cause() -> None:
    cells = {
        ("auth.signature", operation): Verdict.FAILED
        for operation in RULES["auth.signature"].operations
        if operation != "createPayin"
    }
    [cause] = causes(whole_run(cells))
    assert (cause.rule, len(cause.cells), cause.consequences) == ("auth.signature", 15, [])


def test_rules_that_follow_are_taken_along_on_the_same_operation_only() -> None:
    results = whole_run(
        {
            ("auth.nonce-replay", "createAccount"): Verdict.FAILED,
            ("auth.nonce-replay-idempotent", "createAccount"): Verdict.FAILED,
            ("auth.nonce-replay-idempotent", "createWallet"): Verdict.FAILED,
        }
    )
    first, second = causes(results)
    assert {(first.rule, first.cells[0].operation), (second.rule, second.cells[0].operation)} == {
        ("auth.nonce-replay", "createAccount"),
        ("auth.nonce-replay-idempotent", "createWallet"),
    }
    taken = next(cause for cause in (first, second) if cause.rule == "auth.nonce-replay").consequences
    assert [(cell.rule, cell.operation) for cell in taken] == [
        ("auth.nonce-replay-idempotent", "createAccount")
    ]


def test_a_chain_of_causes_ends_at_its_start() -> None:
    cells = [(rule, "listWallets") for rule in ("list.pages", "list.walk", "list.race")]
    [cause] = causes(whole_run(dict.fromkeys(cells, Verdict.FAILED)))
    assert cause.rule == "list.pages"
    assert {cell.rule for cell in cause.consequences} == {"list.walk", "list.race"}


def test_what_a_violation_kept_from_being_judged_stands_with_it() -> None:
    blocked = finding("list.walk", "listWallets", Verdict.INCONCLUSIVE, cause="http.no-server-error")
    results = whole_run({("http.no-server-error", "createWallet"): Verdict.FAILED}, blocked)
    [cause] = causes(results)
    assert [cell.rule for cell in cause.consequences] == ["list.walk"]


def test_a_refusal_of_the_wrong_shape_explains_no_acceptance() -> None:
    shape = {("error.shape", "listAccounts"): Verdict.FAILED}
    unshaped = finding(
        "auth.signature",
        "listAccounts",
        Verdict.FAILED,
        got="401 without error type and code",
        without_error_body=True,
    )
    accepted = finding("auth.signature", "listAccounts", Verdict.FAILED, got="200 with a JSON body")
    assert [cause.rule for cause in causes(whole_run(shape, unshaped))] == ["error.shape"]
    assert {cause.rule for cause in causes(whole_run(shape, accepted))} == {"error.shape", "auth.signature"}


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(runs())
def test_every_violation_is_in_exactly_one_cause(run: tuple[Results, dict[str, Any]]) -> None:
    results, _ = run
    found = causes(results)
    grouped = [
        (cell.rule, cell.operation)
        for cause in found
        for cell in [*cause.cells, *cause.consequences]
        if cell.verdict.is_violation
    ]
    assert sorted(grouped) == sorted(key for key, cell in results.cells.items() if cell.verdict.is_violation)
    assert all(cause.cells for cause in found)
    assert all(cell.rule == cause.rule for cause in found for cell in cause.cells)


def test_a_rule_about_other_operations_is_followed_wherever_it_is_broken() -> None:
    [cause] = causes(
        whole_run(
            {
                ("idempotency.conflict", "createWallet"): Verdict.FAILED,
                ("idempotency.conflict-no-body", "disableBeneficiary"): Verdict.WARNING,
            }
        )
    )
    assert (cause.rule, len(cause.consequences)) == ("idempotency.conflict", 1)


def test_no_rule_follows_itself_in_a_circle_and_open_ones_follow_nothing() -> None:
    for rule in RULES.values():
        assert not rule.follows or rule.level is not Level.OPEN
        assert all(RULES[follow].level is not Level.OPEN for follow in rule.follows)
        seen: set[str] = set()
        todo = list(rule.follows)
        while todo:
            follow = todo.pop()
            assert follow != rule.id
            if follow not in seen:
                seen.add(follow)
                todo += RULES[follow].follows


# ---------------------------------------------------------------------- what a document holds


def test_exchanges_are_kept_once_and_only_as_evidence() -> None:
    results = whole_run(
        None,
        finding(*WALK, Verdict.FAILED, exchanges=[3, 1]),
        finding("list.pages", "listWallets", Verdict.FAILED, exchanges=[3]),
        finding("list.stable", "listWallets", Verdict.PASSED, exchanges=[4, 5]),
    )
    keep(results, *(exchange(number) for number in range(1, 8)))
    made = document(results)
    assert list(made.exchanges) == ["1", "3", "4"]
    assert sum(row.exchanges for row in made.latency) == 7
    SCHEMA.validate(made.to_json())


def test_no_format_shows_a_secret_or_a_whole_key(tmp_path: Path) -> None:
    body = json.dumps({"secret": SECRET, "key": API_KEY}).encode()
    text = f"the server said {SECRET} and {API_KEY}"
    worker = Worker(TARGET, index=0, workers=1, settings=FuzzSettings(1), replay_folder=tmp_path)
    worker.run.record[1] = exchange(1, body, response_headers=[("x-echo", SECRET)])
    worker.run.lost = text
    payload = worker.payload(
        "sample",
        [
            finding(
                *WALK, Verdict.FAILED, exchanges=[1], expected=text, got=text, summary=text, further=[text]
            ),
            finding("http.success-status", "createAccount", Verdict.OBSERVED, observations={text: text}),
        ],
    )
    results = whole_run(None, *map(Finding.from_plain, payload["findings"]))
    for plain in payload["exchanges"]:
        results.exchanges[plain["number"]] = from_json(ExchangeRecord, plain)
    results.lost = payload["lost"]
    made = document(results, options={"target": text}, interrupted=text)
    for name, (_, make) in FORMATS.items():
        shown = make(made)
        # Not `in` alone: pytest would compare megabytes of text to explain it.
        assert shown.count(SECRET) == 0, name
        assert shown.count(API_KEY) == 0, name


def test_of_many_exchanges_those_that_decide_violations_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    results = whole_run(
        None,
        finding("list.stable", "listWallets", Verdict.PASSED, exchanges=[1]),
        finding(*WALK, Verdict.FAILED, exchanges=[2, 3]),
        finding("list.pages", "listWallets", Verdict.FAILED, exchanges=[4, 5]),
    )
    keep(results, *(exchange(number) for number in range(1, 6)))
    size = len(json.dumps(to_json(results.exchanges[1])))
    monkeypatch.setattr(evidence, "DOCUMENT_EXCHANGES", int(2.5 * size))
    assert list(document(results).exchanges) == ["2", "4"]
    monkeypatch.setattr(evidence, "DOCUMENT_EXCHANGES", int(4.5 * size))
    made = document(results)
    assert list(made.exchanges) == ["2", "3", "4", "5"]
    assert all(isinstance(make(made), str) for _, make in FORMATS.values())


def test_bodies_and_texts_are_bounded() -> None:
    results = whole_run(
        None, finding(*WALK, Verdict.FAILED, exchanges=[1], got="x" * 10**6, further=["y" * 10**6] * 50)
    )
    keep(results, exchange(1, b'"' + b"z" * 10**6 + b'"'))
    made = document(results)
    assert len(json.dumps(made.to_json()["exchanges"])) < 20_000
    assert made.exchanges["1"].response_body.size == 10**6 + 2
    assert all(len(make(made)) < 2_000_000 for _, make in FORMATS.values())


def test_latency_counts_every_exchange_and_no_missing_answer_as_a_time() -> None:
    timings = [Timing("createAccount", 201, 0, seconds) for seconds in (0.0005, 0.001, 0.0011, 0.3, 60.0)]
    [row, other] = latency([*timings, Timing("createAccount", None, 0, 9.0), Timing(None, 404, 0, 0.1)])
    assert (row.operation, row.exchanges, row.p50, row.p95, row.max) == (
        "createAccount",
        6,
        0.0011,
        60.0,
        60.0,
    )
    assert row.statuses == {"201": 5, "none": 1}
    assert (sum(row.histogram), row.histogram[0], row.histogram[1], row.histogram[-1]) == (
        5,
        2,
        1,
        1,
    )
    assert other.operation == ""
    [unanswered] = latency([Timing("createAccount", None, 0, 9.0)])
    assert unanswered.p50 is None


def test_a_document_of_no_run_at_all_can_be_shown(tmp_path: Path) -> None:
    made = document(Results(None), None)
    SCHEMA.validate(made.to_json())
    assert all(isinstance(path, Path) for path in write_all(made, tmp_path))


# ---------------------------------------------------------------------- writing


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Document:
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    results = whole_run({WALK: Verdict.FAILED, ("list.pages", "listWallets"): Verdict.INCONCLUSIVE})
    return document(results)


def test_every_format_is_written_readable_for_all(made: Document, tmp_path: Path) -> None:
    written = write_all(made, tmp_path / "new" / "reports")
    assert [path.name for path in written if isinstance(path, Path)] == [file for file, _ in FORMATS.values()]
    assert {path.name for path in (tmp_path / "new" / "reports").iterdir()} == {
        file for file, _ in FORMATS.values()
    }
    mode = (tmp_path / "new" / "reports" / "results.json").stat().st_mode
    mask = os.umask(0)
    os.umask(mask)
    assert stat.S_IMODE(mode) == 0o666 & ~mask


def test_a_problem_with_one_format_loses_no_other(
    made: Document, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_: object) -> str:
        raise KeyError("a mistake")

    monkeypatch.setattr(write, "FORMATS", {**FORMATS, "html": ("report.html", broken)})
    (tmp_path / "junit.xml").mkdir()
    written = write_all(made, tmp_path)
    problems = [str(problem) for problem in written if isinstance(problem, WriteProblem)]
    assert len(problems) == 2
    assert "report.html could not be made: KeyError" in problems[0]
    assert "junit.xml" in problems[1]
    assert (tmp_path / "results.json").exists()
    assert (tmp_path / "badge.svg").exists()
    assert not list(tmp_path.glob(".*"))


def test_an_old_file_stands_until_the_new_one_is_whole(
    made: Document, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "results.json").write_text("old", "utf-8")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    written = write_all(made, tmp_path)
    assert all(isinstance(problem, WriteProblem) and "No space left" in str(problem) for problem in written)
    assert [path.name for path in tmp_path.iterdir()] == ["results.json"]
    assert (tmp_path / "results.json").read_text("utf-8") == "old"


def test_the_step_summary_is_appended_and_bounded(
    made: Document, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = tmp_path / "steps.md"
    steps.write_text("before\n", "utf-8")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(steps))
    write_all(made, tmp_path / "reports")
    assert steps.read_text("utf-8") == "before\n" + (tmp_path / "reports" / "summary.md").read_text("utf-8")
    monkeypatch.setattr(write, "STEP_SUMMARY", 600)
    steps.write_bytes(b"")
    write.append_step_summary(made, {"GITHUB_STEP_SUMMARY": str(steps)})
    assert 0 < len(steps.read_bytes()) <= 600
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path))
    assert sum(isinstance(problem, WriteProblem) for problem in write_all(made, tmp_path / "reports")) == 1


# ---------------------------------------------------------------------- the terminal


def lines_of(results: Results, *, width: int = 100, verbose: bool = False, **changes: Any) -> list[str]:
    made = document(results, **changes)
    return [line for line, _ in summary(made, folder=changes.get("folder"), width=width, verbose=verbose)]


def test_a_violation_takes_a_title_and_three_lines() -> None:
    lines = lines_of(whole_run({WALK: Verdict.FAILED}), options={"target": "my server.toml"})
    start = lines.index("1. list.walk on listWallets (required, section 8)")
    assert lines[start + 1 : start + 4] == [
        "   expected   a refusal (4xx)",
        "   got        201 with a JSON body",
        "   reproduce  pytest --pyargs conformance --rule list.walk@listWallets --target 'my server.toml'",
    ]
    assert lines[start + 4] == ""


def test_a_replay_file_is_named_from_where_the_user_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    results = whole_run(
        None, finding(*WALK, Verdict.FAILED, replay="replays/a.json", confirmed="not reproduced")
    )
    lines = lines_of(results, folder=tmp_path / "reports")
    assert "   reproduce  conformance replay reports/replays/a.json" in lines
    assert any("not reproduced alone; it is a violation all the same" in line for line in lines)
    assert any(line.endswith("report: reports/report.html") for line in lines)


@settings(max_examples=25, deadline=None)
@given(text=st.text(max_size=300), width=st.integers(20, 200), verbose=st.booleans())
def test_no_line_holds_a_control_character_or_starts_a_workflow_command(
    text: str, width: int, verbose: bool
) -> None:
    results = whole_run(
        None,
        finding(*WALK, Verdict.FAILED, expected=text, got=text, further=[text]),
        finding("list.pages", "listWallets", Verdict.INCONCLUSIVE, summary=text, remedy=text),
    )
    for line in lines_of(results, width=width, verbose=verbose):
        assert all(letter.isprintable() or letter == "\t" for letter in line)
        assert "\n" not in line
        assert not line.strip().startswith(("::", "##["))
        assert line == line.rstrip()


def test_what_a_server_says_can_not_start_a_command_on_a_wrapped_line() -> None:
    got = "x" * 60 + " ::stop-commands::pwned"
    lines = lines_of(whole_run(None, finding(*WALK, Verdict.FAILED, got=got)), width=80)
    assert any("::stop-commands" in line for line in lines)
    assert not any(line.strip().startswith("::") for line in lines)


def test_many_violations_are_cut_unless_verbose() -> None:
    cells = {
        (rule.id, rule.operations[0]): Verdict.FAILED
        for rule in RULES.values()
        if rule.level is Level.REQUIRED and not rule.follows
    }
    short, long = lines_of(whole_run(cells)), lines_of(whole_run(cells), verbose=True)
    assert any(re.match(r"and \d+ more broken rules", line) for line in short)
    assert len(short) < 200 < len(long)


def test_inconclusive_rules_are_grouped_by_reason_with_the_cure() -> None:
    cells = {
        ("tenancy.foreign-parent", operation): Verdict.INCONCLUSIVE
        for operation in RULES["tenancy.foreign-parent"].operations
    }
    lines = lines_of(
        whole_run({cell: verdict for cell, verdict in cells.items() if cell[1] != "createPayin"})
    )
    start = lines.index("   15 cases: the target file names no second organization")
    assert lines[start + 1] == "   remedy     Fill in [secondary]."


# ---------------------------------------------------------------------- GitHub


def test_annotations_are_single_escaped_commands() -> None:
    results = whole_run(
        None,
        finding(*WALK, Verdict.FAILED, got="a%b\r\n::error::c"),
        finding("auth.unknown-key-status", "listAccounts", Verdict.WARNING),
    )
    found = write.annotations(document(results))
    assert [line.partition(" ")[0] for line in found] == ["::error", "::error", "::warning"]
    assert "a%25b" in found[1]
    assert all("\n" not in line and "\r" not in line for line in found)
    assert build(results, TARGET, run_info()).verdict.exit_status == 1


def test_every_member_of_the_results_is_described_and_every_one_that_is_written_is_known() -> None:
    """Nobody has to read the code to read the results."""
    undescribed: list[str] = []

    def walk(node: Any, place: str) -> None:
        for name, member in node.get("properties", {}).items():
            if "description" not in member:
                undescribed.append(f"{place}/{name}")
            walk(member, f"{place}/{name}")
        for key in ("items", "additionalProperties"):
            if isinstance(node.get(key), dict):
                walk(node[key], place)
        for alternative in node.get("anyOf", ()):
            walk(alternative, place)

    schema: Any = SCHEMA.schema
    walk(schema, "")
    for name, definition in schema["$defs"].items():
        walk(definition, name)
    assert undescribed == []


def _alternatives(schema: Any) -> list[Any]:
    """The schemas that a schema leads to: by reference, as an alternative, for the entries of a list."""
    if "$ref" in schema:
        whole: Any = SCHEMA.schema
        schema = {**schema, **whole["$defs"][schema["$ref"].rpartition("/")[2]]}
    found = [schema]
    for alternative in [*schema.get("anyOf", ()), schema.get("items"), schema.get("additionalProperties")]:
        if isinstance(alternative, dict):
            found += _alternatives(alternative)
    return found


def _records(kind: Any) -> list[Any]:
    """The record types in an annotation."""
    if is_dataclass(kind):
        return [kind]
    return [record for argument in get_args(kind) for record in _records(argument)]


def test_every_record_has_the_members_that_the_schema_describes() -> None:
    seen: set[str] = set()

    def compare(record: Any, schema: Any, place: str) -> None:
        [described] = [one for one in _alternatives(schema) if "properties" in one]
        hints = get_type_hints(record)
        assert {field.name for field in fields(record)} == set(described["properties"]), place
        seen.add(record.__name__)
        for name, hint in hints.items():
            for inner in _records(hint):
                compare(inner, described["properties"][name], f"{place}/{name}")

    compare(Document, SCHEMA.schema, "")
    assert {"FindingRecord", "ExchangeRecord", "TimelineRow", "BodyRecord", "DifferenceRecord"} <= seen
