"""Conforming servers with randomly drawn choices and proxies."""

from __future__ import annotations

import functools
import random

import httpx

from . import (
    catalogue,  # noqa: F401 - registers all choices
    networks,
)
from .choice import CHOICES
from .surroundings import (
    Folded,
    MethodsNotImplemented,
    OneAtATime,
    PlainNotFound,
    RateLimited,
    aged,
    vetted_payee,
)
from .target_files import british, payee, payins_off, style, within_ten_seconds
from .variant import Tables, Variant, Wrap

#: Groups of choices and proxies of which a server can have only one.
EXCLUSIVE = (
    {"WholeSeconds", "Milliseconds", "Nanoseconds", "TrailingZeros", "MillisecondsCut", "MillisecondsRounded",
     "SecondsInLists", "DigitsByMethod", "NanosecondsThenMicroseconds"},
    {"ListsSoon", "ListsLate", "ListsVeryLate", "ListsInTurn", "ListsUneven", "TotalsBehind",
     "ElementsBehind", "FiltersBehind", "GetsFromReplica", "GetsUneven", "DatabaseAhead"},
    {"ReadsFromReplicas", "ReadsBehind", "ReadsInTurn", "ReadsUneven", "GetsFromReplica", "GetsUneven",
     "DestinationsFromReplica", "DestinationsInTurn", "DestinationsUneven", "DatabaseAhead"},
    {"BalancesUneven", "BalancesSettle", "OthersPay"},
    {"SeveralDefaults", "SecondDefaultRefused", "FirstDefaultStays", "DefaultsMovedLater"},
    {"AccountsFurnished", "AccountsFurnishedLater"},
    {"UuidIds", "NumericIds", "UlidIds", "LongOddIds", "SerialIds"},
    {"NewestFirst", "OrderOfHashes", "LastChangedFirst", "ByName"},
    {"StatusesWithCommas", "StatusesInBrackets"},
    # Different orders of authentication, and different error bodies.
    {"SignatureBeforeTimestamp", "NonceBeforeSignature", "NonceFirst"},
    {"ErrorsByField", "InvalidAsUnauthenticated", "TerseErrors", "NullErrors"},
    # Behind two rate limiters the suite cannot measure the rate.
    {"LimitedBehindAuthentication", "limited in front", "limited without a word", "rate limited"},
    # Malformed filters are ignored by one and refused by the other.
    {"OddFiltersMatchNothing", "DatesInUtc"},
    {"OddFiltersMatchNothing", "UnknownValuesPassedOver"},
    # The verified payee of the target file is outside Britain.
    {"BritainOnly", "VettedPayees"},
    # Different orders of the stages.
    {"ValidatesFirst", "KeyFirst", "KeysBeforeResources"},
)  # fmt: skip

#: Choice -> change of the target file that it needs.
DECLARED = {
    "StatusesWithCommas": style("comma"),
    "StatusesInBrackets": style("brackets"),
    "ListsVeryLate": within_ten_seconds,
    "VettedPayees": payee,
    "BritainOnly": british,
}

#: Proxies that may stand between the suite and a drawn server.
BETWEEN: dict[str, Wrap] = {
    **networks.BETWEEN,
    "folded": Folded,
    "rate limited": RateLimited,
    "one at a time": OneAtATime,
    "plain not found": PlainNotFound,
    "methods not implemented": MethodsNotImplemented,
}


def drawn(seed: int) -> Variant:
    """Draws a server with three to eight choices, behind up to two proxies."""
    source = random.Random(seed)
    names = {*CHOICES, *BETWEEN}
    for group in EXCLUSIVE:
        names -= group - {source.choice(sorted(group))}
    chosen = source.sample(sorted(names & CHOICES.keys()), source.randint(3, 8))
    between = source.sample(sorted(names & BETWEEN.keys()), source.choice((0, 0, 1, 2)))
    changes = [DECLARED[name] for name in chosen if name in DECLARED]
    if source.random() < 0.2:
        changes.append(payins_off)

    def wrap(inner: httpx.BaseTransport) -> httpx.BaseTransport:
        return functools.reduce(lambda wrapped, name: BETWEEN[name](wrapped), between, inner)

    def change(tables: Tables) -> Tables:
        return functools.reduce(lambda changed, one: one(changed), changes, tables)

    return Variant(
        f"drawn from {seed}: " + ", ".join([*chosen, *between]),
        tuple(CHOICES[name] for name in chosen),
        wrap=wrap,
        ahead=source.choice((0.0, 0.0, 0.0, 40.0, -40.0)),
        change=change,
        fill=vetted_payee if "VettedPayees" in chosen else aged,
    )
