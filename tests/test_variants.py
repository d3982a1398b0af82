"""Judges conforming servers, none of which may be blamed; `python -m tests.prove variants` judges more.

The servers are those of tests/variants/ and one with randomly drawn choices. Everything runs in this process,
without sockets.
"""

from __future__ import annotations

import sys

import pytest

from conformance.checks import plan
from conformance.contract.rules import RULES, Level
from conformance.plugin.selection import quick
from conformance.reference.behaviour import Behaviour
from tests.variants.catalogue import VARIANTS
from tests.variants.choice import ANSWERED, CHOICES
from tests.variants.drawn import drawn
from tests.variants.judging import judge
from tests.variants.variant import Variant


@pytest.mark.slow
@pytest.mark.parametrize("variant", VARIANTS, ids=lambda variant: variant.name.replace(" ", "-"))
def test_conforming_server_is_not_blamed(variant: Variant) -> None:
    judged = judge(variant, plan())
    assert judged.blamed == []
    assert [case for case in judged.inconclusive if case[1] not in variant.unreached] == []


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
    judged = judge(variant, [each for each in plan() if (each[0].name, each[1]) in quick()])
    assert judged.blamed == []
    assert [
        case
        for case in judged.inconclusive
        if RULES[case[0]].level is Level.REQUIRED and case[1] not in variant.unreached
    ] == []


def test_drawn_server_is_not_blamed() -> None:
    assert judge(drawn(1), plan()).blamed == []


def test_every_open_rule_is_answered_in_two_ways() -> None:
    """The reference server gives one of the answers, a variant's choice the other."""
    open_rules = {rule.id for rule in RULES.values() if rule.level is Level.OPEN}
    # Undocumented paths and methods are answered before any behaviour is asked; see PlainNotFound.
    assert open_rules - set(ANSWERED) == {"http.undocumented-path", "http.undocumented-method"}


def test_every_choice_is_made_by_a_variant() -> None:
    made = {choice.__name__ for variant in VARIANTS for choice in variant.choices}
    assert set(CHOICES) - made == set()


def test_choices_keep_their_own_state() -> None:
    """Two choices with an attribute of the same name would overwrite each other's state in one server."""
    owners: dict[str, type] = {}
    for choice in CHOICES.values():
        for mixin in reversed(choice.__mro__):
            if issubclass(Behaviour, mixin):
                continue
            made = vars(mixin)["__init__"].__code__.co_names if "__init__" in vars(mixin) else ()
            known = {*dir(Behaviour), *vars(sys.modules[mixin.__module__])}
            kept = {name for name in made if name.startswith("_")} | vars(mixin).keys()
            for attribute in kept - known:
                if not attribute.startswith("__"):
                    assert issubclass(mixin, owners.setdefault(attribute, mixin)), attribute
