"""A selection in words, and as the table that the package keeps (conformance/plugin/kills.json)."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from conformance.checks import plan
from conformance.plugin import effort
from conformance.plugin.effort import Test
from tests.prove.kill_probes import SETUP, Watched
from tests.prove.kill_selection import Kills, Selection, rows
from tests.support.runs import run_on
from tests.variants.hurry import hurried


def describe(kills: Kills, selection: Selection) -> Iterator[str]:
    """Lines about a selection: what it sends, and which part of the catalogue it catches, by family of
    rules."""
    faults, kinds = set(kills.tripped), kills.kinds(kills.tripped)
    caught = kills.kinds(selection.faults)
    yield (
        f"{len(selection.tests)} tests, {sum(probe != SETUP for _, probe in selection.units)} single probes, "
        f"{selection.requests} requests: {len(caught)} of {len(kinds)} kinds "
        f"({len(caught) / len(kinds):.1%}), {len(selection.faults)} of {len(faults)} faulty servers "
        f"({len(selection.faults) / len(faults):.1%})"
    )
    every = Counter(rule.partition(".")[0] for rule, _ in kinds)
    killed = Counter(rule.partition(".")[0] for rule, _ in caught)
    yield f"{'family':<16}{'kinds':>8}{'caught':>8}{'share':>8}"
    for family, number in every.most_common():
        yield f"{family:<16}{number:>8}{killed[family]:>8}{killed[family] / number:>8.0%}"
    if missed := sum(not names for names in kills.tripped.values()):
        yield f"{missed} faulty servers trip no check of their own rule alone"


def write(kills: Kills, order: Sequence[Test], selection: Selection) -> Path:
    """Writes the table into the package."""
    path = Path(effort.__file__).with_name("kills.json")
    checks = []
    for name, parts in _parts(selection).items():
        operations = _lines(
            f"{json.dumps(operation)}: {json.dumps(part)}" for operation, part in parts.items()
        )
        checks.append(f"{json.dumps(name)}: {{\n{operations}}}")
    tests = _lines(json.dumps(row) for row in rows(kills, order))
    head = f'"kinds": {len(kills.kinds(kills.faults))}'
    path.write_text(f'{{{head},\n"quick": {{\n{_lines(checks)}}},\n"tests": [\n{tests}]}}\n', "utf-8")
    return path


def _lines(values: Iterable[str]) -> str:
    """Values of an array or an object, a line each."""
    return ",\n".join(values) + "\n"


def _parts(selection: Selection) -> dict[str, dict[str, list[Any]]]:
    """What a quick run does of each test: check -> operation -> requests, creations, payouts and probes; None
    for a test without probes, or with all of them."""
    run, parts = run_on(), dict[str, dict[str, list[Any]]]()
    tests = selection.tests
    with hurried():
        for check, operation in plan():
            if (probes := tests.get((check.name, operation))) is None:
                continue
            sent, made = run.sent, len(run.made.resources)
            watched = Watched(check, operation, run, probes)
            watched.go()
            created = list(run.made.resources)[made:]
            payouts = sum(resource.operation == "createPayout" for resource in created)
            chosen = sorted(probes - {SETUP}) if watched.left_out else None
            parts.setdefault(check.name, {})[operation] = [run.sent - sent, len(created), payouts, chosen]
    return parts
