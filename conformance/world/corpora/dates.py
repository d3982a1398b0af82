"""Values of start_date and end_date, percent-encoded as they stand in a query (sections 4.3, 4.5 and 4.6)."""

from __future__ import annotations

from conformance.world.corpora import Value

DATES = (
    Value("garbage", "no date at all", checked=True),
    Value("", "empty", checked=True),
    Value("0000-00-00T00:00:00Z", "MySQL's zero date", checked=True),
    Value("0000-01-01T00:00:00Z", "year 0, which ISO 8601 has and most calendars lack", checked=True),
    Value("99999-12-31T23:59:59Z", "a year of five digits", checked=True),
    Value("2016-12-31T23:59:60Z", "a leap second", checked=True),
    Value("2020-02-30T00:00:00Z", "a day that February lacks", checked=True),
    Value("2020-01-01T25:61:61Z", "hours, minutes and seconds out of range", checked=True),
    Value("2020-01-01T00:00:00%2B99:99", "an offset out of range", checked=True),
    Value("0001-01-01T00:00:00%2B14:00", "before the calendar begins, in UTC", checked=True),
    Value("9999-12-31T23:59:59-14:00", "after the calendar ends, in UTC", checked=True),
    Value("2020-01-01", "a day without a time", checked=True),
    Value("2020-13-01T00:00:00Z", "a month that no year has", checked=True),
    Value("1e400", "a number beyond a double", checked=True),
    Value("2020-01-01T00:00:00.1234567890123456789012345Z", "25 decimals", checked=True),
    Value("2025", "a year alone"),
    Value("2025-01-01T00:00:00", "no offset: whose time?"),
    Value("2025-01-01T00:00:00%2B14:00", "the greatest offset in use"),
    Value("2025-01-01T24:00:00Z", "midnight as hour 24, which ISO 8601 had", checked=True),
    Value("0001-01-01T00:00:00Z", "the calendar's first instant"),
    Value("9999-12-31T23:59:59Z", "the last second of most calendars"),
    Value("10000-01-01T00:00:00Z", "the first year of five digits"),
    Value("2025-01-01T00:00:00.1234567891Z", "a digit more than nanoseconds"),
    Value("2025-01-01t00:00:00z", "lower-case letters, which RFC 3339 allows"),
    Value("1735689600", "seconds since 1970", checked=True),
    Value("-1", "a negative number"),
    Value("now", "a word that PostgreSQL reads as an instant"),
    Value("2025-W01-1", "a week date of ISO 8601"),
    Value("%00", "NUL"),
    Value("2025-01-01%2000:00:00", "a space in place of T"),
    Value("0001-01-01T00:00:00%2B23:59", "before the calendar by the greatest offset"),
    Value("9999-12-31T23:59:59-23:59", "after the calendar by the greatest offset"),
    Value("2025-02-30", "a day that February lacks, without a time"),
)
