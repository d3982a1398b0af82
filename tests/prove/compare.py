"""Compares two files of `baseline`: prints each verdict that differs.

If AFTER was narrowed, only its selection is compared. Requests are compared as sums by section, with
--requests one by one. Not proven: a verdict differs, or AFTER lacks an entry of BEFORE within its selection.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path

from tests.prove.baseline import SECTIONS, Section

#: Option -> value by which a file was narrowed.
Narrowed = dict[str, str]


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("before", type=Path, metavar="BEFORE", help="a file of `baseline`")
    parser.add_argument("after", type=Path, metavar="AFTER", help="a later one")
    parser.add_argument("--requests", action="store_true", help="print each number of requests that differs")


def prove(options: argparse.Namespace) -> bool:
    """Compares the sections that both files have; returns True if nothing differs."""
    before, after = (json.loads(path.read_text("utf-8")) for path in (options.before, options.after))
    narrowed: Narrowed = after["narrowed"]
    differing = 0
    for section in SECTIONS:
        if section not in before or section not in after:
            continue
        was = asked(section, before[section], narrowed)
        now = asked(section, after[section], narrowed)
        shared = was.keys() & now.keys()
        lines = list(differences(was, now))
        if not after["sampled"] and not (section == "requests" and any(narrowed.values())):
            lines += [f"{name}: missing" for name in was if name not in now]
        print("".join(f"{section}: {line}\n" for line in lines), end="")
        sums = [sum(int(some[name].get("requests", 0)) for name in shared) for some in (was, now)]
        change = f"{sums[0]} to {sums[1]} requests"
        print(f"{section}: {len(shared)} compared, {len(lines)} differences, {change}")
        if options.requests:
            for name in sorted(shared):
                numbers = was[name].get("requests"), now[name].get("requests")
                if numbers[0] != numbers[1]:
                    print(f"  {name}: {numbers[0]} to {numbers[1]} requests")
        differing += len(lines)
    return not differing


def asked(section: str, recorded: Section, narrowed: Narrowed) -> Section:
    """Returns the part of a section that a narrowed baseline would contain."""
    rule, operation = narrowed["rule"], narrowed["operation"]
    if section == "faults":
        return {
            name: facts
            for name, facts in recorded.items()
            if name.startswith(rule)
            and operation in name.partition("]")[0].partition("[")[2]
            and narrowed["kind"] in name.partition("]: ")[2]
        }
    if section == "requests":
        return recorded
    return {
        name: {
            fact: value
            for fact, value in facts.items()
            if fact == "requests" or (fact.startswith(rule) and operation in fact.partition(" on ")[2])
        }
        for name, facts in recorded.items()
        if section != "variants" or narrowed["variant"] in name
    }


def differences(before: Section, after: Section) -> Iterator[str]:
    """Yields a line for each fact that differs between the common entries, except requests."""
    for name in sorted(before.keys() & after.keys()):
        was, now = before[name], after[name]
        for fact in sorted((was.keys() | now.keys()) - {"requests"}):
            values = was.get(fact, "absent"), now.get(fact, "absent")
            if values[0] != values[1]:
                yield f"{name}: {fact}: {values[0]} before, {values[1]} now"
