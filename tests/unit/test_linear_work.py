"""Work on an answer is linear in its size, counted in function calls; memory for long answers is bounded."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest

from conformance._text import as_json, clean, printable
from conformance.contract import json_text
from conformance.contract.operations import MOST_ELEMENTS, response_problems
from conformance.judge.comparison import differences, identifiers, same


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
    "reading brackets": (lambda size: b'"[' * size, json_text.too_deep),
    "reading quotes": (lambda size: b"[" * 101 + b'\\"' * size, json_text.too_deep),
}


@pytest.mark.parametrize("name", WORK)
def test_ten_times_the_answer_is_ten_times_the_work(name: str) -> None:
    make, work = WORK[name]
    small, large = make(200), make(2000)
    work(small)
    assert calls(lambda: work(large)) <= 11 * calls(lambda: work(small)) + 100


def test_the_form_of_endless_pages_is_judged_at_their_beginning() -> None:
    first = response_problems("listWallets", page(MOST_ELEMENTS))
    assert response_problems("listWallets", page(3 * MOST_ELEMENTS))[:20] == first[:20]
    assert calls(lambda: response_problems("listWallets", page(3 * MOST_ELEMENTS))) <= 1.1 * calls(
        lambda: response_problems("listWallets", page(MOST_ELEMENTS))
    )
