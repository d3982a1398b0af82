"""Detects missing operations, so that an unfinished server is blamed for nothing else.

Requests are sent only after a failure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from conformance.contract import json_text
from conformance.contract.needs import NEEDS, UNBUILT
from conformance.judge.cells import Cell
from conformance.judge.outcomes import Unclear
from conformance.judge.verdicts import Inconclusive
from conformance.wire.messages import Call, Exchange
from conformance.world.cache import once
from conformance.world.lane import Lane
from conformance.world.purposes import purpose_of

#: A path that the contract does not have.
NOWHERE = "/v1/nothing"

#: Statuses for an unknown path or method.
ABSENT = (404, 405, 501)

#: Stands for all operations in the delays of reads.
_SHOWS = "whether operations exist"


def missing(lane: Lane, operation: str) -> Exchange | None:
    """Returns the exchange that shows that an operation does not exist; None where it may exist."""
    try:
        return _ask(lane, operation)
    except Inconclusive:
        return None


@once
def _ask(lane: Lane, operation: str) -> Exchange | None:
    if operation in lane.succeeded:
        return None
    # A new account: what this creates must not interfere with checks.
    fixture = lane.account(purpose_of(operation), fresh=True)
    valid = fixture.call(operation)
    # A new resource may show late; a server that lacks many operations is waited for once.
    answer = lane.lag.eventually(
        _SHOWS,
        lambda: lane.send(fixture.client, valid, "a valid request, to see whether the operation exists"),
        lambda answer: answer.status != 404 or not _says_absent(lane, answer),
        in_vain=1,
    )
    if not _says_absent(lane, answer):
        return None
    lane.invariants.absent(answer)
    return answer


def _says_absent(lane: Lane, answer: Exchange) -> bool:
    """True for a status of an absent operation; for 404, if the answer to an undocumented path is equal but
    for the path and the method that it names."""
    if answer.status != 404:
        return answer.status in ABSENT
    nowhere = _undocumented(lane, answer.method)
    return nowhere.status == 404 and _words(answer) == _words(nowhere)


@once
def _undocumented(lane: Lane, method: str) -> Exchange:
    call = Call(None, method, NOWHERE, b"{}" if method in ("POST", "PATCH") else None)
    return lane.send(lane.client(), call, "an undocumented path, to compare its answer")


def _words(answer: Exchange) -> str:
    text = answer.response_body.decode("utf-8", "replace")
    try:
        document = json_text.load(text)
    except ValueError:
        # Text, such as HTML, may name the path anywhere.
        return "" if not text.strip() else "text"
    error = document.get("error") if isinstance(document, dict) else None
    if isinstance(error, dict) and ("type" in error or "code" in error):
        return json.dumps([error.get("type"), error.get("code")])
    path = answer.call.target.partition("?")[0]
    for word in (path, answer.method):
        text = text.replace(word, "")
    return json.dumps(sorted(document) if isinstance(document, dict) else text)


def lacks(lane: Lane, numbers: Iterable[int]) -> Exchange | None:
    """Returns what shows that the operation of one of these exchanges does not exist; else None."""
    for number in numbers:
        exchange = lane.exchange(number)
        if exchange is None or exchange.operation is None or exchange.status not in ABSENT:
            continue
        if proof := missing(lane, exchange.operation):
            return proof
    return None


def explained(lane: Lane, cell: Cell, exchanges: Sequence[Exchange]) -> Cell:
    """A cell of a check; inconclusive if it only shows, by the check's exchanges, that an operation does not
    exist."""
    unjudged = bool(cell.unclear or cell.not_exercised)
    if not cell.violations and not unjudged:
        return cell
    # What the check needs may have been refused long before, outside its exchanges.
    numbers = (
        cell.exchanges[:1]
        if cell.violations
        else (*cell.decisive.exchanges, *(each.number for each in reversed(exchanges)))
    )
    proof = lacks(lane, numbers)
    if not proof and unjudged:
        needed = (*NEEDS[cell.operation], cell.operation)
        proof = next(filter(None, (missing(lane, name) for name in needed)), None)
    if not proof:
        return cell
    reason = f"this needs {proof.operation}, which does not exist"
    unclear = Unclear(reason, UNBUILT, exchanges=(proof.number,))
    if cell.not_exercised:
        return replace(cell, not_exercised=unclear).decide()
    return replace(cell, broken=0, violations=[], unclear=[unclear]).decide()
