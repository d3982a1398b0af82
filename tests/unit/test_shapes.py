"""Bodies of the shapes that a server accepts."""

from types import SimpleNamespace
from typing import Any

import pytest

from conformance.judge.verdicts import Inconclusive
from conformance.world import shapes


def test_body_whose_payee_is_lost_leaves_the_check_inconclusive(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server accepted a payout to another payee once, and loses the next such payee."""
    fixture: Any = SimpleNamespace(lane=None)
    monkeypatch.setattr(shapes, "_position", lambda *_: 0)
    monkeypatch.setattr(shapes, "bodies", lambda *_: [])
    with pytest.raises(Inconclusive, match="there is no sample of the shape another beneficiary"):
        shapes.accepted_body(fixture, "createPayout", "another beneficiary")
