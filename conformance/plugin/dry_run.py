"""Lists the requests of a run by rule and operation, without sending any."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from conformance._files import InputError
from conformance._text import printable
from conformance.contract.rules import RULES
from conformance.judge.invariants import INVARIANTS
from conformance.plugin.known import Numbers
from conformance.plugin.options import EMBEDDED, Options
from conformance.plugin.plan import Plan, bounded, by_case
from conformance.target.applicability import absent
from conformance.target.environment import given
from conformance.target.file import Target, load

_ROW = "{:<40}{:>12}{:>10}{:>10}{:>10}"


def lines(plan: Plan, options: Options, environment: Mapping[str, str]) -> Iterator[str]:
    """The list, a line each. Raises pytest.UsageError for a wrong target file."""
    target = _target(options, environment)
    where = target.base_url if target else "the embedded reference server"
    plan = plan.on(target) if target else plan
    rows: dict[str, dict[str, Numbers]] = {}
    for rule, operation, numbers in by_case(plan):
        if rule in RULES and (target and absent(RULES[rule], operation, target)):
            continue
        operations = rows.setdefault(rule, {})
        operations[operation] = operations.get(operation, Numbers()) + numbers
    yield printable(f"conformance: a run on {where} would send:")
    yield ""
    yield _ROW.format("rule", "operations", "requests", "created", "payouts").rstrip()
    for rule in sorted(rows, key=lambda rule: (rule not in RULES, rule)):
        yield from _rows(rule, rows[rule], options.verbosity > 0)
    yield ""
    judged = sum(rule not in rows for rule in INVARIANTS)
    yield f"A request serves several rules, so that rows add up to more than the run; {judged} rules of every"
    yield "response are judged on whatever is sent."
    limit = options.limits.get("max_requests", target.limits.max_requests if target else None)
    whole = bounded(plan, options.fuzz_time, None if limit is None else int(limit), options.read_only)
    yield f"In all {whole}. Nothing was sent."


def _rows(rule: str, operations: Mapping[str, Numbers], verbose: bool) -> Iterator[str]:
    numbers = sum(operations.values(), Numbers())
    yield _ROW.format(rule, len(operations), numbers.requests, numbers.creations, numbers.payouts)
    for operation, own in operations.items() if verbose else ():
        yield _ROW.format(f"    {operation}", "", own.requests, own.creations, own.payouts)


def _target(options: Options, environment: Mapping[str, str]) -> Target | None:
    """The target that the run would judge; None for the embedded server."""
    file, base_url = options.target, options.base_url
    if file == EMBEDDED or not (file or base_url or given(environment)):
        return None
    try:
        return load(Path(file) if file else None, environment, base_url)
    except InputError as error:
        raise pytest.UsageError(str(error)) from None
