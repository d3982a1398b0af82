"""Sends cases and judges their answers by what the oracle demands.

The engine builds the valid request that each case changes; reports show the name of a case. A batch of cases
is sent between snapshots of what they must not change. The oracle (conformance.judge.oracle) says what the
rule of a case demands of the answer; where it says nothing, the suite is wrong: InternalError, without a
verdict. A check that is a table is a function that yields the cases of one batch:

    @table("auth.header-case", engine=sound)
    def test_header_names_in_any_case(engine):
        for how in ("lower", "swapped"):
            yield engine.case("auth.header-case", f"header names, {how}", auth=Auth(name_case=how))
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, TypeVar

from conformance.checks.check import Check, CheckFunction, check
from conformance.checks.other_tenants import LEAK, PrivateData, encoded
from conformance.checks.side_effects import UNTOUCHED, SideEffects, anew
from conformance.contract.operations import OPERATIONS
from conformance.contract.rules import RULES, Level
from conformance.contract.signing_mistakes import BY_NAME
from conformance.judge import outcomes
from conformance.judge.oracle import (
    ENCODED,
    ENCODED_LOWER,
    FOREIGN,
    NEAR,
    RAW,
    UNKNOWN,
    ExpectedAnswer,
    Known,
    Reason,
    ValidBody,
    expect,
    own_path,
)
from conformance.judge.outcomes import Demand, Judgement
from conformance.judge.verdicts import InternalError
from conformance.wire.forms import new_key
from conformance.wire.messages import Auth, Call, Exchange, to_json
from conformance.world.calls import quoted, renewed, unknown_like
from conformance.world.case import FRESH, Case, call_of
from conformance.world.lane import Fixture
from conformance.world.refused_samples import refusal_of_valid

T = TypeVar("T")
E = TypeVar("E", bound="Engine")


@dataclass(frozen=True)
class Step:
    """A case, the place that it is sent from, and its call."""

    engine: Engine
    case: Case
    call: Call


class Engine:
    """Builds valid requests in one place, sends cases there and judges the answers.

    `fixture` is called before each request, `moved` after one of them was accepted.
    `beside` is the answer to the valid request: where that is the same refusal, or both are authentication
    failures, a refusal shows nothing. `others` finds the accounts of other owners; `organization` signs."""

    def __init__(
        self,
        at: Check,
        fixture: Callable[[], Fixture],
        *,
        moved: Callable[[], None] | None = None,
        beside: Exchange | None = None,
        others: Mapping[str, Callable[[], Fixture]] | None = None,
        organization: str = "primary",
    ) -> None:
        self.at = at
        self.operation, self.traits = at.operation.id, at.operation.traits
        self.beside = beside
        #: Nonces and Idempotency-Keys used so far, for the oracle.
        self.nonces: set[str] = set()
        self.keys: set[str] = set()
        self._others = others or {}
        self._organization = organization
        self._fixture = fixture
        self._moved = moved
        #: Number of requests that were accepted.
        self.successes = 0
        self._drawn: ValidBody | None = None
        #: What the oracle was asked last: most cases are judged as soon as they were sent.
        self._asked: tuple[Case, ValidBody | None, Call, ExpectedAnswer] | None = None

    # ------------------------------------------------------------------ making

    @property
    def fixture(self) -> Fixture:
        """The account that cases are sent to."""
        return self._fixture()

    @property
    def ids(self) -> dict[str, str]:
        """Path parameters of the operation in that account."""
        return self.fixture.ids(self.operation)

    def other(self, whose: str) -> Fixture:
        """Returns the account of another owner. Raises KeyError for an unknown one."""
        return self._others[whose]()

    def document(self) -> dict[str, Any]:
        """Builds a new valid body, which the oracle takes as accepted by the server."""
        drawn = self.fixture.body(self.operation)
        self._drawn = ValidBody(self.operation, drawn)
        return drawn

    def case(self, rule: str, name: str, *, whose: Mapping[str, str] | None = None, **changes: Any) -> Case:
        """Builds a valid request of the operation with these changes of a Case; `whose` gives the owners of
        path parameters that are not the caller's own. The body is new unless changed."""
        if "body" not in changes and OPERATIONS[self.operation].request_schema is not None:
            changes["body"] = to_json(self.document())
        path = tuple({**dict(own_path(self.operation)), **(whose or {})}.items())
        return Case(self.operation, name, rule, path, **changes)

    def cases(self, rule: str, rows: Mapping[str, Auth | Mapping[str, Any]]) -> Iterator[Case]:
        """Yields a valid request for each row of a name and its authentication, or its changes of a Case."""
        for name, changed in rows.items():
            changes = {"auth": changed} if isinstance(changed, Auth) else changed
            yield self.case(rule, name, **changes)

    def mistake(self, rule: str, mistake: str, auth: Auth | None = None, **changes: Any) -> Case:
        """Builds a valid request with these changes and a usual signing mistake, named as in
        `contract.signing_mistakes`."""
        auth = replace(auth or Auth(), mistake=mistake)
        return self.case(rule, BY_NAME[mistake].described, auth=auth, **changes)

    def target(self, whose: Mapping[str, str] | None = None) -> str:
        """Returns the path of a valid request, with resources of others where `whose` says so."""
        return self.call(self.case("", "", whose=whose, body=None)).path

    def call(self, case: Case) -> Call:
        """Builds the call of a case, with ids in its path."""
        own = self.ids
        ids = {name: self._id(name, own[name], whose) for name, whose in case.path}
        return call_of(case, ids, case.body)

    def _id(self, name: str, own: str, whose: str) -> str:
        """Returns a path parameter: the own id, one derived from it, raw text, or another owner's."""
        if whose in self._others:
            return quoted(self._others[whose]().id_of(name))
        if whose.startswith(RAW):
            return whose.removeprefix(RAW)
        if whose.startswith(NEAR):
            return quoted(whose.removeprefix(NEAR))
        if whose == UNKNOWN:
            return quoted(unknown_like(own))
        if whose in (ENCODED, ENCODED_LOWER):
            return encoded(own, lower=whose == ENCODED_LOWER)
        return quoted(own)

    def turn(self, values: Sequence[T], ahead: int = 0) -> T:
        """Picks one of several values by the operation, so many places ahead: operations take turns."""
        return values[(list(OPERATIONS).index(self.operation) + ahead) % len(values)]

    # ------------------------------------------------------------------ sending and judging

    def steps(self, cases: Iterable[Case]) -> Iterator[Step]:
        """Yields cases with their calls, each built when it is asked for."""
        for case in cases:
            yield Step(self, case, self.call(case))

    def batch(
        self,
        cases: Iterable[Case | Step],
        watch: Sequence[Engine] = (),
        *,
        leaks: Mapping[str, PrivateData] = MappingProxyType({}),
        what: str = "",
    ) -> list[Exchange]:
        """Sends cases, from their own places if they are steps, and judges their answers; then that those
        which were refused changed nothing in the places of `watch`, and show nothing of the data in `leaks`,
        by the organization that asked. Returns the answers.

        Snapshots are taken before the first case, of a list after all calls are built, and again after an
        accepted one, whose effects would be mistaken for those of others."""
        watching = [each.snapshot() for each in watch if UNTOUCHED in self.at.rules]
        answers = list[Exchange]()
        refused, pending = list[tuple[Step, Exchange]](), list[tuple[Step, Exchange]]()
        for each in cases:
            step = each if isinstance(each, Step) else Step(self, each, self.call(each))
            before = step.engine.successes
            answers.append(answer := step.engine.deliver(step.case, step.call))
            if watching:
                # After the effects: a judgement may send valid requests, which have effects of their own.
                pending.append((step, answer))
            else:
                step.engine.conclude(step.case, answer)
            if answer.refused:
                refused.append((step, answer))
            if step.engine.successes != before and watching:
                refused.clear()
                watching = [each.snapshot() for each in watch]
        if watching and answers and not refused:
            self.at.not_exercised(UNTOUCHED, "nothing was refused after what was accepted")
        for effects in watching if refused else ():
            sent = [answer for _, answer in refused]
            again = functools.partial(self._again, refused)
            effects.judge(UNTOUCHED, what or f"{len(sent)} refused requests", sent, again)
        for step, answer in pending:
            step.engine.conclude(step.case, answer)
        for answer in answers if leaks else ():
            expected = f"{answer.purpose}: a refusal that shows nothing of the other organization"
            facts = leaks[answer.organization]
            self.at.expect(LEAK, expected, facts.shown_in(answer), answer, *facts.exchanges)
        return answers

    def snapshot(self) -> SideEffects:
        """Takes a snapshot of what the operation may change here."""
        ids = self.ids if self.at.operation.traits.changes else None
        return SideEffects(self.at, self.fixture, ids=ids).start()

    def _again(self, refused: Sequence[tuple[Step, Exchange]]) -> list[Exchange]:
        """Repeats all refused requests, with a new key where the case has one, and with another amount where
        they can have one."""
        answers = []
        calls = anew(self.at.lane, [answer.call for _, answer in refused])
        for call, (step, answer) in zip(calls, refused, strict=True):
            if step.case.key == FRESH and call.idempotency_key:
                call = call.but(idempotency_key=new_key())
            answers.append(self.at.send(call, f"{answer.purpose}, again", step.engine._organization))
        return answers

    def deliver(self, case: Case, call: Call) -> Exchange:
        """Sends a case. Raises InternalError for one that the oracle cannot judge."""
        sent = call.but(operation=None) if case.front_end else call
        if RULES[case.rule].level is Level.OPEN:
            return self.at.send(sent, case.name)
        self.reason(case, self.expected(case, call))
        if case.path and case.path[0][1] == FOREIGN:
            # A replica may not know another organization's resource yet.
            return self._counted(self.at.find(sent, case.name, self._organization))
        return self.send(sent, case.name)

    def conclude(self, case: Case, answer: Exchange) -> None:
        """Judges the answer to a case, or records it for an open rule."""
        if RULES[case.rule].level is Level.OPEN:
            self.at.record(case.rule, answer)
        else:
            self.judge(case, answer)

    def send(self, call: Call, name: str) -> Exchange:
        """Sends a call; after an accepted one, calls `moved`."""
        return self._counted(self.at.send(call, name, self._organization))

    def _counted(self, answer: Exchange) -> Exchange:
        if answer.succeeded:
            self.successes += 1
            if self._moved:
                self._moved()
        return answer

    def expected(self, case: Case, call: Call) -> ExpectedAnswer:
        """Returns what the oracle demands of the answer to a case."""
        call = call if call.operation == case.operation else call.but(operation=case.operation)
        asked = self._asked
        if asked is not None and asked[0] is case and asked[1] is self._drawn and asked[2] == call:
            return asked[3]
        known = Known(case.path, case.payee, self._drawn, self.at.lane.clock.now(), self.nonces, self.keys)
        answer = expect(call, self.at.target, known)
        self._asked = case, self._drawn, call, answer
        return answer

    def reason(self, case: Case, expected: ExpectedAnswer) -> Reason:
        """Returns the oracle's reason for the rule of a case. Raises InternalError without one."""
        reason = expected.by(case.rule)
        if reason is None:
            rules = ", ".join(reason.rule for reason in expected.reasons) or "nothing"
            raise InternalError(f"{case.name} ({self.operation}): {case.rule}, but the oracle says {rules}")
        return replace(reason, what=case.name)

    def judge(self, case: Case, answer: Exchange) -> None:
        """Judges the answer to a case by its rule, and by the rules about statuses that follow from it."""
        at, expected = self.at, self.expected(case, answer.call)
        reason = self.reason(case, expected)
        answered = expected.answered.rule
        if answered != case.rule and answered in at.rules:
            at.expect(answered, *replace(expected.answered, what=case.name).judge(answer))
        if self._shows_nothing(case, reason, answer):
            return
        at.expect(reason.rule, *self.with_difference(reason, answer), demand=reason.demand)
        for other in expected.refusals:
            if case.rule in RULES[other.rule].follows and other.statuses and other.rule in at.rules:
                if answer.succeeded:
                    lost = f"{case.name} was not refused, but answered {answer.described()}"
                    at.unclear(other.rule, lost, answer, cause=case.rule)
                else:
                    at.expect(other.rule, *replace(other, what=case.name).judge(answer))

    def with_difference(self, reason: Reason, answer: Exchange) -> Judgement:
        """Judges an answer; adds to what was got, where a request is refused that must pass, the part of it
        without which it passes, found by sending it without each."""
        judgement = reason.judge(answer)
        expected, got = judgement[:2]
        if outcomes.good(judgement) or not answer.refused or not reason.demand.acceptance:
            return judgement
        call, auth = answer.call, answer.call.auth
        body = (
            to_json(self.document()) if call.body and OPERATIONS[self.operation].request_schema else call.body
        )
        parts = {
            "its query": call.but(target=call.path),
            "its further headers": call.but(headers=()),
            "its Content-Type": call.but(content_type="application/json"),
            "that nonce": call.but(auth=replace(auth, nonce=None)),
            "that spelling of header names": call.but(auth=replace(auth, name_case="")),
            "that body": call.but(body=body),
        }
        for name, usual in parts.items():
            if usual != call:
                other = self.send(renewed(usual), f"{answer.purpose}, but without {name}")
                if other.succeeded:
                    return expected, f"{got}; without {name} {other.described()}", answer, other
                if other.described() == answer.described():
                    judgement = expected, f"{got}; without {name} the same", answer, other
        return judgement

    def _shows_nothing(self, case: Case, reason: Reason, answer: Exchange) -> bool:
        """True if a request without the defect is answered no better, which is noted."""
        at, valid = self.at, self.beside
        of_authentication = reason.rule.startswith("auth.")
        if reason.demand is Demand.REFUSED and valid is not None and answer.refused and valid.refused:
            # A refusal with another error than the valid request's is for the defect.
            alike = answer.described() == valid.described() and not (of_authentication and reason.type)
            if alike or (answer.refused_authentication and valid.refused_authentication):
                lost = f"{case.name} was answered {answer.described()}, the valid one {valid.described()}"
                why = refusal_of_valid(valid).why.because(lost)
                at.unclear(reason.rule, why, answer, valid)
                return True
        if reason.demand is Demand.REFUSED and not of_authentication and at.locked_out(reason.rule, answer):
            return True
        control = case.control
        if control is None or outcomes.good(reason.judge(answer)):
            return False
        other = self.send(self.call(control), f"a control: {control.name}")
        judgement = self.reason(control, self.expected(control, other.call)).judge(other)
        broken = not outcomes.good(judgement)
        if broken and control.rule in at.rules:
            at.expect(control.rule, *judgement)
        if broken or (other.refused and other.described() == answer.described()):
            lost = f"{control.name} was answered {other.described()}, so that {case.name} shows nothing"
            at.unclear(reason.rule, lost, answer, other, cause=control.rule, choice=not broken)
            return True
        return False


def table(
    *rules: str, engine: Callable[[Check], E], operations: tuple[str, ...] | None = None
) -> Callable[[Callable[[E], Iterable[Case | Step]]], CheckFunction]:
    """Marks a function that yields cases as the check of these rules; `engine` makes the one that sends and
    judges them. Raises KeyError for an unknown rule."""

    def mark(cases: Callable[[E], Iterable[Case | Step]]) -> CheckFunction:
        @check(*rules, operations=operations)
        @functools.wraps(cases)
        def run(at: Check) -> None:
            place = engine(at)
            place.batch(cases(place))

        return run

    return mark
