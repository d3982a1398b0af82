"""Everything that generated requests need, imported before several threads begin with it.

Hypothesis and schemathesis import parts of themselves when they are first used. Their imports go in circles,
of which a second thread at the same moment sees half-made modules.
"""

from __future__ import annotations

import functools
import random
from collections.abc import Mapping
from typing import Any

#: Operations whose cases are made and thrown away, with a body where they have one.
_ANY: Mapping[str, dict[str, Any]] = {"createBeneficiary": {"email": "ada@example.com"}, "listWallets": {}}


@functools.cache
def load() -> None:
    """Imports once what explorations use, and makes a few requests that nobody sends."""
    import hypothesis

    from conformance.fuzz.engine.hypothesis_runs import contained
    from conformance.fuzz.histories import history_fuzzing as histories  # noqa: F401
    from conformance.fuzz.schema import schema_fuzzing as schema  # noqa: F401
    from conformance.fuzz.schema.generation import Generator
    from conformance.fuzz.stateful import state_machine  # noqa: F401
    from conformance.fuzz.stateful import stateful_fuzzing as model  # noqa: F401
    from conformance.judge.oracle import ValidBody

    few = hypothesis.settings(
        max_examples=1, database=None, suppress_health_check=list(hypothesis.HealthCheck)
    )

    def drawn(case: object) -> None:
        """Nothing is done with it."""

    for operation, body in _ANY.items():
        generator = Generator(operation, ValidBody(operation, body) if body else None)
        generator.coverage(random.Random(1), 1)
        for strategy in generator.strategies().values():
            test = hypothesis.given(strategy)(drawn)
            with contained():
                few(hypothesis.seed(1)(test))()
