"""Generated cases per CPU second of the client: schema fuzzing by the suite and by plain `st run`.

CPU time, because both wait for the same server, and other load on the machine prolongs the wait.
"""

from __future__ import annotations

import time
from collections import Counter
from typing import Any
from unittest.mock import patch

from conformance.contract.operations import OPERATIONS
from conformance.fuzz import load_tests
from conformance.fuzz.engine.recorder import Recorder
from conformance.fuzz.exploration import EXPLORATIONS, FuzzSettings
from conformance.target.file import build
from conformance.world.run_context import RunContext

from . import plain_run, servers
from .table import Row


def ours(tables: dict[str, Any], examples: int, seed: int) -> tuple[float, Counter[int | None]]:
    """Runs schema fuzzing against a server over HTTP in this process; returns CPU seconds, and generated
    cases by response status."""
    run = RunContext(build(tables, "benchmark"))
    begin, statuses = time.process_time(), Counter[int | None]()
    # Requests that create or read resources are not generated cases.
    with patch.object(Recorder, "count", lambda _, exchange: statuses.update([exchange.status])):
        for part in OPERATIONS:
            EXPLORATIONS["test_fuzz.test_schema_fuzzing"].function(
                run, part, FuzzSettings(seed, examples=examples)
            )
    return time.process_time() - begin, statuses


def report(examples: int, seed: int) -> Row:
    """Compares both on one server."""
    load_tests()
    with servers.near() as tables:
        # The first run alone would pay for imports and caches.
        ours(tables, 1, seed)
        measured = ours(tables, examples, seed), plain_run.run(tables, examples, seed)
    rates = [statuses.total() / used for used, statuses in measured]
    cases = " and ".join(f"{statuses.total()} cases ({_named(statuses)})" for _, statuses in measured)
    return Row(
        "generated cases a processor second over plain st run's, one worker each",
        rates[0] / rates[1],
        ">= 2",
        f"{rates[0]:.0f} to {rates[1]:.0f}; {cases}",
    )


def _named(statuses: Counter[int | None]) -> str:
    accepted = sum(count for status, count in statuses.items() if status and 200 <= status < 300)
    return f"{accepted} x 2xx, {statuses[404]} x 404, {statuses[401]} x 401"
