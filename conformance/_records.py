"""Records with a JSON form; reader, writer and JSON Schema are derived from their types."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

#: An integer of 0 or more.
Count = Annotated[int, msgspec.Meta(ge=0)]

#: A duration in seconds.
Seconds = Annotated[float, msgspec.Meta(ge=0)]


def says(description: str, **keywords: Any) -> msgspec.Meta:
    """Describes a member in the schema: `name: Annotated[str, says("Its name.")]`. Further keywords of JSON
    Schema are published but not validated."""
    return msgspec.Meta(description=description, extra_json_schema=keywords or None)


def to_plain(value: Any) -> Any:
    """A record, or a collection of records, as JSON data."""
    return msgspec.json.decode(msgspec.json.encode(value))


def schema(kind: type, title: str, description: str) -> dict[str, Any]:
    """The JSON Schema of a record."""
    (root,), definitions = msgspec.json.schema_components([kind], ref_template="#/$defs/{name}")
    name = root["$ref"].rpartition("/")[2]
    for definition in definitions.values():
        if "description" in definition:  # a docstring
            definition["description"] = " ".join(definition["description"].split())
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **definitions.pop(name),
        "title": title,
        "description": description,
        "$defs": definitions,
    }
