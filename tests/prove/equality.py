"""Compares the verdicts of whole runs on one server: other parallelism, another seed, a busy machine.

Each server is judged with one lane, then by each row of SPREADS, every time in a new process on a new server.
The servers are faults, variants, and conforming servers with randomly drawn choices. Not proven: a verdict
differs from the run with one lane, a run has no results, or a conforming server is blamed. Generated requests
depend on the seed and are left out by default. A server takes some three minutes; --only, --spread and
--options shorten that.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from conformance.reference.behaviour import Behaviour
from conformance.reference.seed import new_server, target_tables
from conformance.reference.serving.listener import served
from conformance.report.comparison import load as results
from tests.faults.catalogue import Fault, load
from tests.prove import pool, selection
from tests.support.running import run, write_target
from tests.variants.catalogue import VARIANTS
from tests.variants.drawn import drawn
from tests.variants.policies import DailyLimit, FewOfEach
from tests.variants.serving import serving
from tests.variants.variant import Variant

#: Name of a spread -> options of its run.
SPREADS: dict[str, tuple[str, ...]] = {
    "one lane": ("--lanes", "1"),
    "16 lanes": ("--lanes", "16"),
    "-n 2": ("--lanes", "1", "-n", "2"),
    "another seed": ("--lanes", "6", "--seed", "2"),
    "a busy machine": ("-n", "2", "--seed", "3"),
}

#: The spread during which other processes load every core.
BUSY = "a busy machine"

#: Program that loads a core while its parent process lives.
SPIN = "import os\nparent = os.getppid()\nwhile os.getppid() == parent: pass"

#: Choices excluded from drawn servers: once a quota is exhausted, verdicts depend on the order of the checks.
LEFT_OUT = (DailyLimit, FewOfEach)

#: All spreads except the first, the reference.
OTHERS = tuple(SPREADS)[1:]

#: Folder for the reports of servers whose verdicts differ.
KEPT = Path("reports/equality")

#: Rule and operation -> verdict.
Verdicts = dict[tuple[str, str], str]


#: Context manager that serves a new, empty server and yields the tables of its target file.
Serving = Callable[[], AbstractContextManager[dict[str, Any]]]


@dataclass(frozen=True)
class Judged:
    """A server to judge: its name and what serves it."""

    name: str
    serving: Serving
    conforming: bool = False

    @classmethod
    def fault(cls, fault: Fault) -> Judged:
        return cls(fault.id, lambda: serving_behaviour(fault.make()))

    @classmethod
    def variant(cls, variant: Variant) -> Judged:
        return cls(variant.name, lambda: serving(variant, number=1), conforming=True)

    @classmethod
    def drawn(cls, seed: int) -> Judged:
        """Returns a conforming server with choices drawn from a seed."""
        variant = drawn(seed)
        choices = tuple(choice for choice in variant.choices if choice not in LEFT_OUT)
        return cls.variant(replace(variant, name=f"drawn {seed}", choices=choices))


@contextmanager
def serving_behaviour(behaviour: Behaviour) -> Iterator[dict[str, Any]]:
    """Serves a server of a behaviour while the context lasts; yields the tables of its target file."""
    server, seeded = new_server(behaviour, number=1)
    with served(server, threads=True) as url:
        yield target_tables(seeded, url)


@contextmanager
def busy() -> Iterator[None]:
    """Loads every core while the context lasts."""
    with contextlib.ExitStack() as stack:
        for _ in range(os.cpu_count() or 1):
            process = stack.enter_context(subprocess.Popen([sys.executable, "-c", SPIN]))
            stack.callback(process.kill)
        yield


def verdicts(judged: Judged, spread: str, options: Sequence[str], folder: Path) -> Verdicts:
    """Returns the verdicts of a run with this spread, with its reports below `folder`. Raises RuntimeError if
    it has no results."""
    with judged.serving() as tables, busy() if spread == BUSY else contextlib.nullcontext():
        target = write_target(folder / "target.toml", tables)
        words = (f"--target={target}", "--seed", "1", *options, *SPREADS[spread])
        outcome = run(*words, folder=folder / spread, timeout=1800)
        if outcome.status not in (0, 1, 6):
            raise RuntimeError(f"{spread}: exit status {outcome.status}:\n{outcome.output[-2000:]}")
        document = results(folder / spread)
    return {case.key: str(case.verdict) for case in document.cells}


def differences(
    judged: Judged, options: Sequence[str], spreads: Sequence[str], folder: Path
) -> Iterator[str]:
    """Yields a line for each cell whose verdict depends on the spread or blames a conforming server."""
    first, *others = spreads
    usual = verdicts(judged, first, options, folder)
    for spread in others:
        found = verdicts(judged, spread, options, folder)
        for rule, operation in sorted(usual.keys() | found.keys()):
            was, now = (some.get((rule, operation), "absent") for some in (usual, found))
            if was != now:
                yield f"{rule} on {operation}: {was} with {first}, {now} with {spread}"
            elif judged.conforming and now == "failed":
                yield f"{rule} on {operation}: failed, on a conforming server"


def servers(faults: int, variants: int, conforming: int, seed: int) -> list[Judged]:
    """Samples faults and variants with a seed, and adds conforming servers with drawn choices."""
    rng = random.Random(seed)
    chosen = [Judged.fault(fault) for fault in rng.sample(load(), faults)]
    some = rng.sample(VARIANTS, min(variants, len(VARIANTS)))
    return (
        chosen
        + [Judged.variant(variant) for variant in some]
        + list(map(Judged.drawn, range(seed, seed + conforming)))
    )


def named(words: Sequence[str]) -> list[Judged]:
    """Returns the servers of these names; a word that is not a name selects the names that contain it."""
    every = [*map(Judged.fault, load()), *map(Judged.variant, VARIANTS)]
    names = {judged.name for judged in every}
    return [
        judged
        for judged in every
        if any(word == judged.name if word in names else word in judged.name for word in words)
    ]


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--faults", type=int, default=5, metavar="N", help="faulty servers (5)")
    parser.add_argument("--variants", type=int, default=100, metavar="N", help="variants (all)")
    parser.add_argument(
        "--drawn", type=int, default=2, metavar="N", help="conforming servers drawn at random (2)"
    )
    selection.seed(parser, 1)
    parser.add_argument(
        "--only",
        action="append",
        default=[],
        metavar="TEXT",
        help="judge the server of this name instead, or those whose name contains it (repeatable)",
    )
    parser.add_argument(
        "--spread", action="append", choices=OTHERS, help="compare one lane with this only (repeatable)"
    )
    parser.add_argument(
        "--options",
        type=shlex.split,
        default=["-m", "not fuzz"],
        metavar="TEXT",
        help="options of the runs (default: -m 'not fuzz')",
    )
    parser.add_argument(
        "--keep", type=Path, default=KEPT, metavar="DIR", help=f"reports of servers that differ ({KEPT})"
    )


def prove(options: argparse.Namespace) -> bool:
    """Judges the servers; returns True if no verdict differs."""
    drawn_ones = (options.faults, options.variants, options.drawn, options.seed)
    chosen = selection.some(named(options.only) if options.only else servers(*drawn_ones), "server")
    spreads = ("one lane", *(options.spread or OTHERS))

    def lines(place: int) -> list[str]:
        folder = options.keep / str(place)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        try:
            found = list(differences(chosen[place], options.options, spreads, folder))
        except RuntimeError as error:
            found = [str(error)]
        if not found:
            shutil.rmtree(folder)
        return found

    differed = 0
    # One at a time, since each run starts processes of its own.
    for place, found in pool.mapped(lines, range(len(chosen)), 1, "servers"):
        name = chosen[place].name
        kept = f", reports in {options.keep / str(place)}" if found else ""
        print(
            "\n".join([*(f"{name}: {line}" for line in found), f"{name}: {len(found)} differ{kept}"]),
            flush=True,
        )
        differed += len(found)
    print(f"{differed} verdicts differ")
    return not differed
