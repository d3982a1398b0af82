"""Runs checks on one faulty server, in this process and without sockets."""

from __future__ import annotations

import functools
import inspect
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx

from conformance.checks import load_checks, plan, presence
from conformance.checks.check import CheckDefinition
from conformance.checks.running import run_check
from conformance.contract.needs import UNBUILT
from conformance.contract.operations import OPERATIONS
from conformance.contract.rules import RULES
from conformance.judge.cells import EVERY_RESPONSE, Cell
from conformance.judge.exchanges import exchange_record
from conformance.judge.invariants import INVARIANTS
from conformance.judge.ledger import Ledger
from conformance.judge.verdicts import Inconclusive
from conformance.reference.behaviour import Behaviour
from conformance.reference.context import Context
from conformance.reference.seams.resources import RECORD_KINDS
from conformance.report.causes import causes
from conformance.world.lane import Lane
from conformance.world.purposes import purpose_of
from tests.support.in_process import InProcessTransport
from tests.support.runs import jobs_of, run_jobs, run_on
from tests.variants.hurry import hurried

from .catalogue import Changed, Fault, Faulty

#: Header with which a fault marks an answer that must not be sent.
NO_ANSWER = b"x-no-answer"

CaseResult = tuple[str, str]


class LossyTransport(InProcessTransport):
    """Drops the answers with the header NO_ANSWER, as a crashing server does."""

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        response = super().handle_request(request)
        if NO_ANSWER.decode() in response.headers:
            raise httpx.RemoteProtocolError("Server disconnected without sending a response.")
        return response


@dataclass
class Outcome:
    """The ledger of a run on one faulty server, with queries on its cells."""

    ledger: Ledger = field(default_factory=Ledger)
    #: False if nothing that the server read, stored or showed was another value than that of the reference.
    effect: bool = True

    @property
    def broken(self) -> dict[CaseResult, str]:
        """Returns the broken rules, each with a sentence."""
        return {cell.key: cell.summary for cell in self.ledger.cells if cell.violations}

    @property
    def inconclusive(self) -> dict[CaseResult, str]:
        """Returns the inconclusive cells with their reasons."""
        return self._unclear("reason")

    @property
    def kept_from(self) -> dict[CaseResult, str]:
        """Returns the cells that are inconclusive because of a broken rule, with that rule."""
        return self._unclear("cause")

    def _unclear(self, member: str) -> dict[CaseResult, str]:
        """Returns the first non-empty text of a member of the reasons why a cell could not be judged."""
        texts = {
            cell.key: next((text for one in cell.unclear if (text := getattr(one, member))), "")
            for cell in self.ledger.cells
        }
        return {key: text for key, text in texts.items() if text}

    @property
    def causes(self) -> dict[str, list[str]]:
        """Returns the rules that a report names as causes, with the operations on which they are broken."""
        found = [each for each in causes(self.ledger) if not each.may_follow]
        return {
            each.rule: [name for other in found if other.rule == each.rule for name in other.operations]
            for each in found
        }

    def shows(self, fault: Fault) -> bool:
        """Returns True if the fault's rule is broken, or not judged because of a rule in `also`; of one that
        an operator makes, and whose rule no schema names, if any is."""
        if fault.member and not fault.exact:
            return bool(self.broken)
        cell = (fault.rule, fault.operation)
        cause = self.kept_from.get(cell, "")
        return cell in self.broken or (cause in fault.also and (cause, fault.operation) in self.broken)


def run_on_fault(behaviour: Behaviour) -> Lane:
    """Starts a run against a new server of a behaviour, which may drop answers."""
    return run_on(behaviour, LossyTransport)


def together(faults: Iterable[Fault]) -> Behaviour:
    """Returns one server with several faults, each of another operation, as it is broken there only. Raises
    ValueError for two of one operation, or one that breaks operations beside its own."""
    broken: dict[str | None, Behaviour] = {}
    for fault in faults:
        if fault.operation in broken or fault.base.everywhere:
            raise ValueError(f"no server has this one beside the others: {fault.id}")
        broken[fault.operation] = fault.make()
    sound = Behaviour()

    def chosen(name: str) -> Any:
        return lambda _, ctx, *args, **named: getattr(broken.get(ctx.operation, sound), name)(
            ctx, *args, **named
        )

    names = [name for name, method in inspect.getmembers(Behaviour, inspect.isfunction) if name[0] != "_"]
    together: type[Behaviour] = type("Together", (Behaviour,), {name: chosen(name) for name in names})
    return together()


def checks_of(rule: str, operation: str) -> list[CheckDefinition]:
    """Returns the checks that cite a rule and run on an operation."""
    return [
        check for check in load_checks().values() if rule in check.rules and operation in check.operations
    ]


@hurried()
def judge(behaviour: Behaviour, checks: Iterable[tuple[CheckDefinition, str]]) -> Outcome:
    """Runs checks on a new server; includes rules of every response."""
    lane, outcome = run_on_fault(behaviour), Outcome()
    for check, operation in checks:
        run_one(check, operation, lane, outcome)
        presence.missing(lane, operation)
    _passive(lane, outcome)
    return _ended(lane, outcome)


@hurried()
def catch(fault: Fault) -> Outcome:
    """Runs the checks of a fault's rule on it.

    A rule of every response is tried with the checks that cite it, the operation's valid call, and then all
    checks of the operation, until an exchange violates it. A mistake in a member is tried with all checks
    of its resource, unless those of its rule catch it.
    """
    if fault.member and idle(fault.make()):
        return Outcome(effect=False)
    server, outcome = fault.make(), Outcome()
    lane = run_on_fault(server)
    for _ in stimuli(fault, lane, outcome):
        _passive(lane, outcome)
        if outcome.shows(fault):
            break
    outcome.effect = _changed(fault, server) or outcome.shows(fault)
    return _ended(lane, outcome)


def in_order(fault: Fault, effort: str) -> Outcome:
    """Runs the checks of a run of an effort (quick, full, deep) on a fault, in the order of the run."""
    server = fault.make()
    outcome = Outcome(run_jobs(run_on_fault(server), jobs_of(effort)))
    outcome.effect = _changed(fault, server) or outcome.shows(fault)
    return outcome


def _changed(fault: Fault, server: Faulty) -> bool:
    """Returns False if nothing that the server read, stored or showed was another value, as far as known."""
    return not isinstance(server, Changed) or (server.effects > 0 and not idle(fault.make()))


def _ended(lane: Lane, outcome: Outcome) -> Outcome:
    """Returns the outcome with the exchanges of what was broken or not judged, as reports have them."""
    ledger = outcome.ledger
    ledger.sent = lane.sent
    for cell in ledger.cells:
        for number in cell.exchanges if cell.violations or cell.unclear else ():
            if number not in ledger.exchanges and (exchange := lane.exchange(number)):
                ledger.exchanges[number] = exchange_record(exchange, lane.redactor)
    return outcome


def stimuli(fault: Fault, lane: Lane, outcome: Outcome) -> Iterator[None]:
    own = checks_of(fault.rule, fault.operation)
    for check in own:
        run_one(check, fault.operation, lane, outcome)
        yield
    if fault.member:
        # Its own once more, where others have created what it may be confused with.
        again = [(check, fault.operation) for check in own]
        for check, operation in () if idle(fault.make()) else (*_of_resource(fault.operation), *again):
            run_one(check, operation, lane, outcome)
            yield
    if fault.rule not in INVARIANTS or fault.member:
        return
    if fault.rule == UNBUILT:
        presence.missing(lane, fault.operation)
        yield
    for _ in _valid_calls(fault.operation, lane):
        yield
    for check in sorted(load_checks().values(), key=_last):
        if fault.operation in check.operations and check not in own and not check.deep:
            run_one(check, fault.operation, lane, outcome)
            yield


@functools.cache
def _of_resource(operation: str) -> list[tuple[CheckDefinition, str]]:
    """Returns the checks of operations on one kind of resource, each with its operation, own ones first."""
    return sorted(_checks_of(RECORD_KINDS[operation]), key=lambda each: each[1] != operation)


def _checks_of(resource: str) -> list[tuple[CheckDefinition, str]]:
    """Returns the checks of operations on one kind of resource, each with its operation."""
    return [(check, name) for check, name in plan() if RECORD_KINDS[name] == resource]


@functools.cache
@hurried()
def _reference(resource: str) -> Mapping[str, list[tuple[Context, Any]]]:
    """Returns the context and answer of each request by operation, when the checks of operations on one kind
    of resource run on the reference server."""
    answers: dict[str, list[tuple[Context, Any]]] = defaultdict(list)

    def keep(_: Any, usual: Any, ctx: Context, *others: Any) -> Any:
        answers[ctx.operation].append((ctx, usual()))
        return usual()

    lane = run_on_fault(Changed(value=(("", "finish", keep),)))
    for check, operation in _checks_of(resource):
        run_one(check, operation, lane, Outcome())
    return answers


#: Seam -> what it returns, by the context and answer of a request.
_RESULTS: Mapping[str, Callable[[Context, Any], Any]] = {
    "success_document": lambda ctx, answer: answer.document if answer.status < 300 else {},
    "parse_body": lambda ctx, answer: ctx.body,
    "kept_fields": lambda ctx, answer: ctx.values,
    "new_record": lambda ctx, answer: ctx.record or {},
}


def idle(server: Faulty) -> bool:
    """Returns True if nothing that the reference server read, stored or showed would be another value."""
    (operation, seam, change), *further = server.value
    if further or seam not in _RESULTS:
        return False
    results = (
        (ctx, _RESULTS[seam](ctx, answer)) for ctx, answer in _reference(RECORD_KINDS[operation])[operation]
    )
    return all(
        change(server, lambda: result, ctx) == result  # noqa: B023 - called at once
        for ctx, result in results
    )


def _last(check: CheckDefinition) -> int:
    """Orders checks with many refusals in few requests first, those of lists last."""
    families = ("auth", "tenancy", "idempotency")
    family = check.rules[0].partition(".")[0]
    if check.rules[0].endswith("race"):
        return len(families) + 1
    return families.index(family) if family in families else len(families) + (family == "list")


def _valid_calls(operation: str, lane: Lane) -> Iterator[None]:
    """Sends the operation's valid call, with every resource that its answer may show."""
    try:
        fixture = lane.account(purpose_of(operation), fresh=True)
        if OPERATIONS[operation].is_list or "beneficiary_id" in OPERATIONS[operation].path_parameters:
            for part in ("payout_destination", "virtual_account"):
                fixture.part(part)
            fixture.create("createWallet")
        call = fixture.call(operation)
        lane.send(lane.client(), call, "a valid call")
        yield
        lane.send(lane.client(), call, "the same once more")
        lane.send(lane.client(), fixture.call(operation), "another valid call")
    except Inconclusive:
        pass
    yield


def run_one(check: CheckDefinition, operation: str, lane: Lane, outcome: Outcome) -> list[Cell]:
    """Runs a check on one operation; adds its cells, or the exception that it raised, to an outcome."""
    try:
        cells, _ = run_check(check, operation, lane)
    except Exception as error:  # A check that a hostile answer makes raise is itself a result here.
        outcome.ledger.errors.append(f"{check.name}[{operation}] raised {type(error).__name__}: {error}")
        return []
    for cell in cells:
        outcome.ledger.add(cell)
    return cells


def _passive(lane: Lane, outcome: Outcome) -> None:
    for tally in lane.invariants.tallies.values():
        if tally.broken and EVERY_RESPONSE not in outcome.ledger.cell(*tally.key).checks:
            outcome.ledger.add(tally.concluded())


def judged_cells() -> set[CaseResult]:
    """Returns every cell that a check covers, or that is judged on every response."""
    cells = {(rule, operation) for rule in INVARIANTS for operation in RULES[rule].operations}
    for check in load_checks().values():
        for operation in check.operations:
            cells |= {(rule.id, operation) for rule in check.rules_on(operation)}
    return cells
