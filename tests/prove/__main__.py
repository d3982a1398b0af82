"""Runs a proof: `python -m tests.prove NAME [OPTION ...]`, from the root of a checkout.

Exit status: 0 if proven; 1 if not, with each exception in the output; 2 on wrong usage.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import logging
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

#: Names of the proofs, each a module of this package.
NAMES = (
    "faults", "variants", "runs", "baseline", "compare", "speed",
)  # fmt: skip


class Proof(Protocol):
    """A module of a proof: its docstring is the help text, `options` declares the command line, `prove`
    returns True if the proof holds."""

    def options(self, parser: argparse.ArgumentParser) -> None: ...

    def prove(self, options: argparse.Namespace) -> bool: ...


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the proof named on the command line; returns the exit status."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    parser = argparse.ArgumentParser(
        prog="python -m tests.prove",
        description=f"{__doc__}\n\n{_table()}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("name", choices=NAMES, metavar="NAME", help="one of the proofs above")
    name = parser.parse_args(given[:1]).name
    # Imported late, since each proof has slow imports of its own.
    proof: Proof = importlib.import_module(f"tests.prove.{name}")
    parser = argparse.ArgumentParser(
        prog=f"python -m tests.prove {name}",
        description=proof.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    proof.options(parser)
    options = parser.parse_args(given[1:])
    # Suppresses the tracebacks of servers that fail on purpose.
    logging.disable(logging.CRITICAL)
    try:
        return 0 if proof.prove(options) else 1
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 1
    finally:
        logging.disable(logging.NOTSET)


def _table() -> str:
    """Lists the proofs, each with the first sentence of its docstring."""
    lines = []
    for name in NAMES:
        path = Path(__file__).with_name(f"{name}.py")
        text = ast.get_docstring(ast.parse(path.read_text("utf-8"))) or ""
        lines.append(f"  {name:<12}{text.splitlines()[0]}")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
