"""The sections of a report, which page, terminal and Markdown are written from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from conformance._text import count, duration, listed, one_line, visible
from conformance.contract.rules import Rule
from conformance.judge.cells import Cell, Violation, grouped
from conformance.judge.verdicts import Verdict
from conformance.judge.waits import AGE, SLOW
from conformance.report.causes import triggers
from conformance.report.commands import again, reproduction
from conformance.report.document import CauseRecord, Document
from conformance.report.evidence import parted, probe, sections_of
from conformance.report.verdict import gating, name_of

#: Number of further violations of a cause, and of rules in a line, that a short report names.
FURTHER, NAMES = 4, 4

#: Labels of the facts of an item that a brief section has.
BRIEF = ("reason", "sent", "expected", "got")


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
    """An item of a section with its facts. A violation has its cause, and in `note` what its rule demands, if
    no fact says it."""

    text: str
    facts: tuple[Fact, ...] = ()
    note: str = ""
    cause: Cause | None = None

    @property
    def brief(self) -> list[Fact]:
        """The facts of its line in a brief section."""
        return [fact for fact in self.facts if fact.label in BRIEF and not fact.more]


@dataclass(frozen=True)
class Section:
    """A titled list of items. `tone` is bad, unsure or suite. In a short report a brief section has a line
    for each item, others have all facts on lines of their own."""

    name: str
    title: str
    tone: str
    about: str = ""
    brief: bool = False
    items: tuple[Item, ...] = ()


#: The sections, the most urgent first.
_SECTIONS = (
    Section("errors", "Errors of the suite itself", "suite"),
    Section("broken", "Violations", "bad"),
    Section("stale", "Known failures to delete", "bad"),
    Section(
        "warnings",
        "Warnings",
        "unsure",
        "The specification implies these rules, it does not state them.",
    ),
    Section("known", "Known failures", "unsure", brief=True),
    Section(
        "inconclusive",
        "Inconclusive",
        "unsure",
        "Neither passed nor failed; a required rule that is inconclusive makes the run incomplete.",
    ),
)


def sections(document: Document) -> list[Section]:
    """The sections that have something to say."""
    items = grouped(_items(document))
    return [
        replace(each, items=(own := tuple(items[each.name])), title=f"{each.title}{_numbers(own)}")
        for each in _SECTIONS
        if each.name in items
    ]


def _numbers(items: Sequence[Item]) -> str:
    """How many violations are causes, in words; empty of other items."""
    records = [item.cause.record for item in items if item.cause]
    if not records:
        return ""
    later = sum(bool(record.may_follow) for record in records)
    causes = count(len(records) - later, "cause")
    return f": {causes}, and {count(later, 'rule')} that may follow" if later else f": {causes}"


def _items(document: Document) -> Iterator[tuple[str, Item]]:
    """The items of all sections, each with the name of its section."""
    yield from (("errors", Item(one_line(error, 600))) for error in dict.fromkeys(document.errors))
    for cause in _causes(document):
        name = "known" if cause.known else "broken" if cause.failing else "warnings"
        yield name, _violation(document, cause)
    yield from (("stale", item) for item in _stale(document))
    yield from (("inconclusive", item) for item in _inconclusive(document))


def where(operations: Sequence[str], every: Sequence[str]) -> str:
    """Operations in a few words; `every` are all of the contract."""
    if len(operations) == len(every) > 1:
        return f"all {len(operations)} operations"
    return listed(operations, 3)


# ---------------------------------------------------------------------- violations


@dataclass(frozen=True)
class Cause:
    """A record of what is broken: its number, its cells, and their violations by operation; `failing`: it
    fails the run. `anchor` names it on a page."""

    number: int
    record: CauseRecord
    rule: Rule
    cells: tuple[Cell, ...]
    violations: Mapping[str, Sequence[Violation]]
    failing: bool

    @property
    def anchor(self) -> str:
        return f"cause-{self.number}"

    @property
    def sections(self) -> list[str]:
        """The sections of the specification that it breaks."""
        return sections_of(self.rule, self.record.operations)

    @property
    def known(self) -> str:
        """The reason why it is a known failure; empty if it is none."""
        return self.cells[0].known

    @property
    def first(self) -> Violation:
        """The representative violation."""
        return self.violations[self.cells[0].operation][0]


def _causes(document: Document) -> Iterator[Cause]:
    """What is broken, in the order of the document."""
    cells = {cell.key: cell for cell in document.cells}
    rules, levels = {rule.id: rule for rule in document.rules}, gating(document.verdict.fail_on)
    for number, record in enumerate(document.causes, 1):
        own = tuple(cells[record.rule, operation] for operation in record.operations)
        violations = {
            cell.operation: triggers(cell, document.exchanges).get(record.trigger, cell.violations)
            for cell in own
        }
        rule = rules[record.rule]
        yield Cause(number, record, rule, own, violations, rule.level in levels and not own[0].known)


def _violation(document: Document, cause: Cause) -> Item:
    rule, record = cause.rule, cause.record
    place = where(record.operations, document.operations)
    facts = tuple(_facts(document, cause))
    says = any(fact.label == "expected" and fact.text == one_line(rule.statement) for fact in facts)
    title = f"{name_of(record)} on {place} ({rule.level}, section {listed(cause.sections, NAMES)})"
    follows = f"; may follow from {listed(map(str, record.may_follow))}" if record.may_follow else ""
    return Item(title + follows, facts, "" if says else rule.statement, cause)


def _facts(document: Document, cause: Cause) -> Iterator[Fact]:
    violation = cause.first
    if cause.known:
        yield Fact("reason", one_line(cause.known))
    sent, expected = probe(violation, document.exchanges)
    if sent.endswith(expected):
        expected = cause.rule.statement
    if sent:
        yield Fact("sent", one_line(visible(sent)), quoted=True)
    yield Fact("expected", one_line(visible(expected)), quoted=True)
    yield Fact("got", one_line(visible(violation.got)), quoted=True, after=_alone(violation, document))
    if difference := parted(expected, violation.got):
        yield Fact("differs", one_line(visible(difference)), quoted=True)
    if violation.remedy:
        yield Fact("remedy", one_line(violation.remedy, 600))
    exchange = document.exchanges.get(violation.exchanges[0]) if violation.exchanges else None
    if exchange and exchange.signed and cause.rule.id.startswith("auth."):
        signed = one_line(exchange.signed, 600)
        yield Fact("signed", signed, quoted=True, more=bool(cause.record.may_follow))
    run = document.run
    yield Fact("reproduce", reproduction(cause.cells[0], run.options, run.seed), quoted=True)
    if violation.confirmed == "not reproduced" and not run.selection:
        yield Fact(
            "takes", f"what the whole run sends, where it does not show: {again(run.options, run.seed)}"
        )
    if (age := _age(violation, document)) > 1.1 * AGE:
        yield Fact(
            "takes", f"{duration(age)} between the requests: the command waits {duration(AGE)} at most"
        )
    yield from _further(document, cause)
    if NAMES < len(cause.cells) < len(document.operations):
        yield Fact(
            "operations",
            listed(cause.record.operations, NAMES),
            links=tuple((f"{cause.rule.id}@{name}", name) for name in cause.record.operations),
        )
    if unjudged := grouped(cause.record.consequences):
        yield Fact(
            "not judged",
            f"{count(len(cause.record.consequences), 'cell')} of {listed(unjudged, NAMES)}, because of this",
            links=tuple(
                (rule, f"{rule} ({where(names, document.operations)})") for rule, names in unjudged.items()
            ),
        )


def _age(violation: Violation, document: Document) -> float:
    """Seconds between two exchanges of a violation with one nonce or Idempotency-Key."""
    times = grouped(
        ((name.lower(), value), document.exchanges[each].started)
        for each in violation.exchanges
        if each in document.exchanges
        for name, value in document.exchanges[each].request_headers
        if name.lower() in _REPEATED
    )
    return max((max(each) - min(each) for each in times.values()), default=0.0)


#: Headers that only a repetition shares with its original.
_REPEATED = ("x-nonce", "idempotency-key")


def _alone(violation: Violation, document: Document) -> str:
    """What its check showed when it was repeated alone, in words behind what was got."""
    if violation.confirmed != "not reproduced":
        return " (confirmed by repeating it alone)" if violation.confirmed else ""
    age = _age(violation, document)
    lacked = f"the {duration(age)} between the requests, and " if age >= SLOW else ""
    return (
        " (its check, repeated alone in new accounts, did not show it: "
        f"it lacked {lacked}what the run had sent before, and what other lanes sent meanwhile)"
    )


def _further(document: Document, cause: Cause) -> Iterator[Fact]:
    """The other violations of its cells, alike ones once, the first of each check on each operation before
    the rest."""
    usual = probe(cause.first, document.exchanges)

    def line(violation: Violation) -> str:
        sent, expected = probe(violation, document.exchanges)
        texts = {"sent": sent, "expected": "" if expected == usual[1] else expected, "got": violation.got}
        return "; ".join(
            f"{label} {one_line(visible(text), 160).rstrip('.')}" for label, text in texts.items() if text
        )

    firsts: dict[str, list[str]] = {}
    rest: dict[str, list[str]] = {}
    for operation, violations in cause.violations.items():
        for several in grouped((each.check, each) for each in violations).values():
            for at, violation in enumerate(several):
                (rest if at else firsts).setdefault(line(violation), []).append(operation)
    own = line(cause.first)
    for number, (text, operations) in enumerate(((firsts | rest) | firsts).items()):
        if text != own:
            operations = list(dict.fromkeys(operations))
            alone = operations == [cause.cells[0].operation]
            place = "" if alone else f"on {where(operations, document.operations)}: "
            yield Fact(
                "also",
                place + text,
                more=number > FURTHER or text not in firsts or bool(cause.record.may_follow),
            )


# ---------------------------------------------------------------------- what else fails a run


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
    unheard = "no check judged this"
    groups = grouped((cell.decisive.remedy or cell.summary or unheard, cell) for cell in _unjudged(document))
    for cells in sorted(groups.values(), key=lambda cells: -len(cells)):
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
    following = {key for cause in document.causes for key in cause.consequences}
    for cell in document.cells:
        left_out = document.run.selection or levels[cell.rule] not in gating(document.verdict.fail_on)
        unjudged = cell.verdict is Verdict.INCONCLUSIVE or (cell.verdict is Verdict.NOT_RUN and not left_out)
        if unjudged and cell.key not in following:
            yield cell


# ---------------------------------------------------------------------- observations


def choices(cells: Iterable[Cell]) -> dict[tuple[str, str, str], str]:
    """The answer to each open question, as rule, operation and question, in the order of the catalogue."""
    return {(*cell.key, question): answer for cell in cells for question, answer in cell.observations.items()}
