"""`conformance merge`: merges the results of the parts of one run (--shard).

Merges the results of the parts of one run (--shard), and writes all reports. The verdict is that of the same
run without parts.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path, PurePosixPath
from typing import Any

from msgspec.structs import replace

from conformance._files import InputError
from conformance._options import parse_shard
from conformance.cli.main import add_options, add_results
from conformance.judge.ledger import Ledger
from conformance.replay import format as replay_files
from conformance.replay import load
from conformance.report import view
from conformance.report.building import REPLAYS, RunInfo, build
from conformance.report.document import Document
from conformance.report.write import write_all

#: The folder of replay files in the paths of findings.
FOLDER = "replays"

#: Contents of replay files by path.
Replays = dict[str, dict[str, Any]]

#: Offset between the exchange numbers of successive parts, so that they are unique.
PART = 100_000_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_results(parser, "a part")
    add_options(parser, "report-dir")


def run(options: argparse.Namespace) -> int:
    """Writes the merged results and returns the exit status of the whole run. Raises InputError."""
    try:
        parts = [view.load(path) for path in options.results]
        replays = [
            replays_of(part, path if path.is_dir() else path.parent)
            for part, path in zip(parts, options.results, strict=True)
        ]
        document = merged(parts, replays, options.report_dir)
    except ValueError as error:
        raise InputError(f"the results cannot be put together: {error}.") from None
    try:
        for number, files in enumerate(replays, 1):
            for name, content in files.items():
                replay_files.write(content, options.report_dir / _placed(name, number))
        paths, problems = write_all(document, options.report_dir)
    except OSError as error:
        raise InputError(f"{options.report_dir}: the reports cannot be written ({error.strerror}).") from None
    print(*paths, *problems, document.verdict.sentence, sep="\n")
    return document.exit_status(problems)


def merged(
    parts: Sequence[Document], replays: Sequence[Replays] = (), folder: Path | None = None
) -> Document:
    """The results document of the whole run. Raises ValueError for parts that do not belong together.

    `replays` are the replay files of each part, `folder` is where they will be; without them findings name no
    file.
    """
    replays = replays or [{} for _ in parts]
    _same(parts, "version of the suite", lambda part: part.suite.version)
    _same(parts, "--fail-on", lambda part: part.verdict.fail_on)
    _same(parts, "--effort", lambda part: part.run.effort)
    if not all(part.run.embedded for part in parts):
        _same(parts, "base_url", lambda part: part.target.base_url if part.target else "none")
    ledger = Ledger.of_catalogue(None)
    there = {case.key for case in ledger.cells}
    for index, part in enumerate(parts):
        if foreign := [case for case in part.cells if case.key not in there]:
            raise ValueError(
                f"this version of the suite has no rule {foreign[0].rule} on {foreign[0].operation}"
            )
        names = {path: _placed(path, index + 1) for path in replays[index]}
        ledger.merge(_ledger(part, index * PART, names))
    ledger.narrowed, ledger.effort = _narrowed(parts), parts[0].run.effort
    document = build(ledger, None, _info(parts, folder))
    return replace(document, target=parts[0].target, replays=_carried(document, replays))


def replays_of(part: Document, folder: Path) -> Replays:
    """The replay files of a part's findings, from its folder or else from its results."""
    found: Replays = {}
    for path in dict.fromkeys(finding.replay for case in part.cells for finding in case.findings):
        names = PurePosixPath(path).parts
        if names[:1] != (FOLDER,) or ".." in names or "\\" in path or not path.endswith(".json"):
            # Results are untrusted input: only paths below the folder are read.
            continue
        try:
            found[path] = load(folder / path)
        except InputError:
            if path in part.replays:
                found[path] = dict(part.replays[path])
    return found


def _placed(path: str, number: int) -> str:
    """The path of a part's replay file in the merged results: `replays/2/...`; parts are counted from 1."""
    return path.replace(FOLDER, f"{FOLDER}/{number}", 1)


def _carried(document: Document, replays: Sequence[Replays]) -> Replays:
    """The replay files of the first violation of each cause, for the results document."""
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


def _ledger(part: Document, shift: int, replays: Mapping[str, str]) -> Ledger:
    """The ledger of a part, with exchange numbers shifted and replay files renamed."""
    run = part.run
    return Ledger(
        cells=[
            replace(
                case,
                findings=[
                    replace(
                        finding,
                        exchanges=[number + shift for number in finding.exchanges],
                        replay=replays.get(finding.replay, ""),
                    )
                    for finding in case.findings
                ],
            )
            for case in part.cells
        ],
        exchanges={
            number + shift: replace(exchange, number=number + shift)
            for number, exchange in part.exchanges.items()
        },
        latency={row.operation: row for row in part.latency},
        created=list(part.created),
        missing={missing.operation: missing.answered for missing in part.missing},
        known_missing={missing.operation: missing.known for missing in part.missing if missing.known},
        errors=list(part.errors),
        lost=part.lost,
        sent=run.requests,
        waits=run.retries,
        waited=run.waited,
        announced=(run.announced.requests, run.announced.created, run.announced.payouts),
        judged_in_part={
            (rule, operation) for rule, names in run.judged_in_part.items() for operation in names
        },
    )


def _narrowed(parts: Sequence[Document]) -> list[str]:
    """The options that narrow the whole run; --shard only if a part is missing. Raises ValueError."""
    shards, wanted = set(), 1
    rest: list[str] = []
    for part in parts:
        shard = part.run.options.get("shard", "")
        if shard:
            number, wanted = parse_shard(shard)
            shards.add(number)
        if not part.run.narrowed and part.run.selection not in ("", f"--shard {shard}"):
            raise ValueError(
                "a part was written by an older version of the suite, which did not keep apart the options "
                "that narrowed it; run the parts again with this one"
            )
        rest += [option for option in part.run.narrowed if option != f"--shard {shard}"]
    if shards and shards != set(range(1, wanted + 1)):
        missing = sorted(set(range(1, wanted + 1)) - shards)
        raise ValueError(f"the parts {', '.join(map(str, missing))} of {wanted} are missing")
    return list(dict.fromkeys(rest))


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
