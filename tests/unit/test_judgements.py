"""Places that judge are found, and counted as tripped where a violation comes from them."""

from __future__ import annotations

from collections import Counter

from tests.faults.catalogue import load
from tests.prove.judgements import EVERY_RESPONSE, Place, all_places, measured, places

EVERY = [place for place in places() if place.file == EVERY_RESPONSE]


def test_places_are_calls_that_judge() -> None:
    found = places()
    assert len(found) > 100
    assert {place.file.partition("/")[0] for place in found} == {"checks", "fuzz", "judge"}


def test_fault_trips_the_places_that_judge_it() -> None:
    fault = next(fault for fault in load() if fault.rule == "list.page-beyond")
    seen = measured(fault.id)
    assert seen.tripped and seen.tripped.keys() <= seen.judged.keys()
    every = all_places(places(), seen.judged)
    assert any(place.hits(seen.tripped) for place in every)
    assert any(not place.hits(seen.tripped) for place in every)


def test_fault_trips_the_place_that_judges_every_response() -> None:
    fault = next(fault for fault in load() if fault.rule == "http.content-type")
    seen = measured(fault.id)
    assert len([place for place in EVERY if place.hits(seen.tripped)]) == 1


def test_helper_lines_are_places_of_their_own() -> None:
    direct = [Place("checks/test_lists.py", 3, 5)]
    lines = Counter({("checks/test_lists.py", 4): 1, ("checks/test_lists.py", 9): 2})
    assert all_places(direct, lines) == [
        Place("checks/test_lists.py", 3, 5),
        Place("checks/test_lists.py", 9, 9),
    ]
