"""A replay file as a Python script that needs nothing but the standard library and signs by itself."""

from __future__ import annotations

import json
from pathlib import Path

from conformance.replay.document import Document

#: The script; the line with the document is put in.
TEMPLATE = Path(__file__).with_name("script_template.txt")

_PLACE = "DOCUMENT = json.loads(r'''{}''')"


def as_python(document: Document) -> str:
    """The script. It takes base URL and credentials from the environment, under the names of the target
    file."""
    text = json.dumps(document, indent=1, ensure_ascii=True)
    # In a raw string the quotes may not stand, and JSON can do without them.
    text = text.replace("'", "\\u0027")
    return TEMPLATE.read_text("utf-8").replace(_PLACE, f"DOCUMENT = json.loads(r'''{text}''')")
