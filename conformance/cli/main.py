"""The `conformance` command: imports the module of the subcommand, and runs it.

The module of a subcommand has its name, with `_` for `-`; its docstring without the headline is the text of
--help. `add_arguments(parser)` declares the options; where some are those of another program, `PASSES_ON` is
true, and `options.words` has them. `run(options)` returns the exit status, and raises InputError for errors
of the user, OSError for a file that cannot be written.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from conformance import __version__
from conformance._files import InputError
from conformance._options import OPTIONS

#: Subcommand -> summary.
COMMANDS: dict[str, str] = {
    "doctor": "examine a target: name what keeps it from being judged",
    "init": "write a target file, by asking or from options",
    "test": "judge a server: pytest on the suite, with pytest's options",
    "load": "judge a server under load: many users at once, with Locust's options",
    "serve": "run the reference server, a sandbox for clients",
    "compare": "name what changed between two runs",
    "rules": "list the rules",
    "explain": "describe one rule: its text, and the checks that test it",
    "sign": "sign a request: the string, the headers, or a curl command",
    "explain-signature": "name the mistake that makes a wrong signature",
}

#: Exit status of wrong usage: of subcommands with the exit statuses of a run, and of all others.
WRONG_USAGE = {"doctor": 4, "load": 4, "": 2}


def add_target(parser: argparse.ArgumentParser, purpose: str = "") -> None:
    """Adds `--target`, a path or None; `purpose` says what the file is used for."""
    parser.add_argument(
        "--target",
        type=Path,
        metavar="FILE",
        default=os.environ.get("CONFORMANCE_TARGET") or None,
        help=f"the target file{purpose} (CONFORMANCE_TARGET)",
    )


def add_server(parser: argparse.ArgumentParser) -> None:
    """Adds `--target` and `--base-url`, a text or None."""
    add_target(parser)
    parser.add_argument(
        "--base-url",
        metavar="URL",
        default=os.environ.get("PYTEST_BASE_URL") or None,
        help="the server; wins over the target file (PYTEST_BASE_URL)",
    )


def add_options(parser: argparse._ActionsContainer, *names: str) -> None:
    """Adds options of a run, as declared in their table."""
    for name in names:
        parser.add_argument(f"--{name}", **OPTIONS[name].arguments)


def print_indented(text: str) -> None:
    """Prints a paragraph below a line that it belongs to."""
    print(textwrap.indent(textwrap.fill(text, 96, break_on_hyphens=False), "  "))


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line and returns the exit status: one of WRONG_USAGE for wrong usage, 130 if
    interrupted."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    parser = argparse.ArgumentParser(
        prog="conformance", description="A conformance suite for the Financial Accounts API."
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    module: Any = None
    wrong_usage = WRONG_USAGE.get(words[0] if words else "", WRONG_USAGE[""])
    for name, summary in COMMANDS.items():
        # pytest has a --help of its own.
        subparsers.add_parser(name, help=summary, add_help=name != "test", allow_abbrev=False)
    try:
        if words and words[0] in COMMANDS:
            # The module of a subcommand reads the contract.
            module = importlib.import_module(f"conformance.cli.{words[0].replace('-', '_')}")
            command = subparsers.choices[words[0]]
            command.description = (module.__doc__ or "").partition("\n\n")[2]
            module.add_arguments(command)
        options, rest = parser.parse_known_args(words)
        if rest and not getattr(module, "PASSES_ON", False):
            command.error(f"unrecognized arguments: {' '.join(rest)}")
        options.words = rest
    except SystemExit as stop:
        sys.exit(wrong_usage if stop.code else 0)
    except InputError as error:
        print(f"conformance {words[0]}: {error}", file=sys.stderr)
        return wrong_usage
    try:
        return int(module.run(options))
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # The reader of standard output is gone.
        sys.stderr.close()
        return 1
    except InputError as error:
        text = str(error)
    except OSError as error:
        if error.filename is None:
            raise
        text = f"{error.filename}: it cannot be written ({error.strerror})."
    print(f"conformance {words[0]}: {text}", file=sys.stderr)
    return wrong_usage
