"""Writes spec/results.schema.json, which its types make: `python -m tests.schemas`.

tests/test_spec.py fails while the file differs from them.
"""

from __future__ import annotations

import json

import msgspec

from conformance.contract.documents import SPEC
from conformance.report.document import Document

FILE = SPEC / "results.schema.json"

ABOUT = (
    "results.json: what a run of the conformance suite found. Readers take any file whose format has the "
    "first number they know; further members may come with later versions of it."
)


def text() -> str:
    """Returns the JSON Schema of the results document as JSON text."""
    (root,), definitions = msgspec.json.schema_components([Document], ref_template="#/$defs/{name}")
    for definition in definitions.values():
        if "description" in definition:  # a docstring
            definition["description"] = " ".join(definition["description"].split())
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **definitions.pop(root["$ref"].rpartition("/")[2]),
        "title": "Results of a run",
        "description": ABOUT,
        "$defs": definitions,
    }
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    FILE.write_text(text(), "utf-8")
