"""Long answers fill no memory: what was read of them is forgotten, and read again."""

from __future__ import annotations

import json
import threading

from conformance.wire.answers import LongAnswers
from conformance.wire.messages import Exchange
from tests.support.report_samples import exchange


def answer(number: int, size: int) -> Exchange:
    """An answer that shows its number, of so many bytes at least."""
    return exchange(number, json.dumps({"number": number, "filling": "x" * size}).encode())


def held(exchanges: list[Exchange]) -> list[int]:
    """The numbers of the answers that are kept as they were read."""
    return [exchange.number for exchange in exchanges if exchange._read is not None]


def test_of_long_answers_the_last_ones_are_kept_and_all_can_be_read() -> None:
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
