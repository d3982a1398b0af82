"""Texts for people are short, printable and without control characters; files are written atomically."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conformance._files import written
from conformance._text import KEPT_TEXT, SHOWN, clean, one_line, plain, printable, writable

anything = st.text(st.characters(exclude_categories=()), max_size=300)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | anything,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(anything, inner, max_size=3),
    max_leaves=6,
)


@given(anything)
def test_texts_are_printable(text: str) -> None:
    for made in (plain(text), clean(text), printable(text), writable(text)):
        made.encode("utf-8")
    assert len(plain(text)) <= SHOWN
    assert all(letter.isprintable() or letter in "\n\t" for letter in clean(text))


def test_terminal_control_characters_are_escaped() -> None:
    assert printable("a\x1b[31m\u202eb\r\nc\td") == "a\\x1b[31m\\u202eb\nc\td"
    assert clean("x" * (KEPT_TEXT + 1)) == "x" * KEPT_TEXT + f"… ({KEPT_TEXT + 1} characters)"
    assert one_line("a\n  b", 3) == "a b"


def test_files_are_written_whole_and_for_whom_they_are(tmp_path: Path) -> None:
    path = tmp_path / "new" / "report.html"
    assert written(path, "one\n") == path
    written(path, "two\n")
    assert path.read_bytes() == b"two\n"
    secret = written(tmp_path / "target.toml", "secret", private=True)
    assert stat.S_IMODE(secret.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.stat().st_mode) & 0o400
    assert [file.name for file in path.parent.iterdir()] == ["report.html"]


def test_a_file_that_cannot_be_written_leaves_the_old_one(tmp_path: Path) -> None:
    path = written(tmp_path / "report.html", "old")
    with pytest.raises(UnicodeEncodeError):
        written(path, "new \ud800")
    assert path.read_text() == "old" and [file.name for file in tmp_path.iterdir()] == ["report.html"]
