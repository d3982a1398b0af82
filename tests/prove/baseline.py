"""Records every verdict: on the reference server, each variant and each fault.

Writes to a JSON file, section by section, a verdict for each rule and operation:

- reference: the fixed checks, and with each of --seeds every part of the explorations;
- requests: the number of requests that each fixed check sends to the reference server;
- variants: the fixed checks on each conforming server, and the number of their requests;
- faults: for each faulty server, `caught` or not, and each rule that its own checks found violated.

--rule, --operation and --kind narrow what is recorded. `python -m tests.prove compare BEFORE AFTER` compares
two such files; one of them may be narrowed.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path

from conformance.checks import plan
from conformance.checks.check import Check
from conformance.contract.operations import OPERATIONS
from conformance.contract.rules import RULES
from conformance.fuzz.exploration import FuzzSettings
from tests.faults.harness import catch
from tests.prove import pool, selection
from tests.variants.catalogue import VARIANTS
from tests.variants.judging import Judged, judge, parts

SECTIONS = ("reference", "requests", "variants", "faults")

#: Rule and operation -> verdict, or "requests" -> number of requests.
Facts = dict[str, str | int]

#: Server or check -> its facts.
Section = dict[str, Facts]


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, metavar="FILE", help="the file to write")
    parser.add_argument(
        "--only", action="append", choices=SECTIONS, metavar="SECTION", help=f"one of {', '.join(SECTIONS)}"
    )
    parser.add_argument(
        "--variant", default="", metavar="TEXT", help="only variants whose name contains TEXT"
    )
    parser.add_argument("--seeds", type=int, default=1, metavar="N", help="seeds of the explorations (1)")
    parser.add_argument(
        "--examples", type=int, default=10, metavar="N", help="cases of each of their parts (10)"
    )
    selection.options(parser)
    pool.options(parser)


def prove(options: argparse.Namespace) -> bool:
    """Records the selected sections; returns True."""
    narrowed = {name: getattr(options, name) for name in ("rule", "operation", "kind", "variant")}
    sampled = bool(options.sample or options.each_kind)
    recorded: dict[str, object] = {"narrowed": narrowed, "sampled": sampled}
    for section in options.only or SECTIONS:
        facts = RECORDED[section](options)
        recorded[section] = facts
        print(f"{section}: {len(facts)} recorded", flush=True)
        options.file.parent.mkdir(parents=True, exist_ok=True)
        options.file.write_text(json.dumps(recorded, indent=0, ensure_ascii=False) + "\n", "utf-8")
    return True


# ---------------------------------------------------------------------- conforming servers


def _checks(rule: str, operation: str) -> list[tuple[Check, str]]:
    rules = {identifier for identifier in RULES if identifier.startswith(rule)}
    operations = {identifier for identifier in OPERATIONS if operation in identifier}
    return list(plan(rules, operations))


def _reference(options: argparse.Namespace) -> Section:
    facts = {
        "fixed checks": _facts(judge(VARIANTS[0], _checks(options.rule, options.operation)), options.rule)
    }
    jobs = [
        (*part, seed, options.examples)
        for seed in range(1, options.seeds + 1)
        for part in parts()
        if options.operation in part[1] or part[1] not in OPERATIONS
    ]
    for job, judged in pool.mapped(_explored, jobs, options.processes, "explorations"):
        name, part, seed, _ = job
        facts[f"{name} {part}, seed {seed}"] = _facts(judged, options.rule)
    return facts


def _explored(job: tuple[str, str, int, int]) -> Judged:
    name, part, seed, examples = job
    return judge(VARIANTS[0], explored=[(name, part)], settings=FuzzSettings(seed, examples))


def _requests(options: argparse.Namespace) -> Section:
    judged = judge(VARIANTS[0], _checks(options.rule, options.operation))
    return {
        f"{check} on {operation}": {"requests": sent} for (check, operation), sent in judged.requests.items()
    }


def _variants(options: argparse.Namespace) -> Section:
    jobs = [
        (variant.name, options.rule, options.operation)
        for variant in VARIANTS
        if options.variant in variant.name
    ]
    return {
        name: _facts(judged, rule)
        for (name, rule, _), judged in pool.mapped(_variant, jobs, options.processes, "variants")
    }


def _variant(job: tuple[str, str, str]) -> Judged:
    name, rule, operation = job
    return judge(next(variant for variant in VARIANTS if variant.name == name), _checks(rule, operation))


def _facts(judged: Judged, rule: str) -> Facts:
    """Returns the verdicts on a server, of rules with this prefix, and the number of requests of all
    checks."""
    verdicts: Facts = {
        f"{name} on {operation}": str(verdict)
        for (name, operation), verdict in judged.verdicts.items()
        if name.startswith(rule)
    }
    return {**verdicts, "requests": judged.sent}


# ---------------------------------------------------------------------- faulty servers


def _faults(options: argparse.Namespace) -> Section:
    ids = [fault.id for fault in selection.matching(options)]
    return dict(pool.mapped(_caught, ids, options.processes, "faults", chunk=4))


def _caught(identifier: str) -> Facts:
    fault = selection.by_id()[identifier]
    outcome = catch(fault)
    facts: Facts = {f"{rule} on {operation}": "broken" for rule, operation in sorted(outcome.broken)}
    facts["caught"] = "caught" if outcome.shows(fault) else "survives"
    facts |= dict.fromkeys(outcome.errors, "raised")
    return {**facts, "requests": outcome.sent}


RECORDED: dict[str, Callable[[argparse.Namespace], Section]] = {
    "reference": _reference,
    "requests": _requests,
    "variants": _variants,
    "faults": _faults,
}
