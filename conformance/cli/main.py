"""The `conformance` command: finds the subcommand's module, imports only that, and runs it.

A subcommand's module has `add_arguments(parser)` and `run(options) -> int`, which returns the exit
status and raises UsageError for anything the user can put right.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Sequence
from typing import Protocol, cast

from conformance import __version__

#: Subcommand -> its module and what it does, in a few words.
COMMANDS: dict[str, tuple[str, str]] = {
    "doctor": ("conformance.cli.doctor", "say whether a target can be judged, and what is wrong with it"),
    "init": ("conformance.cli.init", "write a target file, by asking or from options"),
    "test": ("conformance.cli.test", "judge a server: pytest on the suite, with pytest's options"),
    "serve": ("conformance.cli.serve", "run the reference server, a sandbox for clients"),
    "report": ("conformance.cli.report", "make the reports of a run anew from its results.json"),
    "merge": ("conformance.cli.merge", "put the parts of one run together (--shard)"),
    "compare": ("conformance.cli.compare", "compare the results of several implementations or versions"),
    "rules": ("conformance.cli.rules", "list the rules"),
    "explain": ("conformance.cli.explain", "say all about one rule: text, checks, an example exchange"),
    "replay": ("conformance.cli.replay", "send the requests of a failure again"),
    "sign": ("conformance.cli.sign", "sign a request: the string, the headers, or a curl command"),
    "explain-signature": ("conformance.cli.explain_signature", "say which mistake a wrong signature shows"),
}


class Command(Protocol):
    """What a subcommand's module offers."""

    def add_arguments(self, parser: argparse.ArgumentParser) -> None: ...

    def run(self, options: argparse.Namespace) -> int: ...


class UsageError(Exception):
    """The command cannot be carried out as it was given; the text is one paragraph with the remedy."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line and returns the exit status: 2 for wrong usage, 130 when interrupted."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    parser = argparse.ArgumentParser(
        prog="conformance", description="A conformance suite for the Financial Accounts API."
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, (_, summary) in COMMANDS.items():
        subparsers.add_parser(name, help=summary, add_help=not words or words[0] == name)
    if words[:1] == ["test"]:
        # Every option is pytest's, or the suite's own in pytest.
        from conformance.cli import test

        return test.judge(words[1:])
    module: Command | None = None
    if words and words[0] in COMMANDS:
        module = cast(Command, importlib.import_module(COMMANDS[words[0]][0]))
        module.add_arguments(subparsers.choices[words[0]])
    options = parser.parse_args(words)
    assert module is not None
    try:
        return module.run(options)
    except UsageError as error:
        print(f"conformance {options.command}: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # Whoever read the output has gone; nothing is left to tell them.
        sys.stderr.close()
        return 1
