"""`conformance init`: writes a commented target file.

In a terminal it asks for each value not given as an option, and tries each answer on the server.
"""

from __future__ import annotations

import argparse
import getpass
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

#: Place in the target file -> description of the value.
_QUESTIONS = {
    "base_url": "address of the server: everything before /v1",
    "primary.api_key": "API key of the organization under test",
    "primary.secret": "its secret (empty: from CONFORMANCE_PRIMARY_SECRET)",
    "primary.customer_id": "a customer of the organization, cus_...",
    "primary.other_customer_id": "another customer of it",
    "primary.funded_account_id": "an account that payouts may draw on",
    "secondary.api_key": "API key of another organization",
    "secondary.secret": "its secret (empty: from CONFORMANCE_SECONDARY_SECRET)",
    "secondary.customer_id": "a customer of that organization",
}

_REQUIRED = ("base_url", "primary.api_key", "primary.customer_id")

#: The second organization is left out without a key; with one it needs a customer.
_SECOND_KEY, _SECOND_CUSTOMER = "secondary.api_key", "secondary.customer_id"

#: Values that stand for those not answered yet.
_PLACEHOLDERS = {
    "base_url": "http://not-answered-yet",
    "primary.api_key": "?",
    "primary.secret": "?",
    "primary.customer_id": "cus_?",
    "secondary.api_key": "??",
    "secondary.secret": "?",
    "secondary.customer_id": "cus_??",
}

#: The end of the file.
_MORE = "# What the server may lack, limits, samples, TLS: conformance/docs/judge-my-server.md of the suite."

#: In the place of the answers that were refused last, once later ones are not tried.
_UNTRIED = "untried"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, nargs="?", default=Path("target.toml"), metavar="FILE")
    parser.add_argument("--force", action="store_true", help="overwrite an existing file")
    for place, text in _QUESTIONS.items():
        parser.add_argument(_option(place), dest=place, metavar="VALUE", help=text)


def _option(place: str) -> str:
    return "--" + place.replace(".", "-").replace("_", "-")


def run(options: argparse.Namespace) -> int:
    """Writes the file. Raises InputError if a value is missing or invalid, or the file exists."""
    if options.file.exists() and not options.force:
        raise InputError(f"{options.file}: this file exists already; --force overwrites it.")
    answers: dict[str, str] = {}
    questions, refused, asks = deque(_QUESTIONS), "", sys.stdin.isatty()
    while questions:
        place = questions.popleft()
        answers.pop(place, None)
        asked = asks and (_SECOND_KEY in (place, *answers) or not place.startswith("secondary."))
        value = getattr(options, place)
        if value is None and asked:
            value = _asked(answers, place)
        if not value:
            continue
        answers[place] = value
        target = _target(answers)
        diagnosis = _examined(target, place) if asks and refused != _UNTRIED else None
        if diagnosis is None:
            continue
        if refused == (refused := json.dumps(answers)):
            refused = _UNTRIED
            continue
        print_indented(diagnosis.text)
        print("  The same answer again is taken as it is, and later ones untried.")
        again = list(_QUESTIONS)[: list(_QUESTIONS).index(place) + 1]
        questions.extendleft(reversed(again[-2:] if diagnosis.name == "credentials" else again[-1:]))
    if missing := [_option(place) for place in _REQUIRED if place not in answers]:
        raise InputError(f"No terminal to ask in: give {', '.join(missing)}.")
    second = {place for place in answers if place.startswith("secondary.")}
    if second and not second >= {_SECOND_KEY, _SECOND_CUSTOMER}:
        raise InputError("[secondary] needs an API key and a customer, or none of its values.")
    written(options.file, _text(answers), private=True)
    print(f"{options.file} is written. Next: conformance doctor --target {options.file}")
    return 0


def _asked(answers: dict[str, str], place: str) -> str:
    """Asks until the answer is valid; a secret is not echoed. Raises InputError at the end of the input."""
    required = place in _REQUIRED or place == _SECOND_CUSTOMER
    question = f"{place} ({_QUESTIONS[place]}{'' if required else ', or nothing'}): "
    while True:
        try:
            value = (getpass.getpass if place.endswith(".secret") else input)(question).strip()
            if value:
                _target(answers | {place: value})
        except EOFError:
            print()
            raise InputError(f"the input ended before {place}; nothing is written.") from None
        except InputError as error:
            print(f"  {error}")
            continue
        if value or not required:
            return value
        print("  It is needed.")


def _target(answers: dict[str, str]) -> Target:
    """The target of the answers so far. Raises InputError for a value that a run would reject."""
    names = ("primary", "secondary")
    stated = {f"{name}.secret": os.environ.get(variable(name, "secret"), "") for name in names}
    values = {**_PLACEHOLDERS, **{place: value for place, value in stated.items() if value}, **answers}
    tables: dict[str, Any] = {"base_url": values.pop("base_url"), "primary": {}, "secondary": {}}
    for place, value in values.items():
        table, key = place.split(".")
        tables[table][key] = value
    try:
        return build(tables, "init")
    except InputError as error:
        raise InputError(str(error).removeprefix("init: ")) from None


def _examined(target: Target, place: str) -> Diagnosis | None:
    """What the server has against the last answer; None for nothing, or where that shows only with the
    secret."""
    table, _, key = place.rpartition(".")
    signs = not table or getattr(target, table).secret != _PLACEHOLDERS[f"{table}.secret"]
    return examine_value(target, table, key) if signs and key != "api_key" else None


def _text(answers: dict[str, str]) -> str:
    """The target file, with values that were not given as comments."""
    lines = ['# What the suite must be told about a server: see the README, "Judge your own server".', ""]
    tables = {place.rpartition(".")[0] for place in answers}
    for place, text in _QUESTIONS.items():
        table, _, key = place.rpartition(".")
        if key == "api_key":
            lines += ["", f"[{table}]" if table in tables else f"# [{table}]"]
        value = answers.get(place)
        line = f"{key} = {json.dumps(value, ensure_ascii=False)}" if value else f'# {key} = "..."'
        lines.append(f"{line:<40}# {text}")
    return "\n".join([*lines, "", _MORE, ""])
