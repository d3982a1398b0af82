"""The replay files of a run's parts in one folder, so that the commands of a merged report work."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from conformance.replay import ReplayError, load
from conformance.replay import document as replay_files
from conformance.report import view
from conformance.report.building import REPLAYS
from conformance.report.document import Document

#: Where the replay files of a run are, as its findings name them.
FOLDER = "replays"


@dataclass
class Replays:
    """The replay files of the whole by the path that its findings name them with.

    `names` has, part by part, the path in the part -> the path in the whole. A finding whose file is gone
    gets none, so that no report names a file that does not exist.
    """

    contents: dict[str, dict[str, Any]] = field(default_factory=dict)
    names: list[dict[str, str]] = field(default_factory=list)

    def write(self, folder: Path) -> None:
        """Writes every file into the folder of the report. Raises OSError."""
        for path, content in self.contents.items():
            replay_files.write(content, folder / path)

    def shown(self, document: Document) -> dict[str, dict[str, Any]]:
        """The files of the first violation of each cause, which the results carry."""
        paths = dict.fromkeys(cause.first.decisive.replay for cause in view.causes(document))
        there = [path for path in paths if path in self.contents]
        return {path: self.contents[path] for path in there[:REPLAYS]}


def gathered(parts: Sequence[Document], folders: Sequence[Path]) -> Replays:
    """The replay files that findings of the parts name; `folders` are those of the parts.

    Two files of one name and different contents are told apart by a number. What a folder does not have is
    taken from the results, which carry some of the files.
    """
    whole = Replays()
    for part, folder in zip(parts, folders, strict=True):
        names: dict[str, str] = {}
        for case in part.cells:
            for finding in case.findings:
                path = finding.replay
                if path and path not in names:
                    content = _content(part, folder, path)
                    names[path] = "" if content is None else _placed(whole.contents, path, content)
        whole.names.append(names)
    return whole


def _content(part: Document, folder: Path, path: str) -> dict[str, Any] | None:
    """A replay file of a part; None where it is neither in its folder nor in its results."""
    if PurePosixPath(path).parent != PurePosixPath(FOLDER) or "\\" in path or not path.endswith(".json"):
        # Results come from elsewhere, and name nothing but files of their own.
        return None
    try:
        return load(folder / path)
    except ReplayError:
        carried = part.replays.get(path)
        return dict(carried) if carried is not None else None


def _placed(contents: dict[str, dict[str, Any]], path: str, content: dict[str, Any]) -> str:
    """Keeps a file's content under its path, or under the next free one where another file has it."""
    stem, number = path.removesuffix(".json"), 2
    while contents.setdefault(path, content) != content:
        path, number = f"{stem}.{number}.json", number + 1
    return path
