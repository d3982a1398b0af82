"""The `conformance` command: imports the module of the subcommand, and runs it.

The module of a subcommand has its name, with `_` for `-`; its docstring without the headline is the text of
--help. `add_arguments(parser)` declares the options. `run(options)` returns the exit status, and raises
InputError for errors of the user, OSError for a file that cannot be written.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
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
    "explain": "describe one rule: text, checks, an example exchange",
    "sign": "sign a request: the string, the headers, or a curl command",
    "explain-signature": "name the mistake that makes a wrong signature",
}


def add_target(parser: argparse.ArgumentParser, purpose: str = "") -> None:
    """Adds `--target`, a path or None; `purpose` says what the file is used for."""
    parser.add_argument(
        "--target",
        type=Path,
        metavar="FILE",
        default=os.environ.get("CONFORMANCE_TARGET") or None,
        help=f"the target file{purpose} (CONFORMANCE_TARGET)",
    )


def add_options(parser: argparse._ActionsContainer, *names: str) -> None:
    """Adds options of a run, as declared in their table."""
    for name in names:
        option = OPTIONS[name]
        parser.add_argument(
            f"--{name}",
            metavar=option.metavar,
            type=option.type,
            choices=option.choices or None,
            default=option.initial,
            help=option.help.replace("%", "%%"),
        )


def add_base_url(parser: argparse.ArgumentParser) -> None:
    """Adds `--base-url`, a text or None."""
    parser.add_argument(
        "--base-url",
        metavar="URL",
        default=os.environ.get("PYTEST_BASE_URL") or None,
        help="the server; wins over the target file (PYTEST_BASE_URL)",
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line and returns the exit status: 2, or the module's WRONG_USAGE, for wrong usage,
    130 if interrupted."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    parser = argparse.ArgumentParser(
        prog="conformance", description="A conformance suite for the Financial Accounts API."
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, summary in COMMANDS.items():
        subparsers.add_parser(name, help=summary, add_help=not words or words[0] == name)
    module: Any = None
    if words and words[0] in COMMANDS:
        module = importlib.import_module(f"conformance.cli.{words[0].replace('-', '_')}")
        subparsers.choices[words[0]].description = (module.__doc__ or "").partition("\n\n")[2]
        module.add_arguments(subparsers.choices[words[0]])
    wrong_usage = getattr(module, "WRONG_USAGE", 2)
    try:
        # The options of `test` are pytest's, most of `load` Locust's.
        others = words[:1] in (["test"], ["load"])
        options = argparse.Namespace(words=words[1:]) if others else parser.parse_args(words)
    except SystemExit as stop:
        sys.exit(wrong_usage if stop.code else 0)
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
    return int(wrong_usage)
