"""Compares the verdicts of runs that are spread over lanes, processes and shards.

Judges the same server with one lane, with 16 lanes, in two processes (-n 2) and in three shards that are
merged, each time new and with nothing in it, and prints each case that comes to another verdict than with one
lane. The servers are faults of the catalogue, drawn by --seed, and conforming variants. Generated requests
depend on what meets by chance, so that they are left out by default. A server takes some two minutes;
--only, --spread and, with more options of the runs, --options make it less.
"""

from __future__ import annotations

import argparse
import random
import shlex
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conformance.cli.merge import merged
from conformance.reference.behaviour import Behaviour
from conformance.reference.seed import new_server, target_tables
from conformance.reference.serving.listener import served
from conformance.report import view
from tests.faults.catalogue import Fault, load
from tests.prove import pool, selection
from tests.support.running import run, write_target
from tests.variants.catalogue import VARIANTS, Variant
from tests.variants.serving import serving

#: Ways to spread a run -> the options of each of its parts.
SPREADS: dict[str, tuple[tuple[str, ...], ...]] = {
    "one lane": (("--lanes", "1"),),
    "16 lanes": (("--lanes", "16"),),
    "-n 2": (("--lanes", "1", "-n", "2"),),
    "3 merged shards": tuple(("--lanes", "1", "--shard", f"{part}/3") for part in (1, 2, 3)),
}

#: All but the first, with which they are compared.
OTHERS = tuple(SPREADS)[1:]

#: Rule and operation -> verdict.
Verdicts = dict[tuple[str, str], str]


#: A context that serves a new server with nothing in it; gives the tables of its target file.
Serving = Callable[[], AbstractContextManager[dict[str, Any]]]


@dataclass(frozen=True)
class Judged:
    """A server to judge: its name, and what serves it."""

    name: str
    serving: Serving

    @classmethod
    def fault(cls, fault: Fault) -> Judged:
        """A faulty server."""
        return cls(fault.id, lambda: serving_behaviour(fault.make()))

    @classmethod
    def variant(cls, variant: Variant) -> Judged:
        """A conforming server."""
        return cls(variant.name, lambda: serving(variant, number=1))


@contextmanager
def serving_behaviour(behaviour: Behaviour) -> Iterator[dict[str, Any]]:
    """Serves a server of a behaviour while the context lasts; gives the tables of its target file."""
    server, seeded = new_server(behaviour, number=1)
    with served(server, threads=True) as url:
        yield target_tables(seeded, url)


def verdicts(judged: Judged, spread: str, options: Sequence[str], folder: Path) -> Verdicts:
    """What a run comes to that is spread so. Raises RuntimeError where it has no results."""
    with judged.serving() as tables:
        target = write_target(folder / "target.toml", tables)
        parts = []
        for number, more in enumerate(SPREADS[spread]):
            reports = folder / f"{spread} {number}"
            outcome = run(
                "--target", str(target), "--seed", "1", *options, *more, folder=reports, timeout=900
            )
            # A part may have no test.
            if outcome.status not in (0, 1, 5, 6):
                raise RuntimeError(
                    f"{judged.name}, {spread}: exit status {outcome.status}:\n{outcome.output[-2000:]}"
                )
            if (reports / "results.json").exists():
                parts.append(view.load(reports))
    document = merged(parts) if len(SPREADS[spread]) > 1 else parts[0]
    return {case.key: str(case.verdict) for case in document.cells}


def differences(
    judged: Judged, options: Sequence[str], spreads: Sequence[str] = tuple(SPREADS)
) -> Iterator[str]:
    """A line for each case whose verdict depends on how the run was spread."""
    first, *others = spreads
    with tempfile.TemporaryDirectory() as folder:
        usual = verdicts(judged, first, options, Path(folder))
        for spread in others:
            found = verdicts(judged, spread, options, Path(folder))
            for rule, operation in sorted(usual.keys() | found.keys()):
                was, now = (some.get((rule, operation), "absent") for some in (usual, found))
                if was != now:
                    yield f"{judged.name}: {rule} on {operation}: {was} with {first}, {now} with {spread}"


def servers(faults: int, variants: int, seed: int) -> list[Judged]:
    """Servers drawn at random."""
    rng = random.Random(seed)
    chosen = [Judged.fault(fault) for fault in rng.sample(load(), faults)]
    some = rng.sample(VARIANTS, min(variants, len(VARIANTS)))
    return chosen + [Judged.variant(variant) for variant in some]


def named(words: Sequence[str]) -> list[Judged]:
    """The servers that are called so; of a word that is nobody's name, those whose names hold it."""
    every = [*map(Judged.fault, load()), *map(Judged.variant, VARIANTS)]
    names = {judged.name for judged in every}
    return [
        judged
        for judged in every
        if any(word == judged.name if word in names else word in judged.name for word in words)
    ]


def options(parser: argparse.ArgumentParser) -> None:
    """Declares what the command line takes."""
    parser.add_argument("--faults", type=int, default=5, metavar="N", help="faulty servers (5)")
    parser.add_argument("--variants", type=int, default=100, metavar="N", help="variants (all)")
    selection.seed(parser, 1)
    parser.add_argument(
        "--only",
        action="append",
        default=[],
        metavar="TEXT",
        help="in their place the server of this name, or those with this in their name (repeatable)",
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


def prove(options: argparse.Namespace) -> bool:
    """Judges the servers; whether no verdict differs."""
    drawn = (options.faults, options.variants, options.seed)
    chosen = selection.some(named(options.only) if options.only else servers(*drawn), "server")
    spreads = ("one lane", *(options.spread or OTHERS))
    differed = 0
    # One at a time: each runs processes of its own.
    for judged, lines in pool.mapped(lambda one: _lines(one, options.options, spreads), chosen, 1, "servers"):
        print("\n".join([*lines, f"{judged.name}: {len(lines)} differ"]), flush=True)
        differed += len(lines)
    print(f"{differed} verdicts differ")
    return not differed


def _lines(judged: Judged, options: Sequence[str], spreads: Sequence[str]) -> list[str]:
    try:
        return list(differences(judged, options, spreads))
    except RuntimeError as error:
        return [str(error)]
