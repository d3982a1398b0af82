"""No conforming server is blamed, whatever it chooses.

By default the servers of tests/variants/ and a few drawn at random (the seed is in the test's name; set
VARIANT_SEED to begin elsewhere and VARIANTS to draw more). All of it in this process, without sockets.
"""

from __future__ import annotations

import os
import threading

import pytest

from conformance.checks import plan
from conformance.contract.rules import RULES, Level
from conformance.fixtures.run_context import RunContext
from conformance.harness.check import run_check
from conformance.judging.findings import Verdict
from conformance.reference.app import Server
from conformance.reference.messages import Request, Response
from conformance.reference.seed import new_server, seed, target_tables
from conformance.reference.serving.listener import served
from conformance.reference.serving.transport import InProcessTransport
from conformance.reference.store import Store
from conformance.results.model import Results
from conformance.target.file import build
from tests.variants.catalogue import VARIANTS, Variant, drawn
from tests.variants.choice import ANSWERED, CHOICES

FIRST = int(os.environ.get("VARIANT_SEED", "1"))
DRAWN = range(FIRST, FIRST + int(os.environ.get("VARIANTS", "3")))


def judge(variant: Variant) -> tuple[list[str], list[tuple[str, str, str]]]:
    """What the suite blames the server for, and what stayed inconclusive: rule, operation, reason."""
    server, seeded = new_server(variant.behaviour(), variant.clock)
    transport = InProcessTransport(server)
    tables = target_tables(seeded, "http://variant.test")
    target = build(variant.change(tables) if variant.change else tables, variant.name)
    run, results = RunContext(target, variant.wrap(transport) if variant.wrap else transport), Results(target)
    for check, operation in plan():
        for finding in run_check(check, operation, run)[0]:
            results.add(finding)
    blamed = [
        f"{finding.check}: {finding.summary}"
        for cell in results.with_verdict(Verdict.FAILED, Verdict.WARNING, Verdict.ERROR)
        if cell.rule not in variant.breaks
        for finding in cell.findings
        if finding.verdict is cell.verdict
    ]
    for (rule, operation), tally in run.invariants.tallies.items():
        if tally.broken:
            blamed.append(f"{rule} on {operation}: expected {tally.expected}; got {tally.got}")
    inconclusive = [
        (cell.rule, cell.operation, cell.summary) for cell in results.with_verdict(Verdict.INCONCLUSIVE)
    ]
    return blamed, inconclusive


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda variant: variant.name.replace(" ", "-"))
def test_conforming_server_is_not_blamed(variant: Variant) -> None:
    blamed, inconclusive = judge(variant)
    assert blamed == []
    assert [one for one in inconclusive if one[1] not in variant.unreached] == []


@pytest.mark.parametrize("number", DRAWN)
def test_drawn_server_is_not_blamed(number: int) -> None:
    blamed, _ = judge(drawn(number))
    assert blamed == []


def test_every_open_rule_is_answered_in_two_ways() -> None:
    """The reference server answers in one, a choice in the other."""
    open_rules = {rule.id for rule in RULES.values() if rule.level is Level.OPEN}
    # What undocumented paths and methods are answered is decided before any behaviour; see PlainNotFound.
    assert open_rules - set(ANSWERED) == {"http.undocumented-path", "http.undocumented-method"}


def test_every_choice_is_made_by_a_variant() -> None:
    made = {one.__name__ for variant in VARIANTS for one in variant.choices}
    assert set(CHOICES) - made == set()


# ---------------------------------------------------------------------- over sockets


class Chunked(Server):
    """Answers in chunks, without a length."""

    def handle(self, request: Request) -> Response:
        response = super().handle(request)
        return response.with_header(b"content-length", None)


class Closing(Server):
    """Closes the connection after each answer."""

    def handle(self, request: Request) -> Response:
        return super().handle(request).with_header(b"connection", b"close")


class Slow(Server):
    """Takes its time, now and then more of it."""

    def handle(self, request: Request) -> Response:
        threading.Event().wait(0.05 if request.body[-3:-2] == b"a" else 0.002)
        return super().handle(request)


@pytest.mark.parametrize("kind", [Chunked, Closing, Slow])
def test_server_of_another_kind_is_not_blamed(kind: type[Server]) -> None:
    store = Store()
    server = kind(store)
    seeded = seed(store)
    blamed = []
    with served(server, threads=True) as url:
        run = RunContext(build(target_tables(seeded, url), kind.__name__))
        for check, operation in plan(operations={"createVirtualAccount", "listVirtualAccounts"}):
            findings, _ = run_check(check, operation, run)
            blamed += [
                finding.summary
                for finding in findings
                if finding.verdict in (Verdict.FAILED, Verdict.WARNING, Verdict.INCONCLUSIVE)
                and finding.exercised
            ]
    blamed += [f"{rule}: {tally.got}" for (rule, _), tally in run.invariants.tallies.items() if tally.broken]
    assert blamed == []
    first = next(iter(run.record.values()))
    told = {Chunked: first.header("transfer-encoding"), Closing: first.header("connection"), Slow: "chunked"}
    assert told[kind] in ("chunked", "close")
