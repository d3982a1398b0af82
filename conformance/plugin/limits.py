"""What the processes of a run may send, by the limits of its target."""

from __future__ import annotations

from conformance.plugin.plan import Numbers
from conformance.target.model import Limits
from conformance.wire.allowance import Account, Allowance, Kind


def allowance(
    limits: Limits,
    started: float,
    account: Account,
    processes: int = 1,
    announced: Numbers | None = None,
) -> Allowance:
    """What one of several processes may send in a run that started at a moment (Unix seconds), which has
    announced to send no more than some numbers."""
    most = {}
    if announced is not None:
        beyond = "the run would have gone far beyond the {:,} {} that it announced at most"
        most = {
            Kind.REQUESTS: (announced.requests, beyond.format(announced.requests, "requests")),
            Kind.CREATIONS: (announced.creations, beyond.format(announced.creations, "created resources")),
            Kind.PAYOUTS: (announced.payouts, beyond.format(announced.payouts, "payouts")),
        }
    if limits.max_requests is not None and (
        announced is None or limits.max_requests < most[Kind.REQUESTS][0]
    ):
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
