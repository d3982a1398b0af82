"""Rules of every response: lost requests, credentials, masked numbers."""

from __future__ import annotations

from dataclasses import replace
from email.utils import formatdate

import pytest

from conformance.checks import load_checks
from conformance.checks.running import run_check
from conformance.fuzz.examples import Examples
from conformance.judge.invariants import LOST, Invariants, telling_secrets
from conformance.judge.lost_requests import ENOUGH, Rate, too_many_lost
from conformance.judge.verdicts import Verdict
from conformance.target.file import build
from conformance.wire.messages import to_json
from conformance.world.lane import Lane
from tests.support.runs import run_on


@pytest.mark.parametrize(
    ("lost", "requests", "many"),
    [(0, 1000, False), (3, 90, False), (4, 100, False), (5, 100, True), (7, 286, False), (8, 286, True)],
)
def test_few_lost_requests_are_no_violation(lost: int, requests: int, many: bool) -> None:
    assert too_many_lost(lost, requests) is many


def test_lost_requests_have_a_correctly_signed_witness(lane: Lane) -> None:
    fixture = lane.account()
    answer = lane.send(fixture.client, fixture.call("listWallets"), "a list")
    rules = Invariants(lane.target)
    for number in range(ENOUGH):
        rules.inspect(replace(answer, number=2 * number, repeated=False))
        if number % 10 == 0:
            rules.inspect(replace(answer, number=2 * number + 1, repeated=True))
    odd = replace(answer, number=999, repeated=True, call=answer.call.signed(omit=("X-Nonce",)))
    rules.inspect(odd)
    tally = rules.tallies[LOST, "listWallets"]
    assert tally.broken == 11 and tally.violations[0].exchanges == (181,), "the last with a valid signature"
    [violation] = tally.concluded().violations
    assert violation.exchanges == (181,)
    assert violation.got == "11 of 100 requests had to be sent again, this one among them"


def test_lost_requests_of_all_lanes_are_one_rate(lane: Lane) -> None:
    """Sixteen lanes have few requests of an operation each."""
    fixture = lane.account()
    answer = lane.send(fixture.client, fixture.call("listWallets"), "a list")
    common: list[Rate] = []
    lanes = [Invariants(lane.target, rates=common) for _ in range(16)]
    for number in range(8):
        for each in lanes:
            each.inspect(replace(answer, number=number, repeated=number == 0))
    for each in lanes:
        each.judge_rates()
    tallies = [each.tallies[LOST, "listWallets"] for each in lanes]
    assert sum(tally.broken for tally in tallies) == 16
    assert {tally.violations[0].got for tally in tallies} == {
        "16 of 112 requests had to be sent again, this one among them"
    }


def test_a_rate_of_few_requests_says_so(lane: Lane) -> None:
    fixture = lane.account()
    answer = lane.send(fixture.client, fixture.call("listWallets"), "a list")
    rules = Invariants(lane.target)
    for number in range(ENOUGH):
        rules.inspect(replace(answer, number=number))
        rules.judge_rates()
        tally = rules.tallies[LOST, "listWallets"]
        if number == ENOUGH - 2:
            assert tally.concluded().summary == f"99 of the {ENOUGH} requests that a rate takes"


@pytest.mark.parametrize(
    ("error", "judged"), [("invalid_signature", True), ("missing_headers", False), ("nonce_replay", False)]
)
def test_only_the_refusal_of_a_signature_shows_that_the_right_one_is_hidden(
    lane: Lane, error: str, judged: bool
) -> None:
    fixture = lane.account()
    answer = lane.send(fixture.client, fixture.call("listWallets"), "a list")
    body = b'{"error": {"type": "authentication_error", "code": "%s", "message": ""}}' % error.encode()
    rules = Invariants(lane.target)
    rules.inspect(replace(answer, status=401, response_body=body, _read=None))
    assert (("auth.signature-hidden", "listWallets") in rules.tallies) is judged


def test_a_rate_of_lost_requests_ends_no_example(lane: Lane) -> None:
    fixture, examples = lane.account(), Examples(lane, "listWallets", "test")
    answer = lane.send(fixture.client, fixture.call("listWallets"), "a list")

    def inspect(requests: int, lost: int) -> None:
        for number in range(requests):
            lane.invariants.inspect(replace(answer, repeated=number < lost))

    inspect(2 * ENOUGH, ENOUGH // 2)
    inspect(ENOUGH, 1)
    examples.inspect(answer)
    inspect(100 * ENOUGH, 0)
    examples.inspect(answer)
    assert LOST not in {rule for rule, _ in examples.judged}


def test_a_secret_is_shown_in_a_header_or_a_member(lane: Lane) -> None:
    fixture = lane.account()
    answer = lane.send(fixture.client, fixture.call("listWallets"), "a list")
    secret, rules = telling_secrets(lane.target)[0], Invariants(lane.target)
    body = b'{"items": [{"label": "%s"}]}' % secret.encode()
    rules.inspect(replace(answer, response_headers=[*answer.response_headers, ("x-debug", secret)]))
    rules.inspect(replace(answer, response_body=body, _read=None))
    places = [each.got for each in rules.tallies["secrets.hidden", "listWallets"].violations]
    assert places == ["a signing secret in its header x-debug", "a signing secret in its member label"]


@pytest.mark.parametrize(
    ("secret", "telling"),
    [
        ("key", False),
        ("password", False),
        ("12345678", False),
        ("s3cr3t-1", True),
        ("whsecretwhsecret", True),
    ],
)
def test_a_secret_that_may_be_a_word_is_not_looked_for(secret: str, telling: bool) -> None:
    """An error message may contain any ordinary word."""
    primary = {"api_key": "key_1", "secret": secret, "customer_id": "cus_1"}
    target = build({"base_url": "http://words.test", "primary": primary}, "words")
    assert (secret in telling_secrets(target)) is telling


@pytest.mark.parametrize(
    ("numbers", "names", "broken"),
    [
        pytest.param("10002000300040005", "Ada Lovelace", True, id="shown"),
        pytest.param("__not_in_enum__", "__not_in_enum__", False, id="also-in-another-field"),
        pytest.param("00000456", "Ada Lovelace", False, id="as-short-as-an-id-behind-zeros"),
    ],
)
def test_number_is_hidden_unless_another_field_has_it(numbers: str, names: str, broken: bool) -> None:
    """Generated requests send the same text in several fields, some of which are not masked."""
    lane = run_on()
    fixture = lane.account()
    number = {**fixture.bank_account(), "account_number": numbers}
    first = lane.send(fixture.client, fixture.call("createPayoutDestination", number), "a number")
    assert first.succeeded
    name = {**fixture.bank_account(), "account_name": names, "label": names}
    other = fixture.call("createPayoutDestination", name)
    exchange = lane.send(fixture.client, other, "another destination")
    shown = replace(exchange, response_body=exchange.response_body + numbers.encode())
    judged = Invariants(lane.target)
    for answer in (first, exchange, shown):
        judged.inspect(answer)
    assert bool(judged.tallies["secrets.hidden", "createPayoutDestination"].broken) is broken


def test_another_lane_may_replay_what_is_older_than_new_resources_are() -> None:
    """In a run of more than ten minutes a replay shows the `created` of the original (4.0.3)."""
    lane = run_on()
    other = Lane(lane.target, transport=lane._transport, common=lane.common)
    fixture = lane.account()
    first = lane.send(fixture.client, fixture.call("createWallet"), "a wallet")
    later = formatdate(first.arrived + 660, usegmt=True)
    headers = [("date", later), *(pair for pair in first.response_headers if pair[0].lower() != "date")]
    other.invariants.inspect(replace(first, response_headers=headers))
    assert not other.invariants.broken


def test_a_body_that_is_no_json_and_was_taken_ends_no_later_check() -> None:
    lane = run_on()
    fixture = lane.account()
    answer = lane.send(fixture.client, fixture.call("createPayout"), "a payout")
    lane.accepted.append(replace(answer, call=answer.call.but(body=b'{"note": "\xe9"}')))
    check = load_checks()["test_list_contents.test_elements_with_children_are_counted_once"]
    cells, _ = run_check(check, "listPayoutDestinations", lane)
    assert {cell.verdict for cell in cells} == {Verdict.PASSED}


def test_a_malformed_id_does_not_silence_a_foreign_one_beside_it(lane: Lane) -> None:
    other, fixture = lane.account(fresh=True), lane.account(fresh=True)
    foreign = other.create("createWallet")
    answer = lane.send(fixture.client, fixture.call("listWallets"), "a list")
    document = {**answer.document, "items": [{"id": "x-1"}, foreign.document]}
    lane.invariants.inspect(replace(answer, response_body=to_json(document), _read=None))
    [violation] = lane.invariants.tallies["tenancy.isolation", "listWallets"].violations
    assert violation.got == f'id "{foreign.get("id")}", of another account'
    assert violation.exchanges == (answer.number, foreign.number)


def test_an_invalid_value_that_a_request_sent_had_to_be_refused(lane: Lane) -> None:
    """In the answer to that request, and in later answers that show it."""
    fixture = lane.account(fresh=True)
    long = fixture.create("createWallet")
    call = long.call.with_field("label", "x" * 256)
    shown = {**long.document, "label": "x" * 256}
    sent = replace(long, number=998, call=call, response_body=to_json(shown), _read=None)
    read = lane.send(fixture.client, fixture.call("listWallets"), "a list")
    later = replace(read, response_body=to_json({**read.document, "items": [shown]}), _read=None)
    unsent = replace(long, number=999, response_body=to_json({**shown, "label": "y" * 257}), _read=None)
    for answer in (sent, later, unsent):
        lane.invariants.inspect(answer)
    tallies = lane.invariants.tallies
    first, other = tallies["format.fields", "createWallet"].violations
    [listed] = tallies["list.item-fields", "listWallets"].violations
    assert (first.refusal, listed.refusal, other.refusal) == (True, True, False)
    assert listed.exchanges == (read.number, 998)
