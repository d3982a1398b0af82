"""`conformance init`: writes a commented target file, by asking or from options.

Writes a target file. In a terminal it asks for each value that no option gives.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conformance._files import InputError, written
from conformance.target.file import build


@dataclass(frozen=True)
class _Question:
    """One value of the target file: its place, what it is, and whether the file can do without it."""

    table: str
    key: str
    text: str
    required: bool = True

    @property
    def option(self) -> str:
        name = f"{self.table}_{self.key}" if self.table else self.key
        return name.replace("_", "-")


_QUESTIONS = (
    _Question("", "base_url", "address of the server: everything before /v1"),
    _Question("primary", "api_key", "API key of the organization under test"),
    _Question("primary", "secret", "its secret (empty: from CONFORMANCE_PRIMARY_SECRET)", required=False),
    _Question("primary", "customer_id", "a customer of the organization, cus_..."),
    _Question("primary", "other_customer_id", "another customer of it", required=False),
    _Question("primary", "funded_account_id", "an account that payouts may draw on", required=False),
    _Question("secondary", "api_key", "API key of another organization", required=False),
    _Question("secondary", "secret", "its secret (empty: from CONFORMANCE_SECONDARY_SECRET)", required=False),
    _Question("secondary", "customer_id", "a customer of that organization", required=False),
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
# max_requests = 5000                   # no run sends more; --max-requests
# request_timeout = 30                  # seconds for one answer; --request-timeout
# run_timeout = 900                     # seconds for a run, which then reports what it has; --run-timeout
# retry_seconds = 120                   # so long each worker waits out 429 and 503 in all

# [samples.beneficiary]                 # laid over the suite's own sample requests, for servers that accept
# country_code = "US"                   # only some countries, currencies or bank details
# [samples.payout_destination.bank_account]
# currency = "USD"
# [samples.wallet]
# pairs = [["USDC", "solana_devnet"], ["USDT", "solana_devnet"]]
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, nargs="?", default=Path("target.toml"), metavar="FILE")
    parser.add_argument("--force", action="store_true", help="write over a file that is there")
    for question in _QUESTIONS:
        parser.add_argument(f"--{question.option}", metavar="VALUE", help=question.text)


def run(options: argparse.Namespace) -> int:
    """Writes the file. Raises InputError where a value is missing or wrong, or the file is there."""
    if options.file.exists() and not options.force:
        raise InputError(f"{options.file}: this file is there already; --force writes over it.")
    ask = _asker() if sys.stdin.isatty() else None
    tables = _tables(options, ask)
    _validate(tables)
    written(options.file, _text(tables), private=True)
    print(f"{options.file} is written. Next: conformance doctor --target {options.file}")
    return 0


def _asker() -> Callable[[_Question], str]:
    def ask(question: _Question) -> str:
        place = f"[{question.table}] {question.key}" if question.table else question.key
        needed = "" if question.required else ", or nothing"
        return input(f"{place} ({question.text}{needed}): ").strip()

    return ask


def _tables(options: argparse.Namespace, ask: Callable[[_Question], str] | None) -> dict[str, Any]:
    tables: dict[str, Any] = {}
    missing = []
    for question in _QUESTIONS:
        value = getattr(options, question.option.replace("-", "_"))
        if value is None and ask is not None:
            value = ask(question)
        if value:
            table = tables.setdefault(question.table, {}) if question.table else tables
            table[question.key] = value
        elif question.required:
            missing.append(f"--{question.option}")
    if missing:
        raise InputError(f"Nobody is there to ask: give {', '.join(missing)}.")
    return tables


def _validate(tables: dict[str, Any]) -> None:
    """Raises InputError for what a run would not take; secrets may come from the environment."""
    complete = {
        name: {"secret": "from the environment", **value} if isinstance(value, dict) else value
        for name, value in tables.items()
    }
    try:
        build(complete, "conformance init")
    except InputError as error:
        raise InputError(str(error).removeprefix("conformance init: ")) from None


def _text(tables: dict[str, Any]) -> str:
    """The target file: what is known as values, what is not as comments."""
    lines = ['# What the suite must be told about a server: see the README, "Judge your own server".', ""]
    table = ""
    for question in _QUESTIONS:
        if question.table != table:
            table = question.table
            filled = table in tables
            lines += ["", f"{'' if filled else '# '}[{table}]"]
        values = tables.get(table, {}) if table else tables
        value = values.get(question.key)
        shown = (
            f"{question.key} = {json.dumps(value, ensure_ascii=False)}"
            if value
            else f'# {question.key} = "..."'
        )
        lines.append(f"{shown:<40}# {question.text}")
    return "\n".join(lines) + "\n" + _MORE
