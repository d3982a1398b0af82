"""The text of a failed check on a terminal: the rule, expected, got, and the exchanges that show it."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable

from conformance._text import printable, writable
from conformance.contract.rules import RULES
from conformance.judge.exchanges import exchange_record
from conformance.judge.findings import Finding
from conformance.report.transcript import transcript
from conformance.target.redaction import Redactor
from conformance.wire.messages import Exchange

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
            found = exchange(number)
            if found is None:
                continue
            if number in shown:
                parts.append(f"  exchange {number}: see above")
                continue
            shown.add(number)
            text = transcript(exchange_record(found, redactor), SHOWN_BODY)
            parts.append(f"  exchange {number}, {found.purpose or found.operation}")
            parts.append(textwrap.indent(text, "    "))
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
