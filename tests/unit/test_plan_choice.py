"""The greedy choice of a quick run's probes."""

from __future__ import annotations

from tests.prove.plan import greedy, needed
from tests.prove.probes import SETUP
from tests.prove.trips import Kind, Test, Unit

WALK, LONG = ("test_lists.walk", "listWallets"), ("test_lists.long", "listWallets")
PRICES: dict[Test, dict[str, int]] = {WALK: {SETUP: 4, "pages": 6, "again": 1}, LONG: {SETUP: 30}}


def kinds(number: int) -> set[Kind]:
    return {("list.walk", str(index)) for index in range(number)}


def test_the_most_new_kinds_for_a_request_come_first_and_set_up_before_its_probes() -> None:
    caught: dict[Unit, set[Kind]] = {
        (WALK, "pages"): kinds(10),
        (WALK, "again"): kinds(1),
        (LONG, SETUP): kinds(12),
    }
    assert list(greedy(caught, PRICES)) == [(WALK, SETUP), (WALK, "pages"), (LONG, SETUP)]


def test_what_nothing_is_known_of_any_more_is_left_out() -> None:
    assert list(greedy({(("test_gone.gone", "listWallets"), SETUP): kinds(3)}, PRICES)) == []


def test_units_of_which_others_catch_every_kind_go_and_set_up_with_its_last_probe() -> None:
    caught: dict[Unit, set[Kind]] = {(WALK, "pages"): kinds(2), (LONG, SETUP): kinds(3)}
    units: list[Unit] = [(WALK, SETUP), (WALK, "pages"), (LONG, SETUP)]
    assert needed(caught, units) == [(LONG, SETUP)]
    assert needed({**caught, (LONG, SETUP): set()}, units) == units[:2]
