"""Two mistakes of one server are both named, whatever rules they break."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest

from conformance.contract.rules import RULES, Level
from conformance.judge.cells import grouped
from conformance.judge.invariants import INVARIANTS
from conformance.report.terminal import summary
from tests.faults.catalogue import Fault, load
from tests.faults.harness import checks_of, judge, together
from tests.support.report_samples import document

#: Number of faults, each of another rule, and of their pairs that an ordinary run tries.
FAULTS, DRAWN = 40, 16

#: Rules without which nothing else is judged of an operation.
_FIRST = ("auth.accepts-valid", "idempotency.key-accepted", "fields.accepts-valid")


def sample() -> list[list[Fault]]:
    """Returns faults of one kind on several operations, for as many rules, of all areas by turns."""
    apart = [
        fault
        for fault in load()
        if not fault.base.everywhere
        and not fault.also
        and RULES[fault.rule].level is not Level.OPEN
        and fault.rule not in (*INVARIANTS, *_FIRST)
        and not fault.rule.endswith("race")
        and checks_of(fault.rule, fault.operation)
    ]
    by_rule = grouped((fault.rule, fault) for fault in apart).values()
    areas = grouped(
        (faults[0].area, [each for each in faults if each.name == faults[0].name]) for faults in by_rule
    )
    turns = itertools.chain.from_iterable(itertools.zip_longest(*areas.values()))
    return [faults for faults in turns if faults][:FAULTS]


def pairs() -> Iterator[tuple[Fault, Fault]]:
    """Yields the pairs of faults, each pair on two operations."""
    for one, other in itertools.combinations(sample(), 2):
        apart = [(a, b) for a in one for b in other if a.operation != b.operation]
        yield from apart[:1]


def parameters() -> Iterator[object]:
    """Yields the pairs as parameters, those between the drawn ones as slow."""
    every = list(pairs())
    for number, pair in enumerate(every):
        slow = [] if number % (len(every) // DRAWN) == 0 else [pytest.mark.slow]
        yield pytest.param(
            *pair, id=" and ".join(f"{each.rule}@{each.operation}" for each in pair), marks=slow
        )


@pytest.mark.usefixtures("quiet")
@pytest.mark.parametrize(("one", "other"), list(parameters()))
def test_two_mistakes_are_both_named(one: Fault, other: Fault) -> None:
    """Each as an item of its own, with what was expected, got, and its command."""
    checks = [
        (check, fault.operation) for fault in (one, other) for check in checks_of(fault.rule, fault.operation)
    ]
    outcome = judge(together([one, other]), checks)
    results = document(outcome.ledger)
    lines = [line for line, _ in summary(results, folder=None, width=200, verbose=False)]
    for fault in (one, other):
        [title] = (at for at, line in enumerate(lines) if f". {fault.rule} on " in line)
        labels = [line.split()[0] for line in lines[title + 1 : title + 6] if line]
        assert {"expected", "got", "reproduce"} <= {*labels}, lines
        named = {(each.rule, name) for each in results.causes for name in each.operations}
        assert (fault.rule, fault.operation) in named
