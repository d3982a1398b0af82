"""The list of known failures: what it excuses, when it fails the run, how it is written."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conformance._files import InputError
from conformance.contract.needs import UNBUILT
from conformance.contract.rules import RULES, Level
from conformance.judge.ledger import Ledger
from conformance.judge.outcomes import Unclear
from conformance.judge.verdicts import Verdict
from conformance.report.document import KNOWN
from conformance.report.known_failures import KnownFailures, write_known
from conformance.report.sections import sections
from conformance.wire.messages import Call
from tests.support.report_samples import WALK, decided, document, exchange, judged, keep, whole_run


def load(tmp_path: Path, text: str, today: date = date(2026, 11, 21)) -> KnownFailures:
    path = tmp_path / "known.toml"
    path.write_text(text, encoding="utf-8")
    loaded = KnownFailures.load(path)
    return KnownFailures(loaded.entries, lambda: today)


def entry(
    rule: str = "list.walk", operation: str = "listWallets", reason: str = "mended soon", **further: str
) -> str:
    lines = ["[[failure]]", f'rule = "{rule}"', f'operation = "{operation}"', f'reason = "{reason}"']
    return "\n".join([*lines, *(f"{key} = {value}" for key, value in further.items())]) + "\n"


PAGES = ("list.pages", "listWallets")
EVERYWHERE = {("list.walk", operation): Verdict.FAILED for operation in RULES["list.walk"].operations}


IMPLIED = ("payout.amount-in-usd", "createPayout")


@pytest.mark.parametrize(
    ("verdicts", "listed", "status"),
    [
        ({IMPLIED: Verdict.WARNING}, "", 1),
        ({IMPLIED: Verdict.WARNING}, entry(*IMPLIED), 0),
        ({WALK: Verdict.FAILED}, entry(), 0),
        ({WALK: Verdict.FAILED}, "", 1),
        (EVERYWHERE, entry(operation="*"), 0),
        ({**EVERYWHERE, PAGES: Verdict.FAILED}, entry(operation="*"), 1),
        ({WALK: Verdict.FAILED, ("list.walk", "listAccounts"): Verdict.FAILED}, entry(), 1),
        ({WALK: Verdict.FAILED, PAGES: Verdict.INCONCLUSIVE}, entry(), 6),
        ({}, entry(), 1),
        ({WALK: Verdict.FAILED}, entry(expires="2026-11-21"), 0),
        ({WALK: Verdict.FAILED}, entry(expires="2026-11-20"), 1),
        ({}, entry(expires="2026-11-20"), 1),
    ],
)
def test_exit_status_with_a_list(
    verdicts: dict[tuple[str, str], Verdict], listed: str, status: int, tmp_path: Path
) -> None:
    assert decided(whole_run(verdicts), Level.IMPLIED, known=load(tmp_path, listed)).exit_status == status


def test_a_listed_rule_that_holds_fails_the_run_with_the_line_to_delete(tmp_path: Path) -> None:
    report = document(whole_run(), known=load(tmp_path, "# a comment\n\n" + entry()))
    assert (report.verdict.name, report.verdict.exit_status) == ("outdated", 1)
    assert "line 3" in report.verdict.sentence
    assert [entry.stale for entry in report.known_failures] == ["the rule holds now on listWallets"]


@pytest.mark.parametrize(
    ("verdict", "listed", "stale"),
    [
        (Verdict.FAILED, entry(operation="*"), 0),
        (Verdict.PASSED, entry(operation="*"), 1),
        *(
            (unfinished, entry(operation=operation), 0)
            for unfinished in (Verdict.NOT_RUN, Verdict.INCONCLUSIVE)
            for operation in ("*", "listWallets")
        ),
        # Declared absent in the target file.
        (Verdict.PASSED, entry("auth.signature", "createPayin"), 0),
    ],
)
def test_only_what_was_run_to_its_end_everywhere_is_stale(
    tmp_path: Path, verdict: Verdict, listed: str, stale: int
) -> None:
    results = whole_run({WALK: verdict})
    results.narrowed = ["-k something"]
    assert results.cell("auth.signature", "createPayin").verdict is Verdict.NOT_APPLICABLE
    [listed_entry] = load(tmp_path, listed).apply(results)
    assert bool(listed_entry.stale) == bool(stale)


@pytest.mark.parametrize("further", [{}, {PAGES: Verdict.FAILED}])
def test_known_failures_are_counted_alike_everywhere(
    further: dict[tuple[str, str], Verdict], tmp_path: Path
) -> None:
    """Of any level, and whether they are causes or consequences."""
    cells = {WALK: Verdict.FAILED, IMPLIED: Verdict.WARNING, **further}
    report = document(whole_run(cells), known=load(tmp_path, entry() + entry(*IMPLIED)))
    assert "2 known failures" in " ".join((report.verdict.sentence, *report.verdict.notes))
    assert sum(row[KNOWN] for row in report.counts.values()) == 2
    [section] = [section for section in sections(report) if section.name == "known"]
    assert sum(len(item.cause.cells) for item in section.items if item.cause) == 2


def test_a_mark_lasts_as_long_as_the_entry(tmp_path: Path) -> None:
    results = whole_run({WALK: Verdict.FAILED})
    for listed, reason in ((entry(), "mended soon"), ("", "")):
        decided(results, known=load(tmp_path, listed))
        assert (results.cell(*WALK).verdict, results.cell(*WALK).known) == (Verdict.FAILED, reason)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("[[failure]\n", ["not valid TOML", "line 1"]),
        ("[[failures]]\n", ["failures", "[[failure]]"]),
        ("failure = 3\n", ["[[failure]]"]),
        (entry(rule="list.wlak"), ["line 1", "list.wlak", "conformance rules"]),
        (entry(operation="listWalets"), ["line 1", "listWalets", "listWallets"]),
        (entry(operation="createWallet"), ["list.walk is not about 'createWallet'", "listWallets"]),
        (entry("auth.precedence", "listAccounts"), ["open", "never fails"]),
        ('[[failure]]\nrule = "list.walk"\noperation = "*"\n', ["line 1", "reason", "non-empty"]),
        (entry(reason="  "), ["reason", "non-empty"]),
        (entry(expires='"soon"'), ["expires", "2027-03-31", "soon"]),
        (entry(expires="7"), ["expires"]),
        (entry(because='"x"'), ["because", "unknown key"]),
        (entry() + entry(), ["already listed", "line 1", "line 5"]),
    ],
)
def test_a_mistake_in_the_list_is_one_clear_paragraph(tmp_path: Path, text: str, names: list[str]) -> None:
    with pytest.raises(InputError) as raised:
        load(tmp_path, text)
    assert "\n" not in str(raised.value)
    assert "known.toml" in str(raised.value)
    for name in names:
        assert name in str(raised.value)


def test_a_missing_list_and_a_folder_are_clear_mistakes(tmp_path: Path) -> None:
    for path in (tmp_path / "none.toml", tmp_path):
        with pytest.raises(InputError, match=str(path)):
            KnownFailures.load(path)
    (tmp_path / "latin").write_bytes(b"# caf\xe9\n")
    with pytest.raises(InputError, match="UTF-8"):
        KnownFailures.load(tmp_path / "latin")


CELLS = [
    (rule.id, operation)
    for rule in RULES.values()
    if rule.level is not Level.OPEN
    for operation in rule.operations
    if operation != "createPayin"
]


@settings(max_examples=25)
@given(broken=st.sets(st.sampled_from(CELLS), max_size=30), got=st.text(max_size=40))
def test_a_written_list_is_read_back_and_excuses_exactly_its_run(
    tmp_path_factory: pytest.TempPathFactory, broken: set[tuple[str, str]], got: str
) -> None:
    results = whole_run(None, *(judged(*cell, Verdict.FAILED, got=got) for cell in sorted(broken)))
    path = write_known(results, tmp_path_factory.mktemp("known") / "known.toml")
    known = KnownFailures.load(path)
    assert decided(results, Level.IMPLIED, known=known).exit_status == 0
    assert {cell.key for cell in results.cells if cell.known} == broken
    # With one violation less its entry is stale, unless a wider entry covers it.
    if broken:
        assert decided(whole_run(), Level.IMPLIED, known=known).exit_status == 1


def test_entries_survive_when_the_list_is_written_anew_but_stale_ones(tmp_path: Path) -> None:
    listed = entry(reason=r"a \"quoted\" reason: \u00e9", expires="2027-03-31")
    results, known = whole_run({WALK: Verdict.FAILED}), load(tmp_path, entry("list.pages") + listed)
    known.apply(results)
    again = KnownFailures.load(write_known(results, tmp_path / "again.toml", known))
    assert [(one.rule, one.reason, one.expires) for one in again.entries] == [
        (one.rule, one.reason, one.expires) for one in known.entries[1:]
    ]


# ---------------------------------------------------------------------- missing operations


MISSING = (UNBUILT, "createWallet")


def lacking() -> Ledger:
    """Returns the ledger of a run on a server without an operation that two cells depend on."""
    unclear = Unclear("this needs it", UNBUILT, exchanges=(1,))
    keys = (("create.echo", "createWallet"), WALK)
    waiting = [judged(*key, Verdict.INCONCLUSIVE, unclear=unclear) for key in keys]
    results = whole_run(None, judged(*MISSING, Verdict.FAILED), *waiting)
    keep(results, exchange(1, status=404, call=Call("createWallet", "POST", "/")))
    return results


def test_an_operation_that_is_known_to_be_missing_does_not_fail_the_run(tmp_path: Path) -> None:
    decision = decided(lacking(), known=load(tmp_path, entry(*MISSING)))
    assert (decision.exit_status, decision.name) == (0, "known failures")
    assert "conforms but for 1 known failure" in decision.sentence
    assert any("2 cells not judged for want of operations" in note for note in decision.notes)


def test_a_cell_inconclusive_for_another_reason_stays_incomplete(tmp_path: Path) -> None:
    results = lacking()
    results.add(judged(*WALK, Verdict.INCONCLUSIVE))
    assert decided(results, known=load(tmp_path, entry(*MISSING))).name == "incomplete"


def test_entries_that_a_run_did_not_judge_stay_listed(tmp_path: Path) -> None:
    known = load(tmp_path, entry(*MISSING))
    again = KnownFailures.load(write_known(Ledger.of_catalogue(None), tmp_path / "again.toml", known=known))
    assert [listed.operation for listed in again.entries] == ["createWallet"]
