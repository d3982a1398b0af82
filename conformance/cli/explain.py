"""`conformance explain`: describes one rule, offline.

Prints a rule with its level, the checks that test it, and the command that runs them alone.
"""

from __future__ import annotations

import argparse
import inspect
import textwrap
from collections.abc import Iterator

from conformance._files import InputError
from conformance._text import listed
from conformance.checks import load_checks
from conformance.contract.rules import ALL_RULES, Level, Rule, Side, rules_named
from conformance.judge.invariants import INVARIANTS

_MEANING = {
    Level.REQUIRED: "the specification states it; a violation fails the run",
    Level.IMPLIED: "the specification suggests it; a violation warns, or fails under --fail-on implied",
    Level.OPEN: "the specification leaves it open; the choice is recorded",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID", help="a rule, as `conformance rules` lists them")


def run(options: argparse.Namespace) -> int:
    """Prints the explanation. Raises InputError for an unknown rule, or an area."""
    rules = rules_named(options.id)
    if rules != [options.id]:
        raise InputError(f"{options.id} is an area of {len(rules)} rules; explain one: {listed(rules, 8)}.")
    for label, text in _rows(ALL_RULES[options.id]):
        start = f"   {label:12}" if label else "   "
        print(*textwrap.wrap(text, 100, initial_indent=start, subsequent_indent=" " * len(start)), sep="\n")
    return 0


def _rows(rule: Rule) -> Iterator[tuple[str, str]]:
    """The description of a rule: a label, or none, and a text."""
    yield "", f"{rule.id}: {rule.statement}"
    yield "level", f"{rule.level}: {_MEANING[rule.level]}"
    yield "binds", " and ".join(f"{side}s" for side in rule.sides)
    yield "section", f"{', '.join(rule.section)} of the specification"
    facts = {
        "it says": rule.quote and f'"{rule.quote}"',
        "of clients": rule.client,
        "operations": ", ".join(rule.operations),
        "needs": ", ".join(rule.needs),
        "follows": ", ".join(rule.follows),
    }
    yield from ((label, text) for label, text in facts.items() if text)
    if Side.CLIENT in rule.sides:
        yield "judged by", "conformance serve --judge, on the requests that clients send"
    if Side.SERVER in rule.sides:
        yield "run by", f"pytest --pyargs conformance --rule {rule.id}"
        if rule.id in INVARIANTS:
            yield "check", "Every response of the server is judged by it, whatever check asked for it."
        for check in load_checks().values():
            if rule.id in check.rules:
                text = (inspect.getdoc(check.function) or "").split("\n\n")[0]
                yield "check", f"{check.name}: {' '.join(text.split())}"
