"""The measure of judgements sees where a verdict comes from."""

from __future__ import annotations

from collections import Counter

from tests.faults.catalogue import load
from tests.judgements import Place, all_places, chosen, measured, places


def test_places_are_calls_that_judge() -> None:
    found = places()
    assert len(found) > 100
    assert {place.file.partition("/")[0] for place in found} == {"checks", "harness", "fuzz"}


def test_fault_trips_the_places_that_judge_it() -> None:
    fault = next(fault for fault in load() if fault.rule == "list.page-beyond")
    judged, tripped = measured((fault.id, 0))
    assert tripped and tripped.keys() <= judged.keys()
    every = all_places(places(), judged)
    assert any(place.hits(tripped) for place in every)
    assert any(not place.hits(tripped) for place in every)


def test_helper_lines_are_places_of_their_own() -> None:
    direct = [Place("checks/a.py", 3, 5)]
    lines = Counter({("checks/a.py", 4): 1, ("checks/a.py", 9): 2})
    assert all_places(direct, lines) == [Place("checks/a.py", 3, 5), Place("checks/a.py", 9, 9)]


def test_so_many_faults_of_each_kind() -> None:
    faults = load()
    kinds = {(fault.rule, fault.kind) for fault in faults}
    assert len(chosen(faults, 1)) == len(kinds)
    assert len(chosen(faults, 10**6)) == len(faults)
