"""Generated cases a processor second of the client: schema fuzzing by the suite and by plain `st run`.

Processor time, because both wait for the same server, and a busy machine makes either wait longer."""

from __future__ import annotations

import cProfile
import pstats
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

from conformance.contract.operations import OPERATIONS
from conformance.fuzz import load_tests
from conformance.fuzz.engine.recorder import Recorder
from conformance.fuzz.exploration import EXPLORATIONS, Exploration, FuzzSettings
from conformance.judge.findings import Verdict
from conformance.plugin.embedded_server import EmbeddedServer
from conformance.target.file import build
from conformance.world.run_context import RunContext

from . import plain_run
from .table import Row

#: Layers in which time is spent: a part of a module's path -> the layer's name.
_LAYERS = (
    ("/schemathesis/", "schemathesis: generation"),
    ("/hypothesis/", "Hypothesis: drawing and engine"),
    ("/httpx/", "httpx"),
    ("/httpcore/", "httpx"),
    ("/requests/", "requests: building URLs and bodies"),
    ("/jsonschema", "JSON Schema of answers"),
    ("/referencing/", "JSON Schema of answers"),
    ("/conformance/fuzz/", "fuzz: judging and cases"),
    ("/conformance/", "suite: client, invariants"),
)


@dataclass
class Measured:
    """Requests and generated cases of one run (answers by status), seconds and processor seconds."""

    seconds: float
    processor: float
    requests: int
    statuses: Counter[int | None]
    failed: int

    @property
    def cases(self) -> int:
        return self.statuses.total()


def warm_up() -> None:
    """Imports everything and lets Hypothesis build its tables, which the first run alone would pay for."""
    import hypothesis

    import conformance.fuzz.schema.schema_fuzzing
    import conformance.fuzz.stateful.state_machine  # noqa: F401

    load_tests()
    hypothesis.settings(max_examples=1, database=None)(
        hypothesis.given(hypothesis.strategies.text())(lambda text: None)
    )()


def ours(tables: dict[str, Any], explorations: list[Exploration], examples: int, seed: int) -> Measured:
    """Runs explorations against a server over HTTP, in this process."""
    run = RunContext(build(tables, "benchmark"))
    begin, used, failed = time.perf_counter(), time.process_time(), 0
    statuses: Counter[int | None] = Counter()
    # What makes and looks at resources is not counted: it is no generated case.
    with patch.object(Recorder, "count", lambda _, exchange: statuses.update([exchange.status])):
        for exploration in explorations:
            for part in exploration.parts:
                findings = exploration.function(run, part, FuzzSettings(seed, examples=examples))
                failed += sum(finding.verdict is Verdict.FAILED for finding in findings)
    seconds, used = time.perf_counter() - begin, time.process_time() - used
    return Measured(seconds, used, run.sent, statuses, failed)


def profile(tables: dict[str, Any], examples: int, seed: int) -> list[tuple[str, float]]:
    """Profile of schema fuzzing: the share of each layer's own time, the largest first."""
    profiler = cProfile.Profile()
    run = RunContext(build(tables, "benchmark"))
    profiler.enable()
    for part in OPERATIONS:
        EXPLORATIONS["test_fuzz.test_schema_fuzzing"].function(
            run, part, FuzzSettings(seed, examples=examples)
        )
    profiler.disable()
    spent: Counter[str] = Counter()
    for (file, _, name), (_, _, own, _, callers) in pstats.Stats(profiler).stats.items():  # type: ignore[attr-defined]
        if "recv" in name or "poll" in name:
            spent["waiting for the server"] += own
        elif file == "~":
            # What is built into Python counts for whoever called it.
            for (caller, _, _), (_, _, share, _) in callers.items():
                spent[_layer(caller)] += share
        else:
            spent[_layer(file)] += own
    total = sum(spent.values())
    return [(layer, seconds / total) for layer, seconds in spent.most_common()]


def _layer(file: str) -> str:
    return next((label for part, label in _LAYERS if part in file), "Python's own library")


def report(examples: int, seed: int) -> Row:
    """Prints the comparison and returns its ratio; every run has a server of its own kind, fresh."""
    warm_up()
    fuzzing = EXPLORATIONS["test_fuzz.test_schema_fuzzing"]
    with tempfile.TemporaryDirectory() as folder:
        server = EmbeddedServer(Path(folder))
        try:
            tables = server.tables()
            everything = ours(tables, list(EXPLORATIONS.values()), examples, seed)
            print(
                f"property-based part, whole   {everything.requests:6} requests in "
                f"{everything.seconds:5.1f} s, {everything.processor:5.1f} s of processor, "
                f"{everything.failed} false alarms"
            )
            mine = ours(tables, [fuzzing], examples, seed)
            plain = plain_run.run(tables, examples, seed)
            rates = []
            for name, cases, used, statuses, alarms in (
                ("our route", mine.cases, mine.processor, mine.statuses, mine.failed),
                ("plain st run", plain.cases, plain.processor, plain.statuses, len(plain.failures)),
            ):
                rates.append(cases / used)
                print(
                    f"schema fuzzing, {name:12} {cases:6} cases    in {used:5.1f} s of processor = "
                    f"{rates[-1]:4.0f} a second ({_named(statuses)}), {alarms} false alarms"
                )
            row = Row(
                "generated cases a processor second over plain st run's, one worker each",
                rates[0] / rates[1],
                ">= 2",
                f"{rates[0]:.0f} to {rates[1]:.0f}; {mine.cases} and {plain.cases} cases",
            )
            print("where our schema fuzzing spends its time:")
            for layer, share in profile(tables, examples, seed):
                print(f"  {share:4.0%}  {layer}")
            print()
        finally:
            server.stop()
    return row


def _named(statuses: Counter[Any]) -> str:
    accepted = sum(count for status, count in statuses.items() if status and 200 <= status < 300)
    return f"{accepted} x 2xx, {statuses[404]} x 404, {statuses[401]} x 401"
