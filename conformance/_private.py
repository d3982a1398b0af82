"""Uses of what other libraries do not promise: each in one function, with what it assumes.

Where an assumption fails, the function does nothing, or the second best; tests/unit/test_private_parts.py
says so first, when a new version is tried.
"""

from __future__ import annotations

import ast
import contextlib
import contextvars
import functools
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pytest

# ---------------------------------------------------------------------- pytest


def choose_root_again(config: pytest.Config) -> None:
    """Undoes a mix-up: pytest takes the value of an option that it does not know yet for a path to tests.

    `pytest --target /etc/api/target.toml` would make /etc/api the root folder, look for settings there and
    write its cache there, because plugins' options are learnt only after the root folder was chosen. Assumes
    _pytest.config.findpaths.determine_setup and the members in which a Config keeps its choice; without them
    pytest's first choice stays.
    """
    try:
        from _pytest.config.findpaths import determine_setup

        known = config.known_args_namespace
        root, settings, values, *_ = determine_setup(
            inifile=known.inifilename,
            override_ini=known.override_ini,
            args=known.file_or_dir,
            rootdir_cmd_arg=known.rootdir or None,
            invocation_dir=config.invocation_params.dir,
        )
        if (root, settings) == (config.rootpath, config.inipath):
            return
        inside = "_inicfg" if hasattr(config, "_inicfg") else "inicfg"
        if not all(hasattr(config, name) for name in ("_rootpath", "_inipath", inside, "_inicache")):
            return
    except (ImportError, AttributeError, TypeError, ValueError):
        return
    config._rootpath, config._inipath = root, settings
    setattr(config, inside, values)
    config._inicache.clear()


def import_as_compiled(pluginmanager: pytest.PytestPluginManager, package: str) -> None:
    """Lets a package be imported as pip compiled it, without pytest's rewriting of its assertions.

    pytest marks every package that has a plugin. The suite's assertions are no tests', and without a place to
    keep what was rewritten (a read-only environment, PYTHONDONTWRITEBYTECODE) each run would compile all of
    it. Assumes the hook that imports, and the set of packages that it is to rewrite; without them the package
    is rewritten.
    """
    marked = getattr(getattr(pluginmanager, "rewrite_hook", None), "_must_rewrite", None)
    if isinstance(marked, set):
        marked.discard(package)


def keep_cache_in(config: pytest.Config, folder: Path) -> None:
    """Lets pytest write its cache into a folder, unless its settings name a place. Has to be called before
    plugins are configured. Assumes _inicache, in which settings that were read are remembered; without it the
    cache is in the root folder."""
    remembered = getattr(config, "_inicache", None)
    with contextlib.suppress(KeyError, ValueError):
        if isinstance(remembered, dict) and config.getini("cache_dir") == ".pytest_cache":
            remembered["cache_dir"] = str(folder)


def option_names(parser: pytest.Parser) -> frozenset[str]:
    """The names of the options that a parser knows. Assumes the groups in which it keeps them; without them
    none are known, and pytest refuses a name that is given twice."""
    groups = [*getattr(parser, "_groups", ()), getattr(parser, "_anonymous", None)]
    return frozenset(
        name for group in groups for option in getattr(group, "options", ()) for name in option.names()
    )


def colour_again(reporter: Any) -> None:
    """Lets a terminal reporter choose the colour of its last line anew, after its `stats` were changed: it
    counts the categories that were known when it last chose. Assumes _set_main_color; without it the line
    counts what was there before."""
    choose = getattr(reporter, "_set_main_color", None)
    if choose is not None:
        choose()


def terminal_writer(reporter: Any) -> Any:
    """Writer of a terminal reporter, line by line. Assumes _tw; without it a writer of pytest's own to the
    standard output serves."""
    from _pytest._io import TerminalWriter

    return getattr(reporter, "_tw", None) or TerminalWriter()


# ---------------------------------------------------------------------- Python


def parse_one_at_a_time() -> None:
    """Lets only one thread of this process use `ast.parse` at a time, as pytest does for what it imports and
    hypothesis for what it shows. Before Python 3.12.2 (and 3.11.8) the depth of all threads' trees is counted
    together (python/cpython#106905), and whoever comes second gets a SystemError. Assumes that both call
    `parse` of the module; without it some run ends as an error of the suite.
    """
    parse, lock = ast.parse, threading.RLock()
    if sys.version_info >= (3, 12, 2) or hasattr(parse, "__wrapped__"):
        return

    @functools.wraps(parse)
    def one_at_a_time(*arguments: Any, **options: Any) -> Any:
        with lock:
            return parse(*arguments, **options)

    ast.parse = one_at_a_time


# ---------------------------------------------------------------------- hypothesis

#: First and last code points of the characters before and after the surrogates.
_UTF_8 = ((0, 0xD7FF), (0xE000, 0x10FFFF))


def keep_examples_apart(test: Callable[..., Any], name: str) -> None:
    """Gives a test of hypothesis.given a place of its own in hypothesis' database. Assumes that
    _hypothesis_internal_database_key is that place; without it parts share one, and run each other's examples
    first."""
    test._hypothesis_internal_database_key = name.encode()  # type: ignore[attr-defined]


def know_utf_8() -> None:
    """Tells hypothesis which characters UTF-8 has: all but the surrogates. It would try all 1,114,112 in each
    process that finds no folder of an earlier one, for seconds and in 180 MB. Assumes intervals_from_codec,
    which answers those that can be encoded and, of these, those that come back as others, and IntervalSet;
    without them hypothesis tries."""
    try:
        from hypothesis.internal import charmap
        from hypothesis.internal.intervalsets import IntervalSet

        tried, known = charmap.intervals_from_codec, (IntervalSet(_UTF_8), IntervalSet([]))
    except (ImportError, AttributeError, TypeError):
        return

    @functools.wraps(tried)
    def intervals_from_codec(codec_name: str) -> Any:
        return known if codec_name == "utf-8" else tried(codec_name)

    charmap.intervals_from_codec = intervals_from_codec  # type: ignore[assignment]


def leave_collections_alone() -> None:
    """Keeps hypothesis from timing collections of garbage for deadlines that the suite does not set: its
    function would run at the end of the stack of whatever is nested deeply, and before Python 3.12 that ends
    the process. Assumes _gc_initialized, which says that it is in place; without it times are taken."""
    with contextlib.suppress(ImportError):
        from hypothesis.internal.conjecture import junkdrawer

        if hasattr(junkdrawer, "_gc_initialized"):
            junkdrawer._gc_initialized = True


def leave_out_words_of_source() -> Callable[[], contextlib.AbstractContextManager[None]]:
    """Lets hypothesis draw no strings and numbers that stand in the source of local modules, within what this
    returns: the suite's are local in a checkout and not where it is installed, so that one seed would draw
    different cases. Assumes that a provider asks _get_local_constants, and Constants; without them it draws
    them."""
    try:
        from hypothesis.internal.conjecture import providers
        from hypothesis.internal.constants_ast import Constants

        ask, none = providers._get_local_constants, Constants()
    except (ImportError, AttributeError, TypeError):
        return contextlib.nullcontext
    left_out = contextvars.ContextVar("words of source are left out", default=False)

    @contextlib.contextmanager
    def without() -> Iterator[None]:
        before = left_out.set(True)
        try:
            yield
        finally:
            left_out.reset(before)

    providers._get_local_constants = lambda: none if left_out.get() else ask()
    return without


def has_words_of_hypothesis(reporter: Any) -> bool:
    """True if a report of some process carries what hypothesis's plugin prints at the end. Assumes attributes
    that begin with _hypothesis_; without them the plugin prints nothing of other processes' tests."""
    reports = (report for reports in getattr(reporter, "stats", {}).values() for report in reports)
    return any(name.startswith("_hypothesis_") for report in reports for name in vars(report))
