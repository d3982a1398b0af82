"""Records every verdict of the fixed checks: on the reference server, each variant and each fault.

Writes to a JSON file, section by section, a verdict for each rule and operation:

- reference: the reference server;
- requests: the number of requests that each check sends to it;
- variants: each conforming server, and the number of its requests;
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
from conformance.contract.operations import OPERATIONS
from conformance.contract.rules import RULES
from tests.faults.harness import catch
from tests.prove import pool, selection
from tests.variants.catalogue import VARIANTS
from tests.variants.judging import Judged, judge

#: Rule and operation -> verdict, or "requests" -> number of requests.
Facts = dict[str, str | int]

#: Server or check -> its facts.
Section = dict[str, Facts]


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, metavar="FILE", help="the file to write")
    parser.add_argument("--only", action="append", choices=SECTIONS, help="sections to record (default: all)")
    parser.add_argument("--variant", default="", metavar="TEXT", help="only variants with TEXT in their name")
    selection.options(parser)
    pool.options(parser)


def prove(options: argparse.Namespace) -> bool:
    """Records the selected sections; returns True."""
    narrowed = {name: getattr(options, name) for name in ("rule", "operation", "kind", "variant")}
    sampled = bool(options.sample or options.each_kind)
    recorded: dict[str, object] = {"narrowed": narrowed, "sampled": sampled}
    for section in options.only or SECTIONS:
        recorded[section] = facts = SECTIONS[section](options)
        print(f"{section}: {len(facts)} recorded", flush=True)
        options.file.parent.mkdir(parents=True, exist_ok=True)
        options.file.write_text(json.dumps(recorded, indent=0, ensure_ascii=False) + "\n", "utf-8")
    return True


def _judged(job: tuple[int, str, str]) -> Judged:
    """Judges a variant, by its place in the catalogue, by the checks of a prefix of rules and of operations
    with a text in their names."""
    at, prefix, text = job
    rules = {rule for rule in RULES if rule.startswith(prefix)}
    operations = {operation for operation in OPERATIONS if text in operation}
    return judge(VARIANTS[at], list(plan(rules, operations)))


def _facts(judged: Judged, rule: str) -> Facts:
    """Returns the verdicts on a server, of rules with this prefix, and the number of requests of all
    checks."""
    verdicts: Facts = {
        f"{name} on {operation}": str(verdict)
        for (name, operation), verdict in judged.verdicts.items()
        if name.startswith(rule)
    }
    return {**verdicts, "requests": judged.sent}


def _reference(options: argparse.Namespace) -> Section:
    return {"fixed checks": _facts(_judged((0, options.rule, options.operation)), options.rule)}


def _requests(options: argparse.Namespace) -> Section:
    requests = _judged((0, options.rule, options.operation)).requests
    return {f"{check} on {operation}": {"requests": sent} for (check, operation), sent in requests.items()}


def _variants(options: argparse.Namespace) -> Section:
    places = [at for at, variant in enumerate(VARIANTS) if options.variant in variant.name]
    jobs = [(at, options.rule, options.operation) for at in places]
    judgements = pool.mapped(_judged, jobs, options.processes, "variants")
    return {VARIANTS[at].name: _facts(judged, rule) for (at, rule, _), judged in judgements}


def _faults(options: argparse.Namespace) -> Section:
    ids = [fault.id for fault in selection.chosen(options)]
    return dict(pool.mapped(_caught, ids, options.processes, "faults", chunk=4))


def _caught(identifier: str) -> Facts:
    fault = selection.by_id()[identifier]
    outcome = catch(fault)
    facts: Facts = {f"{rule} on {operation}": "broken" for rule, operation in sorted(outcome.broken)}
    facts["caught"] = "caught" if outcome.shows(fault) else "survives" if outcome.effect else "no effect"
    facts |= dict.fromkeys(outcome.ledger.errors, "raised")
    return {**facts, "requests": outcome.ledger.sent}


SECTIONS: dict[str, Callable[[argparse.Namespace], Section]] = {
    "reference": _reference,
    "requests": _requests,
    "variants": _variants,
    "faults": _faults,
}
