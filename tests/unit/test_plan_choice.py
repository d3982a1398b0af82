"""The choice of a quick run's probes."""

from __future__ import annotations

from conformance.world.cache import Key
from tests.prove.plan import best
from tests.prove.prices import Fixture, Prices, prices
from tests.prove.probes import SETUP
from tests.prove.trips import Kind, Test, Unit

WALK, LONG = ("test_lists.walk", "listWallets"), ("test_lists.long", "listWallets")
CACHED: Key[str] = Key("the large list")


def kinds(number: int) -> set[Kind]:
    return {("list.walk", str(index)) for index in range(number)}


CAUGHT: dict[Unit, set[Kind]] = {
    (WALK, "pages"): kinds(10),
    (WALK, "again"): kinds(1),
    (LONG, SETUP): kinds(12),
    (("test_gone.gone", "listWallets"), SETUP): kinds(20),
}


def chosen(limit: int, needs: dict[Unit | Fixture, set[Fixture]]) -> list[Unit]:
    requests: dict[Unit | Fixture, int] = {
        (WALK, SETUP): 4,
        (WALK, "pages"): 6,
        (WALK, "again"): 1,
        (LONG, SETUP): 11,
        CACHED: 9,
    }
    return best(CAUGHT, Prices(requests, needs), limit, {})


def test_the_most_kinds_for_the_requests_are_chosen_with_the_set_up_of_their_test() -> None:
    assert chosen(11, {}) == [(LONG, SETUP)]
    assert chosen(10, {}) == [(WALK, "pages")]
    assert chosen(9, {}) == [(WALK, "again")]
    assert chosen(4, {}) == []


def test_a_fixture_has_a_price_of_its_own() -> None:
    needs: dict[Unit | Fixture, set[Fixture]] = {(LONG, SETUP): {CACHED}}
    assert (LONG, SETUP) not in chosen(19, needs)
    assert (LONG, SETUP) in chosen(20, needs)


def test_tests_share_what_one_makes_and_others_use() -> None:
    priced = prices({"createVirtualAccount", "listVirtualAccounts"})
    fixtures = {thing for thing in priced.requests if not isinstance(thing, tuple)}
    assert fixtures and all(priced.requests[fixture] > 0 for fixture in fixtures)
    assert all(needed <= fixtures for needed in priced.needs.values())
    tests = {fixture: set[Test]() for fixture in fixtures}
    for user, needed in priced.needs.items():
        if isinstance(user, tuple):
            for fixture in needed:
                tests[fixture].add(user[0])
    assert max(map(len, tests.values())) > 5
