"""Pictures in the documents: they can be made, load nothing, and each is used."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from tests.prove import pictures

if TYPE_CHECKING:
    from playwright.sync_api import Browser

#: Maximum size of all pictures together, in bytes.
MOST = 300_000


def test_pictures_are_made(browser: Browser, tmp_path: Path) -> None:
    made = pictures.make(browser, tmp_path, ("--rule", "idempotency.replay@createPayout", "-m", "not fuzz"))
    assert {path.name for path in made} == {path.name for path in pictures.FOLDER.iterdir()}
    for path in made:
        assert path.suffix == ".svg" or path.read_bytes().startswith(b"\x89PNG")
    text = (tmp_path / "terminal.svg").read_text("utf-8")
    assert "idempotency.replay" in text.replace("&#160;", " ")


def test_stored_pictures_are_small_load_nothing_and_are_shown() -> None:
    stored = list(pictures.FOLDER.iterdir())
    assert sum(path.stat().st_size for path in stored) < MOST
    text = (pictures.FOLDER / "terminal.svg").read_text("utf-8")
    ElementTree.fromstring(text)
    assert not re.search(r"url\((?!#)|href=|<script|@import", text)
    documents = [pictures.ROOT / "README.md", *pictures.FOLDER.parent.glob("*.md")]
    shown = "".join(path.read_text("utf-8") for path in documents)
    assert [path.name for path in stored if f"pictures/{path.name})" not in shown] == []
