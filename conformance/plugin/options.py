"""Registers the options of a run with pytest, parses their values, and knows arguments that name it."""

from __future__ import annotations

import copy
import functools
import random
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from conformance._files import InputError
from conformance._options import OPTIONS, Effort, Values, attribute, names_target
from conformance._private import determine_root_again, option_names
from conformance._text import printable

if TYPE_CHECKING:
    from conformance.plugin.selection import Scope

#: The value of --target for the embedded reference server.
EMBEDDED = "embedded"

#: Generated cases per part in a deep run.
DEEP_EXAMPLES = 250

PACKAGE = Path(__file__).parents[1]

#: Folders of installed packages in an environment.
_INSTALLED = {"site-packages", "dist-packages"}


def register(config: pytest.Config, parser: pytest.Parser, words: list[str]) -> None:
    """Registers the options: always `--conformance-target` and so on; `--target` and so on in a run that
    names the suite, unless another plugin has them. Raises pytest.UsageError for a short name in `words`,
    the arguments, that the other one would get."""
    folder = config.invocation_params.dir
    concerned = own_checkout(folder) or any(
        _path(word.partition("::")[0], folder, "--pyargs" in words).is_relative_to(PACKAGE) for word in words
    )
    taken = option_names(parser)
    names = {word.partition("=")[0] for word in words}
    group = parser.getgroup("conformance", "Financial Accounts API conformance")
    for name, option in OPTIONS.items():
        long, short = f"--conformance-{name}", f"--{name}"
        free = concerned and short not in taken
        dest = f"conformance_{attribute(name)}"
        group.addoption(long, *([short] if free else []), dest=dest, **option.arguments)
        if concerned and short in taken & names and long not in names:
            raise pytest.UsageError(
                f"{short} belongs to another plugin of this environment, so the conformance suite did not "
                f"get it. Write {long}, or leave the other plugin out with -p no:NAME (pytest "
                "--trace-config lists the names)."
            )
    if concerned:
        known = config.known_args_namespace
        config.known_args_namespace = parser.parse_known_args(words, namespace=copy.copy(config.option))
        config.known_args_namespace.confcutdir = known.confcutdir
        determine_root_again(config)


# ---------------------------------------------------------------------- arguments that name the suite


def _path(argument: str, folder: Path, pyargs: bool) -> Path:
    """The path of an argument, relative to a folder or, under --pyargs, in the package."""
    first, _, rest = argument.partition(".")
    if pyargs and first == "conformance" and "/" not in argument:
        return PACKAGE.joinpath(*rest.split(".")) if rest else PACKAGE
    return (folder / argument).resolve()


def own_checkout(folder: Path) -> bool:
    """True if a folder is in the suite's own checkout."""
    return not _INSTALLED & set(PACKAGE.parts) and folder.is_relative_to(PACKAGE.parent)


def selects(argument: str, folder: Path, pyargs: bool) -> bool:
    """True if pytest with this argument collects the suite's checks."""
    path = _path(argument, folder, pyargs)
    if path.is_relative_to(PACKAGE):
        return True
    # A project does not select a suite in its virtual environment: pytest skips such folders.
    return path in PACKAGE.parents and not _INSTALLED & set(PACKAGE.relative_to(path).parts)


def narrowed(config: pytest.Config) -> list[str]:
    """The options that narrow the run, as on a command line; empty for a whole run."""
    option, folder = config.option, config.invocation_params.dir
    pairs = [("-k", option.keyword), ("-m", option.markexpr)]
    for name, own in OPTIONS.items():
        value = getattr(option, f"conformance_{attribute(name)}")
        if own.repeats or value == Effort.QUICK:
            pairs += [(f"--{name}", each) for each in (value if own.repeats else [value]) or ()]
    pairs += [("--deselect", value) for value in option.deselect or ()]
    pairs += [("--ignore", value) for value in option.ignore or ()]
    words = [shlex.join((name, str(value))) for name, value in pairs if value]
    words += ["--lf"] if getattr(option, "lf", False) else []
    if option.maxfail:
        words.append("-x" if option.maxfail == 1 else f"--maxfail {option.maxfail}")
    words += [
        shlex.quote(argument)
        for argument in map(str, config.args)
        if "::" in argument or PACKAGE in _path(argument, folder, bool(option.pyargs)).parents
    ]
    return [printable(word)[:300] for word in words]


# ---------------------------------------------------------------------- values


@dataclass(frozen=True, kw_only=True)
class Options(Values):
    """The values of all options, and what pytest's own options say of the run.

    `selected`: the run collects the suite's checks; `idle`: it runs nothing; `debugging`: pytest may stop in
    a debugger; `texts`: option -> text, for reports; `narrowed`: see there.
    """

    selected: bool
    idle: bool
    debugging: bool
    worker: bool
    installed: bool
    verbosity: int
    base_url: str | None
    texts: Mapping[str, str]
    narrowed: list[str]

    @functools.cached_property
    def scope(self) -> Scope:
        """The selected cells. Raises InputError."""
        # Imported late: the sessions of other projects have these options, too.
        from conformance.plugin.selection import Scope

        generated = bool(self.fuzz_examples or self.fuzz_time)
        return Scope.parse(self.rule, self.operation, self.section, generated=generated)

    @property
    def limits(self) -> dict[str, float]:
        """Keys of `[limits]` in the target file and the values that override them."""
        values = {option.limit: getattr(self, attribute(name)) for name, option in OPTIONS.items()}
        return {key: value for key, value in values.items() if key and value is not None}

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
    """Parses the options of a session."""
    option, folder = config.option, config.invocation_params.dir
    values = {value.name: getattr(option, f"conformance_{value.name}") for value in fields(Values)}
    texts = {
        name: " ".join(value) if own.repeats else str(value)
        for name, own in OPTIONS.items()
        if own.recorded and (value := values[attribute(name)]) not in (None, own.default)
    }
    base_url = config.getoption("base_url", None)
    others = {"base-url": base_url, "-k": option.keyword, "-m": option.markexpr}
    texts |= {name: str(value) for name, value in others.items() if value}
    values["effort"] = Effort(values["effort"])
    # A process of pytest-xdist has the controller's.
    data = getattr(config, "workerinput", {}).get("conformance", {})
    if values["seed"] is None:
        values["seed"] = data.get("seed", random.SystemRandom().randrange(2**32))
    paths = [str(argument).partition("::")[0] for argument in config.args]
    idle = ("collectonly", "showfixtures", "show_fixtures_per_test")
    return Options(
        **values,
        selected=any(selects(path, folder, bool(option.pyargs)) for path in paths),
        idle=any(getattr(option, name, False) for name in idle),
        debugging=any(getattr(option, name, False) for name in ("usepdb", "trace")),
        worker=hasattr(config, "workerinput"),
        installed=bool(option.pyargs),
        verbosity=getattr(option, "verbose", 0),
        base_url=base_url,
        texts=texts,
        narrowed=narrowed(config),
    )
