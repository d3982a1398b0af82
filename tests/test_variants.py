"""No conforming server is blamed, by any check or generated part, and whatever stays open has a remedy.

The servers are those of tests/variants/ and, for each seed, one with randomly drawn choices: all of them by
`python -m tests.prove variants`. Everything runs in this process, without sockets.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest

from conformance.contract.rules import RULES, Level
from conformance.fuzz.exploration import FuzzSettings
from conformance.judge.invariants import INVARIANTS
from conformance.plugin.selection import Job, Scope
from conformance.reference.behaviour import Behaviour
from tests.proofs import first_seed, parametrize, selected, selects
from tests.support.programs import Program
from tests.support.runs import jobs_of
from tests.variants.catalogue import VARIANTS, named
from tests.variants.choice import choice
from tests.variants.drawn import drawn
from tests.variants.judging import judge, parts
from tests.variants.variant import Variant


@dataclass(frozen=True)
class Judging(Program):
    """A server, and what it is judged by: the fixed checks, of one `rule` alone or of all; or a part of
    generated requests, with a seed."""

    rule: str = ""
    part: Job | None = None
    seed: int = 1

    @property
    def id(self) -> str:
        part = self.part.title if self.part else ""
        return " ".join(filter(None, (self.name, self.rule, part, str(self.seed))))

    @property
    def variant(self) -> Variant:
        word, _, number = self.name.partition(" ")
        if word == "drawn":
            return drawn(int(number))
        return named(self.name)


def chosen(config: pytest.Config) -> Iterator[Judging]:
    """Yields what the options select, by default the checks of one drawn server."""
    option, first = config.option, first_seed(config)
    rules = [
        rule.id for rule in RULES.values() if any(selects(config, rule.id, name) for name in rule.operations)
    ]
    if not option.every:
        yield Judging((), "", "drawn 1", "", Behaviour)
        return
    for seed in range(first, first + option.seeds):
        for name in (*(variant.name for variant in VARIANTS), f"drawn {seed}"):
            # The fixed checks do not depend on the seed.
            if not option.no_checks and (seed == first or name.startswith("drawn")):
                # A rule of every response takes all checks.
                alone = [rule for rule in rules if rule not in INVARIANTS]
                for rule in alone if option.checks == "rule" else [""]:
                    yield Judging((), "", name, "", Behaviour, rule, seed=seed)
            for part in [] if option.only_checks or option.checks or option.conformance_rule else parts():
                if option.part in part.title:
                    yield Judging((), "", name, "", Behaviour, part=part, seed=seed)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "program" in metafunc.fixturenames:
        parametrize(metafunc, selected(metafunc.config, chosen(metafunc.config)))


def test_a_conforming_server_is_not_blamed(
    program: Judging, request: pytest.FixtureRequest, record_property: Callable[[str, object], None]
) -> None:
    config, variant = request.config, program.variant
    settings = FuzzSettings(program.seed, config.option.examples)
    rules = [program.rule] if program.rule else config.option.conformance_rule
    scope = Scope.parse(rules, config.option.conformance_operation)
    fixed = [job for job in jobs_of(config.option.checks) if scope.wants(job)]
    judged = judge(variant, [program.part] if program.part else fixed, settings, scope)
    record_property("requests", judged.sent)
    assert judged.blamed == []
    assert judged.incurable == []
    if config.option.inconclusive:
        assert [case for case in judged.inconclusive if case[1] not in variant.unreached] == []


@pytest.mark.parametrize(
    ("name", "rule"),
    [
        ("reads in turn", "read.equals-create"),
        ("reads uneven", "read.equals-create"),
        ("lists in turn", "list.complete"),
        ("balances uneven", "balances.of-account"),
        ("destinations from two replicas in turn", "beneficiary.destinations"),
        ("keys locked for a second", "idempotency.replay"),
    ],
)
def test_a_rule_alone_blames_no_conforming_server(name: str, rule: str) -> None:
    """As users run one to see a failure again: no check of another rule has waited before."""
    scope = Scope.parse([rule])
    judged = judge(named(name), [job for job in jobs_of("full") if scope.wants(job)], scope=scope)
    assert judged.blamed == []
    assert judged.inconclusive == []


#: Servers that leave some checks without an occasion, which another check of a quick run then has.
_QUICK = ("brackets", "pages not found", "strict")


@pytest.mark.parametrize(
    "variant",
    [
        pytest.param(each, id=each.name, marks=[] if each.name in _QUICK else pytest.mark.slow)
        for each in VARIANTS
    ],
)
def test_quick_run_judges_each_required_rule_that_a_server_lets_it(variant: Variant) -> None:
    judged = judge(variant, jobs_of("quick"))
    assert judged.blamed == []
    assert [
        case
        for case in judged.inconclusive
        if RULES[case[0]].level is Level.REQUIRED and case[1] not in variant.unreached
    ] == []


def test_every_open_rule_is_answered_in_two_ways() -> None:
    """The reference server gives one of the answers, a variant's choice the other."""
    open_rules = {rule.id for rule in RULES.values() if rule.level is Level.OPEN}
    answered = {rule for program in choice.values() for rule in program.rules}
    assert {RULES[rule].level for rule in answered} == {Level.OPEN, Level.IMPLIED}
    # Undocumented paths and methods are answered before any behaviour is asked; see PlainNotFound.
    assert open_rules - answered == {"http.undocumented-path", "http.undocumented-method"}


def test_a_name_stands_for_one_choice() -> None:
    with pytest.raises(ValueError, match="there already: NewestFirst"):
        choice()(type("NewestFirst", (Behaviour,), {}))


def test_every_choice_is_made_by_a_variant() -> None:
    made = {mixin.__name__ for variant in VARIANTS for mixin in variant.choices}
    assert choice.keys() - made == set()


def test_choices_keep_their_own_state() -> None:
    """Two choices with an attribute of the same name would overwrite each other's state in one server."""
    owners: dict[str, type] = {}
    for program in choice.values():
        for mixin in reversed(program.base.__mro__):
            if issubclass(Behaviour, mixin):
                continue
            made = vars(mixin)["__init__"].__code__.co_names if "__init__" in vars(mixin) else ()
            known = {*dir(Behaviour), *vars(sys.modules[mixin.__module__])}
            kept = {name for name in made if name.startswith("_")} | vars(mixin).keys()
            for attribute in kept - known:
                if not attribute.startswith("__"):
                    assert issubclass(mixin, owners.setdefault(attribute, mixin)), attribute
