"""Pinned choices: what a server does where the specification is open, kept to notice when it changes.

    [choices."http.success-status".createAccount]
    "status of a success" = "201"

Clients may depend on such choices, although the specification lets the server change them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conformance._files import InputError, read_toml, toml_string, written
from conformance._text import clean
from conformance.contract.operations import OPERATIONS
from conformance.contract.rules import RULES
from conformance.judge.ledger import Ledger, Result
from conformance.report.document import DifferenceRecord, PinnedChoicesRecord

#: Rule, operation, question.
Question = tuple[str, str, str]


def choices(cells: Iterable[Result]) -> dict[Question, str]:
    """The server's answer to each open question, in the order of the catalogue."""
    answers: dict[Question, set[str]] = {}
    for cell in cells:
        for finding in cell.findings:
            for question, answer in finding.observations.items():
                answers.setdefault((cell.rule, cell.operation, question), set()).add(answer)
    # Several answers are sorted, since checks run in any order.
    return {question: " / ".join(sorted(given)) for question, given in answers.items()}


@dataclass(frozen=True)
class PinnedChoices:
    """The choices of a file."""

    pinned: dict[Question, str]
    source: str = ""

    @classmethod
    def load(cls, path: Path) -> PinnedChoices:
        """Reads a file. Raises InputError."""
        _, tables = read_toml(path, "file of pinned choices")
        pinned: dict[Question, str] = {}
        for key in tables:
            if key != "choices":
                raise InputError(f"{path}: {key}: unknown key; everything pinned stands under [choices].")
        for rule, operations in _table(tables.get("choices", {}), path, "choices").items():
            if rule not in RULES:
                raise InputError(
                    f"{path}: choices.{rule}: the catalogue has no such rule; `conformance rules` "
                    "lists them. Write the rule in quotes, as it has a dot."
                )
            for operation, answers in _table(operations, path, f"choices.{rule}").items():
                if operation not in OPERATIONS:
                    raise InputError(
                        f"{path}: choices.{rule}.{operation}: there is no such operation; they are "
                        f"{', '.join(OPERATIONS)}."
                    )
                for question, answer in _table(answers, path, f"choices.{rule}.{operation}").items():
                    if not isinstance(answer, str):
                        raise InputError(
                            f"{path}: choices.{rule}.{operation}, {question!r}: the answer should be "
                            f"a string, not {str(answer)[:40]!r}."
                        )
                    pinned[rule, operation, question] = answer
        return cls(pinned, str(path))

    def compare(self, ledger: Ledger) -> PinnedChoicesRecord:
        """Compares the pinned choices with a run; questions that it did not ask are no difference."""
        now = choices(ledger.cells)
        differences = tuple(
            DifferenceRecord(*question, pinned=clean(answer), now=now[question])
            for question, answer in self.pinned.items()
            if question in now and now[question] != answer
        )
        return PinnedChoicesRecord(
            source=clean(self.source),
            pinned=len(self.pinned),
            asked=sum(question in now for question in self.pinned),
            new=sum(question not in self.pinned for question in now),
            differences=differences,
        )


def _table(value: Any, path: Path, place: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InputError(f"{path}: {place}: it should be a table, not {str(value)[:40]!r}.")
    return value


def write_pinned(ledger: Ledger, path: Path) -> Path:
    """Writes the choices of a run. Raises OSError."""
    lines = [
        "# What the server does where the specification leaves it open.",
        "# Written by a run with --write-pinned-choices; --pinned-choices compares later runs with it.",
    ]
    place = ("", "")
    for (rule, operation, question), answer in choices(ledger.cells).items():
        if place != (rule, operation):
            place = rule, operation
            lines += ["", f"[choices.{toml_string(rule)}.{operation}]"]
        lines.append(f"{toml_string(question)} = {toml_string(answer)}")
    return written(path, "\n".join(lines) + "\n")
