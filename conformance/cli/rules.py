"""`conformance rules`: lists the catalogue of rules, as text or JSON.

Lists the rules that the suite judges; `conformance explain ID` describes one.
"""

from __future__ import annotations

import argparse
import json
import shutil
import textwrap
from collections.abc import Iterable
from dataclasses import asdict

from conformance._files import InputError
from conformance.contract.operations import operations_named
from conformance.contract.rules import (
    ALL_RULES,
    VERSION,
    Level,
    Rule,
    Side,
    rules_named,
    rules_of_section,
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
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
    """Prints the rules. Raises InputError for an unknown name, or if no rule matches."""
    names = {rule for name in options.id for rule in rules_named(name)} if options.id else {*ALL_RULES}
    if options.section:
        names &= {*rules_of_section(options.section)}
    chosen = [rule for rule in ALL_RULES.values() if rule.id in names]
    if options.operation:
        operations = {*operations_named(options.operation)}
        chosen = [rule for rule in chosen if operations & {*rule.operations}]
    if options.side:
        chosen = [rule for rule in chosen if options.side in rule.sides]
    if options.level:
        chosen = [rule for rule in chosen if rule.level == options.level]
    if not chosen:
        raise InputError("no rule matches all of these options; leave one of them out.")
    if options.json:
        print(json.dumps([asdict(rule) for rule in chosen], indent=1))
    else:
        print("\n".join(_table(chosen)))
    return 0


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
    cells = sum(len(rule.operations) for rule in rules)
    return [
        *lines,
        "",
        f"{len(rules)} {'rule' if len(rules) == 1 else 'rules'}, {cells} cells (a rule on an operation), "
        f"catalogue {VERSION}",
    ]
