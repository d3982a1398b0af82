"""Known failures: a list, kept by the implementer, of violations that do not fail the run.

    [[failure]]
    rule = "list.walk"
    operation = "listWallets"        # or "*" for every operation
    reason = "paging is rewritten in the next release"
    expires = 2027-03-31             # optional: the last day on which the entry counts

A listed failure stays visible. An entry that has expired, or whose violation is gone, fails the run, so that
the list shrinks as the server is mended.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from conformance._files import InputError, read_toml, toml_string, written
from conformance._text import clean, one_line, printable
from conformance.contract.rules import RULES, Level
from conformance.judge.ledger import Ledger
from conformance.judge.verdicts import HELD, Verdict
from conformance.report.document import KnownFailureRecord

#: The members of an entry; the last one is optional.
_KEYS = ("rule", "operation", "reason", "expires")

#: The reason in new entries that a run writes.
_UNREASONED = "to be given: why it fails, and until when"


@dataclass(frozen=True)
class KnownFailures:
    """The entries of a file, in its order."""

    entries: list[KnownFailureRecord]
    today: Callable[[], date] = lambda: datetime.now(UTC).date()

    @classmethod
    def load(cls, path: Path) -> KnownFailures:
        """Reads a file. Raises InputError."""
        text, tables = read_toml(path, "list of known failures", "--write-known-failures writes one")
        rows = tables.pop("failure", [])
        if tables or not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
            raise InputError(
                f"{path}: {next(iter(tables), 'failure')}: write each known failure as a table of its own, "
                "[[failure]], and nothing else."
            )
        starts = [at for at, line in enumerate(text.splitlines(), 1) if re.match(r"\s*\[\[\s*failure", line)]
        # Another notation than [[failure]] has no lines of its own.
        lines = starts if len(starts) == len(rows) else [1] * len(rows)
        entries: dict[tuple[str, str], KnownFailureRecord] = {}
        for line, row in zip(lines, rows, strict=True):
            earlier = entries.get((row.get("rule", ""), row.get("operation", "")))
            if mistake := _mistake(row) or (earlier and f"it is already listed on line {earlier.line}."):
                raise InputError(f"{path}, line {line}: {mistake}")
            expires = _date(row["expires"]) if "expires" in row else None
            rule, operation, reason = (row[key].strip() for key in _KEYS[:3])
            entries[rule, operation] = KnownFailureRecord(line, rule, operation, reason, expires)
        return cls([*entries.values()])

    def apply(self, ledger: Ledger) -> tuple[KnownFailureRecord, ...]:
        """Marks the violations that are listed; returns the entries, stale ones with the reason.

        An entry is stale if it has expired, or if its rule held on every operation it covers. Cells that were
        not run, or are inconclusive, make no entry stale.
        """
        for cell in ledger.cells:
            cell.known = clean(self.reason(*cell.key)) if cell.violations else ""
        return tuple(
            replace(entry, reason=clean(entry.reason), stale=self._stale(entry, ledger))
            for entry in self.entries
        )

    def reason(self, rule: str, operation: str) -> str:
        """The reason listed for a violation; empty if it is not listed, or the entry has expired."""
        for entry in self.entries:
            if entry.rule == rule and entry.operation in (operation, "*") and not self._expired(entry):
                return entry.reason
        return ""

    def _expired(self, entry: KnownFailureRecord) -> bool:
        return entry.expires is not None and entry.expires < self.today().isoformat()

    def _stale(self, entry: KnownFailureRecord, ledger: Ledger) -> str:
        """The reason to delete an entry; empty without one."""
        if self._expired(entry):
            return f"it expired on {entry.expires}"
        operations = RULES[entry.rule].operations if entry.operation == "*" else [entry.operation]
        verdicts = {ledger.cell(entry.rule, name).verdict for name in operations} - {Verdict.NOT_APPLICABLE}
        where = "every operation" if entry.operation == "*" else entry.operation
        return f"the rule holds now on {where}" if verdicts and verdicts <= {*HELD} else ""


def _mistake(row: dict[str, Any]) -> str:
    """The first mistake in an entry; empty without one."""
    for key in row:
        if key not in _KEYS:
            return f"{key}: unknown key; a known failure has {', '.join(_KEYS)}."
    for key in _KEYS[:3]:
        if not isinstance(row.get(key), str) or not row[key].strip():
            return f"{key}: it should be a non-empty string; each entry has {', '.join(_KEYS[:3])}."
    rule, operation, expires = row["rule"], row["operation"], row.get("expires", date.max)
    if rule not in RULES:
        return f"rule: the catalogue has no rule {rule!r}; `conformance rules` lists them."
    if RULES[rule].level is Level.OPEN:
        return f"rule: {rule} is open in the specification, so it never fails; delete the entry."
    about = [*RULES[rule].operations, "*"]
    if operation not in about:
        return f"operation: {rule} is not about {operation!r}; it is about {', '.join(about)}."
    try:
        _date(expires)
    except ValueError:
        return f"expires: it should be a date such as 2027-03-31, not {str(expires)[:40]!r}."
    return ""


def _date(value: object) -> str:
    """A date, or a time, of TOML in ISO 8601. Raises ValueError."""
    return str(datetime.fromisoformat(str(value)).date())


def write_known(ledger: Ledger, path: Path, known: KnownFailures | None = None) -> Path:
    """Writes the violations of a run as a list.

    Keeps the entries of the run's own list, but those that are stale. Raises OSError.
    """
    lines = ["# Violations that do not fail the run. When one is mended the run says which entry to delete."]
    for entry in known.entries if known else ():
        if known and not known._stale(entry, ledger):
            lines += _table(entry.rule, entry.operation, entry.reason, entry.expires)
    for cell in ledger.cells:
        if cell.violations and not cell.known:
            lines += _table(cell.rule, cell.operation, _UNREASONED, got=cell.violations[0].got)
    return written(path, "\n".join(lines) + "\n")


def _table(
    rule: str, operation: str, reason: str, expires: str | None = None, got: str = ""
) -> Iterator[str]:
    """The lines of an entry in TOML; `got` is a comment."""
    comment = f"  # {one_line(printable(got), 100)}" if got else ""
    yield from ("", "[[failure]]", f"rule = {toml_string(rule)}")
    yield f"operation = {toml_string(operation)}{comment}"
    yield f"reason = {toml_string(reason)}"
    if expires:
        yield f"expires = {expires}"
