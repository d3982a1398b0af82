"""The target file: what the suite must be told about a server, because the API offers no way to learn it.

A target comes from a TOML file, from the environment (`CONFORMANCE_` + table and key joined, upper
case; it wins over the file) and from `--base-url`, which wins over both. Everything is validated
before the first request; a mistake raises `TargetError`, whose text names the key and what it
should hold.
"""

from __future__ import annotations

import json
import math
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

ENVIRONMENT_PREFIX = "CONFORMANCE_"

#: Environment variables of the suite that are options, not values of the target file.
OPTION_VARIABLES = frozenset({"CONFORMANCE_TARGET", "CONFORMANCE_REPORT_DIR"})

ARRAY_STYLES = ("repeat", "comma", "brackets")


class TargetError(Exception):
    """The target cannot be used; the text is one paragraph that names the key and the remedy."""


@dataclass(frozen=True)
class Organization:
    """Credentials of one organization and what the suite may use of it."""

    name: str
    api_key: str
    secret: str = field(repr=False)
    customer_id: str
    other_customer_id: str | None = None
    funded_account_id: str | None = None


@dataclass(frozen=True)
class Features:
    """What the server lacks on purpose. `None` for `secondary` means: not said."""

    payins: bool = False
    payouts: bool = True
    secondary: bool | None = None


@dataclass(frozen=True)
class Target:
    """A validated target: `base_url` has no trailing slash; `samples` are laid over the suite's own."""

    base_url: str
    primary: Organization
    secondary: Organization | None = None
    features: Features = Features()
    array_style: str = "repeat"
    requests_per_second: float = 0.0
    samples: Mapping[str, Any] = field(default_factory=dict)

    @property
    def secrets(self) -> tuple[str, ...]:
        """The signing secrets, which no output of the suite may show."""
        return tuple(org.secret for org in (self.primary, self.secondary) if org)

    @property
    def api_keys(self) -> tuple[str, ...]:
        """The API keys, shown abbreviated only."""
        return tuple(org.api_key for org in (self.primary, self.secondary) if org)

    def to_plain(self) -> dict[str, Any]:
        """Plain data, secrets included, for worker processes of the same run; never for output."""
        return asdict(self)

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Target:
        """The inverse of `to_plain`."""
        secondary = plain["secondary"]
        return cls(
            base_url=plain["base_url"],
            primary=Organization(**plain["primary"]),
            secondary=Organization(**secondary) if secondary else None,
            features=Features(**plain["features"]),
            array_style=plain["array_style"],
            requests_per_second=plain["requests_per_second"],
            samples=plain["samples"],
        )


# --------------------------------------------------------------------------- the keys and their values


def _text(value: Any) -> str | None:
    return None if isinstance(value, str) and value.strip() else "a non-empty string"


def _header_text(value: Any) -> str | None:
    if (
        isinstance(value, str)
        and value
        and value.isascii()
        and value.isprintable()
        and value == value.strip()
    ):
        return None
    return "a non-empty string of printable ASCII characters without surrounding spaces"


def _customer_id(value: Any) -> str | None:
    return (
        None
        if isinstance(value, str) and value.startswith("cus_") and len(value) > 4
        else "a customer id, which starts with cus_"
    )


def _url(value: Any) -> str | None:
    wanted = "an http:// or https:// URL with a host and any prefix before /v1, without query or user, such as http://127.0.0.1:8000"
    if not isinstance(value, str):
        return wanted
    try:
        parts = urlsplit(value)
        fine = (
            parts.scheme in ("http", "https")
            and parts.hostname
            and not (parts.query or parts.fragment or parts.username)
        )
        fine = fine and value.isprintable() and " " not in value and (parts.port is None or parts.port > 0)
    except ValueError:
        fine = False
    if fine and parts.path.rstrip("/").endswith("/v1"):
        return "the address before /v1: the suite adds /v1 itself"
    return None if fine else wanted


def _boolean(value: Any) -> str | None:
    return None if isinstance(value, bool) else "true or false"


def _array_style(value: Any) -> str | None:
    return None if value in ARRAY_STYLES else "one of " + ", ".join(ARRAY_STYLES)


def _rate(value: Any) -> str | None:
    good = (
        isinstance(value, (int, float))
        and not isinstance(value, bool)
        and math.isfinite(value)
        and value >= 0
    )
    return None if good else "a number of requests per second, 0 for no limit"


def _pairs(value: Any) -> str | None:
    good = (
        isinstance(value, list)
        and value
        and all(isinstance(pair, list) and len(pair) == 2 and not any(map(_text, pair)) for pair in value)
        and len({tuple(pair) for pair in value}) == len(value)
    )
    return (
        None if good else 'a list of different [currency, network] pairs, such as [["USDC", "solana_devnet"]]'
    )


_ORGANIZATION = {"api_key": _header_text, "secret": _text, "customer_id": _customer_id}

#: Table -> key -> a function that returns what the value should be, or None when it is that.
_KEYS: dict[str, dict[str, Any]] = {
    "": {"base_url": _url},
    "primary": {**_ORGANIZATION, "other_customer_id": _customer_id, "funded_account_id": _text},
    "secondary": dict(_ORGANIZATION),
    "features": {"payins": _boolean, "payouts": _boolean, "secondary": _boolean},
    "lists": {"array_style": _array_style},
    "limits": {"requests_per_second": _rate},
}

#: Kind of sample -> operation whose request body it belongs to; wallet also takes `pairs`.
SAMPLE_OPERATIONS = {
    "account": "createAccount",
    "beneficiary": "createBeneficiary",
    "payout_destination.bank_account": "createPayoutDestination",
    "payout_destination.wallet": "createPayoutDestination",
    "payout_destination.card": "createPayoutDestination",
    "payout": "createPayout",
    "virtual_account": "createVirtualAccount",
    "wallet": "createWallet",
    "payin": "createPayin",
}

_JSON_TYPES = {"string": str, "boolean": bool, "object": dict, "array": list, "number": (int, float)}


def _check_sample(kind: str, key: str, value: Any, where: str) -> None:
    from conformance.contract.operations import OPERATIONS

    if kind == "wallet" and key == "pairs":
        wanted = _pairs(value)
    else:
        schema = OPERATIONS[SAMPLE_OPERATIONS[kind]].request_schema or {}
        properties = schema.get("properties", {})
        if key not in properties and not kind.startswith("payout_destination."):
            known = ", ".join([*sorted(properties), *(["pairs"] if kind == "wallet" else [])])
            raise TargetError(f"{where}: unknown key; a {kind} sample takes {known}.")
        wanted_type = properties.get(key, {}).get("type")
        python_type = _JSON_TYPES.get(wanted_type) if isinstance(wanted_type, str) else None
        wanted = None if python_type is None or isinstance(value, python_type) else f"a {wanted_type}"
    if wanted:
        raise TargetError(f"{where}: it should hold {wanted}, not {_shown(value)}.")


def _shown(value: Any) -> str:
    """A value for an error message: short, on one line."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 60 else text[:57] + "..."


def _flatten_samples(table: Any, where: str) -> dict[str, dict[str, Any]]:
    if not isinstance(table, dict):
        raise TargetError(f"{where}: it should hold tables of sample fields, not {_shown(table)}.")
    samples: dict[str, dict[str, Any]] = {}
    for kind, fields in table.items():
        if kind == "payout_destination" and isinstance(fields, dict):
            entries = [(f"{kind}.{name}", value) for name, value in fields.items()]
        else:
            entries = [(kind, fields)]
        for name, value in entries:
            if name not in SAMPLE_OPERATIONS:
                raise TargetError(
                    f"{where}.{name}: unknown kind of sample; known are {', '.join(SAMPLE_OPERATIONS)}."
                )
            if not isinstance(value, dict):
                raise TargetError(
                    f"{where}.{name}: it should hold a table of request fields, not {_shown(value)}."
                )
            for key, item in value.items():
                _check_sample(name, key, item, f"{where}.{name}.{key}")
            samples[name] = dict(value)
    return samples


# --------------------------------------------------------------------------- the sources


def read_file(path: Path) -> dict[str, Any]:
    """The raw tables of a target file. Raises TargetError when it cannot be read or is no TOML."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise TargetError(
            f"{path}: there is no such target file; see the README for a minimal one."
        ) from None
    except IsADirectoryError:
        raise TargetError(f"{path}: this is a folder; --target takes a TOML file.") from None
    except UnicodeDecodeError:
        raise TargetError(f"{path}: the target file is not UTF-8 text; save it as UTF-8.") from None
    except OSError as error:
        raise TargetError(f"{path}: the target file cannot be read ({error.strerror}).") from None
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise TargetError(f"{path}: not valid TOML: {error}.") from None


def _environment_key(name: str) -> tuple[str, str] | None:
    """Table and key that an environment variable stands for; None for a variable that is not ours."""
    rest = name.removeprefix(ENVIRONMENT_PREFIX).lower()
    for table, keys in _KEYS.items():
        for key in keys:
            if rest == (f"{table}_{key}" if table else key):
                return table, key
    for kind in SAMPLE_OPERATIONS:
        start = f"samples_{kind.replace('.', '_')}_"
        if rest.startswith(start):
            return f"samples.{kind}", rest.removeprefix(start)
    return None


def _environment_value(table: str, key: str, text: str) -> Any:
    plain_text = table in ("", "primary", "secondary", "lists")
    if plain_text:
        return text
    try:
        value = json.loads(text)
    except ValueError:
        return text
    # A sample such as an amount or a code stays the text it was written as.
    return (
        text
        if table.startswith("samples.") and isinstance(value, (int, float)) and not isinstance(value, bool)
        else value
    )


def merge_environment(tables: dict[str, Any], environment: Mapping[str, str]) -> dict[str, Any]:
    """The tables with values from the environment laid over. Raises TargetError on an unknown name."""
    merged = {name: dict(value) if isinstance(value, dict) else value for name, value in tables.items()}
    for name in sorted(environment):
        if not name.startswith(ENVIRONMENT_PREFIX) or name in OPTION_VARIABLES:
            continue
        found = _environment_key(name)
        if found is None:
            first = name.removeprefix(ENVIRONMENT_PREFIX).lower().partition("_")[0]
            if first in _KEYS or first == "samples":
                raise TargetError(
                    f"{name}: no value of the target file has this name; the environment variable is "
                    "CONFORMANCE_, then table and key joined, upper case."
                )
            continue
        table, key = found
        value = _environment_value(table, key, environment[name])
        if table.startswith("samples."):
            place = merged.setdefault("samples", {})
            place = json.loads(json.dumps(place)) if isinstance(place, dict) else {}
            merged["samples"] = place
            for part in table.split(".")[1:]:
                place = place.setdefault(part, {})
            place[key] = value
        elif table:
            place = merged.setdefault(table, {})
            if isinstance(place, dict):
                place[key] = value
        else:
            merged[key] = value
    return merged


def build(tables: Mapping[str, Any], source: str) -> Target:
    """A Target from raw tables. Raises TargetError; `source` (a file name, say) opens its text."""
    for name, value in tables.items():
        if name in _KEYS[""] or name == "samples":
            continue
        if name not in _KEYS:
            known = ", ".join(["base_url", *(table for table in _KEYS if table), "samples"])
            raise TargetError(f"{source}: {name}: unknown key; the target file has {known}.")
        if not isinstance(value, dict):
            raise TargetError(
                f"{source}: {name}: it should be a table, written [{name}], not {_shown(value)}."
            )
        for key in value:
            if key not in _KEYS[name]:
                raise TargetError(
                    f"{source}: {name}.{key}: unknown key; [{name}] has {', '.join(_KEYS[name])}."
                )
    for table, keys in _KEYS.items():
        place = tables if not table else tables.get(table, {})
        for key, wanted in keys.items():
            if key in place and (problem := wanted(place[key])):
                value = "its value" if key == "secret" else _shown(place[key])
                path = f"{table}.{key}" if table else key
                raise TargetError(f"{source}: {path}: it should hold {problem}, not {value}.")
    samples = _flatten_samples(tables.get("samples", {}), f"{source}: samples")

    if "base_url" not in tables:
        raise TargetError(f"{source}: base_url: missing; give the server's address there or with --base-url.")
    features = Features(**tables.get("features", {}))
    primary = _organization("primary", tables, source)
    assert primary is not None
    secondary = _organization("secondary", tables, source)
    if secondary is None and features.secondary:
        raise TargetError(
            f"{source}: features.secondary is true, but there is no [secondary] table with its credentials."
        )
    if secondary and features.secondary is False:
        secondary = None
    if secondary and secondary.api_key == primary.api_key:
        raise TargetError(
            f"{source}: secondary.api_key: it should be the key of another organization, not primary.api_key again."
        )
    if secondary and secondary.customer_id in (primary.customer_id, primary.other_customer_id):
        raise TargetError(
            f"{source}: secondary.customer_id: it should be a customer of the other organization, not one of [primary]."
        )
    if primary.other_customer_id == primary.customer_id:
        raise TargetError(
            f"{source}: primary.other_customer_id: it should be another customer than primary.customer_id."
        )
    return Target(
        base_url=tables["base_url"].rstrip("/"),
        primary=primary,
        secondary=secondary,
        features=features,
        array_style=tables.get("lists", {}).get("array_style", "repeat"),
        requests_per_second=float(tables.get("limits", {}).get("requests_per_second", 0)),
        samples=samples,
    )


def _organization(name: str, tables: Mapping[str, Any], source: str) -> Organization | None:
    table = tables.get(name)
    if not table and name == "secondary":
        return None
    table = table or {}
    for key in _ORGANIZATION:
        if key not in table:
            variable = f"{ENVIRONMENT_PREFIX}{name}_{key}".upper()
            raise TargetError(
                f"{source}: {name}.{key}: missing; put it in the target file or in the environment as {variable}."
            )
    return Organization(name=name, **table)


def load(path: Path | None, environment: Mapping[str, str], base_url: str | None = None) -> Target:
    """The target of a live run, from file, environment and `--base-url`. Raises TargetError."""
    tables = read_file(path) if path else {}
    tables = merge_environment(tables, environment)
    if base_url:
        if problem := _url(base_url):
            raise TargetError(f"--base-url: it should hold {problem}, not {_shown(base_url)}.")
        tables = {**tables, "base_url": base_url}
    return build(tables, str(path) if path else "target (no --target file given)")
