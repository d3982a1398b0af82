"""`conformance rules`: the catalogue of rules, to read or as data.

Lists the rules that the suite judges; `conformance explain ID` says all about one.
"""

from __future__ import annotations

import argparse
import json
import shutil
import textwrap
from collections.abc import Iterable
from dataclasses import asdict

from conformance._files import InputError
from conformance._text import meant
from conformance.contract.operations import OPERATIONS
from conformance.contract.rules import ALL_RULES, VERSION, Level, Rule, Side


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the subcommand."""
    parser.add_argument(
        "id", nargs="*", metavar="ID", help="a rule, or the area of several: auth, list, fields, ..."
    )
    parser.add_argument(
        "--level", choices=[str(level) for level in Level], help="only the rules of this level"
    )
    parser.add_argument(
        "--side", type=Side, choices=list(Side), help="only the rules that bind servers, or clients"
    )
    parser.add_argument("--operation", metavar="OPERATION", help="only the rules about this operation")
    parser.add_argument(
        "--section",
        metavar="SECTION",
        help="only the rules of this section of the specification, such as 5.4",
    )
    parser.add_argument("--json", action="store_true", help="print them as JSON")


def run(options: argparse.Namespace) -> int:
    """Prints the rules. Raises InputError for an unknown name, and for a choice that leaves none."""
    chosen = list(ALL_RULES.values())
    if options.id:
        for name in options.id:
            find(name)
        chosen = [rule for rule in chosen if any(_named(rule, name) for name in options.id)]
    if options.operation:
        if options.operation not in OPERATIONS:
            raise InputError(
                f"--operation: there is no operation {options.operation!r}; they are {', '.join(OPERATIONS)}."
            )
        chosen = [rule for rule in chosen if options.operation in rule.operations]
    if options.side:
        chosen = [rule for rule in chosen if options.side in rule.sides]
    if options.level:
        chosen = [rule for rule in chosen if rule.level == options.level]
    if options.section:
        chosen = [
            rule for rule in chosen if any(_within(section, options.section) for section in rule.section)
        ]
    if not chosen:
        raise InputError("no rule is all of this; leave out a part of the choice.")
    if options.json:
        print(json.dumps([asdict(rule) for rule in chosen], indent=1))
    elif options.id and all(name in ALL_RULES for name in options.id):
        for rule in chosen:
            print("\n".join(described(rule)))
    else:
        print("\n".join(_table(chosen)))
    return 0


def find(name: str) -> list[Rule]:
    """The rules of an id or an area. Raises InputError with the nearest names when there is none."""
    found = [rule for rule in ALL_RULES.values() if _named(rule, name)]
    if found:
        return found
    areas = {rule.partition(".")[0] for rule in ALL_RULES}
    hint = meant(name, [*ALL_RULES, *areas]) or "; `conformance rules` lists them."
    raise InputError(f"the catalogue has no rule or area {name[:60]!r}{hint}")


def _named(rule: Rule, name: str) -> bool:
    return rule.id == name or rule.id.startswith(name.rstrip(".") + ".")


def _within(section: str, wanted: str) -> bool:
    return section == wanted or section.startswith(wanted.rstrip(".") + ".")


def _table(rules: Iterable[Rule]) -> list[str]:
    rules = list(rules)
    width = shutil.get_terminal_size((110, 24)).columns
    longest = max(len(rule.id) for rule in rules)
    start = longest + 13
    lines = []
    for rule in rules:
        text = textwrap.wrap(rule.statement, max(width - start, 40))
        lines.append(f"{rule.id:{longest}}  {rule.level:8}   {text[0]}")
        lines += [" " * start + line for line in text[1:]]
    cases = sum(len(rule.operations) for rule in rules)
    return [
        *lines,
        "",
        f"{len(rules)} {'rule' if len(rules) == 1 else 'rules'}, {cases} cases (a rule on an operation), "
        f"catalogue {VERSION}",
    ]


def described(rule: Rule) -> list[str]:
    """A rule in full, line by line."""
    lines = [
        rule.id,
        *textwrap.wrap(rule.statement, 100, initial_indent="   ", subsequent_indent="   "),
        f"   level       {rule.level}: {_MEANING[rule.level]}",
        f"   binds       {' and '.join(f'{side}s' for side in rule.sides)}",
        f"   section     {', '.join(rule.section)} of the specification",
    ]
    if rule.quote:
        lines += textwrap.wrap(
            f'"{rule.quote}"', 100, initial_indent="   it says     ", subsequent_indent=" " * 15
        )
    if rule.client:
        lines.append(f"   of clients  {rule.client}")
    facts = {"operations": rule.operations, "needs": rule.needs, "follows": rule.follows}
    for name, values in facts.items():
        if values:
            lines += textwrap.wrap(
                ", ".join(values), 100, initial_indent=f"   {name:12}", subsequent_indent=" " * 15
            )
    return lines


_MEANING = {
    Level.REQUIRED: "the specification states it; who does otherwise fails the run",
    Level.IMPLIED: "the specification suggests it; a warning, a failure under --fail-on implied",
    Level.OPEN: "the specification leaves it open; what is done is only recorded",
}
