"""Cells: what was judged of one rule on one operation."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Annotated, TypeVar

import msgspec
from msgspec.structs import replace

from conformance._records import Count, says
from conformance._text import count, told_apart
from conformance.contract.rules import ALL_RULES, Level
from conformance.judge.outcomes import Demand, Got, Unclear
from conformance.judge.verdicts import Inconclusive, NotApplicable, Verdict
from conformance.wire.messages import Exchange

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

#: Maximum number of violations that a cell has of one check, and of the numbers of exchanges that prove them.
VIOLATIONS, EVIDENCE = 20, 8

#: Maximum number of exchanges that show that a rule held, of a check while it runs, and of a cell.
CHECK_PROOF, PROOF = 8, 1

#: Name of the check that stands for the rules of every response.
EVERY_RESPONSE = "every response"

#: The usual reason why a check did not judge a rule.
NOT_EXERCISED = Unclear("the check had no occasion to judge this rule")

#: The reason where only others than its checks judged a rule.
BY_THE_WAY = "no check of the rule judged it: it held where it was judged by the way"


def grouped(pairs: Iterable[tuple[K, V]]) -> dict[K, list[V]]:
    """Groups values by key, both in order of appearance."""
    groups: dict[K, list[V]] = {}
    for key, value in pairs:
        groups.setdefault(key, []).append(value)
    return groups


class Violation(msgspec.Struct, omit_defaults=True):
    """A broken expectation."""

    expected: Annotated[str, says("What was expected.")]
    got: Annotated[str, says("What was got.")]
    exchanges: Annotated[
        tuple[int, ...], says("Exchanges that prove it, by number, the decisive one first.")
    ] = ()
    member: Annotated[str, says("The member of the answer that it is about; empty of anything else.")] = ""
    acceptance: Annotated[bool, says("What was expected is that the request is accepted.")] = False
    refusal: Annotated[bool, says("What was expected is that the request is refused.")] = False
    without_error_body: Annotated[
        bool, says("What was got is a refusal without the documented error body.")
    ] = False
    remedy: Annotated[str, says("What can be done about it; of clients only.")] = ""
    check: Annotated[str, says("Which check; rules of every response have one of that name.")] = ""
    aside: Annotated[bool, says("The check is about another rule first; such violations come last.")] = False
    confirmed: Annotated[
        str, says("The check, repeated alone: confirmed, or not reproduced; empty if it was not.")
    ] = ""
    examples: Annotated[
        Count, says("How many examples were drawn, where generated requests showed it; 0 for any other.")
    ] = 0

    @property
    def sentence(self) -> str:
        """The violation in words."""
        return f"expected {self.expected}; got {self.got}"


class Reach(msgspec.Struct, frozen=True):
    """How far checks looked at what has no end within a run."""

    far: Annotated[float, says("How far, in the unit of the rule: seconds, or elements.")]
    words: Annotated[str, says("The same in words, with what looks further.")]


class Cell(msgspec.Struct):
    """One rule on one operation: the judgements of a check, or of all checks of a run, which add up.

    A violation decides its verdict; else a probe that could not be judged, though others were; else what
    checks of the rule judged. What is judged by the way, on answers to other checks, can break a rule, never
    prove it.
    """

    rule: Annotated[str, says("Id of the rule.")]
    operation: Annotated[str, says("An operationId.")]
    verdict: Annotated[Verdict, says("What the judgements come to.")] = Verdict.NOT_RUN
    summary: Annotated[
        str,
        says(
            "The verdict in a sentence; where the rule held, what that is based on, if it is less than all."
        ),
    ] = ""
    reach: Annotated[Reach | None, says("How far its checks looked, where the rule goes further.")] = None
    known: Annotated[str, says("Why this violation is a known failure; empty if it is none.")] = ""
    judged: Annotated[Count, says("How often the rule was judged, by the way too.")] = 0
    looks: Annotated[Count, says("How often a check of the rule judged it; only these make it pass.")] = 0
    broken: Annotated[Count, says("How often it did not hold.")] = 0
    violations: Annotated[list[Violation], says("The first violations of each check.")] = []
    unclear: Annotated[list[Unclear], says("Why checks could not judge it.")] = []
    not_exercised: Annotated[Unclear | None, says("Why a check had no occasion; then others decide.")] = (
        msgspec.field(default=None, name="no_occasion")
    )
    beside: Annotated[list[str], says("Why probes of a rule that held show nothing on this server.")] = []
    not_applicable: Annotated[str, says("Why the server has nothing to judge by the rule, as it may.")] = (
        msgspec.field(default="", name="absent")
    )
    proof: Annotated[list[int], says("Exchanges of judgements that held, by number.")] = []
    observations: Annotated[dict[str, str], says("Open question -> what the server does.")] = {}
    checks: Annotated[list[str], says("The checks that had to judge it.")] = []
    left_out: Annotated[Count, says("How many more of its checks a whole run has, unless it broke.")] = 0

    @property
    def key(self) -> tuple[str, str]:
        """Rule and operation."""
        return self.rule, self.operation

    @property
    def decisive(self) -> Violation | Unclear:
        """The first violation, or the first reason why it was not judged; an empty reason if it held."""
        unjudged = [self.not_exercised] if self.not_exercised else []
        parts: list[Violation | Unclear] = [*self.violations, *self.unclear, *unjudged]
        return parts[0] if parts else Unclear("")

    @property
    def exchanges(self) -> list[int]:
        """Numbers of the exchanges that prove the verdict, the decisive one first."""
        parts = self.violations or self.unclear
        return list(dict.fromkeys(number for part in parts for number in part.exchanges)) or self.proof

    # ------------------------------------------------------------------ judging

    def expect(
        self,
        expected: str,
        got: Got,
        *exchanges: Exchange,
        demand: Demand | None = None,
        member: str = "",
    ) -> bool:
        """Counts a judgement; True if it holds: what was got is empty. The exchanges show it, the
        decisive one first; `demand` is the kind of answer that is expected to its request, if it is that,
        `member` the documented member of the answer that it is about."""
        numbers = tuple(dict.fromkeys(exchange.number for exchange in exchanges))
        if isinstance(got, Unclear):
            self.unclear.append(replace(got, exchanges=numbers[:1]))
            return False
        if not got:
            self.judged += 1
            self.proof += numbers if len(self.proof) < CHECK_PROOF else ()
            return True
        bare = any(
            answer.refused and not answer.names_error and got == answer.described() for answer in exchanges
        )
        texts, accepts = told_apart(expected, got), demand is not None and demand.acceptance
        self.add_violation(
            Violation(*texts, numbers, member, accepts, demand is Demand.REFUSED, without_error_body=bare)
        )
        return False

    def add_violation(self, violation: Violation) -> None:
        """Counts a violation; the first ones stay, alike ones once."""
        self.judged, self.broken = self.judged + 1, self.broken + 1
        alike = any(
            each.got == violation.got and each.expected == violation.expected for each in self.violations
        )
        if not alike and len(self.violations) < VIOLATIONS:
            self.violations.append(violation)

    def concluded(
        self,
        check: str = EVERY_RESPONSE,
        stop: Inconclusive | NotApplicable | None = None,
        sent: Sequence[int] = (),
        aside: bool = False,
        by_the_way: bool = False,
    ) -> Cell:
        """The conclusion of a check from its judgements. `stop` is the exception that ended it, `sent` are
        its exchanges' numbers; `aside`: it is mainly about another rule; `by_the_way`: it is no check of the
        rule."""
        cell = Cell(
            self.rule, self.operation, judged=self.judged, broken=self.broken, checks=[check],
            looks=0 if by_the_way else self.judged, reach=self.reach, observations=dict(self.observations),
        )  # fmt: skip
        if self.violations:
            first, *others = (replace(each, check=check, aside=aside) for each in self.violations)
            first.exchanges = first.exchanges or tuple(sent[-3:])
            cell.violations = _bounded([first, *others])
        elif isinstance(stop, NotApplicable) or (stop is None and not self.judged and self.not_applicable):
            cell.judged, cell.looks, cell.not_applicable = 0, 0, stop.reason if stop else self.not_applicable
        elif stop is not None:
            cell.unclear = [replace(stop.why, exchanges=stop.why.exchanges or tuple(sent[-2:]))]
        elif spoilt := [each for each in self.unclear if not (each.choice and self.judged)]:
            cell.unclear = spoilt[:1]
        elif self.judged:
            cell.proof = [] if by_the_way else list(dict.fromkeys(self.proof))
            cell.beside = list(dict.fromkeys(each.reason for each in self.unclear))[:VIOLATIONS]
        elif not by_the_way:
            cell.not_exercised = self.not_exercised or NOT_EXERCISED
        return cell.decide()

    def reached(self, far: float, words: str) -> None:
        """Notes how far a check looked; the furthest counts."""
        if self.reach is None or far > self.reach.far:
            self.reach = Reach(far, words)

    # ------------------------------------------------------------------ adding up

    def add(self, other: Cell) -> None:
        """Adds the judgements of another check, or of another part of the run."""
        self.judged, self.broken = self.judged + other.judged, self.broken + other.broken
        self.looks += other.looks
        if other.reach:
            self.reached(other.reach.far, other.reach.words)
        self.violations = _bounded([*self.violations, *other.violations])
        self.unclear = list(dict.fromkeys([*self.unclear, *other.unclear]))[:VIOLATIONS]
        self.beside = list(dict.fromkeys([*self.beside, *other.beside]))[:VIOLATIONS]
        if self.not_exercised is None or not self.not_exercised.remedy:
            self.not_exercised = other.not_exercised or self.not_exercised
        self.not_applicable = self.not_applicable or other.not_applicable
        self.known = self.known or other.known
        self.proof = list(dict.fromkeys([*self.proof, *other.proof]))[:PROOF]
        for question, answer in other.observations.items():
            answers = self.observations.get(question, answer).split(" / ")
            self.observations[question] = " / ".join(sorted({*answers, answer}))
        self.checks = sorted({*self.checks, *other.checks})
        self.decide()

    def decide(self) -> Cell:
        """Sets verdict and summary by what was judged; returns the cell."""
        level = ALL_RULES[self.rule].level
        if self.violations:
            self.verdict = Verdict.WARNING if level is Level.IMPLIED else Verdict.FAILED
            of_responses = f" ({self.broken} of {self.judged} responses)" * (self.checks == [EVERY_RESPONSE])
            self.summary = f"{self.rule} on {self.operation}: {self.violations[0].sentence}{of_responses}"
        elif self.unclear:
            self.verdict, self.summary = Verdict.INCONCLUSIVE, self.unclear[0].reason
        elif self.looks:
            self.verdict = Verdict.OBSERVED if level is Level.OPEN else Verdict.PASSED
            of_responses = f"judged on {self.judged:,} answers" * (self.checks == [EVERY_RESPONSE])
            beside = f"{count(len(self.beside), 'probe')} could not be judged: " if self.beside else ""
            own = len(self.checks) - (EVERY_RESPONSE in self.checks)
            some = f"judged by {own} of its {count(own + self.left_out, 'check')}" * bool(self.left_out)
            reach = self.reach.words if self.reach else of_responses
            parts = (some, reach, beside + "; ".join(self.beside[:1]))
            self.summary = "; ".join(filter(None, parts))
            # Others had the occasion.
            self.not_applicable, self.not_exercised = "", None
        elif self.not_applicable:
            self.verdict, self.summary = Verdict.NOT_APPLICABLE, self.not_applicable
        elif self.not_exercised:
            self.verdict, self.summary = Verdict.INCONCLUSIVE, self.not_exercised.reason
        else:
            self.verdict, self.summary = Verdict.NOT_RUN, BY_THE_WAY * bool(self.judged)
        return self

    def cleaned(self, text: Callable[[str], str]) -> Cell:
        """The cell with `text` applied to each of its texts."""

        def reason(unclear: Unclear) -> Unclear:
            return replace(unclear, reason=text(unclear.reason), remedy=text(unclear.remedy))

        violations = [
            replace(each, expected=text(each.expected), got=text(each.got), remedy=text(each.remedy))
            for each in self.violations
        ]
        return replace(
            self,
            violations=violations,
            unclear=[reason(each) for each in self.unclear],
            not_exercised=self.not_exercised and reason(self.not_exercised),
            beside=[text(each) for each in self.beside],
            observations={text(question): text(answer) for question, answer in self.observations.items()},
        ).decide()


def _bounded(violations: Iterable[Violation]) -> list[Violation]:
    """Violations without those that say the same, at most VIOLATIONS of each check, of which at most EVIDENCE
    exchanges are named, but the decisive one of each; those of the rule's own checks come first."""
    distinct: dict[tuple[str, str, str], Violation] = {}
    for each in violations:
        distinct.setdefault((each.check, each.expected, each.got), each)
    bounded = []
    for several in grouped((each.check, each) for each in distinct.values()).values():
        left = EVIDENCE
        for each in several[:VIOLATIONS]:
            bounded.append(replace(each, exchanges=each.exchanges[: max(1, left)]))
            left -= len(bounded[-1].exchanges)
    return sorted(bounded, key=lambda each: each.aside)
