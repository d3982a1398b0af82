"""On servers that answer late: lanes against latency, and the whole run against what it could take."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from . import runs, servers
from .table import Row

LANES = (1, 2, 4, 8, 16, 32)
LATENCIES = (0.0, 0.010, 0.050, 0.150)

#: Latency and lanes of the run that the aim is about.
LATENCY, MOST = 0.030, 16


def lanes(options: Sequence[str]) -> Iterator[str]:
    """A Markdown table: seconds of a run by lanes and latency. With one lane every request waits for the one
    before it, so that its time is also known beforehand."""
    yield f"| lanes | {' | '.join(f'{latency * 1000:.0f} ms' for latency in LATENCIES)} |"
    yield f"|---:|{'---:|' * len(LATENCIES)}"
    for number in LANES:
        found = []
        for latency in LATENCIES:
            with servers.target(latency) as target:
                found.append(runs.suite(target, "--lanes", str(number), *options).seconds)
        yield f"| {number} | {' | '.join(f'{seconds:.1f} s' for seconds in found)} |"


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
