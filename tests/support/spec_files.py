"""Files of spec/ as documents."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import yaml

from conformance.contract.documents import SPEC
from conformance.contract.operations import OPERATIONS

CATALOGUE = yaml.safe_load((SPEC / "rules.yaml").read_bytes())
OPENAPI = yaml.safe_load((SPEC / "openapi.yaml").read_bytes())
SCHEMAS = {path.name: json.loads(path.read_bytes()) for path in sorted((SPEC / "schemas").glob("*.json"))}


def walk(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yields every value of a document with its path."""
    yield path, value
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, member in inner:
        yield from walk(member, (*path, str(key)))


def examples(content: Any, document: dict[str, Any] = OPENAPI) -> Iterator[tuple[str, Any]]:
    """Yields the examples of a media type with their names, references resolved."""
    if not isinstance(content, dict) or "schema" not in content:
        return
    if "example" in content:
        yield "example", content["example"]
    for name, example in content.get("examples", {}).items():
        shared = example.get("$ref", "").rpartition("/")[2]
        yield name, (document["components"]["examples"][shared] if shared else example)["value"]


def described(operation: str) -> dict[str, Any]:
    """Returns the operation object in openapi.yaml."""
    found: dict[str, Any] = OPENAPI["paths"][OPERATIONS[operation].path][OPERATIONS[operation].method.lower()]
    return found
