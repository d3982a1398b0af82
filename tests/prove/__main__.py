"""Runs a proof: `python -m tests.prove NAME [OPTION ...]`, from the root of a checkout.

Exit status: 0 if proven; 1 if not, with each exception in the output; 2 on wrong usage.
"""

from __future__ import annotations

import argparse
import functools
import logging
import os
import sys
import time
from collections.abc import Callable, Sequence

import pytest

from tests.proofs import OPTIONS
from tests.prove import pace, races, speed, used

#: A proof is a module: its docstring is the help text, `options` declares the command line, `prove` returns
#: True if the proof holds.
PROOFS = (used, races, pace, speed)

#: Proofs that are tests: where they are, and what they prove.
TESTS = {
    "faults": (
        "tests/test_faults.py::test_a_fault_is_caught",
        "Each faulty server is caught by the checks of its rule, alone or in the order of a run.",
    ),
    "variants": (
        "tests/test_variants.py::test_a_conforming_server_is_not_blamed",
        "No conforming server is blamed, by any check, rule alone, generated part or seed.",
    ),
    "clients": (
        "tests/clients/test_clients.py::test_a_wrong_client_is_caught_by_its_rule_and_no_other",
        "Each wrong client is caught by the rule that it breaks, and by no other.",
    ),
    "load": (
        "tests/load/test_runs.py::test_a_rare_fault_is_found",
        "Each faulty server that shows under load is caught by a load run.",
    ),
    "hostile": (
        "tests/hostile/test_hostile.py::test_a_run_ends_as_it_should",
        "Each run against a hostile server, or that is hit itself, ends as it should.",
    ),
    "runs": ("tests/prove/runs.py", "No whole run blames a conforming server, in any lanes or processes."),
}


def parser_of(name: str, add: Callable[..., argparse.ArgumentParser]) -> None:
    """Declares a proof that is a test. Options of tests/proofs.py, and pytest's own, are passed on."""
    own = [
        f"  --{option}  {text.removeprefix(f'{name}: ')}"
        for option, (_, text) in OPTIONS.items()
        if ":" not in text or f"{name}: " in text
    ]
    more = "\n".join(["options of the tests, beside those of pytest, such as -x and -n PROCESSES:", *own[1:]])
    parser = add(name, help=TESTS[name][1], description=TESTS[name][1], epilog=more)
    parser.add_argument("--rule", metavar="PREFIX", help="only rules with this prefix")
    parser.add_argument("--operation", metavar="TEXT", help="only operations with TEXT in their name")
    if name == "runs":
        parser.add_argument("count", type=int, nargs="?", default=20, metavar="N", help="servers (20)")
    parser.set_defaults(test=TESTS[name][0])


def tested(options: argparse.Namespace, words: Sequence[str]) -> int:
    """Runs a proof that is a test, in a process for each core; returns the exit status."""
    usual = ["-q", "--every", "-n", str(os.cpu_count() or 1), "--dist", "worksteal", "-p", "no:cacheprovider"]
    usual += ["-m", "slow or not slow"]
    usual += [f"--rule={options.rule}*"] if options.rule else []
    usual += [f"--operation=*{options.operation}*"] if options.operation else []
    usual += [f"--seeds={options.count}"] if "count" in options else []
    if "--sample" in words and not any(word.startswith("--seed") for word in words):
        usual.append(f"--seed={time.time_ns() % 10**9}")
        print(f"{usual[-1]} draws this sample again")
    status = pytest.main([options.test, *usual, *words])
    return {pytest.ExitCode.OK: 0, pytest.ExitCode.USAGE_ERROR: 2}.get(pytest.ExitCode(status), 1)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the proof named on the command line; returns the exit status."""
    layout = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser("python -m tests.prove", description=__doc__, formatter_class=layout)
    names = parser.add_subparsers(required=True, metavar="NAME")
    add = functools.partial(names.add_parser, formatter_class=layout, allow_abbrev=False)
    for name in TESTS:
        parser_of(name, add)
    for proof in PROOFS:
        name, text = proof.__name__.rpartition(".")[2], proof.__doc__ or ""
        one = add(name, help=text.splitlines()[0], description=text)
        proof.options(one)
        one.set_defaults(prove=proof.prove)
    options, words = parser.parse_known_args(arguments)
    if "test" in options:
        return tested(options, words)
    if words:
        parser.error(f"unrecognized arguments: {' '.join(words)}")
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
