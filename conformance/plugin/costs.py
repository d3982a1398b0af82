"""How many requests a test sends to a conforming server, measured on the reference server.

`python -m conformance.plugin.costs` measures anew and writes the table beside this module.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable
from importlib import resources
from pathlib import Path


@functools.cache
def table() -> dict[str, dict[str, int]]:
    """Check -> operation -> requests."""
    try:
        text = resources.files("conformance.plugin").joinpath("costs.json").read_text("utf-8")
    except FileNotFoundError:
        return {}
    costs: dict[str, dict[str, int]] = json.loads(text)
    return costs


def estimate(nodeids: Iterable[str]) -> int:
    """The requests that tests with these node ids send, on a conforming server without a generated case."""
    costs = table()
    total = 0
    for nodeid in nodeids:
        path, _, rest = nodeid.partition("::")
        name, _, operation = rest.partition("[")
        total += costs.get(f"{Path(path).stem}.{name}", {}).get(operation.rstrip("]"), 0)
    return total


def measure() -> dict[str, dict[str, int]]:
    """Runs every check on a reference server in this process and counts."""
    from conformance.checks import plan
    from conformance.fixtures.run_context import RunContext
    from conformance.harness.check import run_check
    from conformance.reference.seed import new_server, target_tables
    from conformance.reference.serving.transport import InProcessTransport
    from conformance.target.file import build

    server, seeded = new_server()
    run = RunContext(
        build(target_tables(seeded, "http://reference.test"), "reference"), InProcessTransport(server)
    )
    costs: dict[str, dict[str, int]] = {}
    for check, operation in plan():
        before = run.sent
        run_check(check, operation, run)
        costs.setdefault(check.name, {})[operation] = run.sent - before
    return costs


if __name__ == "__main__":
    Path(__file__).with_suffix(".json").write_text(
        json.dumps(measure(), indent=0, sort_keys=True) + "\n", "utf-8"
    )
