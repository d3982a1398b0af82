"""Query strings and values of query parameters, percent-encoded as they stand in the query."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from conformance.world.corpora import Value, values
from conformance.world.corpora.dates import DATES

#: Whole queries, of any operation.
QUERIES = (
    Value("page=1e309", "a number beyond a double", checked=True),
    Value("size=99999999999999999999", "beyond 64 bits", checked=True),
    Value("page=-99999999999999999999", "below 64 bits", checked=True),
    Value("page=9223372036854775807&size=100", "an offset beyond 64 bits", checked=True),
    Value("size=NaN", "no number, and a float to many parsers", checked=True),
    Value("size=Infinity", "a number to tests for NaN", checked=True),
    Value(
        "page=1&page=2&size=1&size=2&sort=x&order=x&limit=x&offset=x&cursor=x&fields=x&expand=x",
        "parameters twice, and what other lists take",
        checked=True,
    ),
    Value("page[]=1&size[a]=2&statuses[]=active", "arrays and a map to some frameworks", checked=True),
    Value("size[]=5", "an array to some frameworks", checked=True),
    Value("page[a]=1", "a map to some frameworks", checked=True),
    Value("size=5&size=5", "a parameter twice, with one value", checked=True),
    Value("page=2147483647", "an offset beyond 32 bits", checked=True),
    Value("page=%D9%A3", "an Arabic-Indic digit", checked=True),
    Value("page=&size=", "empty values", checked=True),
    Value("&&==&?", "separators only", checked=True),
    Value("currency=%28&status=%28&statuses=%28", "no regular expressions", checked=True),
    Value("x=" + "y" * 3500, "long", checked=True),
    Value("", "an empty query after the question mark"),
    Value("&", "one separator"),
    Value("=1", "a value without a name"),
    Value("page", "a name without a value"),
    Value("size=1&size=100", "a parameter twice, within its range"),
    Value("page%5B%5D=1", "an array, encoded"),
    Value("x=1", "an unknown parameter"),
    Value("x=%zz", "a broken escape"),
    Value("x=%C0%AF", "an overlong UTF-8 sequence"),
    Value("page=1;size=2", "a semicolon, which was a separator once"),
    Value("%70age=1", "an encoded name"),
    Value("PAGE=2", "a name in upper case"),
    Value("a=1&b=2&a=3", "unknown parameters, one of them twice"),
    Value("statuses[]=active", "an array in another style"),
    Value("x=\u00e9", "a letter outside ASCII, unencoded"),
    Value("size=5&page=1&x=%20+%2B", "a space, a plus sign, and an encoded one"),
)

#: Queries that an HTTP front end may refuse with a body of its own.
BROKEN = (
    Value("page=%00", "NUL"),
    Value("size=%FF", "invalid UTF-8"),
    Value("page=%zz", "a broken escape"),
)

#: Values of page and size.
INTEGERS = (
    *(Value(str(number), "at a limit of sizes") for number in (-1, 0, 1, 2, 7, 100, 101, 1000)),
    *(
        Value(str(number), "about a limit of 32 or 64 bits, or of a double")
        for number in (2**31, 2**53 + 1, 2**63 - 1, 2**63, -(2**63) - 1, 2**64, 10**12, 10**60 - 1)
    ),
    Value("1.0", "an integer by value, not in form"),
    Value("1.5", "no integer"),
    Value("1e1", "an exponent"),
    Value("1e400", "an exponent beyond a double"),
    Value("abc", "no digits"),
    Value("", "empty"),
    Value("%20", "a space"),
    Value("%00", "NUL"),
    Value("true", "a word of JSON"),
    Value("NaN", "a float to many parsers"),
    Value("0x1", "hexadecimal"),
    Value("+1", "a plus sign, which is a space in a query"),
    Value("%2B1", "an encoded plus sign"),
    Value("01", "a leading zero"),
    Value("1%20", "a space after it"),
    Value("1_0", "an underscore, which Python's parsers skip"),
    Value("%EF%BC%91", "a full-width digit"),
    Value("%D9%A1", "an Arabic-Indic digit"),
    Value("%FF", "invalid UTF-8"),
    Value("%", "a broken escape"),
    Value("1,2", "two numbers"),
    Value("[1]", "an array of JSON"),
)

#: Values of status and statuses.
STATUSES = (
    Value("active", "of every resource"),
    Value("disabled", "of some resources"),
    Value("inactive", "of every resource"),
    Value("suspended", "of some resources"),
    Value("unknown", "of no resource"),
    Value("ACTIVE", "upper case"),
    Value("", "empty"),
    Value("%00", "NUL"),
    Value("active,inactive", "two, by a comma"),
    Value("active%2Cinactive", "two, by an encoded comma"),
    Value("%FF", "invalid UTF-8"),
    Value("*", "a wildcard"),
)

#: Values of filters other than dates.
FILTERS = (
    Value("'%20OR%20'1'='1", "SQL"),
    Value("%F0%9F%8F%A6", "outside the basic plane"),
    Value("x" * 3000, "long"),
    Value("", "empty"),
)


#: Queries that an HTTP front end may refuse, all in one: for operations that take none.
UNASKED = "&&=&x&x[]=%ff&x=%zz&x=%00"


def of_list(parameters: Iterable[str], turn: int) -> Iterator[str]:
    """The queries that a check sends to a list with these query parameters. Its dates take the values by
    turns, which begin with the date of this number."""
    yield from values(QUERIES, checked=True)
    parameters = list(parameters)
    dates = [name for name in parameters if name.endswith("_date")]
    checked = values(DATES, checked=True)
    for number, value in enumerate(checked if dates else (), turn):
        yield f"{dates[number % len(dates)]}={value}"
    twice = [f"{name}=2020-01-01T00:00:00Z" for name in dates for _ in range(2)]
    for name in parameters:
        if name not in ("page", "size", *dates):
            yield from (f"{name}={value}" for value in values(FILTERS))
            yield "&".join([*twice, *[f"{name}=active"] * 200])
