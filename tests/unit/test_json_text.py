"""JSON parsing of answers by RFC 8259, which no body can crash."""

from __future__ import annotations

import sys

import pytest

from conformance.contract import json_text
from tests.support import running

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
def test_invalid_json_is_refused(body: bytes) -> None:
    with pytest.raises(ValueError):
        json_text.parse(body)


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


#: Parses a deep body while another thread changes the recursion limit, as hypothesis does, and a gc callback
#: runs at every collection, as in a run.
_COLLECTED_AT_THE_END_OF_THE_STACK = """
import gc, sys, threading
from hypothesis import given, strategies
from conformance.judge.oracle.body_rules import judge_body

given(strategies.integers())(lambda value: None)()
ended = threading.Event()

def move():
    while not ended.is_set():
        sys.setrecursionlimit(3000)
        sys.setrecursionlimit(1000)

mover = threading.Thread(target=move)
mover.start()
sys.setswitchinterval(1e-6)
body = b'{"a":' * 10_000 + b"1" + b"}" * 10_000
for number in range(400):
    gc.set_threshold(number % 50 + 1)
    assert not judge_body("createAccount", body, None).refusals
ended.set()
mover.join()
print("judged")
"""


def test_deep_bodies_do_not_end_the_process() -> None:
    done = running.executed([sys.executable, "-c", _COLLECTED_AT_THE_END_OF_THE_STACK], running.ROOT)
    assert done.stdout == "judged\n", done.stderr[-2000:]


@pytest.mark.parametrize("text", ["[" * 200 + "]" * 200, b"[" * 200 + b"]" * 200])
def test_a_text_nested_too_deeply_is_not_loaded(text: bytes | str) -> None:
    with pytest.raises(json_text.TooDeep):
        json_text.load(text)
    assert json_text.load('["\ud800"]') == ["\ud800"]
