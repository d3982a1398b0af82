"""What was sent, expected and got, in words that a first-time reader understands."""

from __future__ import annotations

from typing import Any

import pytest

from conformance._text import told_apart
from conformance.checks import load_checks
from conformance.checks.running import run_check
from conformance.contract.rules import RULES
from conformance.judge import outcomes, paging
from conformance.judge.cells import Cell, Violation
from conformance.judge.ledger import Ledger
from conformance.judge.outcomes import Unclear
from conformance.judge.verdicts import Verdict
from conformance.judge.waits import PACE
from conformance.reference.behaviour import Behaviour
from conformance.reference.context import Context
from conformance.report import facts
from conformance.report.beside import beside
from conformance.report.evidence import parted, probe, sections_of, trigger
from conformance.report.sections import sections
from conformance.wire.messages import Call, to_json
from conformance.wire.pages import page_of
from tests.support.report_samples import STARTED, document, exchange, judged, keep, to_plain, whole_run
from tests.support.runs import run_on


def race_of(*bodies: bytes, **changes: Any) -> tuple[Ledger, Violation]:
    """Returns a ledger with simultaneous PATCHes of these bodies and a read after them, and its violation."""
    path = "/v1/accounts/acc_1/beneficiaries/bene_1"
    ledger, sent = Ledger(), dict[str, Any]()
    for number, body in enumerate(bodies, 1):
        call = Call("updateBeneficiary", "PATCH", path, body)
        sent |= {"call": call, "method": "PATCH", "target": path, "request_body": body, "raced": 1}
        keep(ledger, exchange(number, purpose="a beneficiary changed twice at once", **sent))
    sent = {"call": Call("getBeneficiary", "GET", path), "method": "GET", "target": path, "request_body": b""}
    keep(ledger, exchange(9, purpose="a read after both", **sent))
    return ledger, Violation('a read after both: note "x"', '"y"', (9, *range(1, len(bodies) + 1)))


def test_simultaneous_requests_are_all_described_and_side_by_side() -> None:
    ledger, violation = race_of(b'{"note": "x"}', b'{"title": "Dr"}')
    sent, expected = probe(violation, ledger.exchanges)
    assert sent == (
        'PATCH updateBeneficiary: {"note": "x"} and, at the same time, PATCH updateBeneficiary: '
        '{"title": "Dr"}; '
        "then GET getBeneficiary: a read after both"
    )
    assert expected == 'note "x"'
    pair = beside(violation, ledger.exchanges)
    assert pair is not None
    assert (pair["numbers"], pair["relation"]) == ([1, 2], "which was sent at the same time")
    same_member, violation = race_of(b'{"note": "x"}', b'{"note": "y"}')
    judged_alone = Violation("only one of them", "both are", (1, 2))
    pair = beside(judged_alone, same_member.exchanges)
    assert pair is not None and pair["relation"] == "which was sent at the same time"
    alike, violation = race_of(b"{}", b"{}")
    assert probe(violation, alike.exchanges)[0] == (
        "PATCH updateBeneficiary: a beneficiary changed twice at once; "
        "then GET getBeneficiary: a read after both"
    )


def test_what_was_sent_is_a_request() -> None:
    ledger = Ledger()
    keep(ledger, exchange(1, purpose="`name` with NUL"))
    violation = Violation("`name` with NUL: an answer below 500", "500", (1,))
    assert probe(violation, ledger.exchanges) == (
        "POST createAccount: `name` with NUL",
        "an answer below 500",
    )


def test_where_long_texts_begin_to_differ_is_said() -> None:
    text = "a" * 60
    assert parted(f'a text: name "{text}:b"', f'"{text}b"') == (
        'from character 61 on: …aaaaaaaaaa:b"… was expected, …aaaaaaaaaab"… came'
    )
    assert parted('a text: name "a:b"', '"ab"') == ""
    assert parted(f'a text: name from character 200 on "…{text}:b"', f'"…{text}b"') == ""
    assert parted(f'a text: name "{text}:b"', f"no such member, {text}") == ""
    cell = judged("create.echo", "createAccount", Verdict.FAILED, expected=f'name "{text}"', got=f'"{text}b"')
    [shown] = facts_of(whole_run(None, cell))
    assert shown["differs"].startswith("from character 61 on: ")


def test_of_an_object_the_first_part_that_differs_is_said() -> None:
    address = {"line": "1 Main Street " * 30, "region": "NY", "lines": [{"at": 1}, {"at": 2}]}
    changes: list[tuple[dict[str, Any], str, str]] = [
        ({"region": "N"}, 'a read: address.region "NY"', '"N"'),
        ({"lines": [{"at": 1}, {}]}, "a read: address.lines.1.at 2", "no such member"),
        (
            {"line": "1 Main Street " * 29 + "1 Main"},
            'a read: address.line from character 413 on "…1 Main Street 1 Main Street "',
            '"…1 Main Street 1 Main"',
        ),
    ]
    for change, expected, got in changes:
        body = to_json({"address": {**address, **change}})
        assert outcomes.member("a read", exchange(1, body), "address", address)[:2] == (expected, got)


class NoSignature(Behaviour):
    """Refuses every signature of listAccounts."""

    def signatures_equal(self, ctx: Context, expected: str, presented: str) -> bool:
        return ctx.operation != "listAccounts" and super().signatures_equal(ctx, expected, presented)


def test_a_part_without_which_a_request_is_refused_too_made_no_difference() -> None:
    check = load_checks()["test_authentication.test_sound_requests_pass"]
    [cell], _ = run_check(check, "listAccounts", run_on(NoSignature()))
    refusal = "401 authentication_error/invalid_signature; without that nonce the same"
    assert cell.violations[0].got == refusal


def test_what_its_check_alone_did_not_show_takes_the_whole_run() -> None:
    for confirmed, takes in (("confirmed", ""), ("not reproduced", "pytest --pyargs conformance --seed 7")):
        cell = judged("list.walk", "listAccounts", Verdict.FAILED, confirmed=confirmed)
        [shown] = facts_of(whole_run(None, cell))
        assert shown.get("takes", "").endswith(takes) and bool(takes) == ("takes" in shown)


def test_method_and_path_are_said_once() -> None:
    ledger, call = Ledger(), Call(None, "GET", "/v1/accounts/acc_1")
    request: dict[str, Any] = {"call": call, "method": "GET", "target": call.target, "request_body": b""}
    keep(ledger, exchange(1, purpose="GET /v1/accounts/acc_1 by another", **request))
    sent, _ = probe(Violation("none", "200", (1,)), ledger.exchanges)
    assert sent == "GET /v1/accounts/acc_1 by another"


def test_an_expectation_that_says_no_more_than_the_request_is_the_rule() -> None:
    results = whole_run(
        None, judged("list.walk", "listWallets", Verdict.FAILED, exchanges=[1], expected="the key again")
    )
    keep(results, exchange(1, purpose="the key again"))
    [section] = facts_of(results)
    assert section["sent"].endswith("the key again")
    assert section["expected"] == RULES["list.walk"].statement


def facts_of(results: Ledger) -> list[dict[str, str]]:
    """Returns the facts of each violation, by label."""
    return [
        {fact.label: fact.text for fact in item.facts}
        for section in sections(document(results))
        for item in section.items
        if item.cause
    ]


@pytest.mark.parametrize(
    ("body", "status", "got"),
    [
        (b'{"id": "acc_1", "name": "B"}', 200, '200 with another name: name "B", not "A"'),
        (b'{"id": "acc_1", "name": "A"}', 201, "201 with a JSON body"),
        ('{"id": "acc_1", "name": "A\u0301"}'.encode(), 200, "200 with another name: name"),
    ],
)
def test_a_repetition_shows_both_statuses_or_the_member_that_differs(
    body: bytes, status: int, got: str
) -> None:
    first = exchange(1, b'{"id": "acc_1", "name": "A"}')
    expected, found, *_ = outcomes.same_answer("the key again", first, exchange(2, body, status))
    assert expected == "the key again: the original response, 200 with a JSON body"
    assert isinstance(found, str) and found.startswith(got)


@pytest.mark.parametrize(
    ("one", "other", "escaped"),
    [
        (
            "\U0001f3e6 \u00e9 e\u0301",
            "\U0001f3e6 e\u0301 e\u0301",
            ("\U0001f3e6 \\xe9 e\\u0301", "\U0001f3e6 e\\u0301 e\\u0301"),
        ),
        ("\ufb01n", "fin", ("\\ufb01n", "fin")),
        ("a\u200db", "ab", ("a\\u200db", "ab")),
        ("a\u00a0b", "a b", ("a\\xa0b", "a b")),
        ("a  b", "a b", ("a \\x20b", "a b")),
        ("\u00e9", "\u00e8", ("\u00e9", "\u00e8")),
    ],
)
def test_what_looks_alike_is_told_apart_by_its_code_points(
    one: str, other: str, escaped: tuple[str, str]
) -> None:
    assert told_apart(one, other) == escaped
    cell = Cell("create.text-exact", "createAccount")
    cell.expect(f'a text: name "{one}"', f'"{other}"')
    assert (cell.violations[0].expected, cell.violations[0].got) == (
        f'a text: name "{escaped[0]}"',
        f'"{escaped[1]}"',
    )


@pytest.mark.parametrize(
    ("rule", "operation", "own"),
    [
        ("create.amount-exact", "createPayin", ["2.8", "4.7"]),
        ("create.amount-exact", "createPayout", ["2.5", "4.4"]),
        ("list.complete", "listWallets", ["4.6"]),
        ("balances.of-account", "getAccountBalances", ["2.2", "4.1"]),
        ("secrets.hidden", "createAccount", ["2.4", "5.1"]),
        ("payout.race", "createPayout", ["2.2", "4.4"]),
        ("tenancy.foreign-parent", "createPayout", ["5.5.1"]),
    ],
)
def test_the_sections_are_those_of_the_operation(rule: str, operation: str, own: list[str]) -> None:
    assert sections_of(RULES[rule], [operation]) == own


def test_a_list_that_was_not_read_whole_says_how_much_was() -> None:
    page = exchange(1, b'{"items": [{"id": "a"}], "total": 45, "page": 1, "size": 1, "pages": 45}')
    _, got, *_ = paging.listed("a list", ["z"], [page])
    assert isinstance(got, Unclear) and got.reason == "the suite read 1 of the list's 45 pages"
    assert "fewer accounts" in got.remedy


def test_pages_of_a_stale_total_are_a_sentence() -> None:
    walk = page_of(exchange(1, b'{"items": [{"id": "a"}], "total": 12, "page": 1, "size": 10, "pages": 2}'))
    later = page_of(exchange(7, b'{"items": [], "total": 0, "page": 1, "size": 10, "pages": 0}'))
    assert walk is not None and later is not None
    expected, got, *_ = paging.pages_of_walk("a page", later, [walk], 10, growing=False)
    assert (expected, got) == (
        "a page: pages 2",
        "pages 0, though 6.0 s before its pages had shown 12 elements",
    )


def test_a_run_says_what_it_waited_for_in_its_own_time() -> None:
    results = whole_run()
    for lane in range(4):
        other = Ledger()
        other.measure_limits([(429, STARTED + lane, STARTED + lane + 2), (503, STARTED + 8, STARTED + 9)])
        head = Call(None, "HEAD", "/v1")
        keep(other, exchange(lane, status=None, elapsed=4.0, method="HEAD", call=head))
        results.merge(other)
    results.waited(PACE, (STARTED, STARTED + 2), (STARTED + 1, STARTED + 4))
    report = document(results, seconds=20)
    assert facts.waited(report) == (
        "Of its time it waited 7.0 s for answers to HEAD requests that did not come, 4 times; "
        "5.0 s for a rate limit (429), 4 times; "
        "4.0 s for its turn, so that it kept to a limit of requests, 2 times; "
        "1.0 s for the server, which was out of service (503), 4 times."
    )
    assert (report.run.retries, report.run.waited) == (8, 6.0)
    assert [wait["times"] for wait in to_plain(report.run.waits)] == [4, 4, 2, 4]
    assert "HEAD" not in facts.waited(document(results, seconds=71))


@pytest.mark.parametrize(
    ("nonces", "apart", "takes", "lacked"),
    [
        ("aa", 200, True, "the 3 min 20 s between the requests, and "),
        # The age of what the command itself has waited for.
        ("aa", 91, False, "the 1 min 31 s between the requests, and "),
        ("ab", 200, False, ""),
    ],
)
def test_what_takes_longer_than_its_command_waits_is_known_by_what_is_repeated(
    nonces: str, apart: float, takes: bool, lacked: str
) -> None:
    """By one nonce in two requests, whatever they are called."""
    cell = judged(
        "auth.nonce-replay", "createAccount", Verdict.FAILED, exchanges=[2, 1], confirmed="not reproduced"
    )
    results = whole_run(None, cell)
    results.narrowed = ["auth.nonce-replay"]
    for number, nonce in enumerate(nonces, 1):
        headers = [("X-Nonce", nonce)]
        keep(results, exchange(number, request_headers=headers, started=STARTED + apart * number))
    [item] = [item for section in sections(document(results)) for item in section.items if item.cause]
    texts = {fact.label: f"{fact.text}{fact.after}" for fact in item.facts}
    assert ("takes" in texts) == takes
    assert f"did not show it: it lacked {lacked}what the run had sent before" in texts["got"]


def test_simultaneous_requests_are_known_by_the_race_they_were_in() -> None:
    """Not by words of their purpose."""
    ledger = Ledger()
    keep(
        ledger,
        exchange(1, purpose="beside it", raced=1),
        exchange(2, purpose="two at once"),
    )
    names = [trigger(each) for each in ledger.exchanges.values()]
    assert names == ["simultaneous requests", "the Idempotency-Key"]


@pytest.mark.parametrize(
    ("target", "part"),
    [
        ("/v1/accounts/acc%3A1/wallets?page=1%00", "a NUL"),
        # Ids may need to be percent-encoded.
        ("/v1/accounts/acc%3A1/wallets?page=%7B", "the query"),
        ("/v1/accounts/acc_1/wallets?start_date=2026-01-01T00%3A00%3A00Z", "the query"),
        ("/v1/accounts/acc%3A1/wallets?page=1", "the path"),
        ("/v1/accounts/acc_1/wallets", "the method or the path"),
    ],
)
def test_what_is_odd_about_a_request_is_its_query_before_its_path(target: str, part: str) -> None:
    ledger, call = Ledger(), Call("listWallets", "GET", target)
    keep(ledger, exchange(1, call=call, method="GET", target=target, request_body=b""))
    assert trigger(ledger.exchanges[1]) == part
