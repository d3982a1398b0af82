"""The sections of a report, which page, terminal and Markdown are written from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from conformance._text import count, listed, one_line, visible
from conformance.contract.needs import first, waiting
from conformance.judge.cells import Cell, Violation, grouped
from conformance.judge.verdicts import Verdict
from conformance.report.beside import wrong_exchange
from conformance.report.commands import reproduction
from conformance.report.document import CauseRecord, Document, OperationRecord, RuleRecord
from conformance.report.verdict import gating

#: Number of further checks of a cause that a short report names.
CHECKS = 4

#: Number of rules that a short report names in a line.
NAMES = 4


@dataclass(frozen=True)
class Fact:
    """A labelled text, `quoted` if literal (of a server or a shell), followed by the unquoted `after`.

    `links`: anchor -> text, in the place of the text on a page. `more`: only a whole report has it.
    """

    label: str
    text: str
    quoted: bool = False
    after: str = ""
    links: tuple[tuple[str, str], ...] = ()
    more: bool = False


@dataclass(frozen=True)
class Item:
    """An item of a section with its facts; `note` is what its rule demands. A violation has its cause."""

    text: str
    facts: tuple[Fact, ...] = ()
    note: str = ""
    cause: Cause | None = None

    def brief(self, labels: Sequence[str]) -> list[Fact]:
        """The facts of these labels that a short report has."""
        return [fact for fact in self.facts if fact.label in labels and not fact.more]


@dataclass(frozen=True)
class Section:
    """A titled list of items. `tone` is bad, unsure, suite or empty. A short report has each item with its
    facts of the labels `brief` on one line; without them, with all facts on lines of their own."""

    name: str
    title: str
    tone: str
    items: tuple[Item, ...]
    about: str = ""
    brief: tuple[str, ...] = ()


def sections(document: Document) -> list[Section]:
    """The sections that have something to say, the most urgent first."""
    causes = causes_of(document)
    new = [cause for cause in causes if not cause.known]
    broken = [cause for cause in new if cause.failing]
    every = (
        Section("errors", "Errors of the suite itself", "suite", tuple(_errors(document))),
        Section(
            "lacking",
            "Not implemented",
            "bad",
            tuple(_missing(document)),
            "A valid request to these operations was answered like one to an undocumented path. No other "
            "rule fails because of it.",
        ),
        Section("broken", "What is broken", "bad", _violations(document, broken)),
        Section("stale", "Known failures to delete", "bad", tuple(_stale(document))),
        Section(
            "warnings",
            "Warnings",
            "unsure",
            _violations(document, [cause for cause in new if not cause.failing]),
            "The specification implies these rules, it does not state them.",
            brief=("expected", "got"),
        ),
        Section(
            "known",
            "Known failures",
            "unsure",
            _violations(document, [cause for cause in causes if cause.known]),
            brief=("reason",),
        ),
        Section(
            "inconclusive",
            "Inconclusive",
            "unsure",
            tuple(_inconclusive(document)),
            "Neither passed nor failed; a required rule that is inconclusive makes the run incomplete.",
        ),
    )
    return [section for section in every if section.items]


def where(operations: Sequence[str], every: Sequence[OperationRecord]) -> str:
    """Operations in a few words; `every` are all of the contract."""
    if len(operations) == len(every) > 1:
        return f"all {len(operations)} operations"
    return listed(operations, 3)


# ---------------------------------------------------------------------- violations


@dataclass(frozen=True)
class Cause:
    """A cause with its cells; `failing` are those of them and of its consequences that fail the run.

    `anchor` names it on a page.
    """

    record: CauseRecord
    rule: RuleRecord
    cells: tuple[Cell, ...]
    failing: tuple[Cell, ...]
    anchor: str

    @property
    def known(self) -> str:
        """The reason why it is a known failure; empty if it is none."""
        return self.cells[0].known

    @property
    def first(self) -> Violation:
        """The representative violation."""
        return self.cells[0].violations[0]


def causes_of(document: Document) -> list[Cause]:
    """The causes of all violations, in the order of the document."""
    cells = {cell.key: cell for cell in document.cells}
    rules, levels = {rule.id: rule for rule in document.rules}, gating(document.verdict.fail_on)
    named: Counter[str] = Counter()
    causes = []
    for record in document.causes:
        own = tuple(cells[record.rule, operation] for operation in record.operations)
        every = (*own, *(cells[other.key] for other in record.consequences))
        failing = tuple(
            cell
            for cell in every
            if not cell.known and cell.verdict.is_violation and rules[cell.rule].level in levels
        )
        named[record.rule] += 1
        suffix = f"-{named[record.rule]}" if named[record.rule] > 1 else ""
        causes.append(Cause(record, rules[record.rule], own, failing, f"cause-{record.rule}{suffix}"))
    return causes


def _violations(document: Document, causes: Iterable[Cause]) -> tuple[Item, ...]:
    return tuple(
        Item(
            f"{cause.rule.id} on {where(cause.record.operations, document.operations)} "
            f"({cause.rule.level}, section {', '.join(cause.rule.section)})",
            tuple(_facts(document, cause)),
            cause.rule.statement,
            cause,
        )
        for cause in causes
    )


def _facts(document: Document, cause: Cause) -> Iterator[Fact]:
    first = cause.first
    if cause.known:
        yield Fact("reason", one_line(cause.known))
    yield from _expected(document, first, CONFIRMED[first.confirmed])
    if first.remedy:
        yield Fact("remedy", one_line(first.remedy, 600))
    exchange = document.exchanges.get(first.exchanges[0]) if first.exchanges else None
    if exchange and exchange.signed and cause.rule.id.startswith("auth."):
        yield Fact("signed", one_line(exchange.signed, 600), quoted=True)
    command = reproduction(cause.cells[0], document.run.options, document.run.seed)
    yield Fact("reproduce", command, quoted=True)
    yield from _elsewhere(document, cause)
    yield from _further(document, cause)
    if NAMES < len(cause.cells) < len(document.operations):
        yield Fact(
            "operations",
            listed(cause.record.operations, NAMES),
            links=tuple((f"{cause.rule.id}@{name}", name) for name in cause.record.operations),
        )
    if led_to := grouped((cell.rule, cell.operation) for cell in cause.record.consequences):
        yield Fact(
            "led to",
            f"{count(len(cause.record.consequences), 'more cell')} of {listed(led_to, NAMES)}",
            links=tuple(
                (rule, f"{rule} ({where(names, document.operations)})") for rule, names in led_to.items()
            ),
        )


#: `Violation.confirmed` -> words after what was got.
CONFIRMED = {
    "": "",
    "confirmed": " (confirmed by repeating it alone)",
    "not reproduced": " (not reproduced alone; it is a violation all the same)",
}


def _expected(document: Document, violation: Violation, after: str = "") -> Iterator[Fact]:
    """The request, the expectation and the answer of a violation."""
    sent, expected = _probe(document, violation)
    if sent:
        yield Fact("sent", one_line(visible(sent)), quoted=True)
    yield Fact("expected", one_line(visible(expected)), quoted=True)
    yield Fact("got", one_line(visible(violation.got)), quoted=True, after=after)


def _probe(document: Document, violation: Violation) -> tuple[str, str]:
    """The purpose of the exchange that is wrong, and what was expected of it."""
    wrong = wrong_exchange(document, violation)
    if wrong and wrong.purpose and violation.expected.startswith(f"{wrong.purpose}: "):
        return wrong.purpose, violation.expected.removeprefix(f"{wrong.purpose}: ")
    return "", violation.expected


def _in_line(document: Document, violation: Violation) -> str:
    """The request, the expectation and the answer in one line."""
    return "; ".join(f"{fact.label} {one_line(fact.text, 160)}" for fact in _expected(document, violation))


def _elsewhere(document: Document, cause: Cause) -> Iterator[Fact]:
    """The same of its other operations, where it differs from the first."""
    texts = grouped((_in_line(document, cell.violations[0]), cell.operation) for cell in cause.cells)
    for text, operations in [*texts.items()][1:]:
        yield Fact("elsewhere", f"on {where(operations, document.operations)}: {text}", more=True)


def _further(document: Document, cause: Cause) -> Iterator[Fact]:
    """The other checks that saw the rule broken, and further violations in the first."""
    by_check = grouped(
        (violation.check, (violation, cell.operation))
        for cell in cause.cells
        for violation in cell.violations
    )
    for number, rows in enumerate([*by_check.values()][1:]):
        operations = list(dict.fromkeys(operation for _, operation in rows))
        name = rows[0][0].check.rpartition(".")[2].removeprefix("test_")
        text = f"{name} on {where(operations, document.operations)}: {_in_line(document, rows[0][0])}"
        yield Fact("also", text, more=number >= CHECKS)
    for violation in cause.cells[0].violations[1:]:
        if violation.check == cause.first.check:
            yield Fact("also", one_line(violation.sentence), more=True)


# ---------------------------------------------------------------------- what else fails a run


def _errors(document: Document) -> Iterator[Item]:
    yield from (Item(one_line(error, 600)) for error in dict.fromkeys(document.errors))


def _missing(document: Document) -> Iterator[Item]:
    missing = [record.operation for record in document.missing]
    for record in document.missing:
        number = len(waiting(record.operation))
        needed = f"; {count(number, 'operation waits', 'operations wait')} for it" if number else ""
        known = f"; known: {record.known}" if record.known else ""
        step = (Fact("next", first(missing)),) if record is document.missing[-1] else ()
        yield Item(f"{record.operation}: {record.answered}{needed}{known}", step)


def _stale(document: Document) -> Iterator[Item]:
    source = document.run.options.get("known-failures", "the list")
    for entry in document.known_failures:
        if entry.stale:
            yield Item(
                f"{source}, line {entry.line}: delete the entry for {entry.rule} on {entry.operation}, from "
                f"[[failure]] to the next one: {entry.stale}"
            )


# ---------------------------------------------------------------------- inconclusive


def _inconclusive(document: Document) -> Iterator[Item]:
    """Inconclusive cells by remedy, else by reason, the largest group first; without consequences."""
    lacking = {record.operation for record in document.missing}
    absent = listed(lacking, 3)
    unheard = f"no check could judge this without {absent}" if lacking else "no check judged this"
    groups = grouped((cell.decisive.remedy or cell.summary or unheard, cell) for cell in _unjudged(document))
    for cells in sorted(groups.values(), key=lambda cells: -len(cells)):
        if all(cell.operation in lacking for cell in cells):
            continue
        (reason, _), *others = Counter(cell.summary or unheard for cell in cells).most_common()
        more = f" (and {count(len(others), 'similar reason')})" if others else ""
        rules = grouped((cell.rule, cell.operation) for cell in cells)
        remedy = cells[0].decisive.remedy
        yield Item(
            f"{count(len(cells), 'cell')}: {one_line(reason)}{more}",
            (
                *((Fact("remedy", one_line(remedy, 600)),) if remedy else ()),
                Fact(
                    "rules",
                    listed(rules, NAMES),
                    links=tuple((rule, f"{rule} ({', '.join(names)})") for rule, names in rules.items()),
                ),
            ),
        )


def _unjudged(document: Document) -> Iterator[Cell]:
    """Cells that should have been judged, and do not follow from a violation."""
    levels = {rule.id: rule.level for rule in document.rules}
    following = {cell.key for cause in document.causes for cell in cause.consequences}
    for cell in document.cells:
        left_out = document.run.selection or levels[cell.rule] not in gating(document.verdict.fail_on)
        unjudged = cell.verdict is Verdict.INCONCLUSIVE or (cell.verdict is Verdict.NOT_RUN and not left_out)
        if unjudged and cell.key not in following:
            yield cell


# ---------------------------------------------------------------------- observations


def choices(cells: Iterable[Cell]) -> dict[tuple[str, str, str], str]:
    """The answer to each open question, as rule, operation and question, in the order of the catalogue."""
    return {(*cell.key, question): answer for cell in cells for question, answer in cell.observations.items()}


def observations(document: Document) -> dict[tuple[str, str], dict[str, list[str]]]:
    """The server's answers to open questions: rule and question -> answer -> operations."""
    observed: dict[tuple[str, str], dict[str, list[str]]] = {}
    for (rule, operation, question), answer in choices(document.cells).items():
        observed.setdefault((rule, question), {}).setdefault(answer, []).append(operation)
    return observed
