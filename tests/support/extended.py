"""Tries a changed contract, in a process of its own whose environment names it: `main(EXTENSION)`.

Prints, as JSON, what checks find on the reference server ("broken", "passed" and "unclear" cells, "errors"),
and whether they catch wrong servers ("wrong")."""

from __future__ import annotations

import fnmatch
import importlib
import json
import logging
import pkgutil
import sys
from collections.abc import Iterator
from typing import Any

import tests.faults
from conformance.checks import plan
from conformance.contract.rules import RULES
from conformance.reference.behaviour import Behaviour
from conformance.reference.context import Context
from tests.faults.catalogue import FAULTS, Fault, faults, of_rows
from tests.faults.harness import catch, judge
from tests.support.extensions import EXTENSIONS, Extension

#: What the server adds below a new resource, and how much.
_ADDED, _COUNT = {"createAccount": "notice", "createPayout": "event"}, 12

_create = Behaviour.create


def _with_more(self: Behaviour, ctx: Context) -> None:
    """Creates a resource and what the server adds below it, which no operation creates."""
    _create(self, ctx)
    assert ctx.record is not None
    parent, instant, kind = ctx.record["id"], self.instant(ctx), _ADDED.get(ctx.operation, "")
    for number in range(_COUNT if kind else 0):
        record = {"id": f"{kind}_{number}_{parent}", "parent": parent, "text": f"Number {number}"}
        ctx.store.insert(kind, {**record, "created": instant, "updated": instant})


def _wrong(extension: Extension) -> Iterator[Fault]:
    """The servers that break a rule of an extension, or are wrong in its new member."""
    if extension.member:
        importlib.import_module("tests.faults.members")
        yield from (fault for fault in FAULTS if fnmatch.fnmatch(fault.member, extension.member))
        return
    for module in pkgutil.iter_modules(tests.faults.__path__):
        importlib.import_module(f"tests.faults.{module.name}")
    # Those of formats are of operations that tests/specification.py has.
    yield from of_rows({rule: faults[rule] for rule in fnmatch.filter(faults, extension.rules[0])})


def main(name: str, each: bool = False) -> None:
    """Judges the reference server, and a wrong server of each mistake (of lists: of each rule on each
    operation), or, by `each`, of each mistake on each operation."""
    logging.disable(logging.CRITICAL)
    extension, own = EXTENSIONS[name], {*EXTENSIONS[name].operations}
    if name == "lists":
        setattr(Behaviour, "create", _with_more)  # noqa: B010
    rules = {rule for rule in RULES if any(fnmatch.fnmatch(rule, pattern) for pattern in extension.rules)}
    right = judge(Behaviour(), plan(rules, own)).ledger
    servers: dict[Any, Fault] = {}
    for fault in _wrong(extension):
        key = fault.rule if name == "lists" and not each else fault.sentence
        if fault.operation in own and extension.shows(fault.operation, fault.sentence):
            servers.setdefault((fault.operation if each or name == "lists" else "", key), fault)
    caught = {}
    for fault in servers.values():
        outcome = catch(fault)
        caught[f"{fault.operation}: {fault.sentence}"] = outcome.shows(fault) or not outcome.effect
    found = {
        "broken": [[*cell.key, cell.summary] for cell in right.cells if cell.violations],
        "passed": [
            cell.key for cell in right.cells if cell.looks and not cell.violations and not cell.unclear
        ],
        "unclear": [[*cell.key, str(cell.unclear)] for cell in right.cells if cell.unclear],
        "errors": right.errors,
        "wrong": caught,
    }
    json.dump(found, sys.stdout)
