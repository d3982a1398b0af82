"""Compares results of several servers, or of two versions of one: as Markdown, as a page, or as a folder of
pages."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from conformance._text import clean, count, listed
from conformance.judge.findings import HELD, VIOLATIONS, Verdict
from conformance.judge.ledger import Result, grouped
from conformance.report import view
from conformance.report.document import Document, RuleRecord
from conformance.report.html import html, rendered
from conformance.report.markdown import code, plain
from conformance.report.pinned_choices import choices

#: The verdict on a case that a document does not have.
ABSENT = "absent"

_SIGNS: dict[str, str] = {**{str(verdict): sign for verdict, sign in view.SIGNS.items()}, ABSENT: " "}

#: Cases with different verdicts in two documents: rule, verdict before, verdict after -> operations.
Changes = dict[tuple[str, str, str], list[str]]


@dataclass
class Comparison:
    """The differences between documents; `names` are the headings of their columns."""

    names: list[str]
    documents: list[Document]
    #: Rules with different verdicts or a violation, each with verdict -> operations for each document.
    rules: list[tuple[RuleRecord, list[dict[str, list[str]]]]] = field(default_factory=list)
    #: Rule, open question, and the answers of the documents ("" if not asked) -> operations.
    choices: dict[tuple[str, str, tuple[str, ...]], list[str]] = field(default_factory=dict)
    broke: Changes = field(default_factory=dict)
    mended: Changes = field(default_factory=dict)
    moved: Changes = field(default_factory=dict)

    @property
    def two(self) -> bool:
        """True if there are exactly two documents, a before and an after."""
        return len(self.documents) == 2

    @property
    def headline(self) -> str:
        """The numbers of results that conform, that do not, and that are undecided, in a sentence."""
        tones = [view.tone(document) for document in self.documents]
        conform, broken = tones.count("good"), tones.count("bad") + tones.count("known")
        numbers = (
            (conform, "conforms", "conform"),
            (broken, "does not", "do not"),
            (len(tones) - conform - broken, "is undecided", "are undecided"),
        )
        told = [count(number, one, several) for number, one, several in numbers if number]
        return f"Of {len(tones)} results {listed(told)}."


def compare(documents: Mapping[str, Document]) -> Comparison:
    """Compares documents, given by name. Rules are in the order of the first document that has them."""
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
    _other_choices(found)
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


def _other_choices(found: Comparison) -> None:
    given = [choices(document.cells) for document in found.documents]
    for asked in dict.fromkeys(question for answers in given for question in answers):
        rule, operation, question = asked
        texts = tuple(answers.get(asked, "") for answers in given)
        # An unasked question is no difference.
        if len({text for text in texts if text}) > 1:
            found.choices.setdefault((rule, question, texts), []).append(operation)


def names(paths: list[str], documents: list[Document], given: list[str]) -> list[str]:
    """Unique names of documents: as given, else what was judged, else the files."""
    if given:
        return given
    labels = [view.label(document) for document in documents]
    if len(set(labels)) == len(labels):
        return labels
    return [f"{index + 1}: {path}" if paths.count(path) > 1 else path for index, path in enumerate(paths)]


# ---------------------------------------------------------------------- formats


def comparison_markdown(found: Comparison) -> str:
    return "\n".join(_lines(found)) + "\n"


def comparison_html(found: Comparison, pages: Sequence[str] = ()) -> str:
    """The comparison as a self-contained page; `pages` are the reports of the results, to link to."""
    values = {
        "found": found,
        "columns": ["exit", *_NUMBERS],
        "results": [
            (name, page, document, view.tone(document), [document.verdict.exit_status, *_numbers(document)])
            for name, document, page in zip(
                found.names, found.documents, pages or [""] * len(found.names), strict=True
            )
        ],
        "rules": [(rule, [_column(column) for column in columns]) for rule, columns in found.rules],
        "operations": found.documents[0].operations,
    }
    return "".join(rendered("compare.html.j2", values))


def comparison_pages(found: Comparison) -> dict[str, str]:
    """The comparison as a folder of pages, path -> text: index.html and the report of each result."""
    paths: list[str] = []
    for name in found.names:
        stem = re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip(".-")[:60] or "results"
        taken = {"index.html", *(path.lower() for path in paths)}
        numbered = (f"{stem}{number}.html" for number in ("", *map("-{}".format, range(2, len(taken) + 3))))
        paths.append(next(path for path in numbered if path.lower() not in taken))
    reports = {path: html(document) for path, document in zip(paths, found.documents, strict=True)}
    return {"index.html": comparison_html(found, paths), **reports}


#: Columns with the numbers of a document.
_NUMBERS = ("required failed", "required passed", "warnings", "inconclusive")


def _numbers(document: Document) -> tuple[int, ...]:
    required, implied = document.counts["required"], document.counts["implied"]
    inconclusive = sum(row["inconclusive"] for row in document.counts.values())
    return required["failed"], required["passed"], implied["warning"], inconclusive


def _column(column: dict[str, list[str]]) -> dict[str, object]:
    """The verdicts of one document on a rule: the most severe, its sign, and where it differs."""
    worst = min(column, key=_SEVERITY.index)
    text = worst if len(column) == 1 else f"{worst} on {listed(column[worst], 3)}"
    return {
        "verdict": worst,
        "sign": _SIGNS[worst],
        "text": text,
        "broken": worst in VIOLATIONS,
    }


#: Verdicts, the most severe first.
_SEVERITY = [*map(str, Verdict), ABSENT]


def _row(values: Sequence[str]) -> str:
    return "| " + " | ".join(value.replace("|", "\\|") for value in values) + " |"


def _table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield _row(headings)
    yield "|" + "---|" * len(headings)
    yield from map(_row, rows)
    yield ""


def _lines(found: Comparison) -> Iterator[str]:
    yield from ("## Financial Accounts API conformance, compared", "", found.headline, "")
    yield from _facts(found)
    if found.broke or found.mended or found.moved:
        yield from _changes("What broke", found.broke, found)
        yield from _changes("What was mended", found.mended, found)
        yield from _changes("What changed otherwise", found.moved, found)
    yield from _rules(found)
    yield from _choices(found)


def _facts(found: Comparison) -> Iterator[str]:
    facts = {
        "verdict": [document.verdict.title or document.verdict.name for document in found.documents],
        "exit status": [str(document.verdict.exit_status) for document in found.documents],
        **{
            name: [str(_numbers(document)[index]) for document in found.documents]
            for index, name in enumerate(_NUMBERS)
        },
        "started": [document.run.started[:16].replace("T", " ") for document in found.documents],
        "suite": [document.suite.version for document in found.documents],
    }
    yield from _table(["", *map(plain, found.names)], ([name, *values] for name, values in facts.items()))


def _rules(found: Comparison) -> Iterator[str]:
    if not found.rules:
        yield from ("No rule is judged differently, and none is broken.", "")
        return
    yield from (f"### {count(len(found.rules), 'rule')} judged differently, or broken somewhere", "")
    rows = [
        [
            f"`{rule.id}`",
            str(rule.level),
            *(f"{column['sign']} {column['text']}".strip() for column in map(_column, columns)),
        ]
        for rule, columns in found.rules
    ]
    yield from _table(["rule", "level", *map(plain, found.names)], rows)


def _choices(found: Comparison) -> Iterator[str]:
    if not found.choices:
        yield from ("No open question is answered differently.", "")
        return
    yield from (f"### {count(len(found.choices), 'open question')} answered differently", "")
    rows = [
        [
            f"`{rule}`",
            view.where(operations, found.documents[-1].operations),
            plain(question),
            *(code(answer, 120) if answer else "not asked" for answer in answers),
        ]
        for (rule, question, answers), operations in found.choices.items()
    ]
    yield from _table(["rule", "operations", "question", *map(plain, found.names)], rows)


def _changes(title: str, changes: Changes, found: Comparison) -> Iterator[str]:
    yield from (f"### {title}", "")
    if not changes:
        yield "Nothing."
    for (rule, before, after), operations in changes.items():
        yield f"- `{rule}` on {view.where(operations, found.documents[-1].operations)}: {before} → {after}"
    yield ""
