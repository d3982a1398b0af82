"""A replay file as a Python script that needs nothing but the standard library and signs by itself."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from conformance.replay.curl import BASE_URL
from conformance.replay.document import Document, check
from conformance.wire.mutations import MUTATIONS

#: The script; its two empty documents are replaced.
TEMPLATE = Path(__file__).with_name("script_template.py")


def as_python(document: Document, base_url: str = BASE_URL) -> str:
    """The script. It takes credentials from the environment, under the names of the target file, and an
    address, too, that it prefers to the `base_url`. Raises ReplayError for what is not a replay file."""
    check(document, "the replay file")
    text = TEMPLATE.read_text("utf-8")
    for name, data in (
        ("DOCUMENT: dict[str, Any]", document),
        ("MUTATIONS: dict[str, list[str]]", MUTATIONS),
        ("DEFAULTS: dict[str, str]", {"base_url": base_url}),
    ):
        text = text.replace(f'{name} = json.loads("{{}}")', f"{name} = json.loads({_literal(data)})")
    return text


def _literal(data: Any) -> str:
    """JSON data as a raw string of Python."""
    text = json.dumps(data, indent=1, ensure_ascii=True)
    # In a raw string the quotes may not stand, and JSON can do without them.
    return "r'''" + text.replace("'", "\\u0027") + "'''"
