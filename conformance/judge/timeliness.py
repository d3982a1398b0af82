"""Plausibility of timestamps (section 2): close to the server's clock, `updated` never before `created`."""

from __future__ import annotations

from conformance.contract import timestamps
from conformance.contract.timestamps import http_date
from conformance.contract.traits import traits_of
from conformance.judge.comparison import objects, same_account, same_instant, show
from conformance.wire.messages import Exchange

#: Maximum difference in seconds of a new timestamp from the server's clock.
MARGIN = 600

#: Members that a create sets to the current time.
_SET = ("created", "initiated_at")

#: Seconds added without a Date header: timestamps of accepted requests are that close to the server's clock.
_WITHOUT_DATE = 300


def before_account(balances: Exchange, listing: Exchange) -> str:
    """The first time of an account's balances that is before the account was created, as a list shows it."""
    created = next(
        (
            timestamps.parse(item.get("created"))
            for item in objects(listing.get("items"))
            if same_account(item.get("id"), balances.get("id"))
        ),
        None,
    )
    for balance in objects(balances.get("balances")):
        updated = timestamps.parse(balance.get("updated_at"))
        if created is not None and updated is not None and created - updated > MARGIN:
            return f"updated_at {show(balance.get('updated_at'))}"
    return ""


def untimely(exchange: Exchange) -> str:
    """Describes an implausible timestamp of a resource in an answer; "" without one. The answer to a create
    must be the original: an idempotent replay is older."""
    now, margin = _clock(exchange)
    if traits_of(exchange.operation).shows_balances:
        stamps = [balance.get("updated_at") for balance in objects(exchange.get("balances"))]
        late = [stamp for stamp in stamps if _ahead(stamp, now) > margin]
        return _words("updated_at", late[0], now) if late else ""
    created = timestamps.parse(exchange.get("created"))
    if created is None:
        return ""
    if traits_of(exchange.operation).creates:
        for name in _SET:
            if abs(_ahead(exchange.get(name), now)) > margin:
                return _words(name, exchange.get(name), now)
    updated, value = timestamps.parse(exchange.get("updated")), exchange.get("updated")
    if _ahead(value, now) > margin:
        return _words("updated", value, now)
    if updated is None or updated >= created or same_instant(value, exchange.get("created")):
        return ""
    return f"updated {show(value)}, before created {show(exchange.get('created'))}"


def _ahead(stamp: object, now: float) -> float:
    """Seconds by which a timestamp is ahead of `now`; 0 if it is none."""
    instant = timestamps.parse(stamp)
    return 0.0 if instant is None else float(instant) - now


def _words(name: str, value: object, now: float) -> str:
    minutes = round(_ahead(value, now) / 60)
    return f"{name} {show(value)}, {abs(minutes)} minutes {'ahead' if minutes > 0 else 'ago'}"


def _clock(exchange: Exchange) -> tuple[float, float]:
    """The server's clock at its answer, in Unix seconds, and the margin to apply."""
    date = http_date(exchange.header("date"))
    return (exchange.arrived, MARGIN + _WITHOUT_DATE) if date is None else (date, MARGIN)
