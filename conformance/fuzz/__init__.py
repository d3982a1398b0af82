"""Property-based testing: generated requests, and the smallest of them that show a failure.

Three tests, each in parts that lanes and processes share out; nothing is imported before a part runs:

    schema      single requests of one operation. schema_fuzzing sends examples of several cases: from
                generation (schemathesis) and odd_requests (the corpora of the checks), at the
                resources of operation_fixtures, with own_values where a server may want them unique.
                conformance.judge.oracle says what each answer must be.
    stateful    sequences of requests. state_machine draws them, executor sends them (with walking and sender)
                and compares the answers with reference_model.
    histories   concurrent requests. history records them, linearizability looks for a legal order; contention
                has the kinds of them.

Each judges into the recorder of engine, which runs Hypothesis within seed and budget. conformance.replay
makes a file of each failure.
"""

from __future__ import annotations

import importlib
import pkgutil

from conformance import checks, fuzz, judge


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
