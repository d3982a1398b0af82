"""Scripts that repeat a violation without the suite: placeholder until a document carries its steps."""

from __future__ import annotations

from typing import Any

from conformance.report.view import Document


def scripts(document: Document, finding: dict[str, Any]) -> list[tuple[str, str]]:
    """Name and text of each script; none where the finding has no steps."""
    return []
