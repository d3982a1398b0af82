"""Schema fuzzing of one operation: sends generated requests and judges them by the oracle."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from conformance.contract.fields import documented
from conformance.contract.operations import OPERATIONS
from conformance.contract.traits import TRAITS
from conformance.fuzz.engine.hypothesis_runs import budget, explore, together
from conformance.fuzz.engine.recorder import Recorder
from conformance.fuzz.engine.shrinking import shrink
from conformance.fuzz.exploration import FuzzSettings
from conformance.fuzz.schema.generation import Generator
from conformance.fuzz.schema.odd_requests import OddRequests
from conformance.fuzz.schema.operation_fixtures import (
    PAIRS_REMEDY,
    OperationFixtures,
    pairs_are_free,
    payees_of,
)
from conformance.fuzz.schema.own_values import marked, renewed
from conformance.judge import paging
from conformance.judge.comparison import MOVING, shown, was_changed
from conformance.judge.expectations import Answered, At, Equal, Member
from conformance.judge.field_values import plain_amount
from conformance.judge.findings import Finding, Inconclusive
from conformance.judge.hidden_numbers import HIDDEN_FIELDS
from conformance.judge.ledger import Entry
from conformance.judge.oracle import BodyVerdict, ExpectedAnswer, Known, expect
from conformance.judge.oracle.keys import accepted_by
from conformance.wire.grammar import is_odd
from conformance.wire.messages import Call, Exchange
from conformance.world.case import Case, call_of
from conformance.world.run_context import SAMPLE_REMEDIES, RunContext

#: Undrawn cases for each generated one: of branches of odd requests, and boundary cases.
BRANCH_FACTOR, BOUNDARY_FACTOR = 1, 2

#: Undrawn cases that are sent as one example.
TOGETHER = 24


class Fuzzer:
    """Sends cases of one operation and judges their answers into a recorder."""

    def __init__(self, run: RunContext, operation: str, check: str) -> None:
        self.run = run
        self.operation = operation
        self.recorder = Recorder(run, check)
        self.fixtures = OperationFixtures(run, operation)
        #: The Idempotency-Keys of accepted requests: shrinking sends the key of a case again.
        self._keys: set[str] = set()

    def perform(self, cases: Sequence[Case]) -> None:
        """Sends the cases of an example and judges their answers. Those that must be refused come last, so
        that one snapshot shows their side effects. Raises Falsified as the recorder does."""
        watched = []
        for case in cases:
            call, expected = self._expected(case)
            if expected.refusals and Known(case.path).own_path:
                watched.append((self.fixtures.fixture, case, call, expected))
            else:
                self._send(case, call, expected)
        for fixture, case, call, expected in watched:
            if fixture is not self.fixtures.fixture:  # An accepted request has used it up.
                call, expected = self._expected(case)
            looks = self.fixtures.before()
            self.recorder.keep(*looks)
            self.recorder.inspect(*looks)
            self._send(case, call, expected)
        self._judge_unchanged()

    def _send(self, case: Case, request: Call, expected: ExpectedAnswer) -> None:
        client = self.fixtures.fixture.client
        if odd := is_odd(request.target):
            # A front end or a router may not find the operation.
            request = request.but(operation=None)
        send = self.run.shown if case.there and not odd else self.run.send
        exchange = send(client, request, case.name)
        if odd:
            self.recorder.keep(exchange)
            if not exchange.refused and exchange.method != "GET":
                # It may have changed any resource.
                self.fixtures.renew()
            also = (501,) if TRAITS[self.operation].under_development else ()
            answered = Answered("any request", also=also)
            self.recorder.judge("http.no-server-error", self.operation, answered, exchange)
            return
        self.recorder.count(exchange)
        self.recorder.keep(exchange)
        if not exchange.throttled and exchange.status is not None and exchange.status < 500:
            self._judge(expected, exchange)
            if expected.refusals and Known(case.path).own_path and exchange.refused:
                self.fixtures.refused(exchange)
        else:
            self.fixtures.renew()
        if not (expected.refusals and exchange.succeeded):
            # A body that was accepted by mistake may break invariants of the answer: one fault, one failure.
            self.recorder.inspect(exchange)

    def _expected(self, case: Case) -> tuple[Call, ExpectedAnswer]:
        """The call of a case and its expected answer; a case that must be accepted gets new unique values."""
        call = call_of(case, self.fixtures.ids(case), self.fixtures.body_of(case))
        valid, body, target = self.fixtures.valid, call.body, self.run.target
        known = Known(case.path, payees_of(case.body), valid, keys=self._keys)
        if valid is None or not body:
            return call, expect(call, target, known)
        valid, body = renewed(valid, body, self.fixtures.fresh_body())
        call, known = call.but(body=body), replace(known, valid=valid)
        expected = expect(call, target, known)
        if expected.accepted is not None and expected.body.document is not None:
            own = marked(valid, body, expected.body.document)
            if own is None:
                expected.accepted = None
            elif own != body:
                call = call.but(body=own)
                expected = expect(call, target, known)
        return call, expected

    def _judge(self, expected: ExpectedAnswer, exchange: Exchange) -> None:
        judge, operation = self.recorder.judge, self.operation
        if exchange.succeeded:
            self._keys.add(exchange.call.idempotency_key or "")
            self._update_fixtures(expected)
        if expected.passes and not (expected.refusals and exchange.error_type != "authentication_error"):
            passes = expected.passes[0]
            judge(passes.rule, operation, passes.expectation, exchange)
        if (reason := expected.refusal) is not None:
            judge(reason.rule, operation, reason.expectation, exchange)
        elif expected.accepted is not None and (
            not TRAITS[operation].unique_pair or pairs_are_free(self.run)
        ):
            rule = (
                "idempotency.key-accepted"
                if exchange.error_code == "invalid_idempotency_key"
                and accepted_by(exchange.call.idempotency_key or "") == "idempotency.key-accepted"
                else expected.accepted.rule
            )
            if exchange.refused and self._quota_reached():
                return
            judge(rule, operation, expected.accepted.expectation, exchange)
        if exchange.succeeded and not expected.refusals:
            self._judge_accepted(expected.body, exchange)

    def _quota_reached(self) -> bool:
        """True if the account has reached a quota: it refuses the valid request as well."""
        if not TRAITS[self.operation].creates:
            return False
        fixture = self.fixtures.fixture
        again = self.run.send(fixture.client, fixture.call(self.operation), "is the valid request accepted?")
        self.recorder.keep(again)
        self.fixtures.renew()
        return again.refused

    def _update_fixtures(self, expected: ExpectedAnswer) -> None:
        """Discards the snapshot after an accepted request, and the fixture where that is used up."""
        self.fixtures.forget_snapshot()
        if TRAITS[self.operation].once or (expected.refusals and OPERATIONS[self.operation].method != "GET"):
            self.fixtures.renew()

    def _judge_unchanged(self) -> None:
        seen = self.fixtures.changed()
        if seen is None:
            return
        expectation, exchanges, looks = seen
        self.recorder.keep(*looks)
        if expectation.judge(exchanges).good is False:
            self.fixtures.renew()
        self.recorder.judge("refusal.changes-nothing", self.operation, expectation, *exchanges)
        self.recorder.inspect(*looks)

    # ------------------------------------------------------------------ answers to accepted requests

    def _judge_accepted(self, verdict: BodyVerdict, exchange: Exchange) -> None:
        if OPERATIONS[self.operation].is_list:
            style = self.run.target.array_style
            for rule, demanded in paging.demanded(self.operation, exchange.call.query, style):
                self.recorder.judge(rule, self.operation, demanded, exchange)
        elif TRAITS[self.operation].subset_of:
            self._judge_update(verdict, exchange)
        elif verdict.document is not None:
            self._judge_initial(verdict.document, exchange)
            for name, value in verdict.document.items() if verdict.plain else ():
                if name in documented(self.operation) and name not in (*HIDDEN_FIELDS, "amount"):
                    echo = Equal(name, At(name), value, "sent")
                    self.recorder.judge("create.echo", self.operation, echo, exchange)

    def _judge_initial(self, sent: dict[str, Any], exchange: Exchange) -> None:
        """Judges that a created resource has its initial state and the exact amount."""
        initial = {} if was_changed(exchange) else TRAITS[self.operation].initial
        for name, value in initial.items():
            rule = "create.server-owned" if name in sent else "create.initial-state"
            self.recorder.judge(rule, self.operation, Equal(name, At(name), value), exchange)

        if plain_amount(amount := sent.get("amount")):
            same = Equal("amount", At("amount"), str(amount), "amount")
            self.recorder.judge("create.amount-exact", self.operation, same, exchange)

    def _judge_update(self, verdict: BodyVerdict, exchange: Exchange) -> None:
        before, sent = self.fixtures.known, verdict.document
        after = exchange.document
        self.fixtures.learn(exchange)
        if before is None or not isinstance(after, dict) or sent is None:
            return
        for name in documented(self.operation):
            if name in sent:
                if verdict.plain:
                    changed = Equal(f"after the update: {name}", At(name), sent[name], "sent")
                    self.recorder.judge("beneficiary.update", self.operation, changed, exchange)
            elif name not in MOVING:
                # Compared with the earlier answer, so that a replay compares its own answers.
                stays = Member(f"as before the update ({shown(before.get(name))})", name, At(name, of=1))
                self.recorder.judge("beneficiary.update", self.operation, stays, exchange, before)


def fuzz(run: RunContext, operation: str, settings: FuzzSettings, check: str) -> list[Finding]:
    """Fuzzes one operation and returns a finding for each judged rule.

    Raises Inconclusive when the server refuses to create the fixtures.
    """
    fuzzer = Fuzzer(run, operation, check)
    seed = f"{settings.seed} fuzz {operation}"
    valid, foreign = fuzzer.fixtures.valid, fuzzer.fixtures.foreign is not None
    generator = Generator(operation, valid)
    odd = OddRequests(operation, valid, foreign=foreign)
    origins = [*generator.strategies().values(), *odd.strategies().values()]
    draws = random.Random(f"{seed} up front")
    up_front = [
        *odd.chosen(draws, settings.cases * BRANCH_FACTOR),
        *generator.coverage(draws, settings.cases * BOUNDARY_FACTOR),
    ]
    # Imports and derivations do not count towards the budget.
    allowed = budget(settings)
    with fuzzer.recorder.keeping():
        for at in range(0, len(up_front), TOGETHER):
            if allowed.late and fuzzer.recorder.statuses:
                break
            together(
                fuzzer.perform,
                up_front[at : at + TOGETHER],
                fuzzer.recorder,
                lambda case, fails: shrink(case, fails, None if valid is None else valid.body),
            )
        example = one_of_each(origins)
        explore(fuzzer.perform, example, fuzzer.recorder, settings, allowed, seed, f"fuzz {operation}")
    remedy = SAMPLE_REMEDIES.get(operation, "")
    if TRAITS[operation].unique_pair and not pairs_are_free(run):
        remedy = PAIRS_REMEDY
    return [*fuzzer.recorder.findings(), *unreached(fuzzer.recorder, operation, check, remedy)]


def one_of_each(origins: Sequence[SearchStrategy[Case]]) -> SearchStrategy[Sequence[Case]]:
    """Examples with a case of each origin, or of some: a failure shrinks to a single one."""
    kept = st.integers(0, 9)

    @st.composite
    def example(draw: DrawFn) -> Sequence[Case]:
        return [draw(origin) for origin in origins if draw(kept)]

    return example().filter(bool)


def unreached(recorder: Recorder, operation: str, check: str, remedy: str) -> list[Finding]:
    """An inconclusive finding if no generated request was accepted: then only validation was tested."""
    statuses = recorder.statuses.get(operation, {})
    if any(status is not None and 200 <= status < 300 for status in statuses):
        return []
    seen = ", ".join(
        f"{count} x {status or 'no answer'}"
        for status, count in sorted(statuses.items(), key=lambda counted: -counted[1])
    )
    reason = (
        f"no generated {operation} was accepted ({seen or 'none was sent'}), "
        "so nothing behind its checks was tested"
    )
    entry = Entry("http.success-json", operation, check)
    return [entry.finding(Inconclusive(reason, remedy))]
