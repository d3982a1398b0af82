"""Detects missing operations: a server under construction lacks some, and nothing else is to blame for it.

Asked only after something went wrong: a server on which all goes well gets no request more.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from conformance.contract import json_text
from conformance.contract.needs import NEEDS
from conformance.contract.operations import OPERATIONS
from conformance.judge.findings import Finding, Inconclusive, Verdict
from conformance.wire.messages import Call, Exchange
from conformance.world.accounts import purpose_of
from conformance.world.cache import Key
from conformance.world.habits import eventually
from conformance.world.run_context import RunContext

#: A path that the contract does not have.
NOWHERE = "/v1/nothing"

#: Statuses with which a server says that there is no such path or method.
ABSENT = (404, 405, 501)

#: Operation -> how a valid request to it was answered, if like an undocumented path; else empty.
_MISSING = Key[str]("an operation that does not exist")
_UNDOCUMENTED = Key[Exchange]("an answer to an undocumented path")

#: Stands for all operations where it is asked whether they exist.
_SHOWS = "whether operations exist"


def missing(run: RunContext, operation: str) -> str:
    """The answer that shows that an operation does not exist; empty where it exists, or is not known."""
    try:
        return run.cache.get(_MISSING.of(operation), lambda: _ask(run, operation))
    except Inconclusive:
        return ""


def _ask(run: RunContext, operation: str) -> str:
    if operation in run.succeeded:
        return ""
    # A place of its own: what this makes must not stand in the way of a check.
    fixture = run.account(purpose_of(operation), fresh=True)
    valid = fixture.call(operation)
    # What was made just now may show some time later; a server that lacks much is waited for once.
    answer = eventually(
        run.cache,
        _SHOWS,
        lambda: run.send(fixture.client, valid, f"does {operation} exist?"),
        lambda answer: answer.status != 404 or not _says_absent(run, answer),
        in_vain=1,
    )
    return answer.described() if _says_absent(run, answer) else ""


def _says_absent(run: RunContext, answer: Exchange) -> bool:
    if answer.status == 404:
        return _alike(answer, _undocumented(run, answer.method))
    return answer.status in ABSENT


def _undocumented(run: RunContext, method: str) -> Exchange:
    def ask() -> Exchange:
        body = b"{}" if method in ("POST", "PATCH") else None
        call = Call(None, method, NOWHERE, body)
        return run.send(run.client(), call, "how is an undocumented path answered?")

    return run.cache.get(_UNDOCUMENTED.of(method), ask)


def _alike(answer: Exchange, undocumented: Exchange) -> bool:
    """True if two refusals are the same but for the path and the method that they name."""
    return answer.status == undocumented.status and _words(answer) == _words(undocumented)


def _words(answer: Exchange) -> str:
    text = answer.response_body.decode("utf-8", "replace")
    try:
        document = json_text.load(text)
    except ValueError:
        # A page of HTML, or nothing: it names the path somewhere, and that is all.
        return "" if not text.strip() else "text"
    error = document.get("error") if isinstance(document, dict) else None
    if isinstance(error, dict) and ("type" in error or "code" in error):
        return json.dumps([error.get("type"), error.get("code")])
    path = answer.call.target.partition("?")[0]
    for told in (path, answer.method):
        text = text.replace(told, "")
    return json.dumps(sorted(document) if isinstance(document, dict) else text)


def found(run: RunContext) -> dict[str, str]:
    """The operations that are known not to exist, and how the server says so."""
    said = {operation: run.cache.find(_MISSING.of(operation)) for operation in OPERATIONS}
    return {operation: text for operation, text in said.items() if text}


def explained(run: RunContext, findings: Iterable[Finding], exchanges: Sequence[int]) -> list[Finding]:
    """The findings of a check, given its exchanges: those that only show that an operation does not exist are
    inconclusive."""
    return [_explained(run, finding, exchanges) for finding in findings]


def lacks(run: RunContext, numbers: Iterable[int]) -> str:
    """The operation that does not exist, if one of these exchanges went to such a one; else empty."""
    for number in numbers:
        exchange = run.record.get(number)
        if exchange is None or exchange.operation is None or exchange.status not in ABSENT:
            continue
        if missing(run, exchange.operation):
            return exchange.operation
    return ""


def _explained(run: RunContext, finding: Finding, exchanges: Sequence[int]) -> Finding:
    if finding.verdict.is_violation:
        numbers = list(finding.exchanges[:1])
    elif finding.verdict is Verdict.INCONCLUSIVE:
        numbers = list(reversed(exchanges))
    else:
        return finding
    operation = lacks(run, numbers)
    if not operation and finding.verdict is Verdict.INCONCLUSIVE:
        # The refusal of what a check needs may have come long before it, or be none of its exchanges.
        needed = (*NEEDS[finding.operation], finding.operation)
        operation = next((name for name in needed if missing(run, name)), "")
    if not operation:
        return finding
    summary = f"this needs {operation}, which does not exist"
    if operation == finding.operation:
        said = missing(run, operation)
        summary = (
            f"{operation} does not exist: a valid request was answered {said}, as an undocumented path is"
        )
    return replace(
        finding,
        verdict=Verdict.INCONCLUSIVE,
        summary=summary,
        expected="",
        got="",
        remedy="",
        cause="",
        further=[],
        lacks=operation,
    )
