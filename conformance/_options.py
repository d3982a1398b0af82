"""The options of a run, in one table.

Parsing, environment variables, the selection in words, the command that repeats a run, the values in reports
and the rows of the README are all derived from it. Every pytest run of an environment imports this module.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Any

#: Maximum number of lanes of a process.
MOST_LANES = 60


class Effort(StrEnum):
    """The amount of work of a run.

    quick: each check on one of its operations, but for those that wait, without generated requests. full:
    every check, and some generated requests. deep: also what takes long lists, and more generated requests.
    """

    QUICK = "quick"
    FULL = "full"
    DEEP = "deep"


# ---------------------------------------------------------------------- types


def _positive(text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"it should be a whole number from 1, not {text[:40]!r}")
    return int(text)


def _lanes(text: str) -> int:
    return min(_positive(text), MOST_LANES)


def _number(unit: str, positive: bool, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < 1_000_000 or (positive and not value):
        raise argparse.ArgumentTypeError(f"it should be a number of {unit}, not {text[:40]!r}")
    return value


_seconds = partial(_number, "seconds", False)
_duration = partial(_number, "seconds above 0", True)
_rate = partial(_number, "requests a second", False)


# ---------------------------------------------------------------------- the table


@dataclass(frozen=True)
class Option:
    """One option of a run."""

    #: The clause in --help and the README.
    help: str
    #: The placeholder of its value.
    metavar: str
    #: Converts its text; raises argparse.ArgumentTypeError.
    type: Callable[[str], Any] = str
    choices: tuple[str, ...] = ()
    default: Any = None
    #: True if it narrows the run, and may be repeated.
    repeats: bool = False
    #: The key in `[limits]` of the target file that it overrides.
    limit: str = ""
    #: The environment variable with its default.
    environment: str = ""
    #: True if reports show it.
    recorded: bool = True
    #: True if the command that repeats a run contains it.
    again: bool = True

    @property
    def initial(self) -> Any:
        """The default value in this environment."""
        return (os.environ.get(self.environment) if self.environment else None) or self.default

    @property
    def arguments(self) -> dict[str, Any]:
        """Its declaration as keyword arguments of a parser's method."""
        limit = f" ([limits] {self.limit})" if self.limit else ""
        return {
            "help": self.help.replace("%", "%%") + limit,
            "default": self.initial,
            "metavar": self.metavar,
            "type": self.type,
            **({"choices": self.choices} if self.choices else {}),
            **({"action": "append"} if self.repeats else {}),
        }


def _option(*columns: Any, **more: Any) -> Any:
    option = Option(*columns, **more)
    return field(default=option.default, metadata={"option": option})


@dataclass(frozen=True, kw_only=True)
class Values:
    """The value of each option: as given, else its default."""

    target: str | None = _option(
        "the target file of the server to judge, or the word embedded for the suite's own reference server; "
        "--base-url beats the file's address (default: the embedded server)",
        "FILE",
        environment="CONFORMANCE_TARGET",
        again=False,
    )
    wait: float = _option(
        "wait at most so long for the server to start", "SECONDS", _seconds, default=0.0, recorded=False
    )
    rule: list[str] | None = _option(
        "judge only this rule, on this operation if given; patterns such as 'auth.*' (repeatable)",
        "RULE[@OPERATION]",
        repeats=True,
    )
    operation: list[str] | None = _option(
        "judge only this operation; patterns such as 'list*' (repeatable)",
        "OPERATION",
        repeats=True,
    )
    section: list[str] | None = _option(
        "judge only the rules of this section of the specification, such as 4.1 (repeatable)",
        "SECTION",
        repeats=True,
    )
    effort: Effort = _option(
        "how much to do: quick (each check on one of its operations), full, or deep (long lists, more "
        "generated requests) (default: full)",
        "EFFORT",
        choices=tuple(map(str, Effort)),
        default=Effort.FULL,
    )
    fail_on: str = _option(
        "the lowest level of rules whose violation fails the run: required, or implied (default: required)",
        "LEVEL",
        choices=("required", "implied"),
        default="required",
    )
    known_failures: Path | None = _option("a TOML file of failures that do not fail the run", "FILE", Path)
    write_known_failures: Path | None = _option(
        "write the failures of this run as such a file", "FILE", Path, recorded=False
    )
    rate: float | None = _option(
        "send at most so many requests a second, all processes and lanes together; 0 is no limit",
        "N",
        _rate,
        limit="requests_per_second",
    )
    request_timeout: float | None = _option(
        "wait at most so long for one answer (default: 30)", "SECONDS", _duration, limit="request_timeout"
    )
    run_timeout: float | None = _option(
        "end the run after so long and report what it has found; the rest is inconclusive",
        "SECONDS",
        _duration,
        limit="run_timeout",
    )
    lanes: int | None = _option(
        "run so many tests at once (default: 4, then more while answers come as soon, at most 48; 1 on the "
        "embedded server and in each process of -n)",
        "N",
        _lanes,
        again=False,
    )
    seed: int = _option(
        "the seed of all generated cases (default: another one each run, printed)", "N", int, recorded=False
    )
    fuzz_examples: int | None = _option(
        "generated examples for each part of the property-based tests", "N", _positive
    )
    fuzz_time: float | None = _option(
        "keep generating cases for so many seconds in all, beside what the checks take", "SECONDS", _seconds
    )
    report_dir: Path = _option(
        "where the report goes (default: reports/)",
        "DIR",
        Path,
        default=Path("reports"),
        environment="CONFORMANCE_REPORT_DIR",
        recorded=False,
    )


#: Options by name, without leading dashes.
OPTIONS: Mapping[str, Option] = {
    value.name.replace("_", "-"): value.metadata["option"] for value in fields(Values)
}


def attribute(name: str) -> str:
    """The attribute of `Values` for an option."""
    return name.replace("-", "_")


def words(name: str, value: Any) -> list[str]:
    """An option and its value as words of a command line; none for the default."""
    option = OPTIONS[name]
    if value is None or value == option.default:
        return []
    values = value if option.repeats else [value]
    return [word for one in values for word in (f"--{name}", str(one))]


#: How the environment variables of a target begin.
PREFIX = "CONFORMANCE_"

#: Variables that are options of the suite, not values of the target file.
VARIABLES = frozenset(filter(None, (option.environment for option in OPTIONS.values())))


def names_target(variables: Mapping[str, str]) -> bool:
    """True if the environment sets any value of a target."""
    return any(name.startswith(PREFIX) and name not in VARIABLES for name in variables)
