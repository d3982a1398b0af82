"""Servers that misread the dates of filters (sections 4.3, 4.5 and 4.6)."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from conformance.reference.context import Context, Record
from conformance.reference.seams.lists import Query
from conformance.reference.store import Condition

from .catalogue import Faulty, Row, faults, seam
from .filters import changes, refuses
from .rows import skipping, where
from .walks import listing

#: In microseconds.
SECOND, MINUTE, DAY = 1_000_000, 60_000_000, 86_400_000_000

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

    def conditions(self: Any, usual: Any, ctx: Context, query: Query) -> list[Condition]:
        ctx.notes["text"] = query.get(name, [""])[0]
        others = {other: values for other, values in query.items() if other != name}
        return usual(ctx, others)

    def listed(self: Any, ctx: Context, records: list[Record]) -> list[Record]:
        text = ctx.notes["text"]
        return [
            each for each in records if not text or holds(self.timestamp_text(ctx, each["created"]), text)
        ]

    return listing(listed, {"conditions": conditions})


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


def _counting_microseconds(self: Any, read: Condition, text: str) -> Condition:
    digits = re.search(r"\.([0-9]+)", text)
    return read if digits is None else read._replace(value=read.value // SECOND * SECOND + int(digits[1]))


_OFFSET = re.compile("([+-])([0-9]{2}):([0-9]{2})$")


def _offset(text: str) -> int:
    """The offset of a date, in seconds."""
    found = _OFFSET.search(text)
    assert found is not None
    return int(f"{found[1]}1") * (int(found[2]) * 3600 + int(found[3]) * 60)


faults["list.date-offset"] |= {
    "The sign of an offset is read the other way round.": where(
        "date",
        lambda self, ctx, query, name: _OFFSET.search(query.get(name, [""])[0]),
        lambda self, usual, ctx, query, name: usual() + 2 * SECOND * _offset(query[name][0]),
    ),
    "A date with an offset ahead of UTC is read by its day.": where(
        "date",
        lambda self, ctx, query, name: "+" in query.get(name, [""])[0],
        lambda self, usual, *_: usual() // DAY * DAY,
    ),
    "The offset of a date is ignored.": where(
        "parameter",
        lambda self, ctx, query, name: name.endswith("_date"),
        lambda self, usual, *_: (text := usual()) and re.sub("[+-][0-9]{2}:[0-9]{2}$", "Z", text),
    ),
    "Of the offset of a date only the hours are read.": where(
        "date",
        lambda self, ctx, query, name: query.get(name, [""])[0].endswith(":30"),
        lambda self, usual, ctx, query, name: (
            usual() + (1800 if query[name][0][-6] == "+" else -1800) * SECOND
        ),
    ),
}


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
            name,
            lambda self, read, text: read._replace(value=(read.value + self.value) // 1000 * 1000),
            each={"cut": 0, "rounded up": 999},
        ),
        f"The fraction of {name} is a number of microseconds, whatever its digits.": changes(
            name, _counting_microseconds
        ),
        f"{name} is a microsecond off.": changes(
            name,
            lambda self, read, text: read._replace(value=read.value + self.value),
            each={"earlier": -1, "later": 1},
        ),
    }


faults["list.start-date"] |= {
    "start_date goes by when an element was last changed.": seam(
        "start_date_condition",
        lambda self, usual, ctx, *_: (
            (from_then := usual())
            and Condition(
                "id",
                "IN",
                [
                    "",
                    *(
                        each["id"]
                        for each in ctx.store.select("payout_destination", self.list_parent(ctx))
                        if each["updated"] >= from_then.value
                    ),
                ],
            )
        ),
        operations=("listPayoutDestinations",),
    )
}

faults["list.end-date"] |= {
    "An end_date that is 0 in Unix time counts as none.": skipping(
        "end_date_condition", lambda self, ctx, query: self.date(ctx, query, "end_date") == 0
    )
}
