"""`conformance rules`: lists the catalogue of rules, as text or JSON.

Lists the rules that the suite judges; `conformance explain ID` describes one.
"""

from __future__ import annotations

import argparse
import json
import shutil
import textwrap
from dataclasses import asdict

from conformance._files import InputError
from conformance._text import count
from conformance.contract.operations import operations_named
from conformance.contract.rules import ALL_RULES, VERSION, Level, Side, rules_named, rules_of_section


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "id", nargs="*", metavar="ID", help="a rule, or the area of several: auth, list, fields, ..."
    )
    parser.add_argument("--level", type=Level, choices=list(Level), help="only the rules of this level")
    parser.add_argument(
        "--side", type=Side, choices=list(Side), help="only the rules that bind servers, or clients"
    )
    parser.add_argument("--operation", metavar="OPERATION", help="only the rules about this operation")
    parser.add_argument("--section", metavar="SECTION", help="only the rules of this section, such as 5.4")
    parser.add_argument("--json", action="store_true", help="print them as JSON")


def run(options: argparse.Namespace) -> int:
    """Prints the rules. Raises InputError for an unknown name, or if no rule matches."""
    names = {rule for name in options.id for rule in rules_named(name)} if options.id else {*ALL_RULES}
    names &= {*rules_of_section(options.section)} if options.section else names
    operations = {*operations_named(options.operation)} if options.operation else set()
    chosen = [
        rule
        for rule in ALL_RULES.values()
        if rule.id in names
        and (not operations or operations & {*rule.operations})
        and options.side in (None, *rule.sides)
        and options.level in (None, rule.level)
    ]
    if not chosen:
        raise InputError("no rule matches all of these options; leave one of them out.")
    if options.json:
        print(json.dumps([asdict(rule) for rule in chosen], indent=1))
        return 0
    longest = max(len(rule.id) for rule in chosen)
    width = max(shutil.get_terminal_size((110, 24)).columns - longest - 13, 40)
    for rule in chosen:
        first, *more = textwrap.wrap(rule.statement, width)
        print(f"{rule.id:{longest}}  {rule.level:8}   {first}")
        for line in more:
            print(" " * (longest + 13) + line)
    cells = sum(len(rule.operations) for rule in chosen)
    print(f"\n{count(len(chosen), 'rule')}, {cells} cells (a rule on an operation), catalogue {VERSION}")
    return 0
