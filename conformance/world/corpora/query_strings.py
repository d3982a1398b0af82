"""Query strings and values of query parameters, percent-encoded as they stand in the query."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from conformance.world.corpora.dates import DATES
from conformance.world.corpora.value import Bug, Value, values

#: Whole queries, of any operation.
QUERIES = (
    Value("page=1e309", "a number beyond a double", Bug.OVERFLOW, checked=True),
    Value("size=99999999999999999999", "beyond 64 bits", Bug.OVERFLOW, checked=True),
    Value("page=-99999999999999999999", "below 64 bits", Bug.OVERFLOW, checked=True),
    Value("page=9223372036854775807&size=100", "an offset beyond 64 bits", Bug.OVERFLOW, checked=True),
    Value("size=NaN", "no number, and a float to many parsers", Bug.CRASH, checked=True),
    Value("page=1&page=2", "a parameter twice", Bug.AMBIGUITY, checked=True),
    Value("page[]=1&size[a]=2", "an array and a map to some frameworks", Bug.CRASH, checked=True),
    Value("page=%D9%A3", "an Arabic-Indic digit", Bug.NORMALIZATION, checked=True),
    Value("page=&size=", "empty values", Bug.CRASH, checked=True),
    Value("&&==&?", "separators only", Bug.CRASH, checked=True),
    Value("x=" + "y" * 3500, "long", Bug.LENGTH, checked=True),
    Value("", "an empty query after the question mark", Bug.CRASH),
    Value("&", "one separator", Bug.CRASH),
    Value("&&", "two separators", Bug.CRASH),
    Value("=", "neither name nor value", Bug.CRASH),
    Value("=1", "a value without a name", Bug.CRASH),
    Value("page", "a name without a value", Bug.CRASH),
    Value("page=", "an empty value", Bug.CRASH),
    Value("size=1&size=100", "a parameter twice, within its range", Bug.AMBIGUITY),
    Value("page[]=1", "an array to some frameworks", Bug.CRASH),
    Value("page%5B%5D=1", "an array, encoded", Bug.CRASH),
    Value("x=1", "an unknown parameter", Bug.CRASH),
    Value("x=%zz", "a broken escape", Bug.CRASH),
    Value("x=%C0%AF", "an overlong UTF-8 sequence", Bug.ENCODING),
    Value("page=1;size=2", "a semicolon, which was a separator once", Bug.AMBIGUITY),
    Value("%70age=1", "an encoded name", Bug.NORMALIZATION),
    Value("PAGE=2", "a name in upper case", Bug.NORMALIZATION),
    Value("size=10&page=1", "the defaults, the other way round", Bug.NORMALIZATION),
    Value("a=1&b=2&a=3", "unknown parameters, one of them twice", Bug.AMBIGUITY),
    Value("statuses[]=active", "an array in another style", Bug.CRASH),
    Value("x=\u00e9", "a letter outside ASCII, unencoded", Bug.ENCODING),
    Value("page=1&page=1", "the same parameter twice", Bug.AMBIGUITY),
    Value("size=5&page=1&x=%20+%2B", "a space, a plus sign, and an encoded one", Bug.NORMALIZATION),
)

#: Queries that are not UTF-8, hold NUL or a broken escape: an HTTP front end may refuse them in its words.
BROKEN = (
    Value("page=%00", "NUL", Bug.ENCODING),
    Value("size=%FF", "invalid UTF-8", Bug.ENCODING),
    Value("page=%zz", "a broken escape", Bug.CRASH),
)

#: Values of page and size.
INTEGERS = (
    Value("1", "the least", Bug.CRASH),
    Value("2", "small", Bug.CRASH),
    Value("7", "odd", Bug.CRASH),
    Value("100", "the greatest size", Bug.CRASH),
    Value("101", "just above the greatest size", Bug.LENIENCY),
    Value("1000", "far above the greatest size", Bug.LENIENCY),
    Value("0", "just below the least", Bug.LENIENCY),
    Value("-1", "negative", Bug.LENIENCY),
    Value("1.0", "an integer by value, not in form", Bug.LENIENCY),
    Value("1.5", "no integer", Bug.LENIENCY),
    Value("1e1", "an exponent", Bug.LENIENCY),
    Value("1e400", "an exponent beyond a double", Bug.OVERFLOW),
    Value("abc", "no digits", Bug.CRASH),
    Value("", "empty", Bug.CRASH),
    Value("%20", "a space", Bug.CRASH),
    Value("%00", "NUL", Bug.ENCODING),
    Value("true", "a word of JSON", Bug.CRASH),
    Value("null", "a word of JSON", Bug.CRASH),
    Value("NaN", "a float to many parsers", Bug.CRASH),
    Value("Infinity", "a float to many parsers", Bug.OVERFLOW),
    Value("0x1", "hexadecimal", Bug.LENIENCY),
    Value("+1", "a plus sign, which is a space in a query", Bug.LENIENCY),
    Value("%2B1", "an encoded plus sign", Bug.LENIENCY),
    Value("01", "a leading zero", Bug.LENIENCY),
    Value("1%20", "a space after it", Bug.LENIENCY),
    Value("1_0", "an underscore, which Python's parsers skip", Bug.LENIENCY),
    Value("%EF%BC%91", "a full-width digit", Bug.NORMALIZATION),
    Value("%D9%A1", "an Arabic-Indic digit", Bug.NORMALIZATION),
    Value("2147483648", "beyond 32 bits", Bug.OVERFLOW),
    Value("9007199254740993", "beyond the integers that a double holds", Bug.ROUNDING),
    Value("9223372036854775807", "the greatest of 64 bits", Bug.OVERFLOW),
    Value("9223372036854775808", "beyond 64 bits", Bug.OVERFLOW),
    Value("-9223372036854775809", "below 64 bits", Bug.OVERFLOW),
    Value("18446744073709551616", "beyond 64 bits without sign", Bug.OVERFLOW),
    Value("1000000000000", "a page far past the last", Bug.OVERFLOW),
    Value("9" * 60, "60 digits", Bug.OVERFLOW),
    Value("%FF", "invalid UTF-8", Bug.ENCODING),
    Value("%", "a broken escape", Bug.CRASH),
    Value("1,2", "two numbers", Bug.AMBIGUITY),
    Value("[1]", "an array of JSON", Bug.CRASH),
)

#: Values of status and statuses.
STATUSES = (
    Value("active", "of every resource", Bug.CRASH),
    Value("disabled", "of some resources", Bug.CRASH),
    Value("inactive", "of every resource", Bug.CRASH),
    Value("suspended", "of some resources", Bug.CRASH),
    Value("unknown", "of no resource", Bug.CRASH),
    Value("ACTIVE", "upper case", Bug.NORMALIZATION),
    Value("", "empty", Bug.CRASH),
    Value("%00", "NUL", Bug.ENCODING),
    Value("active,inactive", "two, by a comma", Bug.AMBIGUITY),
    Value("active%2Cinactive", "two, by an encoded comma", Bug.AMBIGUITY),
    Value("%FF", "invalid UTF-8", Bug.ENCODING),
    Value("*", "a wildcard", Bug.INJECTION),
)

#: Values of the filters that are not dates.
FILTERS = (
    Value("'%20OR%20'1'='1", "SQL", Bug.INJECTION),
    Value("%F0%9F%8F%A6", "outside the basic plane", Bug.ENCODING),
    Value("x" * 3000, "long", Bug.LENGTH),
    Value("", "empty", Bug.CRASH),
)


def of_list(parameters: Iterable[str]) -> Iterator[str]:
    """The queries that a check sends to a list with these query parameters; all are valid as such."""
    yield from values(QUERIES, checked=True)
    parameters = list(parameters)
    dates = [name for name in parameters if name.endswith("_date")]
    checked = values(DATES, checked=True)
    for name in dates[:1]:
        yield from (f"{name}={value}" for value in checked)
    for name in dates[1:]:
        yield from (f"{name}={value}" for value in checked if value.startswith(("garbage", "0001", "9999")))
    for name in parameters:
        if name not in ("page", "size", *dates):
            yield from (f"{name}={value}" for value in values(FILTERS))
            yield "&".join([f"{name}=active"] * 200)
