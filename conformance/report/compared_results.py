"""Compares the results of several implementations, or of two versions of one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from conformance._text import clean, listed
from conformance.judge.findings import HELD, VIOLATIONS
from conformance.judge.ledger import Result, grouped
from conformance.report import view
from conformance.report.document import Document, RuleRecord
from conformance.report.pinned_choices import choices

#: Stands where a document has no such rule or operation.
ABSENT = "absent"


#: Cases that the last document judges otherwise than the first: rule, verdict before and verdict after ->
#: operations.
Changes = dict[tuple[str, str, str], list[str]]


@dataclass
class Comparison:
    """Differences between documents; `names` are their columns."""

    names: list[str]
    documents: list[Document]
    #: Rules that the documents do not judge alike, or that one of them breaks, with verdict -> operations for
    #: each document.
    rules: list[tuple[RuleRecord, list[dict[str, list[str]]]]] = field(default_factory=list)
    #: Open questions with different answers: rule, question and the answer in each document, "" where it was
    #: not asked -> operations.
    choices: dict[tuple[str, str, tuple[str, ...]], list[str]] = field(default_factory=dict)
    broke: Changes = field(default_factory=dict)
    mended: Changes = field(default_factory=dict)
    moved: Changes = field(default_factory=dict)

    @property
    def two(self) -> bool:
        """True if there is a before and an after."""
        return len(self.documents) == 2

    @property
    def headline(self) -> str:
        """Sentence with the numbers of results that conform, do not conform, and do not tell, without numbers
        of 0."""
        tones = [view.tone(document) for document in self.documents]
        conform, broken = tones.count("good"), tones.count("bad") + tones.count("known")
        numbers = {
            "conforms" if conform == 1 else "conform": conform,
            "does not" if broken == 1 else "do not": broken,
            "is undecided" if len(tones) - conform - broken == 1 else "are undecided": len(tones)
            - conform
            - broken,
        }
        told = [f"{number} {verb}" for verb, number in numbers.items() if number]
        return f"Of {len(tones)} results {listed(told)}."


def compare(documents: Mapping[str, Document]) -> Comparison:
    """Compares documents by name, in their order. Rules follow the first document that has them."""
    found = Comparison([clean(name) for name in documents], list(documents.values()))
    cells = [view.cells(document) for document in found.documents]
    rules: dict[str, RuleRecord] = {}
    for document in found.documents:
        for rule in document.rules:
            rules.setdefault(rule.id, rule)
    keys = list(dict.fromkeys(key for case in cells for key in case))
    for rule_id, rule in rules.items():
        _rule(found, rule, [key for key in keys if key[0] == rule_id], cells)
    if found.two:
        for key in keys:
            _change(found, key, *(case[key].verdict if key in case else ABSENT for case in cells))
    _choices(found)
    return found


def _rule(
    found: Comparison,
    rule: RuleRecord,
    keys: list[tuple[str, str]],
    cells: list[dict[tuple[str, str], Result]],
) -> None:
    columns = [
        grouped((str(case[key].verdict) if key in case else ABSENT, key[1]) for key in keys) for case in cells
    ]
    violated = any(verdict in column for verdict in VIOLATIONS for column in columns)
    if violated or any(column != columns[0] for column in columns):
        found.rules.append((rule, columns))


def _change(found: Comparison, key: tuple[str, str], before: str, after: str) -> None:
    if before == after:
        return
    changes = found.moved
    if after in VIOLATIONS and before not in VIOLATIONS:
        changes = found.broke
    elif before in VIOLATIONS and after in HELD:
        changes = found.mended
    changes.setdefault((key[0], before, after), []).append(key[1])


def _choices(found: Comparison) -> None:
    given = [choices(document.cells) for document in found.documents]
    for asked in dict.fromkeys(question for answers in given for question in answers):
        rule, operation, question = asked
        texts = tuple(answers.get(asked, "") for answers in given)
        # A question that was not asked somewhere says nothing about a choice.
        if len({text for text in texts if text}) > 1:
            found.choices.setdefault((rule, question, texts), []).append(operation)


def names(paths: list[str], documents: list[Document], given: list[str]) -> list[str]:
    """A name for each document: as given, else what was judged, else the file, so that all differ."""
    if given:
        return given
    labels = [view.label(document) for document in documents]
    if len(set(labels)) == len(labels):
        return labels
    return [f"{index + 1}: {path}" if paths.count(path) > 1 else path for index, path in enumerate(paths)]
