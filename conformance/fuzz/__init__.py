"""Property-based testing: generated requests, shrunk to the smallest that show a failure.

Its test is in parts that lanes and processes share. Hypothesis and schemathesis are imported within
functions: that takes 0.3 s, which other runs need not spend.

    schema      single requests of one operation. schema_fuzzing sends examples of several cases: from
                generation (schemathesis) and odd_requests (the corpora), to the resources of
                operation_fixtures, with unique values by own_values. conformance.judge.oracle states the
                expected answer.

It judges into the recorder of engine, which runs Hypothesis within seed and budget.
"""

from __future__ import annotations

import functools
import importlib
import random
from collections.abc import Mapping
from typing import Any

from conformance import checks

#: Operation -> body, for the cases that load_generators makes.
_ANY: Mapping[str, dict[str, Any]] = {"createBeneficiary": {"email": "ada@example.com"}, "listWallets": {}}


def load_tests() -> None:
    """Imports the checks and the generated tests, which register themselves."""
    checks.load_checks()
    importlib.import_module(f"{__name__}.test_fuzz")


@functools.cache
def load_generators() -> None:
    """Imports what generated requests need, and draws a few, before threads start.

    Hypothesis and schemathesis import parts of themselves on first use, in cycles: a concurrent thread would
    see partially initialized modules.
    """
    import hypothesis

    from conformance.fuzz.engine.hypothesis_runs import contained
    from conformance.fuzz.schema import schema_fuzzing as schema  # noqa: F401
    from conformance.fuzz.schema.generation import Generator
    from conformance.judge.oracle import ValidBody

    few = hypothesis.settings(
        max_examples=1, database=None, suppress_health_check=list(hypothesis.HealthCheck)
    )

    def drawn(case: object) -> None:
        """Ignores a case."""

    for operation, body in _ANY.items():
        generator = Generator(operation, ValidBody(operation, body) if body else None)
        generator.coverage(random.Random(1), 1)
        for strategy in generator.strategies().values():
            test = hypothesis.given(strategy)(drawn)
            with contained():
                few(hypothesis.seed(1)(test))()
