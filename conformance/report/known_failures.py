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

A listed failure stays visible. An entry that has expired, or whose violation is gone, fails the run, so that
the list shrinks as the server is fixed.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from conformance._files import InputError, read_toml, toml_string, written
from conformance._text import clean
from conformance.contract.operations import OPERATIONS
from conformance.contract.rules import RULES, Level
from conformance.judge.findings import HELD, VIOLATIONS, Verdict
from conformance.judge.ledger import Ledger, grouped
from conformance.report.document import KnownFailureRecord, KnownFailuresRecord, StaleRecord

#: The rule of operations that do not exist.
MISSING = "operation.missing"

_KEYS = ("rule", "operation", "reason", "expires")

#: The placeholder for the reason in entries that a run writes.
_TO_BE_GIVEN = "to be given: why it fails, and until when"


@dataclass(frozen=True)
class KnownFailures:
    """The entries of a file, in its order."""

    entries: list[KnownFailureRecord]
    source: str = ""
    today: Callable[[], date] = lambda: datetime.now(UTC).date()

    @classmethod
    def load(cls, path: Path) -> KnownFailures:
        """Reads a file. Raises InputError."""
        text, tables = read_toml(path, "list of known failures")
        for key in tables:
            if key != "failure":
                raise InputError(f"{path}: {key}: unknown key; each known failure is a table [[failure]].")
        rows = tables.get("failure", [])
        if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
            raise InputError(f"{path}: failure: write each known failure as a table of its own, [[failure]].")
        lines = _lines(text, len(rows))
        entries = [_entry(row, line, str(path)) for row, line in zip(rows, lines, strict=True)]
        first: dict[tuple[str, str], int] = {}
        for entry in entries:
            earlier = first.setdefault((entry.rule, entry.operation), entry.line)
            if earlier != entry.line:
                raise InputError(
                    f"{path}, line {entry.line}: {entry.rule} on {entry.operation} is already listed "
                    f"on line {earlier}; delete one of the two."
                )
        return cls(entries, str(path))

    def apply(self, ledger: Ledger) -> KnownFailuresRecord:
        """Marks the violations and missing operations that are listed; returns the list with its stale
        entries.

        An entry is stale if it has expired, if its rule held on every operation it covers, or if the
        operation exists now. Cases that were not run, or are inconclusive, make no entry stale.
        """
        ledger.known_missing.clear()
        for cell in ledger.cells:
            cell.known = ""
        stale: list[StaleRecord] = []

        def delete(entry: KnownFailureRecord, why: str) -> None:
            stale.append(StaleRecord(entry.line, entry.rule, entry.operation, why))

        for entry in self.entries:
            if self._expired(entry):
                delete(entry, f"it expired on {entry.expires}")
                continue
            if entry.rule == MISSING:
                if entry.operation in ledger.missing:
                    ledger.known_missing[entry.operation] = clean(entry.reason)
                elif _exists(ledger, entry.operation):
                    delete(entry, f"{entry.operation} exists now")
                continue
            cells = [ledger.case(entry.rule, operation) for operation in _operations(entry)]
            violated = [cell for cell in cells if cell.verdict.is_violation]
            for cell in violated:
                cell.known = cell.known or clean(entry.reason)
            judged = [cell for cell in cells if cell.verdict is not Verdict.NOT_APPLICABLE]
            if judged and not violated and all(cell.verdict in HELD for cell in judged):
                where = "every operation" if entry.operation == "*" else entry.operation
                delete(entry, f"the rule holds now on {where}")
        entries = (replace(entry, reason=clean(entry.reason)) for entry in self.entries)
        return KnownFailuresRecord(clean(self.source), tuple(entries), tuple(stale))

    def reason(self, rule: str, operation: str) -> str:
        """The reason listed for a violation; empty if it is not listed, or the entry has expired."""
        for entry in self.entries:
            if entry.rule == rule and operation in _operations(entry) and not self._expired(entry):
                return entry.reason
        return ""

    def _expired(self, entry: KnownFailureRecord) -> bool:
        return entry.expires is not None and entry.expires < self.today().isoformat()


def _operations(entry: KnownFailureRecord) -> tuple[str, ...]:
    """The operations that an entry covers."""
    everywhere = entry.operation == "*" and entry.rule != MISSING
    return RULES[entry.rule].operations if everywhere else (entry.operation,)


def _exists(ledger: Ledger, operation: str) -> bool:
    """True if anything was judged on an operation, so that it must exist."""
    return any(cell.verdict in (*HELD, *VIOLATIONS) for cell in ledger.cells if cell.operation == operation)


def _lines(text: str, entries: int) -> list[int]:
    """The line of each [[failure]]; 1 for all if the file uses another notation."""
    found = [
        number
        for number, line in enumerate(text.splitlines(), 1)
        if re.match(r"\s*\[\[\s*failure\s*\]\]", line)
    ]
    return found if len(found) == entries else [1] * entries


def _entry(row: dict[str, Any], line: int, source: str) -> KnownFailureRecord:
    place = f"{source}, line {line}"
    if mistake := _mistake(row):
        raise InputError(f"{place}: {mistake}")
    expires = _expiry(row.get("expires"), place)
    return KnownFailureRecord(line, row["rule"], row["operation"], row["reason"].strip(), expires)


def _mistake(row: dict[str, Any]) -> str:
    """The first mistake in an entry apart from its date; empty without one."""
    for key in row:
        if key not in _KEYS:
            return f"{key}: unknown key; a known failure has {', '.join(_KEYS)}."
    for key in ("rule", "operation", "reason"):
        if key not in row:
            return (
                f'{key}: missing; a known failure names its rule, its operation (or "*") and the reason why '
                "it stands."
            )
        if not isinstance(row[key], str) or not row[key].strip():
            return f"{key}: it should be a non-empty string."
    rule, operation = row["rule"], row["operation"]
    if rule != MISSING:
        if rule not in RULES:
            return f"rule: the catalogue has no rule {rule!r}; `conformance rules` lists them."
        if RULES[rule].level is Level.OPEN:
            return f"rule: {rule} is open in the specification, so it never fails; delete the entry."
        if operation == "*":
            return ""
    if operation not in OPERATIONS:
        return f"operation: there is no operation {operation!r}; they are {', '.join(OPERATIONS)}."
    if rule != MISSING and operation not in RULES[rule].operations:
        return (
            f"operation: {rule} does not apply to {operation}, so the entry matches nothing; the rule is "
            f"about {', '.join(RULES[rule].operations)}."
        )
    return ""


def _expiry(value: Any, place: str) -> str | None:
    """Parses a date into ISO 8601. Raises InputError."""
    if value is None:
        return None
    try:
        day = value.date() if isinstance(value, datetime) else date.fromisoformat(str(value))
        return str(day.isoformat())
    except ValueError:
        raise InputError(
            f"{place}: expires: it should be a date such as 2027-03-31, not {str(value)[:40]!r}."
        ) from None


def write_known(ledger: Ledger, path: Path, known: KnownFailures | None = None) -> Path:
    """Writes the violations of a run as a list; a rule that fails on all its operations becomes one entry.

    Keeps the reasons of the run's own list, and its entries on which the run is not conclusive. Raises
    OSError.
    """
    lines = ["# Violations that do not fail the run. When one is mended the run says which entry to delete."]
    for rule, cells in grouped((cell.rule, cell) for cell in ledger.with_verdict(*VIOLATIONS)).items():
        reasons = {cell.known or _TO_BE_GIVEN for cell in cells}
        wide = (
            len(cells) > 1
            and len(reasons) == 1
            and {cell.operation for cell in cells} == set(RULES[rule].operations)
        )
        for cell in cells[:1] if wide else cells:
            operation = "*" if wide else cell.operation
            got = f"  # {_comment(cell.decisive.got)}" if cell.decisive.got and not wide else ""
            lines += _table(rule, operation, cell.known or _TO_BE_GIVEN, got=got)
    for operation in ledger.missing:
        lines += _table(MISSING, operation, ledger.known_missing.get(operation, _TO_BE_GIVEN))
    for entry in known.entries if known else ():
        if entry.rule == MISSING:
            if entry.operation not in ledger.missing and not _exists(ledger, entry.operation):
                lines += _table(MISSING, entry.operation, entry.reason, entry.expires)
            continue
        cells = [ledger.case(entry.rule, operation) for operation in _operations(entry)]
        violated = any(cell.verdict.is_violation for cell in cells)
        if not violated and any(cell.verdict not in (*HELD, Verdict.NOT_APPLICABLE) for cell in cells):
            lines += _table(entry.rule, entry.operation, entry.reason, entry.expires)
    return written(path, "\n".join(lines) + "\n")


def _table(rule: str, operation: str, reason: str, expires: str | None = None, *, got: str = "") -> list[str]:
    """An entry in TOML; `got` is a comment after its operation."""
    return [
        "",
        "[[failure]]",
        f"rule = {toml_string(rule)}",
        f"operation = {toml_string(operation)}{got}",
        f"reason = {toml_string(reason)}",
        *([f"expires = {expires}"] if expires else []),
    ]


def _comment(text: str) -> str:
    return " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())[:100]
