"""Runs a proof: `python -m tests.prove NAME [OPTION ...]`, from the root of a checkout.

Exit status: 0 if proven; 1 if not, with each exception in the output; 2 on wrong usage.
"""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Sequence

from tests.prove import baseline, compare, faults, pace, races, runs, speed, used, variants

#: A proof is a module: its docstring is the help text, `options` declares the command line, `prove` returns
#: True if the proof holds.
PROOFS = (faults, variants, runs, used, races, pace, baseline, compare, speed)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the proof named on the command line; returns the exit status."""
    layout = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser("python -m tests.prove", description=__doc__, formatter_class=layout)
    names = parser.add_subparsers(required=True, metavar="NAME")
    for proof in PROOFS:
        name, text = proof.__name__.rpartition(".")[2], proof.__doc__ or ""
        one = names.add_parser(name, help=text.splitlines()[0], description=text, formatter_class=layout)
        proof.options(one)
        one.set_defaults(prove=proof.prove)
    options = parser.parse_args(arguments)
    # Suppresses the tracebacks of servers that fail on purpose.
    logging.disable(logging.CRITICAL)
    try:
        return 0 if options.prove(options) else 1
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 1
    finally:
        logging.disable(logging.NOTSET)


if __name__ == "__main__":
    sys.exit(main())
