"""`conformance explain`: describes one rule, offline.

Prints a rule with its level, the checks that test it, and the command that runs them alone.
"""

from __future__ import annotations

import argparse
import inspect
import textwrap
from collections.abc import Iterator

from conformance._files import InputError
from conformance.checks import load_checks
from conformance.contract.rules import ALL_RULES, Level, Rule, Side, rules_named
from conformance.judge.invariants import INVARIANTS


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID", help="a rule, as `conformance rules` lists them")


def run(options: argparse.Namespace) -> int:
    """Prints the explanation. Raises InputError for an unknown rule or operation."""
    rules = rules_named(options.id)
    if rules != [options.id]:
        raise InputError(
            f"{options.id} is an area of {len(rules)} rules; explain one of them: "
            f"{', '.join(rules[:8])}{', ...' if len(rules) > 8 else ''}."
        )
    print("\n".join(_lines(ALL_RULES[options.id])))
    return 0


def _lines(rule: Rule) -> Iterator[str]:
    yield from _described(rule)
    if Side.CLIENT in rule.sides:
        yield from ("", "Judged on the requests that clients send: conformance serve --judge")
    if Side.SERVER not in rule.sides:
        return
    yield from ("", "Checks")
    for name, text in _checks(rule):
        yield f"   {name}"
        yield from textwrap.wrap(text, 100, initial_indent="      ", subsequent_indent="      ")
    yield f"   Run them alone: pytest --pyargs conformance --rule {rule.id}"


def _described(rule: Rule) -> Iterator[str]:
    """The lines of a rule's full description."""
    yield rule.id
    yield from _wrapped(rule.statement)
    yield f"   level       {rule.level}: {_MEANING[rule.level]}"
    yield f"   binds       {' and '.join(f'{side}s' for side in rule.sides)}"
    yield f"   section     {', '.join(rule.section)} of the specification"
    if rule.quote:
        yield from _wrapped(f'"{rule.quote}"', "it says")
    if rule.client:
        yield f"   of clients  {rule.client}"
    facts = {"operations": rule.operations, "needs": rule.needs, "follows": rule.follows}
    for name, values in facts.items():
        yield from _wrapped(", ".join(values), name)


def _wrapped(text: str, label: str = "") -> list[str]:
    """The lines of an indented, possibly labelled text; none for an empty one."""
    start = f"   {label:12}" if label else "   "
    return textwrap.wrap(text, 100, initial_indent=start, subsequent_indent=" " * len(start))


_MEANING = {
    Level.REQUIRED: "the specification states it; a violation fails the run",
    Level.IMPLIED: "the specification suggests it; a violation warns, or fails under --fail-on implied",
    Level.OPEN: "the specification leaves it open; the choice is recorded",
}


def _checks(rule: Rule) -> Iterator[tuple[str, str]]:
    """Name and first paragraph of each check of a rule, or how else it is judged."""
    if rule.id in INVARIANTS:
        yield "every response", "Judged on every response of the server, whatever check asked for it."
    for check in load_checks().values():
        if rule.id in check.rules:
            text = inspect.getdoc(check.function) or ""
            yield check.name, " ".join(text.split("\n\n")[0].split())
