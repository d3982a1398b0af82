"""Values of start_date and end_date, percent-encoded as they stand in a query (sections 4.3, 4.5 and 4.6)."""

from __future__ import annotations

from conformance.world.corpora.value import Bug, Value

DATES = (
    Value("garbage", "no date at all", Bug.CRASH, checked=True),
    Value("", "empty", Bug.CRASH, checked=True),
    Value("0000-00-00T00:00:00Z", "MySQL's zero date", Bug.CRASH, checked=True),
    Value(
        "0000-01-01T00:00:00Z",
        "year 0, which ISO 8601 has and most calendars lack",
        Bug.OVERFLOW,
        checked=True,
    ),
    Value("99999-12-31T23:59:59Z", "a year of five digits", Bug.OVERFLOW, checked=True),
    Value("2016-12-31T23:59:60Z", "a leap second", Bug.CRASH, checked=True),
    Value("2020-02-30T00:00:00Z", "a day that February lacks", Bug.CRASH, checked=True),
    Value("2020-01-01T25:61:61Z", "hours, minutes and seconds out of range", Bug.CRASH, checked=True),
    Value("2020-01-01T00:00:00%2B99:99", "an offset out of range", Bug.CRASH, checked=True),
    Value("0001-01-01T00:00:00%2B14:00", "before the calendar begins, in UTC", Bug.OVERFLOW, checked=True),
    Value("9999-12-31T23:59:59-14:00", "after the calendar ends, in UTC", Bug.OVERFLOW, checked=True),
    Value("2020-01-01", "a day without a time", Bug.LENIENCY, checked=True),
    Value("1e400", "a number beyond a double", Bug.OVERFLOW, checked=True),
    Value("2020-01-01T00:00:00.1234567890123456789012345Z", "25 decimals", Bug.OVERFLOW, checked=True),
    Value("2025", "a year alone", Bug.LENIENCY),
    Value("2025-01-01T00:00:00", "no offset: whose time?", Bug.AMBIGUITY),
    Value("2025-01-01T00:00:00%2B14:00", "the greatest offset in use", Bug.LENIENCY),
    Value("2025-01-01T24:00:00Z", "midnight as hour 24, which ISO 8601 had", Bug.CRASH),
    Value("0001-01-01T00:00:00Z", "the calendar's first instant", Bug.OVERFLOW),
    Value("9999-12-31T23:59:59Z", "the last second of most calendars", Bug.OVERFLOW),
    Value("10000-01-01T00:00:00Z", "the first year of five digits", Bug.OVERFLOW),
    Value("2025-01-01T00:00:00.1234567891Z", "a digit more than nanoseconds", Bug.ROUNDING),
    Value("2025-01-01t00:00:00z", "lower-case letters, which RFC 3339 allows", Bug.LENIENCY),
    Value("1735689600", "seconds since 1970", Bug.LENIENCY),
    Value("-1", "a negative number", Bug.CRASH),
    Value("now", "a word that PostgreSQL reads as an instant", Bug.LENIENCY),
    Value("2025-W01-1", "a week date of ISO 8601", Bug.CRASH),
    Value("%00", "NUL", Bug.ENCODING),
    Value("2025-01-01%2000:00:00", "a space in place of T", Bug.LENIENCY),
    Value("0001-01-01T00:00:00%2B23:59", "before the calendar by the greatest offset", Bug.OVERFLOW),
    Value("9999-12-31T23:59:59-23:59", "after the calendar by the greatest offset", Bug.OVERFLOW),
    Value("2025-02-30", "a day that February lacks, without a time", Bug.CRASH),
)
