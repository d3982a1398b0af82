"""Registers the options of a run with pytest, and parses their values."""

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
from conformance._options import OPTIONS, Effort, Values, attribute, names_target
from conformance.plugin import selection

#: The value of --target for the embedded reference server.
EMBEDDED = "embedded"

#: Generated cases per part in a deep run.
DEEP_EXAMPLES = 250

#: The short names of the options.
SHORT = frozenset(f"--{name}" for name in OPTIONS)

#: Attributes of options whose values pytest takes for paths to tests before they are registered.
FILES = tuple(f"conformance_{attribute(name)}" for name, option in OPTIONS.items() if option.path)


def register(parser: pytest.Parser, taken: Collection[str]) -> None:
    """Registers the options: always `--conformance-target` and so on; `--target` and so on unless taken by
    another plugin."""
    group = parser.getgroup("conformance", "Financial Accounts API conformance")
    for name, option in OPTIONS.items():
        short = [] if f"--{name}" in taken else [f"--{name}"]
        dest = f"conformance_{attribute(name)}"
        group.addoption(f"--conformance-{name}", *short, dest=dest, **option.arguments)


def concerned(config: pytest.Config) -> bool:
    """True if the unparsed arguments select the suite."""
    words = _words(config)
    with contextlib.suppress(KeyError, ValueError):
        words += map(str, config.getini("addopts"))
    folder = config.invocation_params.dir
    if selection.own_checkout(folder):
        return True
    return any(selection.within(word.partition("::")[0], folder, "--pyargs" in words) for word in words)


def autoload(config: pytest.Config) -> bool:
    """True if pytest loads installed plugins automatically."""
    no_autoload = os.environ.get("PYTEST_DISABLE_PLUGIN_AUTOLOAD")
    return not no_autoload and "--disable-plugin-autoload" not in _words(config)


def refuse_taken(config: pytest.Config, taken: Collection[str]) -> None:
    """Rejects a short name that another plugin received but that may be meant for the suite. Raises
    pytest.UsageError."""
    names = {word.partition("=")[0] for word in _words(config)}
    for name in OPTIONS:
        if f"--{name}" in taken and f"--{name}" in names and f"--conformance-{name}" not in names:
            raise pytest.UsageError(
                f"--{name} belongs to another plugin of this environment, so the conformance suite did not "
                f"get it. Write --conformance-{name}, or leave the other plugin out with -p no:NAME (pytest "
                "--trace-config lists the names)."
            )


def _words(config: pytest.Config) -> list[str]:
    """The arguments of pytest's command and of PYTEST_ADDOPTS."""
    words = [*map(str, config.invocation_params.args)]
    with contextlib.suppress(ValueError):
        words += shlex.split(os.environ.get("PYTEST_ADDOPTS", ""))
    return words


@dataclass(frozen=True, kw_only=True)
class Options(Values):
    """The values of all options, and what pytest's own options say of the run.

    `selected`: the run collects the suite's checks; `idle`: it runs nothing; `scope`: the selected cells;
    `given`: option -> text, for reports; `narrowed`: the narrowing options with their values; `folder`: the
    working directory.
    """

    selected: bool
    idle: bool
    worker: bool
    installed: bool
    verbosity: int
    base_url: str | None
    scope: selection.Scope
    given: Mapping[str, str]
    narrowed: list[str]
    folder: Path

    @property
    def limits(self) -> dict[str, float]:
        """Keys of `[limits]` in the target file and the values that override them."""
        values = {option.limit: getattr(self, attribute(name)) for name, option in OPTIONS.items()}
        return {key: value for key, value in values.items() if key and value is not None}

    @property
    def controls(self) -> bool:
        """True if this process controls a run."""
        return self.selected and not self.worker and not self.idle

    def judges_embedded(self, environment: Mapping[str, str]) -> bool:
        """True if the embedded reference server is judged, as no other is named. Raises InputError if that
        seems a mistake."""
        if self.target == EMBEDDED:
            return True
        if self.target or self.base_url or names_target(environment):
            return False
        if self.installed and environment.get("CI", "").strip().lower() not in ("", "0", "false", "no"):
            raise InputError(
                "no --target FILE and no --base-url URL is given, so that only the suite's own reference "
                "server would be judged; in CI (the environment variable CI is set) this is taken for a "
                "mistake. Name your server, or ask for the embedded one with --target embedded."
            )
        return True

    @property
    def examples(self) -> int | None:
        """Generated cases per part; None for the default, and where only --fuzz-time limits them."""
        deep = self.effort is Effort.DEEP and self.fuzz_time is None
        return self.fuzz_examples or (DEEP_EXAMPLES if deep else None)

    @property
    def failing(self) -> tuple[str, ...]:
        """The verdicts that fail the run."""
        return ("failed", "warning") if self.fail_on == "implied" else ("failed",)


def parse(config: pytest.Config) -> Options:
    """Parses the options of a session. Raises pytest.UsageError."""
    option, folder = config.option, config.invocation_params.dir
    values = {value.name: getattr(option, f"conformance_{value.name}") for value in fields(Values)}
    try:
        generated = bool(values["fuzz_examples"] or values["fuzz_time"])
        scope = selection.Scope.parse(
            values["rule"], values["operation"], values["section"], generated=generated
        )
    except InputError as error:
        raise pytest.UsageError(str(error)) from None
    values |= {"effort": Effort(values["effort"]), "seed": _seed(config, values["seed"])}
    paths = [str(argument).partition("::")[0] for argument in config.args]
    return Options(
        **values,
        selected=any(selection.selects(path, folder, bool(option.pyargs)) for path in paths),
        idle=bool(
            option.collectonly
            or getattr(option, "showfixtures", False)
            or getattr(option, "show_fixtures_per_test", False)
        ),
        worker=hasattr(config, "workerinput"),
        installed=bool(option.pyargs),
        verbosity=getattr(option, "verbose", 0),
        base_url=config.getoption("base_url", None),
        scope=scope,
        given=_given(config, values),
        narrowed=selection.narrowed(config),
        folder=folder,
    )


def _seed(config: pytest.Config, given: int | None) -> int:
    """The seed as given or random; a worker has the controller's."""
    if hasattr(config, "workerinput") and "conformance" in config.workerinput:
        seed: int = config.workerinput["conformance"]["seed"]
        return seed
    return given if given is not None else random.SystemRandom().randrange(2**32)


def _given(config: pytest.Config, values: Mapping[str, Any]) -> dict[str, str]:
    """Option -> the given text, for reports; values of a repeated option are separated by spaces."""
    given = {}
    for name, option in OPTIONS.items():
        value = values[attribute(name)]
        if option.recorded and value is not None and value != option.default:
            given[name] = " ".join(value) if option.repeats else str(value)
    others = {
        "base-url": config.getoption("base_url", None),
        "-k": config.option.keyword,
        "-m": config.option.markexpr,
    }
    return given | {name: str(value) for name, value in others.items() if value}
