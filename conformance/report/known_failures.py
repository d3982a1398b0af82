"""Known failures: a list, kept by the implementer, of violations that do not fail the run.

    [[failure]]
    rule = "list.walk"
    operation = "listWallets"        # or "*" for every operation
    reason = "paging is rewritten in the next release"
    expires = 2027-03-31             # optional: the last day on which the entry counts

An operation that does not exist yet is listed as the rule operation.missing:

    [[failure]]
    rule = "operation.missing"
    operation = "createWallet"
    reason = "wallets come in the next release"

A listed failure stays visible. An entry whose violation is gone, or that has expired, fails the run, so
that the list shrinks as the server is mended.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

from conformance._files import read_toml, written
from conformance._text import clean
from conformance.contract.operations import OPERATIONS
from conformance.contract.rules import RULES, Level
from conformance.judge.findings import HELD, VIOLATIONS, Verdict
from conformance.judge.ledger import Ledger, Result
from conformance.report.document import KnownFailureRecord, KnownFailuresRecord, StaleRecord

#: Stands in the place of a rule where an operation does not exist.
MISSING = "operation.missing"

_KEYS = ("rule", "operation", "reason", "expires")


class KnownFailuresError(ValueError):
    """The list cannot be used; the text is one paragraph that names the entry and the remedy."""


@dataclass(frozen=True)
class KnownFailure:
    """One entry: `line` is where its table starts in the file, `operation` may be `*`."""

    line: int
    rule: str
    operation: str
    reason: str
    expires: date | None = None

    @property
    def operations(self) -> tuple[str, ...]:
        """The operations it is about."""
        if self.rule == MISSING:
            return (self.operation,)
        return RULES[self.rule].operations if self.operation == "*" else (self.operation,)


@dataclass(frozen=True)
class Stale:
    """An entry to delete, and why."""

    line: int
    entry: KnownFailure
    why: str


class KnownFailures:
    """The entries of a file, in its order."""

    def __init__(
        self, entries: list[KnownFailure], source: str = "", today: Callable[[], date] | None = None
    ) -> None:
        self.entries = entries
        self.source = source
        self._today = today or (lambda: datetime.now(UTC).date())

    @classmethod
    def load(cls, path: Path) -> KnownFailures:
        """Reads a file. Raises KnownFailuresError."""
        text, tables = read_toml(path, "list of known failures", KnownFailuresError)
        for key in tables:
            if key != "failure":
                raise KnownFailuresError(
                    f"{path}: {key}: unknown key; each known failure is a table [[failure]]."
                )
        rows = tables.get("failure", [])
        if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
            raise KnownFailuresError(
                f"{path}: failure: write each known failure as a table of its own, [[failure]]."
            )
        lines = _lines(text, len(rows))
        entries = [_entry(row, line, str(path)) for row, line in zip(rows, lines, strict=True)]
        first: dict[tuple[str, str], int] = {}
        for entry in entries:
            twin = first.setdefault((entry.rule, entry.operation), entry.line)
            if twin != entry.line:
                raise KnownFailuresError(
                    f"{path}, line {entry.line}: {entry.rule} on {entry.operation} is already listed "
                    f"on line {twin}; delete one of the two."
                )
        return cls(entries, str(path))

    def apply(self, ledger: Ledger) -> list[Stale]:
        """Marks the violated cells, and the missing operations, that are listed with the reason; returns the
        entries to delete.

        An entry is stale when it has expired, when its rule held on every operation it names and they were
        all run, or when the operation exists by now. What was not run, or ended inconclusive, says nothing
        about an entry.
        """
        ledger.known_missing.clear()
        for cell in ledger.cells:
            cell.known = ""
        stale = []
        today = self._today()
        for entry in self.entries:
            if entry.expires is not None and entry.expires < today:
                stale.append(Stale(entry.line, entry, f"it expired on {entry.expires.isoformat()}"))
                continue
            if entry.rule == MISSING:
                if entry.operation in ledger.missing:
                    ledger.known_missing[entry.operation] = clean(entry.reason)
                elif _exists(ledger, entry.operation):
                    stale.append(Stale(entry.line, entry, f"{entry.operation} exists now"))
                continue
            cells = [ledger.case(entry.rule, operation) for operation in entry.operations]
            violated = [cell for cell in cells if cell.verdict.is_violation]
            for cell in violated:
                cell.known = cell.known or clean(entry.reason)
            judged = [cell for cell in cells if cell.verdict is not Verdict.NOT_APPLICABLE]
            if judged and not violated and all(cell.verdict in HELD for cell in judged):
                where = "every operation" if entry.operation == "*" else entry.operation
                stale.append(Stale(entry.line, entry, f"the rule holds now on {where}"))
        return stale

    def reason(self, rule: str, operation: str) -> str:
        """The listed reason of a violation; empty where it is not listed, or no longer."""
        today = self._today()
        for entry in self.entries:
            if (
                entry.rule == rule
                and operation in entry.operations
                and (entry.expires is None or entry.expires >= today)
            ):
                return entry.reason
        return ""

    def to_record(self, stale: Iterable[Stale]) -> KnownFailuresRecord:
        """The list as a report shows it, with the entries to delete."""
        return KnownFailuresRecord(
            source=clean(self.source),
            entries=tuple(
                KnownFailureRecord(
                    entry.line,
                    entry.rule,
                    entry.operation,
                    clean(entry.reason),
                    entry.expires.isoformat() if entry.expires else None,
                )
                for entry in self.entries
            ),
            stale=tuple(
                StaleRecord(found.line, found.entry.rule, found.entry.operation, found.why) for found in stale
            ),
        )


def _exists(ledger: Ledger, operation: str) -> bool:
    """True if a run judged anything of an operation, which then must exist."""
    return any(cell.verdict in (*HELD, *VIOLATIONS) for cell in ledger.cells if cell.operation == operation)


def _lines(text: str, entries: int) -> list[int]:
    """The line on which each [[failure]] starts; 1 for all where they are written otherwise."""
    found = [
        number
        for number, line in enumerate(text.splitlines(), 1)
        if re.match(r"\s*\[\[\s*failure\s*\]\]", line)
    ]
    return found if len(found) == entries else [1] * entries


def _entry(row: dict[str, Any], line: int, source: str) -> KnownFailure:
    place = f"{source}, line {line}"
    for key in row:
        if key not in _KEYS:
            raise KnownFailuresError(f"{place}: {key}: unknown key; a known failure has {', '.join(_KEYS)}.")
    for key in ("rule", "operation", "reason"):
        if key not in row:
            raise KnownFailuresError(
                f'{place}: {key}: missing; a known failure names its rule, its operation (or "*") '
                "and the reason why it stands."
            )
        if not isinstance(row[key], str) or not row[key].strip():
            raise KnownFailuresError(f"{place}: {key}: it should be a non-empty string.")
    rule, operation = row["rule"], row["operation"]
    if rule == MISSING:
        return _missing(row, line, place)
    if rule not in RULES:
        raise KnownFailuresError(
            f"{place}: rule: the catalogue has no rule {rule!r}; `conformance rules` lists them."
        )
    if RULES[rule].level is Level.OPEN:
        raise KnownFailuresError(
            f"{place}: rule: {rule} is open in the specification, so it never fails; delete the entry."
        )
    if operation != "*" and operation not in OPERATIONS:
        raise KnownFailuresError(
            f"{place}: operation: there is no operation {operation!r}; they are {', '.join(OPERATIONS)}."
        )
    if operation != "*" and operation not in RULES[rule].operations:
        raise KnownFailuresError(
            f"{place}: operation: {rule} does not apply to {operation}, so the entry matches nothing; "
            f"the rule is about {', '.join(RULES[rule].operations)}."
        )
    return KnownFailure(line, rule, operation, row["reason"].strip(), _expiry(row.get("expires"), place))


def _missing(row: dict[str, Any], line: int, place: str) -> KnownFailure:
    operation = row["operation"]
    if operation not in OPERATIONS:
        raise KnownFailuresError(
            f"{place}: operation: name the operation that is missing, not {operation!r}; they are "
            f"{', '.join(OPERATIONS)}."
        )
    return KnownFailure(line, MISSING, operation, row["reason"].strip(), _expiry(row.get("expires"), place))


def _expiry(value: Any, place: str) -> date | None:
    if value is None or (isinstance(value, date) and not isinstance(value, datetime)):
        return value
    if isinstance(value, datetime):
        return value.date()
    try:
        return date.fromisoformat(value)
    except (TypeError, ValueError):
        raise KnownFailuresError(
            f"{place}: expires: it should be a date such as 2027-03-31, not {str(value)[:40]!r}."
        ) from None


def write_known(
    ledger: Ledger,
    path: Path,
    reason: str = "to be given: why it fails, and until when",
    known: KnownFailures | None = None,
) -> Path:
    """Writes the list of a run's violations; where a rule fails on all its operations, as one entry.

    Reasons that the run's own list gave are kept, and so are its entries that the run says nothing about.
    Raises OSError.
    """
    lines = ["# Violations that do not fail the run. When one is mended the run says which entry to delete."]
    by_rule: dict[str, list[Result]] = {}
    for cell in ledger.with_verdict(*VIOLATIONS):
        by_rule.setdefault(cell.rule, []).append(cell)
    for rule, cells in by_rule.items():
        reasons = {cell.known or reason for cell in cells}
        wide = (
            len(cells) > 1
            and len(reasons) == 1
            and {cell.operation for cell in cells} == set(RULES[rule].operations)
        )
        for cell in cells[:1] if wide else cells:
            operation = "*" if wide else cell.operation
            got = f"  # {_comment(cell.decisive.got)}" if cell.decisive.got and not wide else ""
            lines += _table(rule, operation, cell.known or reason, got=got)
    for operation in ledger.missing:
        lines += _table(MISSING, operation, ledger.known_missing.get(operation, reason))
    for entry in known.entries if known else ():
        if entry.rule == MISSING:
            if entry.operation not in ledger.missing and not _exists(ledger, entry.operation):
                lines += _table(MISSING, entry.operation, entry.reason, entry.expires)
            continue
        cells = [ledger.case(entry.rule, operation) for operation in entry.operations]
        violated = any(cell.verdict.is_violation for cell in cells)
        if not violated and any(cell.verdict not in (*HELD, Verdict.NOT_APPLICABLE) for cell in cells):
            lines += _table(entry.rule, entry.operation, entry.reason, entry.expires)
    return written(path, "\n".join(lines) + "\n")


def _table(
    rule: str, operation: str, reason: str, expires: date | None = None, *, got: str = ""
) -> list[str]:
    """An entry as it is written; `got` is a comment behind its operation."""
    return [
        "",
        "[[failure]]",
        f"rule = {_quoted(rule)}",
        f"operation = {_quoted(operation)}{got}",
        f"reason = {_quoted(reason)}",
        *([f"expires = {expires.isoformat()}"] if expires else []),
    ]


def _quoted(text: str) -> str:
    # JSON's strings are TOML's basic strings, but for a character that JSON leaves as it is.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _comment(text: str) -> str:
    return " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())[:100]
