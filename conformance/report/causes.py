"""Groups violations by cause, so that one broken rule shows as one finding."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Annotated

import msgspec

from conformance._records import says
from conformance.contract.rules import ALL_RULES, Level
from conformance.judge.findings import Verdict
from conformance.judge.ledger import Ledger, Result, grouped

Key = tuple[str, str]

#: The rule whose violation is listed first: a client that breaks it pays twice.
WORST = "client.retry-key"


class CaseKey(msgspec.Struct, frozen=True):
    """Names a case."""

    rule: Annotated[str, says("Id of another rule.")]
    operation: Annotated[str, says("An operationId.")]

    @property
    def key(self) -> tuple[str, str]:
        """Rule and operation."""
        return self.rule, self.operation


class CauseRecord(msgspec.Struct, frozen=True):
    """A broken rule, and the cases of other rules that were broken, or not judged, because of it."""

    rule: Annotated[str, says("The rule that is broken.")]
    operations: Annotated[tuple[str, ...], says("The operations on which it is broken.")]
    took_along: Annotated[
        tuple[CaseKey, ...],
        says("Cells of other rules that were broken, or could not be judged, because of this one."),
    ]


def causes(ledger: Ledger) -> tuple[CauseRecord, ...]:
    """The causes of all violations: required before implied, new before known, wide before narrow.

    Every violated case is in exactly one cause; its consequences (`took_along`) include cases that it left
    inconclusive.
    """
    violated = {case.key: case for case in ledger.cells if case.verdict.is_violation}
    first: dict[str, Key] = {}
    for key in violated:
        first.setdefault(key[0], key)
    unjudged = _never_passed(ledger)
    parents = {key: _parent(case, violated, first, unjudged) for key, case in violated.items()}
    _gather(violated, parents)
    broken: dict[str, list[Result]] = {}
    consequences: dict[str, list[Result]] = {}
    for key, case in violated.items():
        rule = _root(key, parents)[0]
        broken.setdefault(rule, [])
        (broken if case.rule == rule else consequences).setdefault(rule, []).append(case)
    for case in ledger.with_verdict(Verdict.INCONCLUSIVE):
        blocked_by = next((finding.cause for finding in case.findings if finding.cause in first), "")
        if blocked_by:
            key = (blocked_by, case.operation)
            rule = _root(key if key in violated else first[blocked_by], parents)[0]
            consequences.setdefault(rule, []).append(case)
    ordered = sorted(
        broken,
        key=lambda rule: (
            rule != WORST,
            ALL_RULES[rule].level is not Level.REQUIRED,
            all(case.known for case in broken[rule]),
            -len(broken[rule]),
        ),
    )
    return tuple(
        CauseRecord(
            rule,
            tuple(case.operation for case in broken[rule]),
            tuple(CaseKey(*case.key) for case in consequences.get(rule, ())),
        )
        for rule in ordered
    )


def _gather(violated: Mapping[Key, Result], parents: dict[Key, Key | None]) -> None:
    """Extends a cause found on some operations to the others, where one mistake breaks different rules on
    different operations.

    A rule explained by another, itself broken on several operations, on at least half of its own, follows it
    on the rest. If it breaks alone on most operations, it becomes the cause of the other instead.
    """
    broken = grouped((key[0], key) for key in violated)
    for rule, cases in broken.items():
        for other in ALL_RULES[rule].follows:
            explained = [key for key in cases if parents[key] == (other, key[1])]
            alone = [key for key in cases if parents[key] is None]
            if other == "error.shape" or not explained or not alone:
                continue
            if len({violated[key].known for key in (*cases, *broken[other])}) > 1:
                continue
            if len(explained) >= len(alone) and len(broken[other]) > 1:
                parents.update(dict.fromkeys(alone, (other, explained[0][1])))
            elif len(alone) > len(explained) == len(broken[other]):
                parents.update(dict.fromkeys(explained) | {(other, key[1]): key for key in explained})


def _root(key: Key, parents: Mapping[Key, Key | None]) -> Key:
    """The end of a chain of parents; in a cycle, the same element from everywhere."""
    seen = [key]
    while (parent := parents[key]) is not None:
        if parent in seen:
            return min(seen[seen.index(parent) :])
        seen.append(parent)
        key = parent
    return key


def _never_passed(ledger: Ledger) -> Mapping[str, Collection[str]]:
    """Rule -> the operations on which it was not run, for rules that never passed; a narrowed run judges few
    operations."""
    seen: dict[str, set[Verdict]] = {}
    unseen: dict[str, set[str]] = {}
    for case in ledger.cells:
        if case.verdict is Verdict.NOT_RUN:
            unseen.setdefault(case.rule, set()).add(case.operation)
        else:
            seen.setdefault(case.rule, set()).add(case.verdict)
    return {rule: unseen.get(rule, ()) for rule, verdicts in seen.items() if Verdict.PASSED not in verdicts}


def _parent(
    case: Result,
    violated: Mapping[Key, Result],
    first: Mapping[str, Key],
    unjudged: Mapping[str, Collection[str]],
) -> Key | None:
    """The violated case that explains this one; None if it is a cause itself."""
    finding = case.decisive
    if finding.cause in first and finding.cause != case.rule:
        same = (finding.cause, case.operation)
        return same if same in violated else first[finding.cause]
    for rule in ALL_RULES[case.rule].follows:
        parent = (rule, case.operation)
        if case.operation not in ALL_RULES[rule].operations or case.operation in unjudged.get(rule, ()):
            # Where the rule was not judged on this operation, its first violation anywhere serves.
            parent = first.get(rule, parent)
        if parent not in violated or (violated[parent].known and not case.known):
            # A known failure must not hide a new one.
            continue
        if rule == "error.shape" and not finding.without_error_body:
            continue
        return parent
    return None
