"""The page of the sandbox: requests as they come, what they break, and provocations to switch on."""

from __future__ import annotations

from typing import Any

from conformance._text import clean, count, listed, printable
from conformance.clients.judging import ClientJudge, Seen, exchange
from conformance.clients.provocations import PROVOCATIONS, Provocations
from conformance.clients.received import explanation
from conformance.contract.operations import OPERATIONS
from conformance.contract.rules import CLIENT_RULES
from conformance.judge.exchanges import exchange_record
from conformance.judge.ledger import Entry, grouped
from conformance.report.causes import WORST
from conformance.report.html import rendered
from conformance.report.transcript import transcript

#: Requests that are listed.
LISTED = 50


def render(judge: ClientJudge, provocations: Provocations, number: str = "", still: bool = False) -> str:
    """The page as HTML; with the number of a request that one whole."""
    chosen = next((seen for seen in judge.recent if str(seen.request.number) == number), None)
    broken = grouped((entry.rule, entry) for entry in judge.entries.values() if entry.violations)
    worst = sorted(broken, key=lambda rule: (rule != WORST, -sum(entry.broken for entry in broken[rule])))
    values = {
        "refresh": not still,
        "address": judge.target.base_url,
        "told": f"{count(judge.sent, 'request')}, {count(len(broken), 'broken rule')}",
        "provocations": [
            {"name": name, "text": text, "on": name in provocations.names}
            for name, text in PROVOCATIONS.items()
        ],
        "broken": [_broken(judge, broken[rule]) for rule in worst],
        "requests": [_line(seen) for seen in list(judge.recent)[: -LISTED - 1 : -1]],
        "chosen": _whole(judge, chosen) if chosen else None,
    }
    return "".join(rendered("sandbox.html.j2", values, forms="'self'"))


def _broken(judge: ClientJudge, entries: list[Entry]) -> dict[str, Any]:
    """A broken rule, shown where money moves if it is broken there."""
    shown = next(
        (entry for entry in entries if OPERATIONS[entry.operation].traits.draws_on_funds), entries[0]
    )
    return {
        "rule": CLIENT_RULES[shown.rule],
        "operations": listed([shown.operation, *(entry.operation for entry in entries)]),
        "often": sum(entry.broken for entry in entries),
        "got": clean(judge.redactor.text(shown.violations[0].outcome.got)),
        "remedy": clean(judge.redactor.text(judge.remedies[shown.rule, shown.operation])),
    }


def _line(seen: Seen) -> dict[str, Any]:
    return {
        "number": seen.request.number,
        "name": clean(seen.request.name),
        "operation": seen.request.operation,
        "status": seen.response.status if seen.response.delivered else "lost",
        "provoked": ", ".join(seen.provoked),
        "broken": [said.rule for said in seen.broken],
    }


def _whole(judge: ClientJudge, seen: Seen) -> dict[str, Any]:
    """A request with its answer, what it breaks, and the strings that server and client signed."""

    def text(value: str) -> str:
        return clean(judge.redactor.text(value))

    said = [
        {"rule": CLIENT_RULES[one.rule], "got": text(one.got), "remedy": text(one.remedy)}
        for one in seen.broken
    ]
    found = explanation(seen.request)
    sides = []
    if found and found.signed is not None:
        pairs = (("server", found.string, found.signed), ("client", found.signed, found.string))
        sides = [(name, *map(judge.redactor.text, _marked(one, other))) for name, one, other in pairs]
    return {
        **_line(seen),
        "said": said,
        "transcript": transcript(exchange_record(exchange(seen), judge.redactor)),
        "sides": sides,
    }


def _marked(one: bytes, other: bytes) -> tuple[str, str, str]:
    """A string in three parts: before, in and after what differs from the other one."""
    shorter = min(len(one), len(other))
    start = next((place for place in range(shorter) if one[place] != other[place]), shorter)
    tail = 0
    while tail < shorter - start and one[-1 - tail] == other[-1 - tail]:
        tail += 1
    parts = one[:start][-300:], one[start : len(one) - tail][:300], one[len(one) - tail :][:300]
    before, middle, after = (printable(part.decode("utf-8", "backslashreplace")) for part in parts)
    return before, middle, after
