"""The measure of judgements sees where a verdict comes from."""

from __future__ import annotations

from collections import Counter

from conformance.judge.invariants import INVARIANTS
from tests.faults.catalogue import load
from tests.prove.judgements import (
    EVERY_RESPONSE,
    Line,
    Measure,
    Place,
    Rounds,
    Work,
    all_places,
    measured,
    places,
)
from tests.prove.selection import each_kind


def test_places_are_calls_that_judge() -> None:
    found = places()
    assert len(found) > 100
    assert {place.file.partition("/")[0] for place in found} == {"checks", "fuzz", "judge"}


def test_fault_trips_the_places_that_judge_it() -> None:
    fault = next(fault for fault in load() if fault.rule == "list.page-beyond")
    seen = measured(Work(fault.id, True, 0))
    assert seen.tripped and seen.tripped.keys() <= seen.judged.keys()
    assert {rule for _, rule in seen.about} >= {fault.rule}
    every = all_places(places(), seen.judged)
    assert any(place.hits(seen.tripped) for place in every)
    assert any(not place.hits(seen.tripped) for place in every)


def test_fault_trips_the_place_that_judges_every_response() -> None:
    fault = next(fault for fault in load() if fault.rule == "http.content-type")
    seen = measured(Work(fault.id, True, 0))
    (place,) = {place for place in places() if place.file == EVERY_RESPONSE and place.hits(seen.tripped)}
    assert (place.file, place.first) in {line for line, rule in seen.about if rule == "http.content-type"}


def test_every_place_that_judges_every_response_is_proven() -> None:
    """Whole, as few faults are enough; of other places only the command tells."""
    rounds = Rounds((fault for fault in load() if fault.rule in INVARIANTS), places(), EVERY_RESPONSE)
    assert len(rounds.places) >= 10
    while rounds.unproven and (batch := rounds.next()):
        for fault in batch:
            rounds.measure.add(measured(Work(fault.id, True, 0)))
    assert rounds.unproven == []


def seen(rule: str, judged: Line, *tripped: Line) -> Measure:
    """A measure of one judgement of a rule."""
    measure = Measure()
    measure.judged[judged] += 1
    measure.tripped.update(tripped)
    measure.about.add((judged, rule))
    return measure


def test_rules_without_unproven_places_take_no_further_part() -> None:
    faults = [fault for fault in load() if fault.rule in ("list.stable", "http.content-type")]
    rounds = Rounds(
        each_kind(faults),
        [Place("checks/test_lists.py", 1, 1), Place("checks/test_hostile.py", 1, 1)],
        "checks/",
    )
    first = rounds.next()
    assert {fault.rule for fault in first} == {"list.stable", "http.content-type"}
    line, other = ("checks/test_lists.py", 1), ("checks/test_hostile.py", 1)
    rounds.measure.add(seen("list.stable", line))
    rounds.measure.add(seen("http.content-type", other, other))
    assert [place.file for place in rounds.unproven] == ["checks/test_lists.py"]
    assert {fault.rule for fault in rounds.next()} == {"list.stable"}
    rounds.measure.add(seen("list.stable", line, line))
    assert rounds.next() == [] and rounds.unproven == []


def test_helper_lines_are_places_of_their_own() -> None:
    direct = [Place("checks/test_lists.py", 3, 5)]
    lines = Counter({("checks/test_lists.py", 4): 1, ("checks/test_lists.py", 9): 2})
    assert all_places(direct, lines) == [
        Place("checks/test_lists.py", 3, 5),
        Place("checks/test_lists.py", 9, 9),
    ]
