"""`conformance merge`: the results of several parts of one run (--shard) as the results of the whole.

Puts together what the parts of one run found (--shard), and writes all reports of the whole. The verdict is
that of a run that was never split.
"""

from __future__ import annotations

import argparse
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path, PurePosixPath
from typing import Any

from msgspec.structs import replace

from conformance.cli.main import UsageError
from conformance.judge.exchanges import ExchangeRecord
from conformance.judge.findings import Finding, Verdict
from conformance.replay import ReplayError, load
from conformance.replay import document as replay_files
from conformance.report import view
from conformance.report.building import REPLAYS, RunInfo, build
from conformance.report.document import CaseRecord, Document, FindingRecord, LatencyRecord
from conformance.report.evidence import document_exchanges
from conformance.report.latency import EDGES
from conformance.report.model import Results
from conformance.report.shards import parse_shard
from conformance.report.write import write_all

#: The folder of a run's replay files, as its findings name them.
FOLDER = "replays"

#: Path -> content of replay files.
Replays = dict[str, dict[str, Any]]

#: Added to the numbers of a part's exchanges, so that those of no two parts are the same.
PART = 100_000_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the subcommand."""
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
        parts = [view.load(path) for path in options.results]
        replays = [
            replays_of(part, path if path.is_dir() else path.parent)
            for part, path in zip(parts, options.results, strict=True)
        ]
        document = merged(parts, replays, options.report_dir)
    except ValueError as error:
        raise UsageError(f"the results cannot be put together: {error}.") from None
    try:
        for number, files in enumerate(replays, 1):
            for name, content in files.items():
                replay_files.write(content, options.report_dir / _placed(name, number))
        for path in write_all(document, options.report_dir):
            print(path)
    except OSError as error:
        raise UsageError(f"{options.report_dir}: the reports cannot be written ({error.strerror}).") from None
    print(document.verdict.sentence)
    return document.verdict.exit_status


def merged(
    parts: Sequence[Document], replays: Sequence[Replays] = (), folder: Path | None = None
) -> Document:
    """The results document of the whole. Raises ValueError for parts that do not belong together.

    `replays` are their replay files and `folder` where the whole will be; without them findings name no file.
    """
    replays = replays or [{} for _ in parts]
    _same(parts, "version of the suite", lambda part: part.suite.version)
    _same(parts, "--fail-on", lambda part: part.verdict.fail_on)
    _same(parts, "--effort", lambda part: part.run.effort)
    if not all(part.run.embedded for part in parts):
        _same(parts, "base_url", lambda part: part.target.base_url if part.target else "none")
    results = Results(None)
    exchanges: dict[int, ExchangeRecord] = {}
    for index, part in enumerate(parts):
        shift = index * PART
        _take(results, part, shift, {path: _placed(path, index + 1) for path in replays[index]})
        for number, exchange in part.exchanges.items():
            exchanges[int(number) + shift] = replace(exchange, number=int(number) + shift)
    results.selection = _selection(parts)
    results.effort = parts[0].run.effort
    results.judged_in_part = {
        (rule, operation)
        for part in parts
        for rule, operations in part.run.judged_in_part.items()
        for operation in operations
    }
    document = build(results, None, _info(parts, folder))
    # What no Results holds: these are taken from the parts as they are.
    return replace(
        document,
        target=parts[0].target,
        exchanges=document_exchanges(document.cells, exchanges),
        latency=_latency([row for part in parts for row in part.latency]),
        replays=_carried(document, replays),
    )


def replays_of(part: Document, folder: Path) -> Replays:
    """The replay files that findings of a part name, from the folder of the part or else from its results."""
    found: Replays = {}
    for path in dict.fromkeys(finding.replay for case in part.cells for finding in case.findings):
        names = PurePosixPath(path).parts
        if names[:1] != (FOLDER,) or ".." in names or "\\" in path or not path.endswith(".json"):
            # Results come from elsewhere, and name nothing but files of their own.
            continue
        try:
            found[path] = load(folder / path)
        except ReplayError:
            if path in part.replays:
                found[path] = dict(part.replays[path])
    return found


def _placed(path: str, number: int) -> str:
    """The path in the whole of a replay file of a part, counted from 1: `replays/2/...`."""
    return path.replace(FOLDER, f"{FOLDER}/{number}", 1)


def _carried(document: Document, replays: Sequence[Replays]) -> Replays:
    """The files of the first violation of each cause, which the results carry."""
    files = {
        _placed(path, number): content
        for number, part in enumerate(replays, 1)
        for path, content in part.items()
    }
    named = dict.fromkeys(cause.first.decisive.replay for cause in view.causes(document))
    return {path: files[path] for path in [path for path in named if path in files][:REPLAYS]}


def _same(parts: Sequence[Document], what: str, value: Callable[[Document], object]) -> None:
    values = sorted({str(value(part)) for part in parts})
    if len(values) > 1:
        raise ValueError(f"the parts differ in their {what}: {' and '.join(values)}")


def _take(results: Results, part: Document, shift: int, replays: Mapping[str, str]) -> None:
    for case in part.cells:
        if case.key not in results.cells:
            raise ValueError(f"this version of the suite has no rule {case.rule} on {case.operation}")
        mine = results.cells[case.key]
        if case.verdict is Verdict.NOT_APPLICABLE and mine.verdict is Verdict.NOT_RUN:
            mine.verdict, mine.summary = Verdict.NOT_APPLICABLE, case.summary
        mine.known = mine.known or case.known
        for finding in case.findings:
            results.add(_finding(case, finding, shift, replays))
    results.sent += part.run.requests
    results.waits += part.run.retries
    results.waited += part.run.waited
    results.made += part.created
    told = part.run.announced
    requests, created, payouts = results.announced
    results.announced = requests + told.requests, created + told.created, payouts + told.payouts
    results.errors += part.errors
    results.lost = results.lost or part.lost
    results.lack({missing.operation: missing.answered for missing in part.missing})
    results.known_missing.update(
        {missing.operation: missing.known for missing in part.missing if missing.known}
    )


def _finding(case: CaseRecord, record: FindingRecord, shift: int, replays: Mapping[str, str]) -> Finding:
    return Finding(
        rule=case.rule,
        operation=case.operation,
        verdict=record.verdict,
        check=record.check,
        summary=record.summary,
        expected=record.expected,
        got=record.got,
        remedy=record.remedy,
        cause=record.cause,
        probes=record.probes,
        exchanges=[number + shift for number in record.exchanges],
        observations=dict(record.observations),
        further=list(record.further),
        exercised=record.exercised,
        replay=replays.get(record.replay, ""),
        confirmed=record.confirmed,
        without_error_body=record.without_error_body,
        lacks=record.lacks,
    )


def _selection(parts: Sequence[Document]) -> str:
    """How the whole was narrowed: not at all by being split if every part is there."""
    rest: list[str] = []
    shards, wanted = set(), 1
    for part in parts:
        shard, others = part.run.options.get("shard"), part.run.selection
        if shard:
            others = others.replace(f"--shard {shard}", "").strip()
            number, wanted = parse_shard(shard)
            shards.add(number)
        if others and others not in rest:
            rest.append(others)
    if shards and shards != set(range(1, wanted + 1)):
        missing = sorted(set(range(1, wanted + 1)) - shards)
        raise ValueError(f"the parts {', '.join(map(str, missing))} of {wanted} are missing")
    return "; ".join(rest)


def _info(parts: Sequence[Document], folder: Path | None) -> RunInfo:
    runs = [part.run for part in parts]
    seeds = {run.seed for run in runs}
    options = {name: value for name, value in runs[0].options.items() if name != "shard"}
    return RunInfo(
        started=min(datetime.fromisoformat(run.started).timestamp() for run in runs),
        ended=max(datetime.fromisoformat(run.ended).timestamp() for run in runs),
        seed=seeds.pop() if len(seeds) == 1 else None,
        options={**options, "parts": str(len(parts))},
        embedded=all(run.embedded for run in runs),
        interrupted=next((run.interrupted for run in runs if run.interrupted), ""),
        workers=sum(run.workers for run in runs),
        fail_on=parts[0].verdict.fail_on,
        folder=folder,
        label=" ".join(dict.fromkeys(run.label for run in runs if run.label)),
    )


def _latency(rows: Sequence[LatencyRecord]) -> tuple[LatencyRecord, ...]:
    """The rows of each operation as one; its quantiles are those of the summed histogram, so upper bounds."""
    by_operation: dict[str, list[LatencyRecord]] = {}
    for row in rows:
        by_operation.setdefault(row.operation, []).append(row)
    return tuple(
        _summed(operation, of_it) if len(of_it) > 1 else of_it[0] for operation, of_it in by_operation.items()
    )


def _summed(operation: str, rows: Sequence[LatencyRecord]) -> LatencyRecord:
    statuses: Counter[str] = Counter()
    for row in rows:
        statuses.update(row.statuses)
    histogram = tuple(sum(counts) for counts in zip(*(row.histogram for row in rows), strict=True))
    longest = max((row.max for row in rows if row.max is not None), default=None)
    return LatencyRecord(
        operation=operation,
        exchanges=sum(row.exchanges for row in rows),
        statuses=dict(sorted(statuses.items())),
        p50=_bound(histogram, 0.5, longest),
        p95=_bound(histogram, 0.95, longest),
        max=longest,
        histogram=histogram,
    )


def _bound(histogram: Sequence[int], share: float, longest: float | None) -> float | None:
    if longest is None:
        return None
    wanted, seen = max(math.ceil(share * sum(histogram)), 1), 0
    for count, edge in zip(histogram, (*EDGES, math.inf), strict=True):
        seen += count
        if seen >= wanted:
            return min(edge, longest)
    return longest
