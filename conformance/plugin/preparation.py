"""The server under test before the first check: a user's is awaited and examined."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from conformance._files import InputError
from conformance._text import printable
from conformance.diagnosis.examination import Examination
from conformance.diagnosis.examine import preflight
from conformance.plugin import embedded
from conformance.plugin.options import Options
from conformance.target.file import Target, build, load
from conformance.wire.budget import Budget
from conformance.wire.pace import Pace
from conformance.wire.transport import Transport

#: Seconds between attempts to reach a server that is starting, and the timeout of an attempt.
PAUSE, TRY = 0.2, 2.0

#: Shows a line at once, since this may take a while before pytest prints anything.
Tell = Callable[[str], None]


@dataclass(frozen=True)
class Preparation:
    """The target with the limits of the run, the number of lanes if it is fixed, by how many seconds the
    server's clock is ahead, and the number of requests sent."""

    target: Target
    lanes: int | None = 1
    ahead: float = 0.0
    sent: int = 0


def prepare(
    options: Options,
    environment: Mapping[str, str],
    server: subprocess.Popen[str] | None,
    started: float,
    tell: Tell,
) -> Preparation:
    """Prepares `server`, the embedded one, or a user's that options and environment name, for a run that
    began at `started` (Unix seconds). Raises InputError."""
    if server is not None:
        tables = embedded.tables(server)
        lanes = 1 if options.debugging else options.lanes or 1
        return Preparation(_limited(build(tables, "embedded server"), options), lanes)
    file = Path(options.target) if options.target else None
    target = _limited(load(file, environment, options.base_url), options)
    budget = share(target, started)
    if options.wait:
        _wait_for(target, options.wait, budget, tell)
    tell(printable(f"conformance: examining {target.base_url}"))
    examined = preflight(target, budget=budget)
    return Preparation(
        target, 1 if options.debugging else options.lanes, examined.clock.offset, budget.admitted
    )


def share(target: Target, started: float, processes: int = 1, lanes: int | None = None) -> Budget:
    """The budget of one process of a run that began at `started` (Unix seconds), with its part of the rate,
    and the number of its lanes if it is fixed."""
    timeout = target.limits.run_timeout
    pace = Pace(target.limits.requests_per_second / processes, lanes)
    if timeout is None:
        return Budget(pace=pace)
    over = f"the run's time was over ({timeout:g} s, --run-timeout)"
    return Budget(end=started + timeout, over=over, pace=pace)


def _limited(target: Target, options: Options) -> Target:
    """The target with the limits given by options."""
    return replace(target, limits=replace(target.limits, **options.limits))


def _wait_for(target: Target, seconds: float, budget: Budget, tell: Tell) -> None:
    """Waits until the server answers anything. Raises InputError after so many seconds."""
    end = time.monotonic() + seconds
    hasty = replace(target, limits=replace(target.limits, request_timeout=TRY))
    with Transport(target.tls) as transport:
        examination = Examination(hasty, transport, budget=budget)
        while (answer := examination.listed(target.primary)).status is None:
            if len(examination.exchanges) == 1:
                tell(printable(f"conformance: waiting at most {seconds:g} s for {target.base_url}"))
            if time.monotonic() + PAUSE > end:
                late = f"{target.base_url} did not answer within {seconds:g} s (--wait): {answer.error}."
                raise InputError(printable(late))
            time.sleep(PAUSE)
