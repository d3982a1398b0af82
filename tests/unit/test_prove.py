"""The proofs as commands, fault rows, places that judge, the choice of a quick run, and sampling."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from unittest.mock import Mock

import pytest

from conformance.judge.findings import Inconclusive
from conformance.world.cache import Key
from tests.faults import catalogue
from tests.faults.catalogue import Fault, faults, load, seam
from tests.faults.crashes import crashing
from tests.prove.__main__ import main
from tests.prove.baseline import Section
from tests.prove.judgements import EVERY_RESPONSE, Place, all_places, measured, places
from tests.prove.plan import best
from tests.prove.probes import SETUP, Fixture, Kind, Prices, Test, Unit, prices
from tests.sampling import (
    DAY,
    DAYS,
    TESTS,
    days,
    drawn,
    pytest_collection_modifyitems,
    pytest_configure,
    pytest_report_header,
)
from tests.support.runs import run_on

WHOLE = {"rule": "", "operation": "", "kind": "", "variant": ""}

FAULTS: Section = {
    "auth.nonce[getAccount]: A kind": {"auth.nonce on getAccount": "broken", "caught": "caught"},
    "list.total[listPayouts]: A kind": {"caught": "caught"},
}


def _file(path: Path, faults: Section, **narrowed: str) -> str:
    path.write_text(json.dumps({"narrowed": WHOLE | narrowed, "sampled": False, "faults": faults}), "utf-8")
    return str(path)


@pytest.mark.parametrize(
    ("after", "said"),
    [
        (FAULTS, ""),
        (
            {**FAULTS, "list.total[listPayouts]: A kind": {"caught": "survives"}},
            "caught before, survives now",
        ),
        (dict(list(FAULTS.items())[:1]), "list.total[listPayouts]: A kind: missing"),
    ],
    ids=["same", "survives", "missing"],
)
def test_compare_prints_each_difference(
    after: Section, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = _file(tmp_path / "before.json", FAULTS)
    status = main(["compare", before, _file(tmp_path / "after.json", after)])
    assert status == bool(said)
    assert said in capsys.readouterr().out


def test_compare_expects_of_a_narrow_baseline_no_more_than_it_asked_for(tmp_path: Path) -> None:
    before = _file(tmp_path / "before.json", FAULTS)
    after = _file(tmp_path / "after.json", dict(list(FAULTS.items())[:1]), rule="auth.")
    assert main(["compare", before, after]) == 0


def test_unknown_proof_is_wrong_usage() -> None:
    with pytest.raises(SystemExit) as exit:
        main(["nothing"])
    assert exit.value.code == 2


# ---------------------------------------------------------------------- fault rows


RULE = "auth.timestamp-integer"


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch) -> list[Fault]:
    """Collects the faults that the test registers."""
    own: list[Fault] = []
    monkeypatch.setattr(catalogue, "FAULTS", own)
    return own


def test_a_row_takes_effect_on_its_operation_only(registered: list[Fault]) -> None:
    faults["http.no-server-error"] |= {"Nothing works.": crashing(lambda self, ctx: True)}
    fault = next(row for row in registered if row.operation == "createWallet")
    with pytest.raises(Inconclusive):
        run_on(fault.make()).account().create("createWallet")
    other = next(row for row in registered if row.operation == "listWallets")
    assert run_on(other.make()).account().create("createWallet").succeeded


def test_a_sentence_is_the_name_of_the_kind(registered: list[Fault]) -> None:
    row = seam("parse_timestamp", lambda *_: 0, operations=("listWallets",), each={"zero": 0})
    faults[RULE] |= {"All times are one.": row}
    assert [row.id for row in registered] == [f"{RULE}[listWallets]: All times are one: zero"]
    assert registered[0].area == "auth"


def test_unknown_names_are_refused(registered: list[Fault]) -> None:
    with pytest.raises(AttributeError, match="no_seam"):
        faults[RULE] |= {"Nothing.": seam("no_seam", lambda *_: 0)}
    with pytest.raises(KeyError, match=r"no\.rule"):
        faults["no.rule"] |= {"Nothing.": seam("parse_timestamp", lambda *_: 0)}
    with pytest.raises(ValueError, match="covers none"):
        faults["wallet.race"] |= {
            "Nothing.": seam("parse_timestamp", lambda *_: 0, operations=("listWallets",))
        }


def test_faults_of_a_rule_stand_in_one_file() -> None:
    """A class or table for several rules belongs to the file of the first of them."""
    files: dict[str, set[str]] = {}
    for path in Path(catalogue.__file__).parent.glob("*.py"):
        if path.stem in catalogue.SECTIONS:
            for rule in re.findall(
                r'(?:@fault\(|^faults\[)\s*"([^"]+)"', path.read_text("utf-8"), re.MULTILINE
            ):
                files.setdefault(rule, set()).add(path.stem)
    assert len(files) > 100
    assert {rule: names for rule, names in files.items() if len(names) > 1} == {}


# ---------------------------------------------------------------------- judgements


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


# ---------------------------------------------------------------------- plan choice


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


# ---------------------------------------------------------------------- sampling


IDS = [
    f"{start}{'' if start.endswith('.py') else '/test_some.py'}::test_{case}"
    for start in DAYS
    for case in range(7)
]


def test_consecutive_days_run_every_case_once() -> None:
    """Consecutive days run each case once in its period."""
    for period in set(DAYS.values()):
        of_period = [name for name in IDS if days(name) == period]
        for first in (0, 739_942):
            times = Counter(name for day in range(first, first + period) for name in drawn(of_period, day))
            assert times == Counter(of_period)


def test_tests_without_a_row_run_every_day() -> None:
    name = "tests/unit/test_text.py::test_other"
    assert days(name) == 1
    assert all(name in drawn([name, *IDS], day) for day in range(20))


def test_every_row_names_tests_that_there_are() -> None:
    for start in DAYS:
        file, _, function = start.removeprefix("tests/").partition("::")
        assert (TESTS / file).exists()
        assert not function or f"def {function}" in (TESTS / file).read_text("utf-8")


@pytest.mark.parametrize(
    ("sample", "arguments", "keyword", "said"),
    [
        ("5", ["tests"], "", "slow tests of day 5; "),
        ("all", ["tests"], "", "sample: none"),
        ("5", ["tests"], "lists", "sample: none"),
        ("5", ["tests/hostile"], "", "sample: none"),
    ],
)
def test_run_says_which_tests_it_draws(
    sample: str, arguments: list[str], keyword: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only a run of the whole folder is sampled."""
    monkeypatch.setenv(DAY, sample)
    monkeypatch.chdir(TESTS.parent)
    config = Mock(args=arguments, option=Mock(keyword=keyword))
    assert said in pytest_report_header(config)
    items: list[pytest.Item] = [Mock(nodeid=name) for name in IDS]
    pytest_collection_modifyitems(config, items)
    assert (len(items) < len(IDS)) == ("slow tests" in said)


def test_a_day_that_is_not_a_number_is_a_usage_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(DAY, "often")
    with pytest.raises(pytest.UsageError, match="SAMPLE=often: "):
        pytest_configure()
