"""`conformance init`: writes a commented target file.

Writes a target file. In a terminal it asks for each value not given as an option.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
from pathlib import Path
from typing import Any

from conformance._files import InputError, written
from conformance.target.file import build

#: Table, key and description of each value of the target file, and True if it is required.
_QUESTIONS = (
    ("", "base_url", "address of the server: everything before /v1", True),
    ("primary", "api_key", "API key of the organization under test", True),
    ("primary", "secret", "its secret (empty: from CONFORMANCE_PRIMARY_SECRET)", False),
    ("primary", "customer_id", "a customer of the organization, cus_...", True),
    ("primary", "other_customer_id", "another customer of it", False),
    ("primary", "funded_account_id", "an account that payouts may draw on", False),
    ("secondary", "api_key", "API key of another organization", False),
    ("secondary", "secret", "its secret (empty: from CONFORMANCE_SECONDARY_SECRET)", False),
    ("secondary", "customer_id", "a customer of that organization", False),
)

_MORE = """
# [features]                            # what this server lacks on purpose
# payins = true                         # under development: checked only if true
# secondary = false                     # there is no second organization to test with
# payouts = false                       # no account may be drawn on

# [lists]
# array_style = "repeat"                # repeat | comma | brackets: how several statuses are sent

# [limits]
# requests_per_second = 50              # 0: as fast as the server answers; --rate
# max_requests = 5000                   # of a run; --max-requests
# request_timeout = 30                  # seconds for one answer; --request-timeout
# run_timeout = 900                     # seconds for a run, which then reports what it has; --run-timeout
# retry_seconds = 120                   # seconds that each worker waits for 429 and 503 in all

# [samples.beneficiary]                 # laid over the suite's own sample requests, for servers that accept
# country_code = "US"                   # only some countries, currencies or bank details
# [samples.payout_destination.bank_account]
# currency = "USD"
# [samples.wallet]
# pairs = [["USDC", "solana_devnet"], ["USDT", "solana_devnet"]]
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, nargs="?", default=Path("target.toml"), metavar="FILE")
    parser.add_argument("--force", action="store_true", help="overwrite an existing file")
    for table, key, text, _ in _QUESTIONS:
        parser.add_argument(_option(table, key), metavar="VALUE", help=text)


def _option(table: str, key: str) -> str:
    return "--" + "-".join(filter(None, [table, *key.split("_")]))


def run(options: argparse.Namespace) -> int:
    """Writes the file. Raises InputError if a value is missing or invalid, or the file exists."""
    if options.file.exists() and not options.force:
        raise InputError(f"{options.file}: this file exists already; --force overwrites it.")
    tables = _tables(options, ask=sys.stdin.isatty())
    _validate(tables)
    written(options.file, _text(tables), private=True)
    print(f"{options.file} is written. Next: conformance doctor --target {options.file}")
    return 0


def _tables(options: argparse.Namespace, *, ask: bool) -> dict[str, Any]:
    tables: dict[str, Any] = {}
    missing = []
    for table, key, text, required in _QUESTIONS:
        option = _option(table, key)
        value = getattr(options, option[2:].replace("-", "_"))
        if value is None and ask:
            place = f"[{table}] {key}" if table else key
            value = input(f"{place} ({text}{'' if required else ', or nothing'}): ").strip()
        if value:
            (tables.setdefault(table, {}) if table else tables)[key] = value
        elif required:
            missing.append(option)
    if missing:
        raise InputError(f"No terminal to ask in: give {', '.join(missing)}.")
    return tables


def _validate(tables: dict[str, Any]) -> None:
    """Raises InputError for values that a run would reject; secrets may come from the environment."""
    complete = {
        name: {"secret": "from the environment", **value} if isinstance(value, dict) else value
        for name, value in tables.items()
    }
    try:
        build(complete, "conformance init")
    except InputError as error:
        raise InputError(str(error).removeprefix("conformance init: ")) from None


def _text(tables: dict[str, Any]) -> str:
    """The target file, with values that were not given as comments."""
    lines = ['# What the suite must be told about a server: see the README, "Judge your own server".', ""]
    for table, questions in itertools.groupby(_QUESTIONS, lambda question: question[0]):
        values = tables.get(table, {}) if table else tables
        if table:
            lines += ["", f"{'' if table in tables else '# '}[{table}]"]
        for _, key, text, _ in questions:
            value = values.get(key)
            shown = f"{key} = {json.dumps(value, ensure_ascii=False)}" if value else f'# {key} = "..."'
            lines.append(f"{shown:<40}# {text}")
    return "\n".join(lines) + "\n" + _MORE
