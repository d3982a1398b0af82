"""Judgements of answers: what holds, what does not, and what is unclear."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.judge import outcomes
from conformance.judge.outcomes import Judgement, Unclear, good
from conformance.wire.messages import MISSING, Exchange, to_json
from tests.support.report_samples import exchange


def answered(status: int | None = 200, **members: Any) -> Exchange:
    """Returns an answer with these members, or with this error type and code."""
    error = {name.removeprefix("error_"): value for name, value in members.items() if "error_" in name}
    document = {"error": {**error, "message": "x"}} if error else {"id": "wal_1", **members}
    return exchange(1, to_json(document), status)


OTHER = outcomes.member("x", answered(label="a"), "label", "b")

NONCE = {"error_type": "authentication_error", "error_code": "nonce_replay"}


@pytest.mark.parametrize(
    ("judgement", "got"),
    [
        (outcomes.refused("x", answered(422)), ""),
        (outcomes.refused("x", answered(401, **NONCE), 401, "authentication_error", "nonce_replay"), ""),
        (outcomes.refused("x", answered(401, **NONCE), 401, "authentication_error", "invalid_key"), "401"),
        (outcomes.refused("x", answered(403), 404), "403"),
        (outcomes.refused("x", answered(201)), "201"),
        (outcomes.refused("x", answered(500)), None),
        (outcomes.refused("x", answered(None)), None),
        (outcomes.accepted("x", answered(201)), ""),
        (outcomes.accepted("x", answered(422)), "422"),
        (outcomes.refused_or_ignored("x", answered(422)), ""),
        (outcomes.with_status("x", answered(404), (403, 404)), ""),
        (outcomes.with_status("x", answered(409), (403, 404)), "409"),
        (outcomes.authenticated("x", answered(404)), ""),
        (outcomes.authenticated("x", answered(401, **NONCE)), "401"),
        (outcomes.authenticated("x", answered(401, error_type="permission_error")), None),
        (outcomes.answered("x", answered(500)), "500"),
        (outcomes.answered("x", answered(501), also=(501,)), ""),
        (outcomes.answered("x", answered(302), documented=True), "302"),
        (outcomes.equal("x", 1, 1, answered()), ""),
        (outcomes.equal("x", True, 1, answered()), "true"),
        (outcomes.equal("x", MISSING, None, answered()), "no such member"),
        (outcomes.member("x", answered(label="a"), "label", "a"), ""),
        (outcomes.member("x", answered(label="a"), "label", "b", "a"), ""),
        (outcomes.member("x", answered(label="a"), "label", "b"), '"a"'),
        (outcomes.member("x", answered(), "label", None), ""),
        (outcomes.member("x", answered(), "label", "b"), "no such member"),
        (outcomes.member("x", answered(503), "label", "b"), None),
        (outcomes.unless_malformed(OTHER, (answered(created=5), "created")), None),
        (outcomes.unless_malformed(OTHER, (answered(422, error_type="validation_error"), "created")), '"a"'),
        (outcomes.same_answer("x", answered(201), answered(201)), ""),
        (outcomes.same_answer("x", answered(201), answered(200)), "200"),
        (outcomes.same_answer("x", answered(422), answered(422)), None),
        (outcomes.at_most_one("x", [answered(201), answered(409)]), ""),
        (outcomes.at_most_one("x", [answered(201), answered(201)]), "2 were"),
        (outcomes.at_most_one("x", [answered(201), answered(500)]), None),
        (outcomes.same_among_accepted("x", [answered(409), answered(409)]), None),
    ],
    ids=str,
)
def test_an_answer_holds_or_does_not_or_says_nothing(judgement: Judgement, got: str | None) -> None:
    assert good(judgement) is (got in ("", None))
    if got is None:
        assert isinstance(judgement[1], Unclear) and judgement[1].reason
    else:
        assert (
            isinstance(judgement[1], str) and judgement[1].startswith(got) and bool(judgement[1]) is bool(got)
        )


@pytest.mark.parametrize(("status", "reason"), [(None, "it got no answer ("), (500, "it was answered 500 ")])
def test_what_has_no_answer_was_not_answered(status: int | None, reason: str) -> None:
    why = outcomes.unusable(exchange(1, status=status, purpose="it"))
    assert why is not None and why.reason.startswith(reason)


def test_the_decisive_exchange_comes_first() -> None:
    first, again = exchange(1, b"{}", 201), exchange(2, b"{}", 200)
    assert outcomes.same_answer("x", first, again)[2:] == (again, first)
    winners = [exchange(number, b"{}", 201) for number in (4, 5)]
    assert outcomes.at_most_one("x", [exchange(3, b"{}", 409), *winners])[2:] == tuple(winners)
