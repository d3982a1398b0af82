"""Generated requests of one operation, judged by the oracle from the bytes that were sent."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import hypothesis
from hypothesis import strategies as st

from conformance.checks.side_effects import UNTOUCHED
from conformance.contract import json_text
from conformance.contract.fields import UNIQUE, documented
from conformance.contract.operations import OPERATIONS
from conformance.contract.traits import TRAITS
from conformance.fuzz.examples import Examples, seed_of, settings_of
from conformance.fuzz.exploration import FuzzSettings
from conformance.fuzz.fixtures import PAIRS_REMEDY, OperationFixtures, pairs_are_free, payee_of
from conformance.fuzz.generation import generated
from conformance.fuzz.odd_requests import odd_requests
from conformance.judge import outcomes, paging
from conformance.judge.cells import Cell
from conformance.judge.comparison import MOVING, same, same_amount, show, shows, was_changed
from conformance.judge.field_values import plain_amount
from conformance.judge.hidden_numbers import HIDDEN_FIELDS
from conformance.judge.oracle import OWN, RAW, BodyVerdict, ExpectedAnswer, Known, ValidBody, expect
from conformance.judge.oracle.keys import accepted_by
from conformance.judge.verdicts import Inconclusive
from conformance.wire.grammar import is_odd
from conformance.wire.messages import Call, Exchange
from conformance.world.case import FRESH, Case, call_of
from conformance.world.run import SAMPLE_REMEDIES, Run

KEY_ACCEPTED = "idempotency.key-accepted"

#: Maximum length of a description.
LONGEST = 200


class Fuzzer:
    """Sends cases of one operation and judges their answers."""

    def __init__(self, run: Run, operation: str, examples: Examples) -> None:
        self.run = run
        self.operation = operation
        self.examples = examples
        self.fixtures = OperationFixtures(run, operation)

    def perform(self, case: Case) -> None:
        """Sends a case and judges its answer and, if it must be refused, its side effects. Raises Broken."""
        call, expected, what = self._request(case)
        refusable = expected.refusals and Known(case.path).own_path
        if refusable:
            self.examples.keep(*self.fixtures.before())
        exchange = self._send(call, what, sound=expected.accepted is not None)
        if exchange is None:
            return
        if not exchange.throttled and exchange.status is not None and exchange.status < 500:
            self._judge(expected, exchange, what)
            if refusable and exchange.refused:
                self._judge_unchanged(exchange, what)
        else:
            self.fixtures.renew()
        if not (expected.refusals and exchange.succeeded):
            # A body that was accepted by mistake may break rules of the answer: one fault, one failure.
            self.examples.inspect(exchange)

    def _request(self, case: Case) -> tuple[Call, ExpectedAnswer, str]:
        """The call of a case with new unique values, its expected answer and its description."""
        valid, body = self.fixtures.renewed(case.body)
        call = call_of(case, self.fixtures.ids(case.path), body)
        expected = expect(call, self.run.target, Known(case.path, payee_of(case.body), valid))
        document = expected.body.document
        if valid is not None and document is not None and not _unique(valid, document):
            expected.accepted = None
        return call, expected, described(case, call, valid)

    def _send(self, call: Call, what: str, *, sound: bool) -> Exchange | None:
        """Sends a call; None if a front end or router may not find the operation of its odd target."""
        client = self.fixtures.fixture.client
        odd = is_odd(call.target)
        # Repeated with another key where what it names may be too new.
        send = self.run.shown if sound and not odd else self.run.send
        exchange = send(client, call.but(operation=None) if odd else call, f"a generated request, {what}")
        self.examples.keep(exchange)
        if not odd:
            self.examples.count(exchange)
            return exchange
        if not exchange.refused and exchange.method != "GET":
            # It may have changed any resource.
            self.fixtures.renew()
        also = (501,) if TRAITS[self.operation].under_development else ()
        answered = outcomes.answered(what, exchange, also=also)
        self.examples.expect("http.no-server-error", self.operation, *answered)
        return None

    # ------------------------------------------------------------------ judging

    def _judge(self, expected: ExpectedAnswer, exchange: Exchange, what: str) -> None:
        judge, operation = self.examples.expect, self.operation
        if exchange.succeeded:
            self._update_fixtures(expected)
        if expected.passes and not (expected.refusals and exchange.error_type != "authentication_error"):
            passes = expected.passes[0]
            judge(passes.rule, operation, *replace(passes, what=what).judge(exchange))
        if (reason := expected.refusal) is not None:
            judge(reason.rule, operation, *reason.judge(exchange))
        elif expected.accepted is not None and not self._may_refuse(exchange):
            key = exchange.call.idempotency_key or ""
            rule = expected.accepted.rule
            if exchange.error_code == "invalid_idempotency_key" and accepted_by(key) == KEY_ACCEPTED:
                rule = KEY_ACCEPTED
            judge(rule, operation, *replace(expected.accepted, what=what).judge(exchange))
        if exchange.succeeded and not expected.refusals:
            self._judge_accepted(expected.body, exchange)

    def _may_refuse(self, exchange: Exchange) -> bool:
        """True if a refusal may have another reason: a pair is taken, or the account has reached a quota,
        which refuses the valid request as well."""
        if TRAITS[self.operation].unique_pair and not pairs_are_free(self.run):
            return True
        if not exchange.refused or not TRAITS[self.operation].creates:
            return False
        fixture = self.fixtures.fixture
        again = self.run.send(fixture.client, fixture.call(self.operation), "is the valid request accepted?")
        self.examples.keep(again)
        self.fixtures.renew()
        return again.refused

    def _update_fixtures(self, expected: ExpectedAnswer) -> None:
        """Discards the snapshot after an accepted request, and the fixture where that is used up."""
        self.fixtures.forget_snapshot()
        if TRAITS[self.operation].once or (expected.refusals and OPERATIONS[self.operation].method != "GET"):
            self.fixtures.renew()

    def _judge_unchanged(self, refusal: Exchange, what: str) -> None:
        turn = self.fixtures.after(refusal)
        if turn is None:
            return
        self.examples.keep(*turn.after.looks)
        # A doubtful effect may be that of others.
        got = "" if turn.effect.doubtful else turn.effect.text
        if got:
            self.fixtures.renew()
        expected, proof = f"no effect of a refusal of {what}", (turn.after.looks[-1], refusal)
        self.examples.expect(UNTOUCHED, self.operation, expected, got, *proof, turn.before.looks[-1])
        self.examples.inspect(*turn.after.looks)

    # ------------------------------------------------------------------ answers to accepted requests

    def _judge_accepted(self, verdict: BodyVerdict, exchange: Exchange) -> None:
        if OPERATIONS[self.operation].is_list:
            style = self.run.target.array_style
            for rule, judgement in paging.demanded(self.operation, exchange, style):
                self.examples.expect(rule, self.operation, *judgement)
        elif TRAITS[self.operation].subset_of:
            self._judge_update(verdict, exchange)
        elif verdict.document is not None:
            self._judge_initial(verdict.document, exchange)
            for name, value in verdict.document.items() if verdict.plain else ():
                if name in documented(self.operation) and name not in (*HIDDEN_FIELDS, "amount"):
                    echo = outcomes.equal(name, exchange.get(name), value, exchange, alike=shows)
                    self.examples.expect("create.echo", self.operation, *echo)

    def _judge_initial(self, sent: dict[str, Any], exchange: Exchange) -> None:
        """Judges that a created resource has its initial state and the exact amount."""
        initial = {} if was_changed(exchange) else TRAITS[self.operation].initial
        for name, value in initial.items():
            rule = "create.server-owned" if name in sent else "create.initial-state"
            initially = outcomes.equal(name, exchange.get(name), value, exchange)
            self.examples.expect(rule, self.operation, *initially)
        if plain_amount(amount := sent.get("amount")):
            exact = outcomes.equal("amount", exchange.get("amount"), amount, exchange, alike=same_amount)
            self.examples.expect("create.amount-exact", self.operation, *exact)

    def _judge_update(self, verdict: BodyVerdict, exchange: Exchange) -> None:
        before, sent = self.fixtures.known, verdict.document
        self.fixtures.learn(exchange)
        if before is None or not isinstance(exchange.document, dict) or sent is None:
            return
        for name in documented(self.operation):
            if name in sent:
                if verdict.plain:
                    value, what = exchange.get(name), f"after the update: {name}"
                    changed = outcomes.equal(what, value, sent[name], exchange, alike=shows)
                    self.examples.expect("beneficiary.update", self.operation, *changed)
            elif name not in MOVING:
                stays = outcomes.member("as before the update", exchange, name, before.get(name))
                self.examples.expect("beneficiary.update", self.operation, *stays, before)


def _unique(valid: ValidBody, document: dict[str, Any]) -> bool:
    """True if no unique value of a document can be in use: each has that of the valid body in it."""
    return all(
        isinstance(document[name], str) and str(valid.body.get(name, "\n")) in document[name]
        for name in UNIQUE & document.keys()
    )


# ---------------------------------------------------------------------- descriptions


def described(case: Case, call: Call, valid: ValidBody | None) -> str:
    """Describes what a request changes in the valid one, with fields and values."""
    changes = []
    for name, kind in case.path:
        if kind != OWN:
            text = show(kind.removeprefix(RAW)) if kind.startswith(RAW) else f"({kind})"
            changes.append(f"`{name}` {text}")
    for parameter in call.query.split("&") if call.query else ():
        name, _, value = parameter.partition("=")
        changes.append(f"`{name}` {show(value)}")
    if case.key is None:
        changes.append("no Idempotency-Key")
    elif case.key != FRESH:
        changes.append(f"Idempotency-Key {show(case.key)}")
    if valid is not None:
        if call.content_type != "application/json":
            changes.append(f"Content-Type {show(call.content_type)}")
        changes += _of_body(call.body or b"", valid)
    text = ", ".join(changes) or "the valid request"
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."


def _of_body(body: bytes, valid: ValidBody) -> Iterator[str]:
    try:
        document = json_text.load(body.decode("utf-8"))
    except ValueError:
        document = None
    if not isinstance(document, dict):
        yield f"body {show(body.decode('utf-8', 'backslashreplace')) if body else '(empty)'}"
        return
    for name, value in document.items():
        if name not in valid.body or not same(value, valid.body[name]):
            yield f"`{name}` {show(value)}"
    for name in valid.body if not TRAITS[valid.operation].subset_of else ():
        if name not in document:
            yield f"without `{name}`"


# ---------------------------------------------------------------------- the part


def fuzz(run: Run, operation: str, settings: FuzzSettings, check: str) -> list[Cell]:
    """Fuzzes one operation and returns a cell for each judged rule.

    Raises Inconclusive when the server refuses to create the fixtures.
    """
    part = f"fuzz {operation}"
    examples = Examples(run, check, settings.share())
    fuzzer = Fuzzer(run, operation, examples)
    valid, foreign = fuzzer.fixtures.valid, fuzzer.fixtures.foreign is not None
    with examples.recording():
        cases = st.one_of(*odd_requests(operation, valid, foreign=foreign), *generated(operation, valid))

        @settings_of(settings, part)
        @hypothesis.seed(seed_of(settings, part))
        @hypothesis.given(cases)
        def answers_are_right(case: Case) -> None:
            examples.begin()
            with examples.performing():
                fuzzer.perform(case)

        answers_are_right()
    return [*examples.concluded(), *unreached(examples, operation)]


def unreached(examples: Examples, operation: str) -> list[Cell]:
    """An inconclusive cell if no generated request was accepted: then only validation was tested."""
    statuses = {status: count for (of, status), count in examples.statuses.items() if of == operation}
    if any(status is not None and 200 <= status < 300 for status in statuses):
        return []
    answers = ", ".join(f"{count} x {status or 'no answer'}" for status, count in statuses.items())
    reason = (
        f"no generated {operation} was accepted ({answers or 'none was sent'}), "
        "so nothing behind its checks was tested"
    )
    remedy = SAMPLE_REMEDIES.get(operation, "")
    if TRAITS[operation].unique_pair and not pairs_are_free(examples.run):
        remedy = PAIRS_REMEDY
    cell = Cell("http.success-json", operation)
    return [cell.concluded(examples.check, Inconclusive(reason, remedy))]
