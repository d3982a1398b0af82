"""Property-based testing: generated requests, and the smallest of them that show a failure.

Three tests, each in parts that lanes and processes share out. Functions of this package import what generates
requests, as Hypothesis and schemathesis take 0.3 s that no other run need spend:

    schema      single requests of one operation. schema_fuzzing sends examples of several cases: from
                generation (schemathesis) and odd_requests (the corpora of the checks), at the
                resources of operation_fixtures, with own_values where a server may want them unique.
                conformance.judge.oracle says what each answer must be.
    stateful    sequences of requests. state_machine draws them, executor sends them (with sender)
                and compares the answers with reference_model.
    histories   concurrent requests. history records them, linearizability looks for a legal order; contention
                has the kinds of them.

Each judges into the recorder of engine, which runs Hypothesis within seed and budget. conformance.replay
makes a file of each failure.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
import random
from collections.abc import Mapping
from typing import Any

from conformance import checks, fuzz, judge

#: Operations that load_generators makes cases of, with a body where they have one.
_ANY: Mapping[str, dict[str, Any]] = {"createBeneficiary": {"email": "ada@example.com"}, "listWallets": {}}


def load_tests() -> None:
    """Imports the checks and the generated tests of the installed package, which register themselves."""
    checks.load_checks()
    for name in ("test_fuzz", "test_histories", "test_model"):
        importlib.import_module(f"{__name__}.{name}")


def load_predicates() -> None:
    """Imports every module that may register a predicate, so that each replay file can be judged."""
    for package in (judge, checks, fuzz):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            importlib.import_module(module.name)


@functools.cache
def load_generators() -> None:
    """Imports all that generated requests need, before threads begin with it, and makes a few unsent ones.

    Hypothesis and schemathesis import parts of themselves when they are first used. Their imports go in
    circles, of which a second thread at the same moment sees half-made modules.
    """
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
