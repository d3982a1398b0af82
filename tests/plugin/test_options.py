"""Options: selection of tests, names in each command, and error messages."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from conformance._files import InputError
from conformance._options import OPTIONS, attribute
from conformance.checks import plan
from conformance.contract.operations import OPERATIONS
from conformance.contract.rules import RULES
from conformance.judge.invariants import INVARIANTS
from conformance.plugin import options
from conformance.plugin.selection import Job, Scope
from conformance.report import commands
from tests.support.running import ROOT, run

#: An exploration.
FUZZING: Any = SimpleNamespace(name="test_fuzz.test_schema_fuzzing", generated=True)


def selected_by(scope: Scope) -> set[tuple[str, str]]:
    """Returns the checks and operations that a scope selects."""
    return {(check.name, operation) for check, operation in plan() if scope.wants(Job(check, operation))}


# ---------------------------------------------------------------------- selection


def test_without_options_everything_is_selected() -> None:
    scope = Scope.parse()
    assert selected_by(scope) == {(check.name, operation) for check, operation in plan()}
    assert scope.covers("auth.signature", "listWallets")


@pytest.mark.parametrize(
    ("options", "rules", "operations"),
    [
        ({"rules": ["auth.signature"]}, {"auth.signature"}, set(OPERATIONS)),
        ({"rules": ["auth.signature@createPayout"]}, {"auth.signature"}, {"createPayout"}),
        (
            {"rules": ["auth.*"], "operations": ["listWallets"]},
            {rule for rule in RULES if rule.startswith("auth.") and "listWallets" in RULES[rule].operations},
            {"listWallets"},
        ),
        ({"rules": ["wallet"]}, {rule for rule in RULES if rule.startswith("wallet.")}, {"createWallet"}),
    ],
    ids=["a rule", "a rule on an operation", "a pattern and an operation", "an area"],
)
def test_cases_meet_every_kind_of_option(
    options: dict[str, list[str]], rules: set[str], operations: set[str]
) -> None:
    cells = Scope.parse(**options).cells  # type: ignore[arg-type]
    assert cells is not None
    assert {rule for rule, _ in cells} == rules
    assert {operation for _, operation in cells} <= operations


def test_a_section_takes_its_parts_along() -> None:
    cells = Scope.parse(sections=["4.0"]).cells
    assert cells is not None
    assert {rule for rule, _ in cells} == {
        rule.id
        for rule in RULES.values()
        if any(section == "4.0" or section.startswith("4.0.") for section in rule.section)
    }


@pytest.mark.parametrize(
    ("options", "parts", "others"),
    [
        ({"operations": ["createWallet"]}, ["createWallet"], ["createPayin"]),
        ({"rules": ["auth.*"], "operations": ["createWallet"]}, [], ["createWallet"]),
        (
            {"rules": ["fields.*"], "operations": ["createWallet"], "generated": True},
            ["createWallet", "payouts"],
            ["createAccount"],
        ),
    ],
    ids=["an operation", "a rule", "asked for"],
)
def test_generated_requests_belong_to_operations_and_to_rules_if_they_are_asked_for(
    options: dict[str, Any], parts: list[str], others: list[str]
) -> None:
    scope = Scope.parse(**options)
    assert {operation for _, operation in selected_by(scope)} == {"createWallet"}
    assert [part for part in (*parts, *others) if scope.wants(Job(FUZZING, part))] == parts


@pytest.mark.parametrize(
    ("options", "patient"),
    [
        ({"rules": ["auth.nonce-replay@listAccounts"]}, True),
        ({"rules": ["payout.race"]}, True),
        ({"rules": ["auth.nonce-replay"]}, False),
        # Of every response, and so judged by all checks of the operation.
        ({"rules": ["http.success-json@listAccounts"]}, False),
        ({}, False),
    ],
)
def test_only_the_checks_of_one_rule_take_their_time(options: dict[str, Any], patient: bool) -> None:
    assert Scope.parse(**options).patient is patient


def test_a_rule_of_every_response_selects_the_checks_of_its_operations() -> None:
    for rule in INVARIANTS:
        selected = selected_by(Scope.parse([rule]))
        # Lost requests are counted over the whole run, and payins are under development, so both may lack a
        # row.
        missing = set(RULES[rule].operations) - {operation for _, operation in selected}
        assert not missing, (rule, missing)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"rules": ["auth.signatur"]}, "did you mean auth.signature"),
        ({"rules": ["auth.signature@createPayot"]}, "did you mean createPayout"),
        ({"operations": ["createwallet"]}, "did you mean createWallet"),
        ({"sections": ["17"]}, "--section: no rule is of section '17'"),
        ({"rules": ["wallet.*"], "operations": ["listAccounts"]}, "no rule meets all of them"),
        ({"rules": ["wallet.duplicate@listAccounts"]}, "does not cover 'listAccounts'"),
    ],
    ids=["rule", "operation of a rule", "operation", "section", "nothing in common", "not covered"],
)
def test_a_name_that_is_almost_right_is_suggested(options: dict[str, list[str]], told: str) -> None:
    with pytest.raises(InputError) as caught:
        Scope.parse(**options)  # type: ignore[arg-type]
    assert told in str(caught.value)


def test_a_run_reports_exactly_what_was_asked_for(tmp_path: Path) -> None:
    # A rule alone would have its races repeated for a while.
    rules = ("--rule", "error.shape@getAccountBalances", "--rule", "auth.header-case@listWallets")
    outcome = run(*rules, folder=tmp_path)
    assert outcome.status == 0, outcome.output
    judged = [
        (cell["rule"], cell["operation"])
        for cell in outcome.results["cells"]
        if cell["verdict"] not in ("not run", "not applicable")
    ]
    assert sorted(judged) == [("auth.header-case", "listWallets"), ("error.shape", "getAccountBalances")]
    assert outcome.results["verdict"]["name"] == "partial"


# ---------------------------------------------------------------------- commands and mistakes


def test_given_options_are_repeated_in_the_command() -> None:
    """Except the number of lanes, which the next run chooses itself."""

    values = dict.fromkeys(OPTIONS, "here") | {"effort": "deep", "rule": ["auth.*"]}
    values |= {"operation": ["listWallets"], "section": ["5.3"]}
    own = {f"conformance_{attribute(name)}": value for name, value in values.items()}
    theirs = {"keyword": "wallet", "markexpr": "not fuzz", "deselect": [], "ignore": [], "maxfail": 0}
    config: Any = SimpleNamespace(
        option=SimpleNamespace(**own, **theirs, pyargs=True),
        invocation_params=SimpleNamespace(dir=ROOT),
        args=[],
        getoption=lambda name, default: "http://127.0.0.1:8000",
    )
    texts = options.parse(config).texts
    words = shlex.split(commands.again(texts, 7))
    left_out = [name for name in texts if name not in words and f"--{name}" not in words]
    assert left_out == ["lanes"]
    assert "wait" not in texts


def test_the_readme_has_a_row_for_each_option() -> None:
    rows = [f"| `--{name} {option.metavar}` | {option.help} |" for name, option in OPTIONS.items()]
    written = re.sub(r" \(\[more\]\(\S+\)\)", "", (ROOT / "README.md").read_text("utf-8")).splitlines()
    assert [row for row in written if row.startswith("| `--")] == rows, "\n".join(rows)


def test_a_run_in_ci_with_long_names_of_options(tmp_path: Path) -> None:
    """The embedded server must be requested explicitly; a list of known failures that was written is
    named."""
    known = tmp_path / "known.toml"
    words = (
        "--conformance-target embedded --conformance-rule auth.header-case@listAccounts --conformance-seed 7"
    )
    options = (*words.split(), "--conformance-write-known-failures", str(known))
    outcome = run(*options, folder=tmp_path, cwd=tmp_path, CI="true")
    assert outcome.status == 0, outcome.output
    assert outcome.results["run"]["embedded"] and outcome.results["run"]["seed"] == 7
    assert known.is_file() and f"Known failures were written to {known}" in outcome.output
