"""Registers the options of a run with pytest, and reads their values once."""

from __future__ import annotations

import contextlib
import os
import random
import shlex
from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import pytest

from conformance._files import InputError
from conformance._options import OPTIONS, Effort, Option, Values, attribute, parse_shard
from conformance.plugin import selection

#: Asks for the embedded reference server on purpose.
EMBEDDED = "embedded"

#: Generated cases for each part of a deep run.
DEEP_EXAMPLES = 250

#: Attributes of pytest's options whose values it mistakes for tests before it knows the options.
FILES = tuple(f"conformance_{attribute(name)}" for name, option in OPTIONS.items() if option.path)


def register(parser: pytest.Parser, *, short: bool, taken: Collection[str] = ()) -> None:
    """Adds the options: `--conformance-target` and its like always, `--target` only where `short` says so and
    nobody has taken it, because the short names may be other people's."""
    parser.addini(
        "conformance_rules", "files of rules of your own for the conformance suite", type="paths", default=[]
    )
    group = parser.getgroup("conformance", "Financial Accounts API conformance")
    for name, option in OPTIONS.items():
        names = [f"--conformance-{name}"]
        if short and f"--{name}" not in taken:
            names.append(f"--{name}")
        settings: dict[str, Any] = {"help": _help(option), "default": option.initial}
        if option.metavar:
            settings |= {"metavar": option.metavar, "type": option.type}
            settings |= {"choices": option.choices} if option.choices else {}
        if not option.metavar or option.repeats:
            settings["action"] = "append" if option.repeats else "store_true"
        group.addoption(*names, dest=f"conformance_{attribute(name)}", **settings)


def _help(option: Option) -> str:
    text = option.help.replace("%", "%%")
    return f"{text} ([limits] {option.limit})" if option.limit else text


def own_rules(config: pytest.Config) -> list[Path]:
    """The files of the user's own rules, by option and by configuration."""
    named = [config.invocation_params.dir / name for name in config.option.conformance_rules or ()]
    configured: list[Path] = config.getini("conformance_rules")
    return [*named, *configured]


def concerned(config: pytest.Config) -> bool:
    """True if a run selects the suite, as far as its arguments tell before they are parsed."""
    words = [str(word) for word in config.invocation_params.args]
    words += _split(os.environ.get("PYTEST_ADDOPTS", ""))
    with contextlib.suppress(KeyError, ValueError):
        words += map(str, config.getini("addopts"))
    folder = config.invocation_params.dir
    if selection.own_checkout(folder):
        return True
    return any(selection.within(word.partition("::")[0], folder, "--pyargs" in words) for word in words)


def autoload(config: pytest.Config) -> bool:
    """True if pytest loads the plugins that are installed by itself."""
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


@dataclass(frozen=True, kw_only=True)
class Options(Values):
    """The values of all options, and what pytest's own say of the run.

    `selected`: the run collects the suite's checks; `idle`: it runs nothing; `part`: the shard as numbers;
    `scope`: the cases that the run is about; `given`: option -> text, as reports show it; `narrowed`: the
    options that narrow the run, each with its value; `folder`: where the run was started.
    """

    selected: bool
    idle: bool
    worker: bool
    installed: bool
    verbosity: int
    base_url: str | None
    part: tuple[int, int] | None
    scope: selection.Scope
    given: Mapping[str, str]
    narrowed: list[str]
    folder: Path

    @property
    def limits(self) -> dict[str, float]:
        """Key of `[limits]` in the target file -> the value that overrides it."""
        values = {option.limit: getattr(self, attribute(name)) for name, option in OPTIONS.items()}
        return {key: value for key, value in values.items() if key and value is not None}

    @property
    def controls(self) -> bool:
        """True if this process decides about a run."""
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
        return ("failed", "warning") if self.fail_on == "implied" else ("failed",)


def parse(config: pytest.Config) -> Options:
    """The options of a session. Raises pytest.UsageError."""
    option, folder = config.option, config.invocation_params.dir
    values = {value.name: getattr(option, f"conformance_{value.name}") for value in fields(Values)}
    try:
        part = parse_shard(values["shard"]) if values["shard"] else None
        scope = selection.Scope.parse(values["rule"], values["operation"], values["section"])
    except (ValueError, InputError) as error:
        raise pytest.UsageError(str(error)) from None
    values |= {"effort": Effort(values["effort"]), "seed": _seed(config, values["seed"])}
    arguments = [str(argument) for argument in config.args]
    return Options(
        **values,
        selected=selection.selects_checks(arguments, folder, bool(option.pyargs)) or bool(own_rules(config)),
        idle=bool(
            values["dry_run"]
            or option.collectonly
            or getattr(option, "showfixtures", False)
            or getattr(option, "show_fixtures_per_test", False)
        ),
        worker=hasattr(config, "workerinput"),
        installed=bool(option.pyargs),
        verbosity=getattr(option, "verbose", 0),
        base_url=config.getoption("base_url", None),
        part=part,
        scope=scope,
        given=_given(config, values),
        narrowed=selection.narrowed(config),
        folder=folder,
    )


def _seed(config: pytest.Config, given: int | None) -> int:
    """The seed: a worker's is the controller's."""
    if hasattr(config, "workerinput") and "conformance" in config.workerinput:
        seed: int = config.workerinput["conformance"]["seed"]
        return seed
    return given if given is not None else random.SystemRandom().randrange(2**32)


def _given(config: pytest.Config, values: Mapping[str, Any]) -> dict[str, str]:
    """Option -> what the user gave, as reports show it; several values of one are joined by spaces."""
    given = {}
    for name, option in OPTIONS.items():
        value = values[attribute(name)]
        if option.recorded and value is not None and value != option.usual:
            given[name] = " ".join(value) if option.repeats else str(value)
    others = {
        "base-url": config.getoption("base_url", None),
        "-k": config.option.keyword,
        "-m": config.option.markexpr,
    }
    return given | {name: str(value) for name, value in others.items() if value}
