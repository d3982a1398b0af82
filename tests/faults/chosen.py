"""Faults by name, and samples of them: one of each cell, one of each kind."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterable
from zlib import crc32

from conformance.judge.cells import grouped

from .catalogue import Fault, load


@functools.cache
def by_id() -> dict[str, Fault]:
    """Returns all faults by id."""
    return {fault.id: fault for fault in load()}


def each_kind(faults: Iterable[Fault], tested: Iterable[Fault] = ()) -> list[Fault]:
    """Returns a fault of each group and of each way of which none was tested, spread over the operations."""
    ways = Counter(fault.way for fault in tested)
    groups = grouped((fault.group, fault) for fault in faults)
    for fault in tested:
        groups.pop(fault.group, None)
    chosen = []
    for at, some in enumerate(groups.values()):
        begin = at % len(some)
        chosen.append(min(some[begin:] + some[:begin], key=lambda fault: ways[fault.way]))
        ways[chosen[-1].way] += 1
    return [*chosen, *{fault.way: fault for fault in faults if not ways[fault.way]}.values()]


@functools.cache
def each_cell() -> dict[tuple[str, str], Fault]:
    """Returns, by rule and operation, a fault that a row makes, of as many groups as possible."""
    rows = sorted((fault for fault in load() if not fault.member), key=lambda fault: crc32(fault.id.encode()))
    cells, groups = dict[tuple[str, str], Fault](), set[tuple[str, ...]]()
    for cell, faults in grouped(((fault.rule, fault.operation), fault) for fault in rows).items():
        cells[cell] = next((fault for fault in faults if fault.group not in groups), faults[0])
        groups.add(cells[cell].group)
    return cells
