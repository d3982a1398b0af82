"""Generated requests of one operation, judged by the oracle from the bytes that were sent."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from hypothesis import strategies as st

from conformance.checks.engine import Engine, Step
from conformance.checks.members import judge_members
from conformance.checks.side_effects import SideEffects
from conformance.contract import json_text
from conformance.contract.field_values import plain_amount
from conformance.contract.fields import HIDDEN, UNIQUE, documented
from conformance.contract.operations import OPERATIONS
from conformance.contract.traits import TRAITS
from conformance.fuzz.examples import Broken, Examples
from conformance.fuzz.exploration import FuzzSettings
from conformance.fuzz.fixtures import PAIRS_REMEDY, OperationFixtures, pairs_are_free, payee_of
from conformance.fuzz.generation import generated
from conformance.fuzz.odd_requests import odd_requests
from conformance.judge import paging
from conformance.judge.cells import Cell
from conformance.judge.comparison import MOVING, same, show, was_changed
from conformance.judge.oracle import FOREIGN, OWN, RAW, SIBLING, BodyVerdict, ExpectedAnswer, ValidBody
from conformance.judge.oracle.keys import accepted_by
from conformance.judge.outcomes import Unclear
from conformance.judge.verdicts import Inconclusive
from conformance.wire.grammar import is_odd
from conformance.wire.messages import Call, Exchange
from conformance.world.case import FRESH, Case, call_of
from conformance.world.lane import Lane
from conformance.world.refused_samples import SAMPLE_REMEDIES

KEY_ACCEPTED = "idempotency.key-accepted"

#: Maximum length of a description.
LONGEST = 200

#: Share of a part's examples that may create a resource, which stays.
CREATING = 0.2


class Fuzzer(Engine):
    """Sends cases of one operation, and judges their answers by all that the oracle says of them."""

    def __init__(self, examples: Examples) -> None:
        self.examples = examples
        #: Number of examples, and of resources that they have created.
        self._begun = self._created = 0
        self.fixtures = OperationFixtures(examples.lane, examples.operation.id)
        others = {SIBLING: lambda: self.fixtures.sibling, FOREIGN: lambda: self.fixtures.owned_by(FOREIGN)}
        super().__init__(examples, lambda: self.fixtures.fixture, others=others)
        self._effects: SideEffects | None = None

    def perform(self, case: Case) -> Exchange | None:
        """Sends a case with new unique values, and judges its answer and, if it must be refused, its side
        effects; nothing where it may create a resource beyond their share. Raises Broken."""
        self._begun += 1
        self._drawn, body = self.fixtures.renewed(case.body)
        case = replace(case, payee=payee_of(case.body), body=body)
        call = self.call(case)
        case = replace(case, name=described(case, call, self._drawn), front_end=_for_a_front_end(case))
        self._expected = self.expected(case, call)
        enough = self._created >= max(1, CREATING * self._begun)
        if enough and not self._expected.refusals and not self.examples.failing:
            return None
        try:
            refused = f"a refused request, {case.name}"
            (answer,) = self.batch(
                [Step(self, case, call)], [self] if self._watched(case) else (), what=refused
            )
        except Broken:
            self.renew()
            raise
        return answer

    def expected(self, case: Case, call: Call) -> ExpectedAnswer:
        """Returns what the oracle demands of the answer to a case; of one with unique values that may be in
        use, no acceptance."""
        expected, valid = super().expected(case, call), self._drawn
        if valid is not None and not _unique(valid, expected.body.document or {}):
            expected.accepted = None
        return expected

    def _watched(self, case: Case) -> bool:
        """True if a refusal of a case must change nothing that only the examples change."""
        own, traits = all(owner == OWN for _, owner in case.path), TRAITS[self.operation]
        seen_by_reads = not traits.shared and (traits.listed_by or traits.changes)
        return bool(self._expected.refusals and own and seen_by_reads)

    def snapshot(self) -> SideEffects:
        """Returns the last snapshot while nothing was accepted since, else takes one."""
        if self._effects is None:
            self._effects = super().snapshot()
        return self._effects

    def renew(self) -> None:
        """Discards the fixture and its snapshot."""
        self.fixtures.renew()
        self._effects = None

    def deliver(self, case: Case, call: Call) -> Exchange:
        """Sends a case; without its operation where a front end or router may not find that."""
        sound = self._expected.accepted is not None and not case.front_end
        # Repeated with another key where what it names may be too new.
        send = self.at.find if sound else self.at.send
        sent = call.but(operation=None) if case.front_end else call
        answer = send(sent, f"a generated request, {case.name}")
        if not case.front_end:
            self.examples.count(answer)
        return answer

    # ------------------------------------------------------------------ judging

    def conclude(self, case: Case, answer: Exchange) -> None:
        """Judges the answer to a case by all that the oracle says, and by the rules of every response."""
        expected = self._expected
        if case.front_end:
            if not answer.refused and answer.method != "GET":
                # It may have changed any resource.
                self.renew()
            answered = replace(expected.answered, what=case.name)
            self.at.expect(answered.rule, *answered.judge(answer))
            return
        if answer.throttled or answer.status is None or answer.status >= 500:
            self.renew()
        else:
            self._judge_answer(case, answer)
        if not (expected.refusals and answer.succeeded):
            # A body that was accepted by mistake may break rules of the answer: one fault, one failure.
            self.examples.inspect(answer)

    def _judge_answer(self, case: Case, answer: Exchange) -> None:
        at, expected = self.at, self._expected
        if answer.succeeded:
            self._effects = None
            self._created += bool(TRAITS[self.operation].creates)
            if TRAITS[self.operation].once or (expected.refusals and answer.method != "GET"):
                self.renew()
        if expected.passes and not (expected.refusals and answer.error_type != "authentication_error"):
            passes = replace(expected.passes[0], what=case.name)
            at.expect(passes.rule, *self.with_difference(passes, answer), demand=passes.demand)
        if (reason := expected.refusal) is not None:
            at.expect(reason.rule, *reason.judge(answer), demand=reason.demand)
        elif expected.accepted is not None and not self._may_refuse(answer):
            key = answer.call.idempotency_key or ""
            rule = expected.accepted.rule
            if answer.error_code == "invalid_idempotency_key" and accepted_by(key) == KEY_ACCEPTED:
                rule = KEY_ACCEPTED
            at.accepted(rule, answer, what=case.name)
        if answer.succeeded and not expected.refusals:
            self._judge_accepted(case.name, expected.body, answer)

    def _may_refuse(self, answer: Exchange) -> bool:
        """True if a refusal may have another reason, which refuses the valid request as well: a taken pair, a
        quota of the account, or a job that has disabled the beneficiary."""
        traits = TRAITS[self.operation]
        if traits.unique_pair and not pairs_are_free(self.at.lane):
            return True
        if not answer.refused or not (traits.creates or traits.changes):
            return False
        again = self.at.send(
            self.fixture.call(self.operation), "the valid request, to see whether it is accepted"
        )
        self.renew()
        return again.refused

    def _judge_accepted(self, what: str, verdict: BodyVerdict, answer: Exchange) -> None:
        at, traits, sent = self.at, TRAITS[self.operation], verdict.document
        if OPERATIONS[self.operation].is_list:
            for rule, judgement in paging.demanded(self.operation, answer, at.target.array_style):
                at.expect(rule, *judgement)
        elif traits.subset_of:
            self._judge_update(what, verdict, answer)
        elif sent is not None:
            initial = {} if was_changed(answer) else traits.initial
            judge_members(at, "create.server-owned", answer, initial, what, but=initial.keys() - sent.keys())
            judge_members(at, "create.initial-state", answer, initial, what, but=sent)
            if plain_amount(sent.get("amount")):
                at.member("create.amount-exact", answer, "amount", sent["amount"], what=what)
            if verdict.plain:
                judge_members(at, "create.echo", answer, sent, what, but=(*HIDDEN, "amount"))

    def _judge_update(self, what: str, verdict: BodyVerdict, answer: Exchange) -> None:
        before, sent, rule = self.fixtures.known, verdict.document, "beneficiary.update"
        self.fixtures.learn(answer)
        if before is None or sent is None:
            return
        if verdict.plain:
            judge_members(self.at, rule, answer, sent, what)
        state = {name: before.get(name) for name in documented(self.operation)}
        sentence = f"as before {what}"
        judge_members(self.at, rule, answer, state, sentence, but=MOVING | sent.keys(), shown_by=[before])


def _for_a_front_end(case: Case) -> bool:
    """True if a front end may refuse the path or the query of a case, whatever the ids of the server are."""
    ids = {name: whose.removeprefix(RAW) if whose.startswith(RAW) else "id" for name, whose in case.path}
    return is_odd(call_of(case, ids, None).target)


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


def fuzz(lane: Lane, operation: str, settings: FuzzSettings) -> list[Cell]:
    """Fuzzes one operation and returns a cell for each judged rule.

    Raises Inconclusive when the server refuses to create the fixtures.
    """
    examples = Examples(lane, operation, "test_fuzz.test_schema_fuzzing", settings.share())
    fuzzer, before = Fuzzer(examples), len(lane.accepted)
    valid, foreign = fuzzer.fixtures.valid, fuzzer.fixtures.foreign is not None
    with examples.recording():
        cases = st.one_of(*odd_requests(operation, valid, foreign=foreign), *generated(operation, valid))
        examples.draw(settings, f"fuzz {operation}", cases, fuzzer.perform)
    lane.common.vacant.leave(lane.accepted[before:])
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
    if TRAITS[operation].unique_pair and not pairs_are_free(examples.lane):
        remedy = PAIRS_REMEDY
    cell = Cell("http.success-json", operation)
    return [cell.concluded(examples.check, Inconclusive(Unclear(reason, remedy=remedy)))]
