"""Defines the checks of the suite: sends calls, judges answers by rule, collects cells.

A check is a function of a `Check`, in a module of `conformance/checks/`, marked with the rules that it
judges:

    @check("auth.header-case")
    def test_header_names_in_any_case(at):
        ...

It runs once on each operation of its first rule (spec/rules.yaml). It states what it expected and what it
got, in one cell for each cited rule; the run decides. An answer that says nothing about a rule
(none, 5xx, rate limited) leaves it inconclusive. A check that waits is a generator, which yields the
seconds that must pass at least before it continues, while other checks run."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

from msgspec.structs import replace

from conformance.contract.operations import OPERATIONS, Operation
from conformance.contract.rules import RULES, Rule
from conformance.judge import outcomes
from conformance.judge.cells import Cell
from conformance.judge.outcomes import Demand, Got, Unclear, unusable
from conformance.judge.verdicts import Inconclusive, NotApplicable
from conformance.target.file import Target
from conformance.wire.client import NOT_SIMULTANEOUS, RATE_REMEDY, SLOWER, simultaneous
from conformance.wire.messages import MISSING, Call, Exchange
from conformance.world.creations import place
from conformance.world.lane import Fixture, Lane
from conformance.world.purposes import SHARED, Purpose, purpose_of
from conformance.world.refused_samples import refusal_of_valid

R = TypeVar("R")


class Check:
    """One check on one operation."""

    def __init__(self, lane: Lane, operation: Operation, rules: Iterable[Rule], check: str) -> None:
        self.lane = lane
        self.operation = operation
        self.check = check
        self.rules = {rule.id: rule for rule in rules}
        self.exchanges: list[Exchange] = []
        self.cells = {rule: Cell(rule, operation.id) for rule in self.rules}
        #: For each race, True if at least two of its requests overlapped.
        self._races: list[bool] = []

    @property
    def target(self) -> Target:
        return self.lane.target

    # ------------------------------------------------------------------ making

    def account(self, purpose: Purpose = SHARED, owner: str = "primary", *, fresh: bool = False) -> Fixture:
        """Returns the fixture of a purpose for the check's operation: that of payouts is funded."""
        own = self.operation
        below, purpose = "beneficiary_id" in own.path_parameters, purpose_of(own.id, purpose)
        return self.lane.account(purpose, owner, fresh=fresh, below=below, operation=own.id)

    def valid(self, *, fresh: bool = False) -> Call:
        """Builds a valid call of the check's operation: in a place in which nothing is, if `fresh`, or in one
        where it can still succeed (a wallet of one pair)."""
        if self.operation.traits.unique_pair and not fresh:
            fixture, body = place(self.lane, self.operation.id)
            return fixture.call(self.operation.id, body)
        return self.account(fresh=fresh or self.operation.traits.once).call(self.operation.id)

    # ------------------------------------------------------------------ sending

    def send(self, call: Call, purpose: str, organization: str = "primary") -> Exchange:
        """Sends a call; returns the exchange, whatever the answer."""
        return self._noted(self.lane.send(self.lane.client(organization), call, purpose))

    def find(self, call: Call, purpose: str, organization: str = "primary") -> Exchange:
        """Sends a call; repeats a GET until what was just created is found (eventual consistency)."""
        return self._noted(self.lane.find(self.lane.client(organization), call, purpose))

    def accept(self, call: Call, purpose: str, organization: str = "primary") -> Exchange:
        """Sends a valid call. Raises Inconclusive unless it is answered 2xx."""
        return self._noted(self.lane.accept(self.lane.client(organization), call, purpose))

    def _noted(self, exchange: Exchange) -> Exchange:
        self.exchanges.append(exchange)
        return exchange

    def until_accepted(self, calls: Iterable[Call], purpose: str) -> list[Exchange]:
        """Sends calls until one is accepted; returns the answers."""
        answers: list[Exchange] = []
        for call in calls:
            answers.append(self.send(call, purpose))
            if answers[-1].succeeded:
                break
        return answers

    def eventually(
        self, look: Callable[[], R], good: Callable[[R], bool], operation: str = "", first: R | None = None
    ) -> R:
        """Repeats a look until it is good; returns its result, or the last one (see `Lag.eventually`). The
        operation is that of the check unless given."""
        return self.lane.lag.eventually(operation or self.operation.id, look, good, first=first)

    def race(self, calls: list[Call], purpose: str, organizations: Sequence[str] = ()) -> list[Exchange]:
        """Sends calls simultaneously, those of several organizations by turns. A check of whose races none
        overlapped cannot pass."""
        clients = itertools.cycle([self.lane.client(name) for name in organizations or ("primary",)])
        exchanges = self.lane.race(
            [(client, call, purpose) for client, call in zip(clients, calls, strict=False)]
        )
        self.exchanges += exchanges
        self._races.append(simultaneous(exchanges) > 1)
        return exchanges

    @property
    def patient(self) -> bool:
        """True while one rule is run alone, has time left for what shows by chance or after a while, and was
        not found broken, by another check either."""
        broken = self.lane.common.broken or any(cell.violations for cell in self.cells.values())
        return self.lane.patience > 0 and not broken

    # ------------------------------------------------------------------ judging

    def expect(
        self,
        rule: str,
        expected: str,
        got: Got,
        *exchanges: Exchange,
        demand: Demand | None = None,
        member: str = "",
    ) -> bool:
        """Judges a rule: what was expected, what was got (empty if it holds), and the exchanges that show it,
        the decisive one first (see `Cell.expect`); True if it holds."""
        return self.cells[rule].expect(expected, got, *exchanges, demand=demand, member=member)

    def refused(
        self,
        rule: str,
        answer: Exchange,
        status: int = 0,
        type: str = "",
        code: str = "",
        *beside: Exchange,
        what: str = "",
    ) -> bool:
        """Judges that a request, described by its purpose or as `what`, was refused with a status (0: any
        4xx), error type and code; further exchanges are evidence."""
        what = what or answer.purpose
        judgement = outcomes.refused(what, answer, status, type, code)
        return self.expect(rule, *judgement, *beside, demand=Demand.REFUSED)

    def accepted(self, rule: str, answer: Exchange, *beside: Exchange, what: str = "") -> bool:
        """Judges that a request was accepted (2xx); further exchanges are evidence."""
        judgement = outcomes.accepted(what or answer.purpose, answer)
        return self.expect(rule, *judgement, *beside, demand=Demand.ACCEPTED)

    def same(self, rule: str, first: Exchange, again: Exchange) -> bool:
        """Judges that an answer has the status and JSON body of an earlier one."""
        return self.expect(rule, *outcomes.same_answer(again.purpose, first, again))

    def equal(self, rule: str, what: str, name: str, value: Any, answer: Exchange) -> bool:
        """Judges that a member of an answer equals a JSON value."""
        judgement = outcomes.equal(f"{what}: {name}", answer.get(name), value, answer)
        return self.expect(rule, *judgement, member=name)

    def member(
        self, rule: str, answer: Exchange, name: str, value: Any, otherwise: Any = MISSING, *, what: str = ""
    ) -> bool:
        """Judges that a documented member of an answer is equivalent to a value, or to `otherwise`."""
        judgement = outcomes.member(what or answer.purpose, answer, name, value, otherwise)
        return self.expect(rule, *judgement, member=name)

    def unclear(
        self,
        rule: str,
        why: str | Unclear,
        *exchanges: Exchange,
        cause: str = "",
        remedy: str = "",
        choice: bool = False,
    ) -> None:
        """Notes why a probe could not be judged, as a reason or whole, which leaves the rule inconclusive;
        where it is the server's `choice`, only if the check judged nothing else."""
        known = Unclear(why, cause, remedy) if isinstance(why, str) else why
        numbers = tuple(exchange.number for exchange in exchanges) or known.exchanges
        self.cells[rule].unclear.append(replace(known, exchanges=numbers, choice=choice or known.choice))

    @contextlib.contextmanager
    def probe(self, *rules: str) -> Iterator[None]:
        """A part of the check that is left out where what it needs cannot be had, which is noted: as the
        server's choice, if it refuses that."""
        try:
            yield
        except Inconclusive as stop:
            answers = filter(None, map(self.lane.exchange, stop.why.exchanges))
            choice = any(
                each.refused and not each.throttled and not each.refused_authentication for each in answers
            )
            for rule in self.rules.keys() & {*rules}:
                self.unclear(rule, stop.why, choice=choice)

    def not_exercised(self, rule: str, reason: str, remedy: str = "") -> None:
        """Notes why this check had no occasion to judge a rule; others may have."""
        self.cells[rule].not_exercised = Unclear(reason, remedy=remedy)

    def not_applicable(self, rule: str, reason: str) -> None:
        """Notes why a rule has nothing to judge on this server; a judgement takes precedence."""
        self.cells[rule].not_applicable = reason

    def usable(self, rule: str, exchange: Exchange) -> bool:
        """True if an answer can be judged by a rule; otherwise sets it aside."""
        if why := unusable(exchange):
            self.unclear(rule, why, exchange)
        return why is None

    def reached(self, rule: str, far: float, words: str) -> None:
        """Notes how far the check looked, in seconds or elements and in words, if its rule goes further."""
        self.cells[rule].reached(far, words)

    def observe(self, rule: str, question: str, answer: str, *exchanges: Exchange) -> None:
        """Records the server's choice where the specification leaves one."""
        cell = self.cells[rule]
        cell.judged += 1
        cell.observations[question] = answer
        cell.proof += [exchange.number for exchange in exchanges]

    def observe_delay(self, question: str) -> None:
        """Records the delay after which writes showed in answers of the check's operation."""
        self.observe("read.delay", question, self.lane.lag.described(self.operation.id))

    def record(self, rule: str, answer: Exchange, *beside: Exchange, choice: str = "") -> None:
        """Observes a usable answer as the `choice` named, else as accepted or by its status and error."""
        if self.usable(rule, answer):
            outcome = "accepted" if answer.succeeded else answer.described()
            self.observe(rule, answer.purpose, choice or outcome, answer, *beside)

    def accepted_as(
        self,
        rule: str,
        probe: Callable[[Call], Exchange],
        first: Call | None = None,
        *,
        decisive: Callable[[Exchange], bool] = lambda answer: False,
    ) -> Exchange:
        """Judges that what a probe makes of a valid call (the `first`) is accepted; returns its answer. After
        a refusal it is tried again elsewhere, as a place may be full and a value used, unless that is
        `decisive`; unclear where the valid call is refused there, too."""
        for fresh in (False, True):
            answer = probe(self.valid(fresh=fresh) if fresh or first is None else first)
            if not answer.refused or decisive(answer):
                break
        else:
            control = self.send(self.valid(fresh=True), "the same request in its usual form")
            if not control.succeeded:
                reason = f"in its usual form it was answered {control.described()}, too"
                choice = control.refused and not control.refused_authentication
                why = refusal_of_valid(control).why.because(reason)
                self.unclear(rule, why, answer, control, choice=choice)
                return answer
        self.accepted(rule, answer)
        return answer

    def locked_out(self, rule: str, answer: Exchange) -> bool:
        """True if an answer is an authentication failure that the operation's valid call gets, too, which is
        noted. The valid call is sent after such a failure only, once for each operation."""
        if not answer.refused_authentication:
            return False
        purpose = f"a valid {self.operation.id}, after an authentication failure"
        valid = self.lane.cache.get(
            ("locked out", self.operation.id),
            # Elsewhere: it is no effect of what was refused.
            lambda: self.send(self.valid(fresh=True), purpose),
        )
        if not valid.refused_authentication:
            return False
        self.unclear(
            rule,
            f"the valid {self.operation.id} was answered {valid.described()}",
            valid,
            cause="auth.accepts-valid",
        )
        return True

    # ------------------------------------------------------------------ concluding

    def concluded(self, stop: Inconclusive | NotApplicable | None = None) -> list[Cell]:
        """Returns the conclusion on each cited rule; `stop` is the exception that ended the check."""
        if self._races and not any(self._races):
            unseen: Inconclusive | None = Inconclusive(Unclear(NOT_SIMULTANEOUS, remedy=RATE_REMEDY))
        else:
            unseen = self._limited()
        numbers = [exchange.number for exchange in self.exchanges]
        cells = [
            cell.concluded(self.check, stop or (unseen if cell.judged else None), numbers, aside=index > 0)
            for index, cell in enumerate(self.cells.values())
        ]
        if any(exchange.throttled for exchange in self.exchanges):
            for cell in cells:
                cell.unclear = [replace(one, remedy=one.remedy or SLOWER) for one in cell.unclear]
        return cells

    def _limited(self) -> Inconclusive | None:
        """Why a check that sent a request which was limited to the end, and not sent again, did not see all
        of what it is for; races repeat their rounds themselves."""

        def key(exchange: Exchange) -> tuple[str, str, bytes]:
            return exchange.purpose, exchange.target, exchange.request_body

        answered = {key(each) for each in self.exchanges if not each.throttled}
        for each in self.exchanges:
            unseen = unusable(each) if each.throttled and not each.raced else None
            if unseen and key(each) not in answered:
                return Inconclusive(unseen, each)
        return None


#: Seconds to wait, each time that the check yields, and the result.
Steps = Generator[float, None, R]

CheckFunction = Callable[[Check], Iterable[float] | None]


@dataclass(frozen=True)
class CheckDefinition:
    """A check as it is marked: its name, rules, and operations in document order.

    `last`: it judges what the run has sent, after all other checks. `deep`: only deep runs have it, as it
    takes long lists. `waits`: it waits for seconds, so that it begins first and others run meanwhile; quick
    runs leave it out. `early`: it fills a list that others read, leaves accounts in which they work, or finds
    what they wait for, so that it comes before them."""

    name: str
    function: CheckFunction
    rules: tuple[str, ...]
    operations: tuple[str, ...]
    last: bool = False
    deep: bool = False
    waits: bool = False
    early: bool = False
    #: True for property-based tests (conformance/fuzz).
    generated: ClassVar[bool] = False

    @property
    def parts(self) -> tuple[str, ...]:
        """What it runs once for: its operations."""
        return self.operations

    def rules_on(self, operation: str) -> list[Rule]:
        """Returns the cited rules that cover an operation."""
        return [RULES[rule] for rule in self.rules if operation in RULES[rule].operations]

    def cells(self, operation: str) -> list[tuple[str, str]]:
        """The rules that it judges on an operation, with it."""
        return [(rule.id, operation) for rule in self.rules_on(operation)]


#: Name -> check of ordinary runs.
CHECKS: dict[str, CheckDefinition] = {}


def check(
    *rules: str,
    operations: Collection[str] | None = None,
    registry: dict[str, CheckDefinition] = CHECKS,
    **kinds: bool,
) -> Callable[[CheckFunction], CheckFunction]:
    """Marks a function as the check of these rules, on the operations of the first, or the named ones that
    some rule covers, and registers it, with a definition's `kinds`. Raises KeyError for an unknown rule."""

    def mark(function: CheckFunction) -> CheckFunction:
        covered = set(RULES[rules[0]].operations)
        if operations is not None:
            covered = {operation for rule in rules for operation in RULES[rule].operations} & {*operations}
        chosen = tuple(operation for operation in OPERATIONS if operation in covered)
        name = f"{function.__module__.rpartition('.')[2]}.{function.__name__}"
        marked = registry[name] = CheckDefinition(name, function, rules, chosen, **kinds)
        function.conformance_test = marked  # type: ignore[attr-defined]
        return function

    return mark
