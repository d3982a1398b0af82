"""Texts for people are short, printable and without control characters; files are written atomically."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conformance._files import written
from conformance._text import KEPT_TEXT, SHOWN, as_json, clean, one_line, plain, printable, shown, writable
from conformance.wire.messages import Call, Exchange

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


@given(values)
def test_values_are_shown_in_few_characters(value: Any) -> None:
    assert len(shown(value)) <= SHOWN and len(as_json(value, 200)) <= 200
    (shown(value) + as_json(value, 200)).encode("utf-8")


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ({"a": 1}, "an object of 1 member"),
        ([1, 2], "an array of 2 elements"),
        (10**400, "an integer of 1329 bits"),
        ("x" * 100, '"' + "x" * 76 + "..."),
        ("\ud800", '"\\ud800"'),
        (True, "true"),
        (None, "null"),
    ],
    ids=["object", "array", "integer", "long-text", "surrogate", "boolean", "null"],
)
def test_values_are_named_in_sentences(value: Any, told: str) -> None:
    assert shown(value) == told


def test_values_without_json_are_named_by_their_type() -> None:
    assert as_json(10**5000, 200) == "a value of the type int"
    endless: list[Any] = []
    endless.append(endless)
    assert as_json(endless, 200) == "a value of the type list"


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


@pytest.mark.parametrize(
    ("status", "body", "told"),
    [
        (400, b'{"error": {"type": "t", "code": "c", "message": "no\\nname"}}', "400 t/c: no name"),
        (400, b'{"message": ["no name"]}', '400 without error type and code: {"message": ["no name"]}'),
        (413, b"<h1>\nToo Large", "413 with a body that is not JSON: <h1> Too Large"),
        (400, b"", "400 with no body"),
        (500, b'{"error": {"type": "t", "code": "c", "message": "no"}}', "500 t/c"),
        (201, b'{"id": "acc_1"}', "201 with a JSON body"),
    ],
)
def test_refusals_are_described_in_the_words_of_the_server(status: int, body: bytes, told: str) -> None:
    call = Call("createAccount", "POST", "/v1/customers/cus_1/accounts")
    exchange = Exchange(1, "primary", call, "a create", "http://server.test", "POST", call.target, [], b"")
    exchange.status, exchange.response_body = status, body
    assert exchange.explained() == told
