"""Servers that misinterpret the dates of filters."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from conformance.reference.context import Context, Record
from conformance.reference.seams.lists import Query
from conformance.reference.store import Condition

from .catalogue import Faulty, fault, faults, of, seam
from .filters import changes, refuses
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


class ComparesTexts(Filtered):
    """Compares timestamps as texts in filters, by `keeps`."""

    name = ""

    def conditions(self, ctx: Context, query: Query) -> list[Condition]:
        if self.here(ctx) and self.name in query:
            ctx.notes["text"] = query[self.name][0]
            query = {name: values for name, values in query.items() if name != self.name}
        return super().conditions(ctx, query)

    def keeps(self, created: str, text: str) -> bool:
        return True

    def listed(self, ctx: Context, records: list[Record]) -> list[Record]:
        text = ctx.notes.get("text")
        return [
            record
            for record in records
            if text is None or self.keeps(self.timestamp_text(ctx, record["created"]) or "", text)
        ]


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


faults["list.date-offset"] |= {
    "The offset of a date is ignored.": seam(
        "parameter",
        lambda self, ctx, query, name: (
            text and re.sub("[+-][0-9]{2}:[0-9]{2}$", "Z", text)
            if name.endswith("_date") and isinstance(text := self.usual(), str)
            else self.usual()
        ),
    ),
    "Of the offset of a date only the hours are read.": seam(
        "date",
        lambda self, ctx, query, name: (
            self.usual()
            if not (text := (query.get(name) or [""])[0]).endswith(":30")
            else self.usual() + (1800 if text[-6] == "+" else -1800) * 1_000_000
        ),
    ),
}


def _in_milliseconds(self: Any, read: Condition, text: str) -> Condition:
    steps = read.value // 1000 if self.value == "cut" else -(-read.value // 1000)
    return read._replace(value=steps * 1000)


for name, which, article, kinds, keeps in (
    ("start_date", "at or after", "A", STARTS, str.__ge__),
    ("end_date", "before", "An", ENDS, str.__lt__),
):
    faults["list." + name.replace("_", "-")] |= {
        f"{name} keeps other elements than those created {which} it.": changes(
            name, lambda self, condition, text: self.value(condition, text), each=kinds
        ),
        f"{name} is refused.": refuses(name),
        f"created and {name} are compared as texts, by which 00.5 is before 00.": of(
            type("ComparesText", (ComparesTexts,), {"name": name, "keeps": staticmethod(keeps)})
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


@fault("list.start-date", seam="start_date_condition", operations=("listPayoutDestinations",))
def _(self: Any, ctx: Context, query: Query) -> Any:
    """start_date goes by when an element was last changed."""
    date = self.usual()
    if date is None:
        return None
    records = ctx.store.select("payout_destination", self.list_parent(ctx))
    return Condition("id", "IN", [each["id"] for each in records if each["updated"] >= date.value] or [""])


faults["list.end-date"] |= {
    "An end_date that is 0 in Unix time counts as none.": seam(
        "end_date_condition",
        lambda self, ctx, query: None if self.date(ctx, query, "end_date") == 0 else self.usual(),
    )
}
