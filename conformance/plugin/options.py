"""The options of a run: how pytest learns them, and their values, read once."""

from __future__ import annotations

import contextlib
import os
import random
import shlex
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from conformance.plugin import selection
from conformance.plugin.effort import DEEP_EXAMPLES, Effort
from conformance.plugin.option_table import MOST_LANES, OPTIONS

#: Asks for the embedded reference server on purpose.
EMBEDDED = "embedded"

#: Option -> the limit of the target file that it beats.
LIMITS: Mapping[str, str] = {
    "rate": "requests_per_second",
    "max-requests": "max_requests",
    "request-timeout": "request_timeout",
    "run-timeout": "run_timeout",
}

#: Options whose values pytest mistakes for tests before it knows the options.
FILES = (
    "conformance_target",
    "conformance_report_dir",
    "conformance_fuzz_database",
    "conformance_known_failures",
    "conformance_write_known_failures",
    "conformance_pinned_choices",
    "conformance_write_pinned_choices",
)

#: The names of the suite's options, without dashes or the long form's first word.
NAMES = tuple(OPTIONS)


def register(parser: pytest.Parser, *, short: bool, taken: Collection[str] = ()) -> None:
    """Adds the options: `--conformance-target` and its like always, `--target` only where `short` says so and
    nobody has taken it, because the short names may be other people's."""
    parser.addini(
        "conformance_rules", "files of rules of your own for the conformance suite", type="paths", default=[]
    )
    group = parser.getgroup("conformance", "Financial Accounts API conformance")
    for name, settings in OPTIONS.items():
        names = [f"--conformance-{name}"]
        if short and f"--{name}" not in taken:
            names.append(f"--{name}")
        group.addoption(*names, dest=f"conformance_{name.replace('-', '_')}", **{"default": None, **settings})


def own_rules(config: pytest.Config) -> list[Path]:
    """The files of the user's own rules, by option and by configuration."""
    named = [config.invocation_params.dir / name for name in config.option.conformance_rules or ()]
    configured: list[Path] = config.getini("conformance_rules")
    return [*named, *configured]


def concerned(config: pytest.Config) -> bool:
    """Whether a run selects the suite, as far as its arguments tell before they are parsed."""
    words = [str(word) for word in config.invocation_params.args]
    words += _split(os.environ.get("PYTEST_ADDOPTS", ""))
    with contextlib.suppress(KeyError, ValueError):
        words += map(str, config.getini("addopts"))
    folder = config.invocation_params.dir
    if selection.own_checkout(folder):
        return True
    return any(selection.within(word.partition("::")[0], folder, "--pyargs" in words) for word in words)


def autoload(config: pytest.Config) -> bool:
    """Whether pytest loads the plugins that are installed by itself."""
    words = [*map(str, config.invocation_params.args), *_split(os.environ.get("PYTEST_ADDOPTS", ""))]
    return not os.environ.get("PYTEST_DISABLE_PLUGIN_AUTOLOAD") and "--disable-plugin-autoload" not in words


def explain_target(parser: pytest.Parser, config: pytest.Config) -> None:
    """Adds a word to what pytest says of an unknown `--target` in a run that does not select the suite."""
    if "--target" in {str(word).partition("=")[0] for word in config.invocation_params.args}:
        parser.extra_info["conformance suite"] = (
            "--target is its option only where a run selects it: pytest --pyargs conformance --target FILE"
        )


def refuse_taken(config: pytest.Config, taken: Collection[str]) -> None:
    """Refuses a short name that reached another plugin and may have been meant for the suite: a run would
    judge something else. Raises pytest.UsageError."""
    words = {str(word).partition("=")[0] for word in config.invocation_params.args}
    for name in OPTIONS:
        if f"--{name}" in taken and f"--{name}" in words and f"--conformance-{name}" not in words:
            raise pytest.UsageError(
                f"--{name} belongs to another plugin of this environment, so the conformance suite did not "
                f"get it. Write --conformance-{name}, or leave the other plugin out with -p no:NAME (pytest "
                "--trace-config lists the names)."
            )


def _split(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:
        return []


@dataclass(frozen=True)
class Options:
    """What the user asked for. `selected` says whether the run collects the suite's checks at all, `idle`
    that it runs nothing; `given` has the options by name, as the report shows them, `selection` how they
    narrow the run; `scope` are the cases that it is about."""

    selected: bool
    idle: bool
    worker: bool
    installed: bool
    verbosity: int
    target: str | None
    base_url: str | None
    wait: float
    limits: Mapping[str, float]
    dry_run: bool
    read_only: bool
    lanes: int | None
    effort: Effort
    fail_on_implied: bool
    report_dir: str | None
    scope: selection.Scope
    shard: tuple[int, int] | None
    seed: int
    fuzz_examples: int | None
    fuzz_time: float | None
    fuzz_database: str | None
    known_failures: Path | None
    write_known_failures: Path | None
    pinned_choices: Path | None
    write_pinned_choices: Path | None
    given: Mapping[str, str]
    selection: str
    folder: Path

    @property
    def controls(self) -> bool:
        """Whether this process decides about a run."""
        return self.selected and not self.worker and not self.idle

    @property
    def examples(self) -> int | None:
        """Generated cases for each part, where it is not the usual number. Where time is the limit, the
        number of them is none."""
        deep = self.effort is Effort.DEEP and self.fuzz_time is None
        return self.fuzz_examples or (DEEP_EXAMPLES if deep else None)

    @property
    def failing(self) -> tuple[str, ...]:
        """The verdicts that fail the run."""
        return ("failed", "warning") if self.fail_on_implied else ("failed",)


def parse(config: pytest.Config) -> Options:
    """The options of a session. Raises pytest.UsageError."""
    option, folder = config.option, config.invocation_params.dir

    def value(name: str) -> Any:
        return getattr(option, f"conformance_{name.replace('-', '_')}")

    def path(name: str) -> Path | None:
        return Path(value(name)) if value(name) else None

    try:
        shard = _shard(value("shard"))
        scope = selection.Scope.parse(value("rule"), value("operation"), value("section"))
    except ValueError as error:
        raise pytest.UsageError(str(error)) from None
    arguments = [str(argument) for argument in config.args]
    return Options(
        selected=selection.selects_checks(arguments, folder, bool(option.pyargs)) or bool(own_rules(config)),
        idle=bool(
            value("dry-run")
            or option.collectonly
            or getattr(option, "showfixtures", False)
            or getattr(option, "show_fixtures_per_test", False)
        ),
        worker=hasattr(config, "workerinput"),
        installed=bool(option.pyargs),
        verbosity=getattr(option, "verbose", 0),
        target=value("target"),
        base_url=config.getoption("base_url", None),
        wait=value("wait"),
        dry_run=value("dry-run"),
        read_only=value("read-only"),
        limits={key: value(name) for name, key in LIMITS.items() if value(name) is not None},
        lanes=min(value("lanes"), MOST_LANES) if value("lanes") else None,
        effort=Effort(value("effort")),
        fail_on_implied=value("fail-on") == "implied",
        report_dir=value("report-dir"),
        scope=scope,
        shard=shard,
        seed=_seed(config, value("seed")),
        fuzz_examples=value("fuzz-examples"),
        fuzz_time=value("fuzz-time"),
        fuzz_database=value("fuzz-database"),
        known_failures=path("known-failures"),
        write_known_failures=path("write-known-failures"),
        pinned_choices=path("pinned-choices"),
        write_pinned_choices=path("write-pinned-choices"),
        given=_given(config, value),
        selection=selection.narrowed(config),
        folder=folder,
    )


def _shard(text: str | None) -> tuple[int, int] | None:
    """Raises ValueError."""
    if not text:
        return None
    # Every pytest run of an environment imports this module.
    from conformance.report.shards import parse_shard

    return parse_shard(text)


def _seed(config: pytest.Config, given: int | None) -> int:
    """The seed: a worker's is the controller's."""
    if hasattr(config, "workerinput") and "conformance" in config.workerinput:
        seed: int = config.workerinput["conformance"]["seed"]
        return seed
    return given if given is not None else random.SystemRandom().randrange(2**32)


def _given(config: pytest.Config, value: Callable[[str], Any]) -> dict[str, str]:
    """What the user gave, by name of the option; `value` looks one up."""
    named = {
        "fail-on": value("fail-on"),
        "target": value("target"),
        "base-url": config.getoption("base_url", None),
        "fuzz-examples": value("fuzz-examples"),
        "fuzz-time": value("fuzz-time"),
        "lanes": value("lanes"),
        **{name: value(name) for name in LIMITS},
        "read-only": value("read-only"),
        "effort": value("effort") if value("effort") != Effort.FULL else None,
        "known-failures": value("known-failures"),
        "pinned-choices": value("pinned-choices"),
        "shard": value("shard"),
        "rule": value("rule"),
        "operation": value("operation"),
        "section": value("section"),
        "-k": config.option.keyword,
        "-m": config.option.markexpr,
    }
    return {
        name: _words(given) for name, given in named.items() if given or (given is not False and given == 0)
    }


def _words(given: str | Iterable[str] | float) -> str:
    return " ".join(given) if isinstance(given, list) else str(given)
