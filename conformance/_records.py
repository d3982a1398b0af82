"""Types of members of records, from which reader, writer and JSON Schema are derived."""

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
