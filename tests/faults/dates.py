"""Servers that misinterpret the dates of filters."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from conformance.reference.context import Context, Record
from conformance.reference.seams.lists import Query
from conformance.reference.store import Condition

from .catalogue import Faulty, Row, faults, seam, seams
from .filters import changes, refuses
from .rows import skipping, where
from .walks import Filtered

SECOND = 1_000_000

MINUTE = 60 * SECOND

DAY = 86_400 * SECOND

#: Kind -> condition for a start_date.
STARTS: dict[str, Callable[[Condition, str], Condition | None]] = {
    "exclusive": lambda condition, text: condition._replace(operator=">"),
    "ignored": lambda condition, text: None,
    "day": lambda condition, text: condition._replace(value=condition.value // DAY * DAY),
    "second": lambda condition, text: condition._replace(value=condition.value // SECOND * SECOND),
    "next second": lambda condition, text: condition._replace(value=-(-condition.value // SECOND) * SECOND),
    "end": lambda condition, text: condition._replace(operator="<"),
    "an hour": lambda condition, text: condition._replace(value=condition.value - 3600 * SECOND),
    "an hour later": lambda condition, text: condition._replace(value=condition.value + 3600 * SECOND),
}


def comparing_texts(name: str, holds: Callable[[str, str], bool]) -> Row:
    """Makes a row that compares timestamps and a filter as texts."""

    def conditions(self: Any, ctx: Context, query: Query) -> list[Condition]:
        ctx.notes["text"] = query.get(name, [""])[0]
        others = {other: values for other, values in query.items() if other != name}
        return self.usual(ctx, others)  # type: ignore[no-any-return]

    def listed(self: Any, ctx: Context, records: list[Record]) -> list[Record]:
        text = ctx.notes["text"]
        return [
            each for each in records if not text or holds(self.timestamp_text(ctx, each["created"]), text)
        ]

    return seams({"conditions": conditions, "listed": listed}, base=Filtered)


class StopsBeforeTheMinute(Faulty):
    """Creates nothing in the last second of a minute, after which no date lies in the minute."""

    def instant(self, ctx: Context) -> int:
        now = super().instant(ctx)
        return now - now % MINUTE // 2


ENDS: dict[str, Callable[[Condition, str], Condition | None]] = {
    "inclusive": lambda condition, text: condition._replace(operator="<="),
    "ignored": lambda condition, text: None,
    "end of day": lambda condition, text: condition._replace(value=-(-condition.value // DAY) * DAY),
    "end of second": lambda condition, text: condition._replace(
        value=condition.value // SECOND * SECOND + SECOND
    ),
    "second": lambda condition, text: condition._replace(value=condition.value // SECOND * SECOND),
    "start": lambda condition, text: condition._replace(operator=">="),
    "an hour": lambda condition, text: condition._replace(value=condition.value + 3600 * SECOND),
    "an hour earlier": lambda condition, text: condition._replace(value=condition.value - 3600 * SECOND),
    "nothing": lambda condition, text: condition._replace(value=0),
}


def _without_minutes(self: Any, ctx: Context, query: Query, name: str) -> int:
    ahead = query[name][0][-6] == "+"
    return int(self.usual()) + (1800 if ahead else -1800) * SECOND


faults["list.date-offset"] |= {
    "The offset of a date is ignored.": where(
        "parameter",
        lambda self, ctx, query, name: name.endswith("_date"),
        lambda self, *_: (text := self.usual()) and re.sub("[+-][0-9]{2}:[0-9]{2}$", "Z", text),
    ),
    "Of the offset of a date only the hours are read.": where(
        "date", lambda self, ctx, query, name: query.get(name, [""])[0].endswith(":30"), _without_minutes
    ),
}


def _in_milliseconds(self: Any, read: Condition, text: str) -> Condition:
    steps = read.value // 1000 if self.value == "cut" else -(-read.value // 1000)
    return read._replace(value=steps * 1000)


for name, which, article, kinds, holds in (
    ("start_date", "at or after", "A", STARTS, str.__ge__),
    ("end_date", "before", "An", ENDS, str.__lt__),
):
    faults["list." + name.replace("_", "-")] |= {
        f"{name} keeps other elements than those created {which} it.": changes(
            name, lambda self, condition, text: self.value(condition, text), each=kinds
        ),
        f"{name} is refused.": refuses(name),
        f"created and {name} are compared as texts, by which 00.5 is before 00.": comparing_texts(
            name, holds
        ),
        f"{article} {name} in whole seconds is read as the beginning of its minute.": changes(
            name,
            lambda self, read, text: (
                read if "." in text else read._replace(value=read.value // MINUTE * MINUTE)
            ),
            base=StopsBeforeTheMinute,
        ),
        f"{name} is read in whole milliseconds, though created shows microseconds.": changes(
            name, _in_milliseconds, each=("cut", "rounded up")
        ),
        f"{name} is a microsecond off.": changes(
            name,
            lambda self, read, text: read._replace(value=read.value + self.value),
            each={"earlier": -1, "later": 1},
        ),
    }


def _changed_since(self: Any, ctx: Context, query: Query) -> Condition | None:
    date = self.usual()
    records = ctx.store.select("payout_destination", self.list_parent(ctx))
    since = [each["id"] for each in records if date and each["updated"] >= date.value]
    return Condition("id", "IN", since or [""]) if date else None


faults["list.start-date"] |= {
    "start_date goes by when an element was last changed.": seam(
        "start_date_condition", _changed_since, operations=("listPayoutDestinations",)
    )
}

faults["list.end-date"] |= {
    "An end_date that is 0 in Unix time counts as none.": skipping(
        "end_date_condition", lambda self, ctx, query: self.date(ctx, query, "end_date") == 0
    )
}
