"""A replay file as a Python script that needs nothing but the standard library and signs by itself."""

from __future__ import annotations

import ast
import json
from importlib.util import find_spec
from typing import Any

from conformance.replay.attempts import attempts
from conformance.replay.format import Document, check

#: The module that scripts are copies of, with the modules that it imports; its two empty documents are
#: replaced.
TEMPLATE = "conformance.replay.script_template"

#: Address of the server where nobody names one.
BASE_URL = "http://127.0.0.1:8000"


def as_python(document: Document, base_url: str = BASE_URL) -> str:
    """The script. It takes credentials from the environment, under the names of the target file, and an
    address, which it prefers to the `base_url`. Raises InputError for data that are no replay file."""
    check(document, "the replay file")
    text = "\n".join(_pasted(TEMPLATE, set())) + "\n"
    for name, data in (
        ("DOCUMENT: dict[str, Any]", document),
        ("DEFAULTS: dict[str, Any]", {"base_url": base_url, "attempts": attempts(document)}),
    ):
        text = text.replace(f'{name} = json.loads("{{}}")', f"{name} = json.loads({_literal(data)})")
    return text


def _pasted(name: str, done: set[str]) -> list[str]:
    """The lines of a module, with those of each module of the suite in place of the first statement that
    imports names from it. `done` are the names of the modules so far."""
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
    """JSON data as a raw string of Python."""
    text = json.dumps(data, indent=1, ensure_ascii=True)
    # In a raw string the quotes may not stand, and JSON can do without them.
    return "r'''" + text.replace("'", "\\u0027") + "'''"
