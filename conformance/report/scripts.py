"""Scripts that repeat a violation without the suite, made of the replay files that results carry."""

from __future__ import annotations

from conformance.report.document import Document, FindingRecord


def scripts(document: Document, finding: FindingRecord) -> list[tuple[str, str]]:
    """Name and text of each script; none where the document does not carry the finding's requests."""
    replay = document.replays.get(finding.replay)
    if not finding.replay or replay is None:
        return []
    from conformance.replay import ReplayError, as_curl, as_python

    try:
        return [
            ("as a shell script with curl", as_curl(dict(replay))),
            ("as a Python script", as_python(dict(replay))),
        ]
    except ReplayError:
        # Written by hand, or by another version: the command says what is wrong with it.
        return []
