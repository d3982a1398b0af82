"""Converts a replay file into a Python script that needs the standard library only."""

from __future__ import annotations

import ast
import json
from importlib.util import find_spec
from typing import Any

from conformance.replay.attempts import attempts
from conformance.replay.format import Document, check

#: The module that a script copies, with the modules that it imports and its two empty documents filled in.
TEMPLATE = "conformance.replay.script_template"

#: Default address of the server.
BASE_URL = "http://127.0.0.1:8000"


def as_python(document: Document, base_url: str = BASE_URL) -> str:
    """Returns the script, which reads credentials and address from the environment; `base_url` is the default
    address. Raises InputError for data that are not a replay file."""
    check(document, "the replay file")
    text = "\n".join(_pasted(TEMPLATE, set())) + "\n"
    for name, data in (
        ("DOCUMENT: dict[str, Any]", document),
        ("DEFAULTS: dict[str, Any]", {"base_url": base_url, "attempts": attempts(document)}),
    ):
        text = text.replace(f'{name} = json.loads("{{}}")', f"{name} = json.loads({_literal(data)})")
    return text


def _pasted(name: str, done: set[str]) -> list[str]:
    """The lines of a module, in which the first import from each module of the suite is replaced by that
    module's lines. `done` are the names of the modules so far."""
    spec = find_spec(name)
    source = getattr(spec.loader, "get_source")(name) if spec else ""  # noqa: B009 (not every loader has it)
    lines: list[str] = []
    rest, at = source.splitlines(), 0
    first = not done
    done.add(name)
    for node in ast.parse(source).body:
        if not isinstance(node, ast.ImportFrom) or node.module is None:
            continue
        ours = node.module.partition(".")[0] == "conformance"
        if ours or (node.module == "__future__" and not first):
            lines += rest[at : node.lineno - 1]
            lines += _pasted(node.module, done) if ours and node.module not in done else []
            at = node.end_lineno or at
    return lines + rest[at:]


def _literal(data: Any) -> str:
    """Formats JSON data as a raw Python string, its apostrophes as JSON escapes."""
    text = json.dumps(data, indent=1, ensure_ascii=True)
    return "r'''" + text.replace("'", "\\u0027") + "'''"
