"""On servers that answer late: lanes against latency, and the whole run against what it could take."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

from . import runs, servers
from .table import Row

LANES = (1, 2, 4, 8, 16, 32)
#: In milliseconds.
LATENCIES = (0.0, 10.0, 50.0, 150.0)

#: Options of the runs that measure lanes, by default: short tests of some 450 requests in all, as a whole run
#: takes half an hour in one lane at 150 ms.
REDUCED = ("-m", "not fuzz", "--operation", "getVirtualAccount", "--operation", "getAccountBalances")

#: Latency and lanes of the run that the aim is about.
LATENCY, MOST = 0.030, 16


def lanes(options: Sequence[str], numbers: Sequence[float], latencies: Sequence[float]) -> Iterator[str]:
    """A Markdown table: seconds of a run by lanes and latency, and how many times as fast that is as with the
    first number of lanes."""
    requests = 0
    yield f"| lanes | {' | '.join(f'{latency:g} ms' for latency in latencies)} |"
    yield f"|---:|{'---:|' * len(latencies)}"
    first: list[float] = []
    for number in numbers:
        found = []
        for latency in latencies:
            with servers.target(latency / 1000) as target:
                run = runs.suite(target, "--lanes", f"{number:g}", *options)
            found.append(run.seconds)
            requests = max(requests, run.requests)
        first = first or found
        cells = [f"{now:.1f} s ({then / now:.1f})" for now, then in zip(found, first, strict=True)]
        yield f"| {number:g} | {' | '.join(cells)} |"
    yield f"Runs of {shlex.join(options)}: {requests:,} requests at most, start and reports included."


def whole(options: Sequence[str] = ()) -> Row:
    """A run at 30 ms over what its requests take in 16 lanes and its own time takes."""
    with servers.target() as target:
        near = runs.suite(target, "--lanes", "1", "--seed", "1", *options)
    with servers.target(LATENCY) as target:
        far = runs.suite(target, "--lanes", str(MOST), "--seed", "1", *options)
    possible = far.requests * LATENCY / MOST + near.seconds
    what = " ".join(options) or "the whole default run"
    return Row(
        f"{what} at 30 ms over requests x latency / 16 lanes + its own time",
        far.seconds / possible,
        "<= 1.5",
        f"{far.seconds:.1f} s to {far.requests:,} x 30 ms / 16 + {near.seconds:.1f} s",
    )
