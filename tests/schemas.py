"""Writes the published schemas that are generated from types: `python -m tests.schemas`.

tests/test_spec.py fails while a file differs from its types.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from conformance.contract.rules import SPEC
from conformance.report import document

#: File in spec/ -> function that makes its schema.
GENERATED: Mapping[str, Callable[[], dict[str, Any]]] = {
    "results.schema.json": document.schema,
}


def text(name: str) -> str:
    """Returns a generated schema as JSON text."""
    return json.dumps(GENERATED[name](), indent=2, ensure_ascii=False) + "\n"


def main() -> None:
    for name in GENERATED:
        (SPEC / name).write_text(text(name), "utf-8")
        print(SPEC / name)


if __name__ == "__main__":
    main()
