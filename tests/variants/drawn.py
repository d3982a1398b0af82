"""Conforming servers with randomly drawn choices and proxies."""

from __future__ import annotations

import functools
import random

import httpx

from . import (
    catalogue,  # noqa: F401 - registers all choices
    networks,
)
from .choice import choice
from .resources import OPAQUE
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
    {"WholeSeconds", "Milliseconds", "nanoseconds", "TrailingZeros", "MillisecondsCut", "MillisecondsRounded",
     "seconds_in_lists", "digits_by_method", "nanoseconds_then_microseconds",
     "fractions_trimmed", "ticks"},
    {"ListsSoon", "ListsLate", "ListsVeryLate", "ListsInTurn", "ListsUneven", "TotalsBehind",
     "elements_behind", "filters_behind", "GetsFromReplica", "GetsUneven", "DatabaseAhead"},
    {"ReadsFromReplicas", "ReadsBehind", "ReadsInTurn", "ReadsUneven", "GetsFromReplica", "GetsUneven",
     "DestinationsFromReplica", "DestinationsInTurn", "DestinationsUneven", "DatabaseAhead"},
    {"BalancesUneven", "balances_settle", "OthersPay"},
    {"second_default_refused", "first_default_stays", "DefaultsMovedLater"},
    {"accounts_furnished", "accounts_furnished_later"},
    {"uuid_ids", "numeric_ids", "ulid_ids", "long_odd_ids", "serial_ids", *OPAQUE},
    {"NewestFirst", "order_of_hashes", "LastChangedFirst", "ByName"},
    {"StatusesWithCommas", "StatusesInBrackets"},
    # Different orders of authentication, and different error bodies.
    {"SignatureBeforeTimestamp", "nonce_before_signature", "NonceFirst"},
    {"ErrorsByField", "invalid_as_unauthenticated", "TerseErrors", "null_errors"},
    # Behind two rate limiters the suite cannot measure the rate.
    {"LimitedBehindAuthentication", "limited in front", "limited without a word", "rate limited"},
    # Malformed filters are ignored by one and refused by the other.
    {"OddFiltersMatchNothing", "dates_in_utc"},
    {"OddFiltersMatchNothing", "UnknownValuesPassedOver"},
    # The verified payee of the target file is outside Britain.
    {"BritainOnly", "vetted_payees"},
    # Different orders of the stages.
    {"validates_first", "KeyFirst", "KeysBeforeResources"},
)  # fmt: skip

#: Choice -> change of the target file that it needs.
DECLARED = {
    "StatusesWithCommas": style("comma"),
    "StatusesInBrackets": style("brackets"),
    "ListsVeryLate": within_ten_seconds,
    "vetted_payees": payee,
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
    names = {*choice, *BETWEEN}
    for group in EXCLUSIVE:
        names -= group - {source.choice(sorted(group))}
    chosen = source.sample(sorted(names & choice.keys()), source.randint(3, 8))
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
        tuple(choice[name].base for name in chosen),
        wrap=wrap,
        ahead=source.choice((0.0, 0.0, 0.0, 40.0, -40.0)),
        change=change,
        fill=vetted_payee if "vetted_payees" in chosen else aged,
    )
