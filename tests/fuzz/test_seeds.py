"""The same seed draws the same requests, whatever the server's ids and the random words in them are."""

from __future__ import annotations

import re

import pytest

from conformance.fuzz.exploration import EXPLORATIONS, FuzzSettings
from tests.variants.catalogue import VARIANTS
from tests.variants.hurry import hurried
from tests.variants.judging import new_run, parts

#: Random words, ids, numbers and letters that the suite or the server makes up anew each time.
_RANDOM = re.compile(r"cf[b-t]{16}|[a-z]+_[0-9a-z]{24}|\+?[0-9]{9,}|[0-9a-f]{40}|DE[0-9]{20}|[^\x00-\x7f]")


def sent(exploration: str, part: str, seed: int) -> list[tuple[str | None, str, str, int | None]]:
    """Requests of a part to a new server, without random values, and their answers."""
    with hurried():
        run = new_run(VARIANTS[0])
        EXPLORATIONS[exploration].function(run, part, FuzzSettings(seed, 3))
    return [
        (exchange.operation, exchange.method, _RANDOM.sub("*", _text(exchange.request_body)), exchange.status)
        for exchange in run.record.values()
    ]


def _text(body: bytes) -> str:
    return body.decode("utf-8", "replace")


@pytest.mark.parametrize(
    "part",
    [("test_fuzz", "createVirtualAccount"), ("test_fuzz", "updateBeneficiary"), ("test_model", "payees")],
)
def test_same_seed_same_requests(part: tuple[str, str]) -> None:
    exploration = next(name for name, known in parts() if name.startswith(part[0]) and known == part[1])
    first, again, other = (sent(exploration, part[1], seed) for seed in (7, 7, 8))
    assert first == again
    assert first != other
