"""Which of a pytest session's arguments and tests concern the suite."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from conformance._text import printable

PACKAGE = Path(__file__).parents[1]
CHECKS = PACKAGE / "checks"


def selects_checks(arguments: Sequence[str], folder: Path, pyargs: bool) -> bool:
    """Whether pytest, called with these arguments in a folder, collects the suite's checks."""
    return any(_selects(argument.partition("::")[0], folder, pyargs) for argument in arguments)


def _path(argument: str, folder: Path, pyargs: bool) -> Path | None:
    """The path of an argument; None for a module of another package."""
    first, _, rest = argument.partition(".")
    if pyargs and first == "conformance" and "/" not in argument:
        return PACKAGE.joinpath(*rest.split(".")) if rest else PACKAGE
    return (folder / argument).resolve()


def _within(argument: str, folder: Path, pyargs: bool) -> bool:
    path = _path(argument, folder, pyargs)
    return path is not None and (path == PACKAGE or path == CHECKS or CHECKS in path.parents)


def _selects(argument: str, folder: Path, pyargs: bool) -> bool:
    path = _path(argument, folder, pyargs)
    if path is None:
        return False
    if _within(argument, folder, pyargs):
        return True
    # A project whose virtual environment holds the suite does not ask for it: pytest leaves such folders out.
    return path in PACKAGE.parents and not {"site-packages", "dist-packages"} & set(
        PACKAGE.relative_to(path).parts
    )


def narrowed(config: Any) -> str:
    """How the user narrowed the run, as on a command line; empty for a whole run."""
    option = config.option
    words = []
    for name, value in (
        ("-k", option.keyword),
        ("-m", option.markexpr),
        ("--shard", option.conformance_shard),
        ("--rule", " ".join(option.conformance_rule or ())),
        ("--deselect", " ".join(option.deselect or ())),
        ("--ignore", " ".join(map(str, option.ignore or ()))),
    ):
        if value:
            words.append(f"{name} {value}")
    words += [
        name for name, value in (("--lf", getattr(option, "lf", False)), ("-x", option.maxfail == 1)) if value
    ]
    if option.maxfail and option.maxfail > 1:
        words.append(f"--maxfail {option.maxfail}")
    folder, pyargs = config.invocation_params.dir, bool(option.pyargs)
    for argument in map(str, config.args):
        path = _path(argument, folder, pyargs)
        if "::" in argument or (path is not None and CHECKS in path.parents):
            words.append(argument)
    return printable(" ".join(words))[:300]


def scope(nodeid: str) -> str:
    """The tests that share set-up, so that one worker had better run them: a module's on one operation."""
    module, _, rest = nodeid.partition("::")
    _, bracket, parameter = rest.rpartition("[")
    return f"{module}[{parameter}" if bracket else module


def in_shard(nodeid: str, shard: tuple[int, int]) -> bool:
    """Whether a test belongs to a part; the same on every machine, whatever else is selected."""
    part, whole = shard
    return zlib.crc32(scope(nodeid.rpartition("/")[2]).encode()) % whole == part - 1


def parse_rule(text: str) -> tuple[str, str | None]:
    """`auth.signature` or `auth.signature@createPayout`. Raises ValueError with what it should be."""
    from conformance.contract.rules import RULES

    rule, _, operation = text.partition("@")
    if rule not in RULES:
        raise ValueError(f"--rule: there is no rule {rule[:60]!r}; `conformance rules` lists them.")
    if operation and operation not in RULES[rule].operations:
        raise ValueError(
            f"--rule: {rule} does not cover {operation[:60]!r}; it covers {', '.join(RULES[rule].operations)}."
        )
    return rule, operation or None


def wanted(function: Any, operation: str, rules: Sequence[tuple[str, str | None]]) -> bool:
    """Whether a check on an operation tests one of these rules there; a rule of every answer, any check does."""
    from conformance.judging.invariants import INVARIANTS

    check = getattr(function, "conformance_check", None)
    if check is None:
        return False
    cited = {rule.id for rule in check.rules_on(operation)} | set(INVARIANTS)
    return any(rule in cited and one in (None, operation) for rule, one in rules)
