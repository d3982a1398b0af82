"""Compares two files of `baseline`: prints each verdict that differs.

If AFTER was narrowed, only its selection is compared. Requests are compared as sums by section, with
--requests one by one. Not proven: a verdict differs, or AFTER lacks an entry of BEFORE within its selection.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path

from tests.prove.baseline import SECTIONS, Facts, Section


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("before", type=Path, metavar="BEFORE", help="a file of `baseline`")
    parser.add_argument("after", type=Path, metavar="AFTER", help="a later one")
    parser.add_argument("--requests", action="store_true", help="print each number of requests that differs")


def prove(options: argparse.Namespace) -> bool:
    """Compares the sections that both files have; returns True if nothing differs."""
    before, after = (json.loads(path.read_text("utf-8")) for path in (options.before, options.after))
    narrowed: dict[str, str] = after["narrowed"]
    differing = 0
    for section in SECTIONS:
        if section not in before or section not in after:
            continue
        was, now = (asked(section, each[section], narrowed) for each in (before, after))
        shared = sorted(was.keys() & now.keys())
        lines = [line for name in shared for line in differences(name, was[name], now[name])]
        if not after["sampled"] and not (section == "requests" and any(narrowed.values())):
            lines += [f"{name}: missing" for name in was if name not in now]
        print("".join(f"{section}: {line}\n" for line in lines), end="")
        numbers = {name: [int(some[name].get("requests", 0)) for some in (was, now)] for name in shared}
        sums = [sum(column) for column in zip(*numbers.values(), strict=True)] or [0, 0]
        change = f"{sums[0]} to {sums[1]} requests"
        print(f"{section}: {len(shared)} compared, {len(lines)} differences, {change}")
        for name, (earlier, later) in numbers.items() if options.requests else ():
            if earlier != later:
                print(f"  {name}: {earlier} to {later} requests")
        differing += len(lines)
    return not differing


def asked(section: str, recorded: Section, narrowed: dict[str, str]) -> Section:
    """Returns the part of a section that a narrowed baseline would contain."""
    rule, operation = narrowed["rule"], narrowed["operation"]

    def fits(name: str) -> bool:
        """True for the name of a fault, or of a variant."""
        if section == "variants":
            return narrowed["variant"] in name
        cell, _, kind = name.partition("]: ")
        return cell.startswith(rule) and operation in cell.partition("[")[2] and narrowed["kind"] in kind

    def wanted(fact: str) -> bool:
        return fact == "requests" or (fact.startswith(rule) and operation in fact.partition(" on ")[2])

    if section in ("faults", "variants"):
        recorded = {name: facts for name, facts in recorded.items() if fits(name)}
    if section in ("reference", "variants"):
        return {
            name: {fact: facts[fact] for fact in facts if wanted(fact)} for name, facts in recorded.items()
        }
    return recorded


def differences(name: str, before: Facts, after: Facts) -> Iterator[str]:
    """Yields a line for each fact of an entry that differs, except requests."""
    for fact in sorted((before.keys() | after.keys()) - {"requests"}):
        was, now = before.get(fact, "absent"), after.get(fact, "absent")
        if was != now:
            yield f"{name}: {fact}: {was} before, {now} now"
