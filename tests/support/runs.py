"""The suite at work on a reference server in the test's own process."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import httpx

from conformance.checks.check_context import CheckContext
from conformance.contract.operations import OPERATIONS
from conformance.contract.rules import RULES
from conformance.judge.findings import Finding, Verdict
from conformance.reference.app import Server
from conformance.reference.behaviour import Behaviour
from conformance.reference.seed import new_server, target_tables
from conformance.reference.serving.in_process import InProcessTransport
from conformance.target.file import build
from conformance.world.run_context import RunContext


def run_on(
    behaviour: Behaviour | None = None,
    transport: Callable[[Server], httpx.BaseTransport] = InProcessTransport,
    **features: bool,
) -> RunContext:
    """A run against a new server of a behaviour; `features` are those of the target file."""
    server, seeded = new_server(behaviour, number=1)
    tables = target_tables(seeded, "http://reference.test")
    tables["features"] |= features
    if features.get("secondary") is False:
        del tables["secondary"]
    return RunContext(build(tables, "reference"), transport=transport(server))


def ctx_on(operation: str, *rules: str, behaviour: Behaviour | None = None) -> CheckContext:
    """The context of a check of some rules, at work on one operation of a new server."""
    return CheckContext(run_on(behaviour), OPERATIONS[operation], [RULES[rule] for rule in rules], "test")


def broken(findings: Iterable[Finding]) -> dict[str, Finding]:
    """The findings that say that a rule is broken, by their rules."""
    return {
        finding.rule: finding for finding in findings if finding.verdict in (Verdict.FAILED, Verdict.WARNING)
    }
