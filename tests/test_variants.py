"""Runs all checks on conforming servers: none may be blamed.

The servers are those of tests/variants/ and some with randomly drawn choices. VARIANT_SEED sets the first
seed, which is part of the test id, and VARIANTS their number. Everything runs in this process, without
sockets.
"""

from __future__ import annotations

import os
import random
import sys

import pytest

from conformance.checks import plan
from conformance.contract.rules import RULES, Level
from conformance.fuzz.exploration import FuzzSettings
from conformance.reference.behaviour import Behaviour
from tests.variants.catalogue import VARIANTS
from tests.variants.choice import ANSWERED, CHOICES
from tests.variants.drawn import drawn
from tests.variants.judging import judge, parts
from tests.variants.variant import Variant

FIRST = int(os.environ.get("VARIANT_SEED", "1"))
DRAWN = range(FIRST, FIRST + int(os.environ.get("VARIANTS", "3")))

#: Number of explorations that are run, and examples of each.
SAMPLED, EXAMPLES = int(os.environ.get("VARIANT_PARTS", "8")), 3


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda variant: variant.name.replace(" ", "-"))
def test_conforming_server_is_not_blamed(variant: Variant) -> None:
    judged = judge(variant, plan())
    assert judged.blamed == []
    assert [case for case in judged.inconclusive if case[1] not in variant.unreached] == []


@pytest.mark.parametrize("number", DRAWN)
def test_drawn_server_is_not_blamed(number: int) -> None:
    assert judge(drawn(number), plan()).blamed == []


def sampled() -> list[tuple[Variant, str, str]]:
    """Draws explorations of conforming servers from the seed FIRST; `python -m tests.prove variants` runs
    all."""
    servers = [*VARIANTS, drawn(FIRST)]
    source = random.Random(FIRST)
    return [(source.choice(servers), *source.choice(parts())) for _ in range(SAMPLED)]


@pytest.mark.parametrize(
    ("variant", "exploration", "part"),
    sampled(),
    ids=lambda value: getattr(value, "name", value).replace(" ", "-")[:40],
)
def test_explored_server_is_not_blamed(variant: Variant, exploration: str, part: str) -> None:
    settings = FuzzSettings(FIRST, EXAMPLES)
    assert judge(variant, explored=[(exploration, part)], settings=settings).blamed == []


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
