"""Scripts that repeat a violation without the suite, made of the replay files that results carry."""

from __future__ import annotations

from typing import Any

from conformance.results.view import Document


def scripts(document: Document, finding: dict[str, Any]) -> list[tuple[str, str]]:
    """Name and text of each script; none where the document does not carry the finding's requests."""
    replay = document.get("replays", {}).get(finding["replay"])
    if not finding["replay"] or replay is None:
        return []
    from conformance.replay import as_curl, as_python

    try:
        return [("as a shell script with curl", as_curl(replay)), ("as a Python script", as_python(replay))]
    except (KeyError, TypeError, ValueError, AttributeError):
        # Written by hand, or by another version: the command says what is wrong with it.
        return []
