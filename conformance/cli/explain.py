"""`conformance explain`: describes one rule, offline.

Prints a rule with its level and the checks that test it, and an example exchange with the reference server.
"""

from __future__ import annotations

import argparse
import inspect
import textwrap
from collections.abc import Iterator

from conformance._files import InputError
from conformance.checks import load_checks
from conformance.checks.check import run_check
from conformance.contract.operations import OPERATIONS
from conformance.contract.rules import ALL_RULES, Level, Rule, Side, rules_named
from conformance.judge.exchanges import exchange_record
from conformance.judge.invariants import INVARIANTS, Invariants
from conformance.judge.verdicts import Inconclusive, NotApplicable
from conformance.reference.seed import new_server, target_tables
from conformance.reference.serving.in_process import InProcessTransport
from conformance.report.transcript import transcript
from conformance.target.file import build
from conformance.target.redaction import Redactor
from conformance.wire.messages import Exchange
from conformance.world.account import purpose_of
from conformance.world.run import Run


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID", help="a rule, as `conformance rules` lists them")
    parser.add_argument("--operation", metavar="OPERATION", help="the operation of the example")


def run(options: argparse.Namespace) -> int:
    """Prints the explanation. Raises InputError for an unknown rule or operation."""
    rules = rules_named(options.id)
    if rules != [options.id]:
        raise InputError(
            f"{options.id} is an area of {len(rules)} rules; explain one of them: "
            f"{', '.join(rules[:8])}{', ...' if len(rules) > 8 else ''}."
        )
    rule = ALL_RULES[options.id]
    operation = options.operation or rule.operations[0]
    if operation not in rule.operations:
        raise InputError(
            f"--operation: {rule.id} is not about {operation!r}; it is about {', '.join(rule.operations)}."
        )
    print("\n".join(_lines(rule, operation)))
    return 0


def _lines(rule: Rule, operation: str) -> Iterator[str]:
    yield from _described(rule)
    yield ""
    if Side.CLIENT in rule.sides:
        yield "Judged on the requests that clients send: conformance serve --judge"
        yield ""
    if Side.SERVER not in rule.sides:
        return
    yield "Checks"
    for name, text in _checks(rule):
        yield f"   {name}"
        yield from textwrap.wrap(text, 100, initial_indent="      ", subsequent_indent="      ")
    yield f"   Run them alone: pytest --rule {rule.id}@{operation}"
    yield ""
    does = "chose so" if rule.level is Level.OPEN else "keeps the rule"
    yield f"Decisive on {operation}, with the reference server, which {does}"
    yield from textwrap.indent(_example(rule, operation), "   ").splitlines()


def _described(rule: Rule) -> Iterator[str]:
    """The lines of a rule's full description."""
    yield rule.id
    yield from _wrapped(rule.statement)
    yield f"   level       {rule.level}: {_MEANING[rule.level]}"
    yield f"   binds       {' and '.join(f'{side}s' for side in rule.sides)}"
    yield f"   section     {', '.join(rule.section)} of the specification"
    if rule.quote:
        yield from _wrapped(f'"{rule.quote}"', "it says")
    if rule.client:
        yield f"   of clients  {rule.client}"
    facts = {"operations": rule.operations, "needs": rule.needs, "follows": rule.follows}
    for name, values in facts.items():
        yield from _wrapped(", ".join(values), name)


def _wrapped(text: str, label: str = "") -> list[str]:
    """The lines of an indented, possibly labelled text; none for an empty one."""
    start = f"   {label:12}" if label else "   "
    return textwrap.wrap(text, 100, initial_indent=start, subsequent_indent=" " * len(start))


_MEANING = {
    Level.REQUIRED: "the specification states it; a violation fails the run",
    Level.IMPLIED: "the specification suggests it; a violation warns, or fails under --fail-on implied",
    Level.OPEN: "the specification leaves it open; the choice is recorded",
}


def _checks(rule: Rule) -> Iterator[tuple[str, str]]:
    """Name and first paragraph of each check of a rule, or how else it is judged."""
    if rule.id in INVARIANTS:
        yield "every response", "Judged on every response of the server, whatever check asked for it."
    for check in load_checks().values():
        if rule.id in check.rules:
            text = inspect.getdoc(check.function) or ""
            yield check.name, " ".join(text.split("\n\n")[0].split())


def _example(rule: Rule, operation: str) -> str:
    """The exchanges that decide about the rule, with a reference server in this process."""
    server, seeded = new_server()
    target = build(target_tables(seeded, "http://reference"), "the reference server")
    run = Run(target, transport=InProcessTransport(server))
    exchanges = decisive(run, rule.id, operation)
    if not exchanges:
        try:
            fixture = run.account(purpose_of(operation))
            exchanges = [run.send(fixture.client, fixture.call(OPERATIONS[operation].id), "a valid request")]
        except (Inconclusive, NotApplicable) as end:
            return str(end)
    redactor = Redactor(target)
    texts = [(exchange.purpose, transcript(exchange_record(exchange, redactor))) for exchange in exchanges]
    return "\n\n".join(f"{purpose}:\n{text}" if purpose else text for purpose, text in texts)


#: Maximum number of exchanges in an example.
MOST = 3

#: The module preferred for examples of rules on secrets.
_TELLING = "test_secrets."


def decisive(run: Run, rule: str, operation: str) -> list[Exchange]:
    """The exchanges that decide about a rule in the first check that judges it; empty if none does."""
    for check in sorted(load_checks().values(), key=lambda check: not check.name.startswith(_TELLING)):
        if (
            operation not in check.operations
            or check.deep
            or (rule not in check.rules and rule not in INVARIANTS)
        ):
            continue
        cells, numbers = run_check(check, operation, run)
        if rule in INVARIANTS:
            sent = [run.record[number] for number in reversed(numbers) if number in run.record]
            exchanges = [exchange for exchange in sent if _judged(run, exchange, rule, operation)][:1]
        else:
            proof = [number for cell in cells if cell.rule == rule for number in cell.exchanges]
            exchanges = [run.record[number] for number in proof if number in run.record][:MOST]
        if exchanges:
            return exchanges
    return []


def _judged(run: Run, exchange: Exchange, rule: str, operation: str) -> bool:
    """True if a rule of every response judges this exchange."""
    alone = Invariants(run.target)
    alone.inspect(exchange)
    return (rule, operation) in alone.tallies
