"""`conformance init`: writes a commented target file.

In a terminal it asks for each value not given as an option, and tries each answer on the server.
"""

from __future__ import annotations

import argparse
import getpass
import itertools
import json
import os
import sys
from collections import deque
from pathlib import Path
from typing import Any

from conformance._files import InputError, written
from conformance.cli.main import print_indented
from conformance.diagnosis.examination import Diagnosis
from conformance.diagnosis.examine import examine_value
from conformance.target.environment import variable
from conformance.target.file import Target, build

#: Table, key and description of each value of the target file.
_QUESTIONS = (
    ("", "base_url", "address of the server: everything before /v1"),
    ("primary", "api_key", "API key of the organization under test"),
    ("primary", "secret", "its secret (empty: from CONFORMANCE_PRIMARY_SECRET)"),
    ("primary", "customer_id", "a customer of the organization, cus_..."),
    ("primary", "other_customer_id", "another customer of it"),
    ("primary", "funded_account_id", "an account that payouts may draw on"),
    ("secondary", "api_key", "API key of another organization"),
    ("secondary", "secret", "its secret (empty: from CONFORMANCE_SECONDARY_SECRET)"),
    ("secondary", "customer_id", "a customer of that organization"),
)

#: Values that stand for those not answered yet.
_PLACEHOLDERS: dict[str, dict[str, str]] = {
    "": {"base_url": "http://not-answered-yet"},
    "primary": {"api_key": "?", "secret": "?", "customer_id": "cus_?"},
    "secondary": {"api_key": "??", "secret": "?", "customer_id": "cus_??"},
}
_REQUIRED = (("", "base_url"), ("primary", "api_key"), ("primary", "customer_id"))
_SECOND_CUSTOMER = ("secondary", "customer_id")

#: In the place of the answers that were refused last, once later ones are not tried.
_UNTRIED = "untried"

#: The end of the file.
_MORE = "# What the server may lack, limits, samples, TLS: conformance/docs/judge-my-server.md of the suite."

Tables = dict[str, dict[str, str]]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, nargs="?", default=Path("target.toml"), metavar="FILE")
    parser.add_argument("--force", action="store_true", help="overwrite an existing file")
    for table, key, text in _QUESTIONS:
        parser.add_argument(_option(table, key), metavar="VALUE", help=text)


def _option(table: str, key: str) -> str:
    return "--" + "-".join(filter(None, [table, *key.split("_")]))


def run(options: argparse.Namespace) -> int:
    """Writes the file. Raises InputError if a value is missing or invalid, or the file exists."""
    if options.file.exists() and not options.force:
        raise InputError(f"{options.file}: this file exists already; --force overwrites it.")
    tables: Tables = {}
    questions, refused, asks = deque(_QUESTIONS), "", sys.stdin.isatty()
    while questions:
        table, key, text = question = questions.popleft()
        value = getattr(options, _option(table, key)[2:].replace("-", "_"))
        if value:
            _target(tables, table, key, value)
        elif value is None and asks and (table != "secondary" or key == "api_key" or table in tables):
            value = _asked(tables, table, key, text)
        if not value:
            continue
        tables.setdefault(table, {})[key] = value
        diagnosis = _examined(tables, table, key) if asks and refused != _UNTRIED else None
        if diagnosis is None:
            continue
        if refused == (refused := json.dumps(tables)):
            refused = _UNTRIED
            continue
        print_indented(diagnosis.text)
        print("  The same answer again is taken as it is, and later ones untried.")
        at = _QUESTIONS.index(question)
        questions.extendleft(_QUESTIONS[at : at - 2 : -1] if diagnosis.name == "credentials" else [question])
    if missing := [_option(*place) for place in _REQUIRED if place[1] not in tables.get(place[0], {})]:
        raise InputError(f"No terminal to ask in: give {', '.join(missing)}.")
    if tables.get("secondary") and not {"api_key", "customer_id"} <= tables["secondary"].keys():
        raise InputError("[secondary] needs an API key and a customer, or none of its values.")
    written(options.file, _text(tables), private=True)
    print(f"{options.file} is written. Next: conformance doctor --target {options.file}")
    return 0


def _asked(tables: Tables, table: str, key: str, text: str) -> str:
    """Asks until the answer is valid; a secret is not echoed. Raises InputError at the end of the input."""
    required = (table, key) in _REQUIRED or ("secondary" in tables and (table, key) == _SECOND_CUSTOMER)
    place = f"[{table}] {key}" if table else key
    question = f"{place} ({text}{'' if required else ', or nothing'}): "
    while True:
        try:
            value = (getpass.getpass if key == "secret" else input)(question).strip()
            if value:
                _target(tables, table, key, value)
        except EOFError:
            print()
            raise InputError(f"the input ended before {place}; nothing is written.") from None
        except InputError as error:
            print(f"  {error}")
            continue
        if value or not required:
            return value
        print("  It is needed.")


def _target(tables: Tables, table: str = "", key: str = "", value: str = "") -> Target:
    """The target of the answers so far, with one more. Raises InputError for a value that a run would
    reject."""
    values: dict[str, dict[str, Any]] = {}
    for name, placeholders in _PLACEHOLDERS.items():
        secret = {"secret": stated} if (stated := os.environ.get(variable(name, "secret"))) else {}
        values[name] = {**placeholders, **secret, **tables.get(name, {})}
    if value:
        values[table][key] = value
    try:
        return build({**values.pop(""), **values}, "init")
    except InputError as error:
        raise InputError(str(error).removeprefix("init: ")) from None


def _examined(tables: Tables, table: str, key: str) -> Diagnosis | None:
    """What the server has against the last answer; None for nothing, or where that shows only with the
    secret."""
    target = _target(tables)
    signs = not table or getattr(target, table).secret != _PLACEHOLDERS[table]["secret"]
    return examine_value(target, table, key) if signs and key != "api_key" else None


def _text(tables: Tables) -> str:
    """The target file, with values that were not given as comments."""
    lines = ['# What the suite must be told about a server: see the README, "Judge your own server".', ""]
    for table, questions in itertools.groupby(_QUESTIONS, lambda question: question[0]):
        if table:
            lines += ["", f"{'' if table in tables else '# '}[{table}]"]
        for _, key, text in questions:
            value = tables.get(table, {}).get(key)
            shown = f"{key} = {json.dumps(value, ensure_ascii=False)}" if value else f'# {key} = "..."'
            lines.append(f"{shown:<40}# {text}")
    return "\n".join([*lines, "", _MORE, ""])
