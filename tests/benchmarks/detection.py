"""Faults of the catalogue found, and seconds until then: by plain `st run`, by fuzzing and the model alone,
by all checks."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from conformance.checks import plan
from conformance.checks.check import run_check
from conformance.contract.rules import RULES, Level
from conformance.fuzz.exploration import EXPLORATIONS, FuzzSettings
from conformance.judge.findings import Finding
from conformance.reference.seed import new_server, target_tables
from conformance.reference.serving.listener import served
from conformance.target.file import build
from conformance.world.run_context import RunContext
from tests.faults import catalogue
from tests.faults.catalogue import Fault

from . import plain_run, throughput

#: Whoever looks for a fault.
PLAIN, FUZZ, MODEL, HISTORIES, CHECKS = (
    "plain st run",
    "fuzzing alone",
    "model alone",
    "histories alone",
    "all checks",
)


@dataclass
class Score:
    """Number of faults found, number of them under the rule that is broken, and seconds until each."""

    found: int = 0
    named: int = 0
    seconds: list[float] = field(default_factory=list)


def sample(number: int, seed: int) -> list[Fault]:
    """Faults of as many different required rules as possible."""
    rng = random.Random(seed)
    by_rule: dict[str, list[Fault]] = {}
    for fault in catalogue.load():
        if RULES[fault.rule].level is Level.REQUIRED:
            by_rule.setdefault(fault.rule, []).append(fault)
    rules = sorted(by_rule)
    rng.shuffle(rules)
    return [rng.choice(by_rule[rule]) for rule in (rules * (number // len(rules) + 1))[:number]]


def _ours(
    name: str, parts: Callable[[Fault], list[str]], fault: Fault, run: RunContext, examples: int, seed: int
) -> Iterator[list[Finding]]:
    for part in parts(fault):
        yield EXPLORATIONS[name].function(run, part, FuzzSettings(seed, examples=examples))


def _checks(fault: Fault, run: RunContext) -> Iterator[list[Finding]]:
    for check, operation in plan(operations={fault.operation}):
        yield run_check(check, operation, run)[0]


def look(findings: Iterator[list[Finding]], run: RunContext, fault: Fault, score: Score) -> None:
    """Runs until the fault is found."""
    begin = time.perf_counter()
    for some in findings:
        broken = {(finding.rule, finding.operation) for finding in some if finding.verdict.is_violation}
        broken |= {key for key, tally in run.invariants.tallies.items() if tally.broken}
        if broken:
            score.found += 1
            score.named += (fault.rule, fault.operation) in broken
            score.seconds.append(time.perf_counter() - begin)
            return


def report(faults: int, examples: int, seed: int) -> None:
    """Prints the shares and times. A fault counts as found by `st run` when it reports what it does not
    report on the valid server with the same seed."""
    throughput.warm_up()
    chosen = sample(faults, seed)
    scores = {name: Score() for name in (PLAIN, FUZZ, MODEL, HISTORIES, CHECKS)}
    valid: dict[str, set[str]] = {}
    for fault in chosen:
        found = []
        for name in scores:
            before = scores[name].found
            server, seeded = new_server(fault.make(), number=1)
            with served(server) as url:
                tables = target_tables(seeded, url)
                if name == PLAIN:
                    _plain(fault, tables, examples, seed, valid, scores[name])
                else:
                    run = RunContext(build(tables, "benchmark"))
                    look(_by(name, fault, run, examples, seed), run, fault, scores[name])
            if scores[name].found > before:
                found.append(name)
        print(f"  {fault.id[:90]:90}  {', '.join(found) or 'nobody'}", flush=True)
    print(
        f"\n{len(chosen)} faults of required rules        found         by the broken rule's name   median "
        "seconds to it"
    )
    for name, score in scores.items():
        middle = sorted(score.seconds)[len(score.seconds) // 2] if score.seconds else float("nan")
        named = "-" if name == PLAIN else f"{score.named / len(chosen):4.0%}"
        print(f"{name:32}  {score.found:3} ({score.found / len(chosen):4.0%})  {named:>18}  {middle:24.2f}")


def _by(name: str, fault: Fault, run: RunContext, examples: int, seed: int) -> Iterator[list[Finding]]:
    if name == CHECKS:
        return _checks(fault, run)
    test, parts = {
        FUZZ: ("test_fuzz.test_schema_fuzzing", lambda fault: [fault.operation]),
        MODEL: (
            "test_model.test_agrees_with_model",
            lambda fault: list(EXPLORATIONS["test_model.test_agrees_with_model"].parts),
        ),
        HISTORIES: (
            "test_histories.test_has_legal_order",
            lambda fault: list(EXPLORATIONS["test_histories.test_has_legal_order"].parts),
        ),
    }[name]
    return _ours(test, parts, fault, run, examples, seed)


def _plain(
    fault: Fault, tables: dict[str, Any], examples: int, seed: int, valid: dict[str, set[str]], score: Score
) -> None:
    if fault.operation not in valid:
        server, seeded = new_server(number=1)
        with served(server) as url:
            valid[fault.operation] = set(
                plain_run.run(target_tables(seeded, url), examples, seed, fault.operation).failures
            )
    plain = plain_run.run(tables, examples, seed, fault.operation)
    fresh = [plain.first[failure] for failure in plain.failures if failure not in valid[fault.operation]]
    if fresh:
        score.found += 1
        score.seconds.append(min(fresh))
