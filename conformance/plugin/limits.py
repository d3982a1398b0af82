"""The budget of each process of a run, by the limits of its target."""

from __future__ import annotations

from conformance.plugin.known import Numbers
from conformance.target.model import Limits
from conformance.wire.budget import Budget, Quantity


def budget(
    limits: Limits,
    started: float,
    announced: Numbers | None = None,
    *,
    processes: int = 1,
    spent: int = 0,
) -> Budget:
    """The budget of one of several processes, which share the numbers and the rate out evenly.

    The run began at `started` (Unix seconds), has announced not to exceed some numbers, and has `spent`
    requests before the processes began.
    """
    most = {}
    if announced is not None:
        numbers = (announced.requests, announced.creations, announced.payouts)
        for kind, number in zip(Quantity, numbers, strict=True):
            reason = f"the run would have gone far beyond the {number:,} {kind} that it announced at most"
            most[kind] = number // processes, reason
    requests = limits.max_requests
    if requests is not None and (announced is None or requests < announced.requests):
        reason = f"the {requests:,} requests that the run may send were used up (--max-requests)"
        most[Quantity.REQUESTS] = max(requests - spent, 0) // processes, reason
    end = None if limits.run_timeout is None else started + limits.run_timeout
    over = f"the run's time was over ({limits.run_timeout:g} s, --run-timeout)" if end is not None else ""
    rate = limits.requests_per_second / processes
    return Budget(most=most, end=end, over=over, requests_per_second=rate)
