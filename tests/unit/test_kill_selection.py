"""How the table of quick runs is made: which tests and probes are chosen, in which order."""

from __future__ import annotations

from pathlib import Path

from conformance.checks import load_checks
from tests.faults.catalogue import load
from tests.prove.kill_matrix import stored
from tests.prove.kill_probes import SETUP, Watched
from tests.prove.kill_selection import (
    Kills,
    Tried,
    Unit,
    chosen,
    in_order,
    inferred,
    ordered,
    rows,
    without_needless,
)
from tests.prove.kill_table import describe
from tests.support.runs import run_on
from tests.variants.hurry import hurried

FAULTS = {fault.id: fault for fault in load() if fault.rule == "list.walk" and "list" in fault.operation}
WALK, MORE = "test_lists.test_walking_pages", "test_lists.test_more_elements_than_a_page_holds"


def made_up() -> Kills:
    """Every fault trips the walk on its operation by the probe "pages", and the first kind the long list,
    too."""
    first = next(iter(FAULTS.values())).kind
    long = {MORE: {SETUP}}
    return Kills(
        FAULTS,
        {name: {WALK: {"pages"}, **(long if fault.kind == first else {})} for name, fault in FAULTS.items()},
    )


OPERATIONS = sorted({fault.operation for fault in FAULTS.values()})


def test_what_catches_most_new_kinds_for_a_request_comes_first() -> None:
    kills = made_up()
    walks = {(WALK, operation): {SETUP: 4, "pages": 6, "nothing": 1} for operation in OPERATIONS}
    prices = walks | {(MORE, OPERATIONS[0]): {SETUP: 1}}
    units = ordered(kills, prices)
    # Ten times as cheap, and of one kind only: the walk catches many; what catches nothing is left out.
    assert units[:2] == [((WALK, units[0][0][1]), SETUP), ((WALK, units[0][0][1]), "pages")]
    assert "nothing" not in {probe for _, probe in units}
    order = in_order(kills, units, prices)
    assert sorted(order) == sorted(prices)
    found = {(row[0], row[1]): row[2:] for row in rows(kills, order)}
    assert sum(first for _, _, first in found.values()) == len(kills.kinds(FAULTS))
    assert found[MORE, OPERATIONS[0]][1] == 0, "nothing trips the long list alone"


def test_a_quick_run_is_measured_as_a_whole() -> None:
    kills = made_up()
    prices = {(WALK, operation): {SETUP: 4, "pages": 6} for operation in OPERATIONS}
    units = ordered(kills, prices)
    # What tests share costs each of them more when they are few.
    selection = chosen(kills, units, 35, prices, lambda units: 15 * len({test for test, _ in units}))
    assert (len(selection.tests), selection.requests) == (2, 30)
    assert all(probes == {SETUP, "pages"} for probes in selection.tests.values())
    assert selection.faults == {
        name for name, fault in FAULTS.items() if (WALK, fault.operation) in selection.tests
    }
    assert any("of" in line for line in describe(kills, selection))


def test_what_others_catch_as_well_is_not_chosen() -> None:
    kills, test = made_up(), (WALK, OPERATIONS[0])
    units: list[Unit] = [((MORE, OPERATIONS[0]), SETUP), (test, SETUP), (test, "pages")]
    assert list(without_needless(kills, units)) == [(test, SETUP), (test, "pages")]
    assert list(without_needless(kills, units[:1])) == units[:1]


def test_what_was_not_tried_is_taken_from_another_operation() -> None:
    kind = next(iter(FAULTS.values())).kind
    same = [name for name, fault in FAULTS.items() if fault.kind == kind]
    known = {
        same[0]: Tried({WALK, MORE}, {WALK: {"pages"}, MORE: {SETUP}}),
        same[1]: Tried({WALK}, {}),
    }
    found = inferred(FAULTS, known, lambda fault: {WALK})
    assert set(found) == set(same)
    assert [found[name] for name in same[:3]] == [
        {WALK: {"pages"}, MORE: {SETUP}},
        {},
        {WALK: {"pages"}},
    ]


def test_a_violation_is_that_of_its_probe() -> None:
    (fault,) = [
        fault
        for fault in load()
        if (fault.rule, fault.operation, fault.value) == ("fields.max-length", "createAccount", "name")
        and fault.description.startswith("A field has no maximum")
    ]
    check = load_checks()["test_field_limits.test_longer_than_maximum"]
    with hurried():
        whole, part = (
            Watched(check, "createAccount", run_on(fault.make()), wanted) for wanted in (None, {"nothing"})
        )
        whole.go()
        part.go()
    assert "name of 256 characters (at most 255)" in whole.tripped and SETUP not in whole.tripped
    assert sum(whole.sent.values()) > sum(part.sent.values()) == part.sent[SETUP]
    assert not part.tripped and part.left_out and not whole.left_out


def test_a_line_cut_short_is_left_out_of_the_store(tmp_path: Path) -> None:
    store = tmp_path / "matrix.jsonl"
    name = next(iter(FAULTS))
    line = f'["{name}", ["{WALK}"], {{}}]\n["{name}", ["{MORE}"], {{"{MORE}": [""]}}]\n'
    store.write_text(f'{line}["unknown fault", [], {{}}]\n["{name[:9]}', "utf-8")
    assert stored(store) == {name: Tried({WALK, MORE}, {MORE: {SETUP}})}
