"""`conformance rules`: lists the catalogue of rules.

Lists the rules that the suite judges, as spec/rules.yaml has them; `conformance explain ID` describes one.
"""

from __future__ import annotations

import argparse
import shutil
import textwrap

from conformance._files import InputError
from conformance._text import count
from conformance.contract.operations import operations_named
from conformance.contract.rules import ALL_RULES, VERSION, Side, rules_named, rules_of_section


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "id", nargs="*", metavar="ID", help="a rule, or the area of several: auth, list, fields, ..."
    )
    parser.add_argument(
        "--side", type=Side, choices=list(Side), help="only the rules that bind servers, or clients"
    )
    parser.add_argument("--operation", metavar="OPERATION", help="only the rules about this operation")
    parser.add_argument("--section", metavar="SECTION", help="only the rules of this section, such as 5.4")


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
    ]
    if not chosen:
        raise InputError("no rule matches all of these options; leave one of them out.")
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
