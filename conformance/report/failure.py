"""The text of a failed check on a terminal: the rule, expected, got, and the exchanges that show it."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from conformance._text import printable, writable
from conformance.contract.rules import RULES
from conformance.judge.findings import Finding
from conformance.target.redaction import Redactor
from conformance.wire.messages import Exchange
from conformance.wire.signed import signed_string

#: Characters of a body, and exchanges of a finding, that are shown.
SHOWN_BODY = 1200
SHOWN_EXCHANGES = 4


def failure_text(
    findings: Iterable[Finding], exchange: Callable[[int], Exchange | None], redactor: Redactor
) -> str:
    """A paragraph for each finding, then its exchanges; free of secrets and control characters."""
    shown: set[int] = set()
    parts = []
    for finding in findings:
        parts.append(_finding(finding))
        for number in finding.exchanges[:SHOWN_EXCHANGES]:
            shown_exchange = exchange(number)
            if shown_exchange is None:
                continue
            if number in shown:
                parts.append(f"  exchange {number}: see above")
            else:
                shown.add(number)
                parts.append(_exchange(shown_exchange, redactor))
        parts.append(f"  alone: pytest --pyargs conformance --rule {finding.rule}@{finding.operation}\n")
    return writable(printable(redactor.text("\n".join(parts)))).rstrip()


def _finding(finding: Finding) -> str:
    rule = RULES[finding.rule]
    lines = [
        f"{rule.id} on {finding.operation} ({rule.level}, section {', '.join(rule.section)}): "
        f"{rule.statement}",
        f"  expected  {finding.expected}",
        f"  got       {finding.got}",
    ]
    lines += [f"  also      {sentence}" for sentence in finding.further[:8]]
    if len(finding.further) > 8:
        lines.append(f"  and {len(finding.further) - 8} more of the kind")
    if finding.cause:
        lines.append(f"  this may follow from {finding.cause}")
    return "\n".join(lines)


def _exchange(exchange: Exchange, redactor: Redactor) -> str:
    lines = [
        f"  exchange {exchange.number}, {exchange.purpose or exchange.operation} "
        f"({exchange.elapsed * 1000:.0f} ms)"
    ]
    lines.append(f"    > {exchange.method} {exchange.target[:2000]}")
    lines += [f"    > {name}: {value[:300]}" for name, value in redactor.headers(exchange.request_headers)]
    lines += _body(exchange.request_body, ">")
    if string := signed_string(exchange):
        lines.append(f"    signed: {string[:SHOWN_BODY].decode('utf-8', 'backslashreplace')}")
    if exchange.status is None:
        lines.append(f"    < no answer: {exchange.error}")
    else:
        lines.append(f"    < {exchange.status}")
        lines += [
            f"    < {name}: {value[:300]}" for name, value in redactor.headers(exchange.response_headers)[:20]
        ]
        lines += _body(exchange.response_body, "<")
    return "\n".join(lines)


def _body(body: bytes, mark: str) -> list[str]:
    if not body:
        return []
    text = body[:SHOWN_BODY].decode("utf-8", "backslashreplace")
    more = [f"    {mark} … {len(body)} bytes in all"] if len(body) > SHOWN_BODY else []
    return [f"    {mark} {line}" for line in text.splitlines()[:40]] + more
