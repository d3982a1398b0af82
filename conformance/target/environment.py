"""Environment variables that override the target file: `CONFORMANCE_`, table and key, in upper case."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Mapping
from typing import Any

from conformance._files import InputError
from conformance._options import PREFIX, VARIABLES
from conformance._text import meant
from conformance.contract.traits import SAMPLE_OPERATIONS
from conformance.target.schema import keys

_TABLES = ("primary", "secondary", "features", "lists", "limits", "tls")


def variable(table: str, key: str) -> str:
    """The environment variable of a key."""
    return (PREFIX + "_".join(filter(None, [*table.split("."), key]))).upper()


def laid_over(tables: Mapping[str, Any], variables: Mapping[str, str]) -> dict[str, Any]:
    """The tables, overridden from the environment. Raises InputError for an unknown variable."""
    merged = copy.deepcopy(dict(tables))
    for name in sorted(variables):
        if name.startswith(PREFIX) and name not in VARIABLES:
            table, key = _key(name)
            _put(merged, table, key, _value(table, key, variables[name]))
    return merged


def _known() -> Iterator[tuple[str, str]]:
    """Yields every documented table and key."""
    yield "", "base_url"
    for table in (*_TABLES, *(f"samples.{kind}" for kind in SAMPLE_OPERATIONS)):
        for key in keys(table):
            yield table, key


def _key(name: str) -> tuple[str, str]:
    known = {variable(table, key): (table, key) for table, key in _known()}
    if name.upper() in known:
        return known[name.upper()]
    for kind in SAMPLE_OPERATIONS:
        # The fields of a destination are not fixed (section 2.10), so other keys are allowed.
        start = variable(f"samples.{kind}", "")
        if kind.startswith("payout_destination.") and name.upper().startswith(f"{start}_"):
            return f"samples.{kind}", name[len(start) + 1 :].lower()
    hint = meant(name, [*known, *VARIABLES]) or ";"
    options = " and ".join(sorted(VARIABLES, reverse=True))
    raise InputError(
        f"{name} is unknown{hint} a variable for the target file is {PREFIX}, then table and key joined, "
        f"upper case, such as {variable('primary', 'secret')}; options are {options}."
    )


def _value(table: str, key: str, text: str) -> Any:
    """Parses a variable as JSON, unless its key takes a string."""
    described = keys(table).get(key, {})
    if table in ("", "primary", "secondary", "lists", "tls") or described.get("type") == "string":
        return text
    try:
        value = json.loads(text)
    except ValueError:
        return text
    # A number in an undocumented field may be an amount or a code, so it stays a string.
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return text if is_number and not described else value


def _put(tables: dict[str, Any], table: str, key: str, value: Any) -> None:
    """Sets a value; a table that is not one is left for the schema to report."""
    place: Any = tables
    for name in filter(None, table.split(".")):
        if not isinstance(place, dict):
            return
        place = place.setdefault(name, {})
    if isinstance(place, dict):
        place[key] = value
