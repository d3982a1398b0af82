"""What the processes of a run may send, by the limits of its target."""

from __future__ import annotations

from conformance.target.model import Limits
from conformance.wire.allowance import Account, Allowance, Kind


def allowance(limits: Limits, started: float, account: Account, processes: int = 1) -> Allowance:
    """What one of several processes may send in a run that started at a moment (Unix seconds)."""
    most = {}
    if limits.max_requests is not None:
        most[Kind.REQUESTS] = (
            limits.max_requests,
            f"the {limits.max_requests:,} requests that the run may send were used up (--max-requests)",
        )
    end = None if limits.run_timeout is None else started + limits.run_timeout
    over = f"the run's time was over ({limits.run_timeout:g} s, --run-timeout)" if end is not None else ""
    return Allowance(
        account,
        most=most,
        end=end,
        over=over,
        requests_per_second=limits.requests_per_second,
        processes=processes,
    )
