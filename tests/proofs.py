"""Options of the tests that judge all wrong and other programs, and a summary of what they came to.

`pytest tests` takes a sample of the programs, `python -m tests.prove` all. --rule, --operation and --seed are
the suite's own options.
"""

from __future__ import annotations

import fnmatch
import random
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

import pytest

from tests.support.programs import Program

Kind = TypeVar("Kind", bound=Program)

#: Maximum average number of unrelated rules that a report may name as causes of a fault.
MOST_OTHERS = 2.0

#: Advice printed if reports name unrelated rules as causes.
_OTHERS = (
    "A rule caught with others is proven. Where nobody could break it without them, name them in the fault "
    "(also=) or in spec/rules.yaml (follows): a report then shows one cause."
)

#: Option -> default, or its choices, the default first, and help.
OPTIONS: dict[str, tuple[Any, str]] = {
    "every": (False, "all programs that other options leave: not the self-tests' sample of them"),
    "sample": (0, "so many of them, drawn by --seed"),
    "kind": ("", "only programs whose sentence or name contains this text"),
    "each-kind": (
        False,
        "faults: each kind on one operation; of a mistake that is repeated in fields, one for each field of "
        "each operation, or of what operators make for each field, and each way in one of them",
    ),
    "but-tested": (False, "faults: without those that the self-tests catch"),
    "checks": (
        ("", "rule", "quick", "full", "deep"),
        "what judges: the checks of one rule alone, or all of a run of that effort, in its order (faults: "
        "rule, variants: full)",
    ),
    "part": ("", "variants: only generated parts whose name contains this text"),
    "seeds": (1, "variants: so many seeds, from --seed, of drawn servers and generated parts"),
    "examples": (10, "variants: generated cases of each part"),
    "no-checks": (False, "variants: generated parts only"),
    "only-checks": (False, "variants: fixed checks only"),
    "inconclusive": (False, "variants: nor may a cell stay inconclusive, where the server lets it be judged"),
    "keep": (
        "",
        "faults: folder for the page of each, judged over HTTP; runs: for the reports of those that blame a "
        "server (reports/runs)",
    ),
}


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("proofs", "programs that the suite must blame, or must not")
    for name, (default, text) in OPTIONS.items():
        choices = default if isinstance(default, tuple) else None
        default = choices[0] if choices else default
        how: dict[str, Any] = (
            {"action": "store_true"}
            if default is False
            else {"type": type(default), "default": default, "choices": choices}
        )
        group.addoption(f"--{name}", help=f"{text}{f' ({default})' if default else ''}", **how)


def configure(config: pytest.Config) -> None:
    """Has what the programs came to added up."""
    if config.option.every and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Came())


def first_seed(config: pytest.Config) -> int:
    """Returns the seed of a sample, the first one of drawn servers and of generated parts."""
    return 1 if config.option.conformance_seed is None else int(config.option.conformance_seed)


def selects(config: pytest.Config, rule: str, operation: str = "") -> bool:
    """Returns True if --rule and --operation select a rule, and an operation if one is named."""
    option = config.option
    rules = [each.partition("@")[0] for each in option.conformance_rule or ["*"]]
    operations = (option.conformance_operation or ["*"]) if operation else [""]
    return any(fnmatch.fnmatch(rule, each) for each in rules) and any(
        fnmatch.fnmatch(operation, each) for each in operations
    )


def selected(config: pytest.Config, programs: Iterable[Kind]) -> list[Kind]:
    """Returns the programs that --kind selects and, of those that break rules, --rule and --operation."""
    return [
        program
        for program in programs
        if config.option.kind in program.name
        and (not program.rules or any(selects(config, rule, program.operation) for rule in program.rules))
    ]


def parametrize(metafunc: pytest.Metafunc, programs: Sequence[Program]) -> None:
    """Runs a test on as many of the programs as --sample says, or all. Raises UsageError for none."""
    option = metafunc.config.option
    if option.every and not programs:
        raise pytest.UsageError("The options leave nothing to prove.")
    number = min(option.sample or len(programs), len(programs))
    chosen = random.Random(first_seed(metafunc.config)).sample(programs, number)
    metafunc.parametrize("program", chosen, ids=str)


# ---------------------------------------------------------------------- what it came to


class Came:
    """Adds up what tests recorded as properties: `requests`, faults `without effect`, and `others`: the rule
    of a fault, and those that a report names as causes beside it."""

    def __init__(self) -> None:
        self.programs, self.counts = 0, Counter[str]()
        self.others = Counter[tuple[str, str]]()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.programs += report.when == "call"
        properties: dict[str, Any] = dict(report.user_properties) if report.when == "call" else {}
        rule, *others = properties.pop("others", ("",))
        self.others.update((rule, other) for other in others)
        self.counts.update(properties)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        talks = (
            session.config.option.checks in ("full", "deep")
            and self.others.total() > MOST_OTHERS * self.programs
        )
        if talks and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        for (rule, other), number in self.others.most_common():
            terminalreporter.line(f"{number:4d} faults of {rule} also break {other}, as a cause of its own")
        if self.others:
            terminalreporter.line(_OTHERS)
        counts = ", ".join(f"{number} {name}" for name, number in self.counts.items())
        terminalreporter.line(f"{self.programs} programs{counts and f': {counts}'}")
