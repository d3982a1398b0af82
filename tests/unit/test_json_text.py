"""Answers are read as JSON by RFC 8259, and none makes the reader fail."""

from __future__ import annotations

import time

import pytest

from conformance.wire import json_text

TEXTS = {
    b"null": None,
    b' {"a": [1, 2.5, "\xc3\xa9"]}\n': {"a": [1, 2.5, "é"]},
    b'"\\ud800"': "\ud800",
    b'{"a":1,"a":2}': {"a": 2},
    b'"' + b"[" * 500 + b'"': "[" * 500,
    b"1e999": float("inf"),
    b"9" * 5000: float("inf"),
}


@pytest.mark.parametrize("body", TEXTS)
def test_json_is_read(body: bytes) -> None:
    assert json_text.parse(body) == TEXTS[body]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\xef\xbb\xbf{}",
        "{}".encode("utf-16"),
        "{}".encode("utf-16-le"),
        "{}".encode("utf-32"),
        b'{"a": NaN}',
        b'{"a": -Infinity}',
        b"[Infinity," + b"9" * 5000 + b"]",
        b'{"a": "K\xf6ln"}',
        b'"\xed\xa0\x80"',
        b'"a\nb"',
        b"{'a': 1}",
        b"{} {}",
        b"[1,]",
        b"[" * 200 + b"]" * 200,
        b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
    ],
    ids=lambda body: repr(body[:20]),
)
def test_what_is_no_json_is_told(body: bytes) -> None:
    with pytest.raises(ValueError):
        json_text.parse(body)


def test_text_of_quotes_is_read_in_one_pass() -> None:
    begin = time.perf_counter()
    with pytest.raises(ValueError):
        json_text.parse(b"[" * 200 + b'"' + b'\\"' * 500_000)
    assert time.perf_counter() - begin < 5


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (b"\xef\xbb\xbf{}", "a body that begins with a byte order mark"),
        (b'{"a":"caf\xe9"}', "a body that is not UTF-8 (byte 10 is 0xE9)"),
        (b'{"a":NaN}', "a body that is not JSON, as it holds NaN"),
        (b"[" * 101, "a body that is not JSON, as it is nested more than 100 deep"),
        (b"<h1>", "a body that is not JSON"),
    ],
    ids=["mark", "latin", "constant", "nested", "page"],
)
def test_defect_of_a_body_is_named(body: bytes, told: str) -> None:
    assert json_text.defect(body) == told
