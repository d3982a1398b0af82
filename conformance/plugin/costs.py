"""What tests send to a conforming server, measured on the reference server.

`python -m conformance.plugin.costs` measures anew and writes the tables beside this module: how many requests
each check sends, what it creates, the same of the generated requests, and which checks together see every
kind of answer that a rule of every response judges.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterable, Mapping
from importlib import resources
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

#: What tells one kind of answer from another: its status; of a refusal the error code, of a success the names
#: of what was sent.
Kind = tuple[int | None, str]


@functools.cache
def _table(name: str) -> dict[str, Any]:
    try:
        text = resources.files("conformance.plugin").joinpath(f"{name}.json").read_text("utf-8")
    except FileNotFoundError:
        return {}
    table: dict[str, Any] = json.loads(text)
    return table


def requests(check: str, operation: str) -> int:
    """The requests that a check sends."""
    found: int = _table("costs").get(check, {}).get(operation, 0)
    return found


def estimate(nodeids: Iterable[str]) -> int:
    """The requests that tests with these node ids send, on a conforming server without a generated case."""
    return sum(requests(*named(nodeid)) for nodeid in nodeids)


def of(nodeid: str) -> int:
    """The requests that one test sends."""
    return requests(*named(nodeid))


def known(name: str, parameter: str) -> bool:
    """Whether it was measured what a check sends on an operation, or a part of the generated requests."""
    return any(parameter in _table(table).get(name, {}) for table in ("costs", "generated"))


def creations(check: str, operation: str) -> tuple[int, int]:
    """The resources that a check creates, and the payouts among them."""
    created, payouts = _table("creations").get(check, {}).get(operation, (0, 0))
    return created, payouts


def generated(exploration: str, part: str) -> tuple[int, int, int]:
    """The requests of a part of the generated ones with the default of examples, the resources that they
    create, and the payouts among them."""
    sent, created, payouts = _table("generated").get(exploration, {}).get(part, (0, 0, 0))
    return sent, created, payouts


def named(nodeid: str) -> tuple[str, str]:
    """The check, or exploration, that a test is, and its operation or part."""
    path, _, rest = nodeid.partition("::")
    name, _, operation = rest.partition("[")
    return f"{Path(path).stem}.{name}", operation.rstrip("]")


def telling(rule: str, operation: str) -> frozenset[str]:
    """The checks that together see every kind of answer of an operation that a rule of every response
    judges."""
    return frozenset(_table("answers").get(rule, {}).get(operation, ()))


# ---------------------------------------------------------------------- measuring


def measure() -> dict[str, dict[str, Any]]:
    """Runs every check on a reference server in this process, and then the generated requests; returns the
    tables by name."""
    from conformance.checks import plan
    from conformance.harness.check import run_check
    from conformance.reference.seed import new_server, target_tables
    from conformance.reference.serving.transport import InProcessTransport
    from conformance.target.file import build
    from conformance.world.run_context import RunContext

    server, seeded = new_server()
    run = RunContext(
        build(target_tables(seeded, "http://reference.test"), "reference"), InProcessTransport(server)
    )
    costs: dict[str, dict[str, int]] = {}
    created: dict[str, dict[str, list[int]]] = {}
    #: (rule, operation) -> check -> the kinds of answers that the check made the rule judge.
    kinds: dict[tuple[str, str], dict[str, set[Kind]]] = {}
    current = [""]
    run.invariants.inspect = _watched(run.invariants, kinds, current)  # type: ignore[assignment,method-assign]
    for check, operation in plan():
        # What a check does to other operations counts for these only where it runs on them, too.
        current[0] = check.name
        before = _sent(run)
        run_check(check, operation, run)
        sent, *made = _since(before, run)
        costs.setdefault(check.name, {})[operation] = sent
        if any(made):
            created.setdefault(check.name, {})[operation] = made
    answers = _least(kinds, costs)
    run.pause = lambda seconds: None
    for check, operation in plan(deep=True):
        if check.deep:
            before = _sent(run)
            run_check(check, operation, run)
            sent, *made = _since(before, run)
            costs.setdefault(check.name, {})[operation] = sent
            created.setdefault(check.name, {})[operation] = made
    return {"costs": costs, "creations": created, "answers": answers, "generated": _explored(run)}


def _explored(run: Any) -> dict[str, dict[str, list[int]]]:
    """What each part of the generated requests sends and creates."""
    from conformance.harness.exploration import EXPLORATIONS, FuzzSettings

    found: dict[str, dict[str, list[int]]] = {}
    for exploration in EXPLORATIONS.values():
        for part in exploration.parts:
            before = _sent(run)
            exploration.function(run, part, FuzzSettings(seed=0))
            found.setdefault(exploration.name, {})[part] = _since(before, run)
    return found


def _sent(run: Any) -> list[int]:
    """What a run has sent, created and paid out."""
    made = run.made.resources
    return [run.sent, len(made), sum(resource.operation == "createPayout" for resource in made)]


def _since(before: list[int], run: Any) -> list[int]:
    return [now - then for now, then in zip(_sent(run), before, strict=True)]


def _watched(
    invariants: Any, kinds: dict[tuple[str, str], dict[str, set[Kind]]], current: list[str]
) -> Callable[[Any], None]:
    inspect = invariants.inspect

    def watched(exchange: Any) -> None:
        before = {key: tally.judged for key, tally in invariants.tallies.items()}
        inspect(exchange)
        for key, tally in invariants.tallies.items():
            if tally.judged > before.get(key, 0):
                kinds.setdefault(key, {}).setdefault(current[0], set()).add(_kind(exchange))

    return watched


def _kind(exchange: Any) -> Kind:
    if not exchange.succeeded:
        return exchange.status, str(exchange.error_code)
    try:
        body = json.loads(exchange.request_body or b"{}")
    except ValueError:
        body = {}
    names = [
        *(body if isinstance(body, dict) else ()),
        *(name for name, _ in parse_qsl(exchange.call.query, keep_blank_values=True)),
    ]
    return exchange.status, " ".join(sorted(set(names)))


def _least(
    kinds: Mapping[tuple[str, str], Mapping[str, set[Kind]]], costs: Mapping[str, Mapping[str, int]]
) -> dict[str, dict[str, list[str]]]:
    """For each rule and operation the cheapest checks that together saw every kind of answer."""
    chosen: dict[str, dict[str, list[str]]] = {}
    for (rule, operation), by_check in sorted(kinds.items()):
        candidates = {check: seen for check, seen in by_check.items() if operation in costs.get(check, {})}
        missing = set().union(*candidates.values()) if candidates else set()
        names = []
        while missing:
            best = max(
                candidates,
                key=lambda check: (
                    len(candidates[check] & missing) / max(costs[check][operation], 1),
                    check,
                ),
            )
            names.append(best)
            missing -= candidates[best]
        chosen.setdefault(rule, {})[operation] = sorted(names)
    return chosen


if __name__ == "__main__":
    for name, table in measure().items():
        Path(__file__).with_name(f"{name}.json").write_text(
            json.dumps(table, indent=0, sort_keys=True) + "\n", "utf-8"
        )
