"""Work on an answer is linear in its size, counted in function calls; memory for long answers is bounded."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest

from conformance._text import as_json, clean, printable
from conformance.contract import json_text
from conformance.contract.operations import MOST_ELEMENTS, response_problems
from conformance.judge.comparison import differences, identifiers, same
from conformance.wire.answers import LongAnswers
from conformance.wire.messages import Exchange
from tests.support.report_samples import exchange


def calls(work: Callable[[], object]) -> int:
    """Counts function calls, including those of C functions."""
    count = 0

    def profile(frame: FrameType, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count


def page(size: int) -> dict[str, Any]:
    items = [{"id": f"wal_{number}", "object": "wallet", "label": "x" * 20} for number in range(size)]
    return {"items": items, "total": size, "page": 1, "size": size, "pages": 1}


#: Name -> function that makes an input of a size, and the work done on it.
WORK: dict[str, tuple[Callable[[int], Any], Callable[[Any], object]]] = {
    "equality": (page, lambda made: same(made, dict(made))),
    "differences": (page, lambda made: differences("listWallets", made, {**made, "items": []})),
    "ids": (page, lambda made: identifiers(made["items"])),
    "JSON for a sentence": (page, lambda made: as_json(made, 200)),
    "a printable text": (lambda size: "\x1b[31m" * size, printable),
    "a clean text": (lambda size: "\u202e" * size, clean),
    "reading brackets": (lambda size: b'"[' * size, json_text.depth),
    "reading quotes": (lambda size: b"[" * 101 + b'\\"' * size, json_text.depth),
}


@pytest.mark.parametrize("name", WORK)
def test_ten_times_the_answer_is_ten_times_the_work(name: str) -> None:
    make, work = WORK[name]
    small, large = make(200), make(2000)
    work(small)
    assert calls(lambda: work(large)) <= 11 * calls(lambda: work(small)) + 100


def test_counting_finds_what_is_quadratic() -> None:
    def compared(size: int) -> int:
        return calls(lambda: [len(str(first)) for first in range(size) for _ in range(size)])

    assert compared(100) > 11 * compared(10) + 100


def test_the_form_of_endless_pages_is_judged_at_their_beginning() -> None:
    first = response_problems("listWallets", page(MOST_ELEMENTS))
    assert response_problems("listWallets", page(3 * MOST_ELEMENTS))[:20] == first[:20]
    assert calls(lambda: response_problems("listWallets", page(3 * MOST_ELEMENTS))) <= 1.1 * calls(
        lambda: response_problems("listWallets", page(MOST_ELEMENTS))
    )


# ---------------------------------------------------------------------- long answers


def answer(number: int, size: int) -> Exchange:
    """Returns an answer with its number in the body, of at least this many bytes."""
    return exchange(number, json.dumps({"number": number, "filling": "x" * size}).encode())


def held(exchanges: list[Exchange]) -> list[int]:
    """Returns the numbers of the answers whose bodies are still in memory."""
    return [exchange.number for exchange in exchanges if exchange._read is not None]


def test_the_last_long_answers_stay_parsed_and_all_can_be_read() -> None:
    exchanges = [answer(number, LongAnswers.MOST // 4) for number in range(10)]
    for _ in range(2):
        assert [exchange.get("number") for exchange in exchanges] == list(range(10))
        assert held(exchanges) == [7, 8, 9]


def test_usual_answers_stay_as_they_were_read() -> None:
    exchanges = [answer(number, 1000) for number in range(300)]
    documents = [exchange.document for exchange in exchanges]
    assert all(exchange.document is document for exchange, document in zip(exchanges, documents, strict=True))


def test_one_answer_above_the_bound_is_kept() -> None:
    one = answer(1, LongAnswers.MOST + 1)
    assert one.document is one.document


def test_threads_read_what_others_forget() -> None:
    exchanges = [answer(number, LongAnswers.MOST // 3) for number in range(6)]
    wrong: list[object] = []

    def read() -> None:
        for one in exchanges * 5:
            if one.get("number") != one.number:
                wrong.append(one.document)

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
