"""Property-based testing: what no hand-written check foresaw, with the smallest requests that show it.

Three tests share the package; each runs in parts that workers share out, and imports nothing before a part
runs:

    schema      explore drives one operation: cases from generation (schemathesis, through views), mutations
                and explicit_cases meet the resources of operation_fixtures, with own_values where a server
                may want them unique; conformance.judge.oracle says what the answer must be
    stateful    state_machine draws sequences of requests, executor sends them (with repeating, walking and
                sender) and compares the answers with model
    histories   history records concurrent clients in keys, wallets, beneficiaries and nonces;
                linearizability looks for a legal order

All of them judge into the recorder of engine, which keeps Hypothesis within seeds and budget, and whose
failures conformance.replay writes into files that anybody can send again.
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
