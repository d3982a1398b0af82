"""`conformance merge`: the results of several parts of one run (--shard) as the results of the whole.

The whole is judged anew from the findings of its parts, so the verdict is that of a run that was never split.
"""

from __future__ import annotations

import argparse
import math
from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from conformance.cli.main import UsageError
from conformance.contract.rules import Level
from conformance.judging.findings import Finding, Verdict
from conformance.report.write import write_all
from conformance.results import view
from conformance.results.document import RunInfo, build
from conformance.results.evidence import document_exchanges
from conformance.results.latency import EDGES
from conformance.results.model import Results
from conformance.results.shards import parse_shard

#: Added to the numbers of a part's exchanges, so that those of no two parts are the same.
PART = 100_000_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the subcommand."""
    parser.description = (
        "Puts together what the parts of one run found (--shard), and writes all reports of the whole."
    )
    parser.add_argument(
        "results",
        type=Path,
        nargs="+",
        metavar="RESULTS",
        help="results.json of a part, or the folder it is in",
    )
    parser.add_argument(
        "--report-dir",
        type=Path,
        metavar="DIR",
        default=Path("reports"),
        help="where the whole goes (default: reports/)",
    )


def run(options: argparse.Namespace) -> int:
    """Writes the whole and returns its exit status, as the run would have. Raises UsageError."""
    try:
        document = merged([view.load(path) for path in options.results])
    except view.DocumentError as error:
        raise UsageError(str(error)) from None
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UsageError(f"the results cannot be put together: {error}.") from None
    try:
        for path in write_all(document, options.report_dir):
            print(path)
    except OSError as error:
        raise UsageError(f"{options.report_dir}: the reports cannot be written ({error.strerror}).") from None
    print(document["verdict"]["sentence"])
    status: int = document["verdict"]["exit_status"]
    return status


def merged(parts: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The results document of the whole. Raises ValueError for parts that do not belong together."""
    _same(parts, "version of the suite", lambda part: part["suite"]["version"])
    _same(parts, "--fail-on", lambda part: part["verdict"]["fail_on"])
    if not all(part["run"]["embedded"] for part in parts):
        _same(parts, "base_url", lambda part: part["target"]["base_url"])
    results, exchanges = Results(None), {}
    for index, part in enumerate(parts):
        _take(results, part, index * PART)
        exchanges |= {
            int(number) + index * PART: {**one, "number": int(number) + index * PART}
            for number, one in part["exchanges"].items()
        }
    results.selection = _selection(parts)
    document = build(results, None, _info(parts))
    # What no Results holds: these are taken from the parts as they are.
    document["target"] = parts[0]["target"]
    document["exchanges"] = document_exchanges(document["cells"], exchanges)
    document["latency"] = _latency([row for part in parts for row in part["latency"]])
    document["replays"] = {name: replay for part in parts for name, replay in part["replays"].items()}
    return document


def _same(parts: Sequence[dict[str, Any]], what: str, value: Any) -> None:
    values = sorted({str(value(part)) for part in parts})
    if len(values) > 1:
        raise ValueError(f"the parts differ in their {what}: {' and '.join(values)}")


def _take(results: Results, part: dict[str, Any], shift: int) -> None:
    for cell in part["cells"]:
        mine = results.cells[cell["rule"], cell["operation"]]
        if cell["verdict"] == Verdict.NOT_APPLICABLE and mine.verdict is Verdict.NOT_RUN:
            mine.verdict, mine.summary = Verdict.NOT_APPLICABLE, cell["summary"]
        mine.known = mine.known or cell["known"]
        for plain in cell["findings"]:
            fields = {key: value for key, value in plain.items() if key != "seconds"}
            fields["exchanges"] = [number + shift for number in plain["exchanges"]]
            results.add(Finding.from_plain({**fields, "rule": cell["rule"], "operation": cell["operation"]}))
    results.sent += part["run"]["requests"]
    results.errors += part["errors"]
    results.lost = results.lost or part["lost"]


def _selection(parts: Sequence[dict[str, Any]]) -> str:
    """How the whole was narrowed: not at all by being split if every part is there."""
    rest, shards, wanted = [], set(), 1
    for part in parts:
        shard = part["run"]["options"].get("shard")
        others = (
            part["run"]["selection"].replace(f"--shard {shard}", "").strip()
            if shard
            else part["run"]["selection"]
        )
        if shard:
            number, wanted = parse_shard(shard)
            shards.add(number)
        if others and others not in rest:
            rest.append(others)
    if shards and shards != set(range(1, wanted + 1)):
        missing = sorted(set(range(1, wanted + 1)) - shards)
        raise ValueError(f"the parts {', '.join(map(str, missing))} of {wanted} are missing")
    return "; ".join(rest)


def _info(parts: Sequence[dict[str, Any]]) -> RunInfo:
    runs = [part["run"] for part in parts]
    seeds = {one["seed"] for one in runs}
    options = dict(runs[0]["options"])
    options.pop("shard", None)
    return RunInfo(
        started=min(datetime.fromisoformat(one["started"]).timestamp() for one in runs),
        ended=max(datetime.fromisoformat(one["ended"]).timestamp() for one in runs),
        seed=seeds.pop() if len(seeds) == 1 else None,
        options={**options, "parts": str(len(parts))},
        embedded=all(one["embedded"] for one in runs),
        interrupted=next((one["interrupted"] for one in runs if one["interrupted"]), ""),
        workers=sum(one["workers"] for one in runs),
        fail_on=Level(parts[0]["verdict"]["fail_on"]),
    )


def _latency(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows of each operation as one; its quantiles are those of the summed histogram, so upper bounds."""
    by_operation: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        by_operation.setdefault(row["operation"], []).append(row)
    return [
        _summed(operation, of_it) if len(of_it) > 1 else of_it[0] for operation, of_it in by_operation.items()
    ]


def _summed(operation: str, rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    statuses: Counter[str] = Counter()
    for row in rows:
        statuses.update(row["statuses"])
    histogram = [sum(counts) for counts in zip(*(row["histogram"] for row in rows), strict=True)]
    longest = max((row["max"] for row in rows if row["max"] is not None), default=None)
    return {
        "operation": operation,
        "exchanges": sum(row["exchanges"] for row in rows),
        "statuses": dict(sorted(statuses.items())),
        "p50": _bound(histogram, 0.5, longest),
        "p95": _bound(histogram, 0.95, longest),
        "max": longest,
        "histogram": histogram,
    }


def _bound(histogram: Sequence[int], share: float, longest: float | None) -> float | None:
    if longest is None:
        return None
    wanted, seen = max(math.ceil(share * sum(histogram)), 1), 0
    for count, edge in zip(histogram, (*EDGES, math.inf), strict=True):
        seen += count
        if seen >= wanted:
            return min(edge, longest)
    return longest
