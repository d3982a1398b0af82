"""Regular expressions that are applied to answers take linear time, by their structure.

Two structures are refused: nested quantifiers (exponential backtracking), and two consecutive quantifiers on
overlapping character sets (quadratic backtracking).
"""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.sources import trees
from tests.support.spec_files import OPENAPI, SCHEMAS, walk

#: Python's own parser of patterns has no public name.
codes: Any = importlib.import_module("re._constants")
parser: Any = importlib.import_module("re._parser")

#: A quantifier with at least this bound counts as unbounded.
MANY = 100

#: Functions by which the suite compiles or applies a pattern.
CALLS = {"compile", "search", "match", "fullmatch", "findall", "finditer", "sub", "split"}


def patterns() -> Iterator[tuple[str, str]]:
    """Yields each constant pattern with its location."""
    for path, tree in trees().items():
        for node in ast.walk(tree):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and isinstance(node.func.value, ast.Name)
                and (node.func.value.id, node.func.attr in CALLS) == ("re", True)
                and isinstance(node.args[0], ast.Constant)
            ):
                text: Any = node.args[0].value
                yield (
                    f"{path.stem}:{node.lineno}",
                    text if isinstance(text, str) else text.decode("latin-1"),
                )
    for place, value in walk([OPENAPI, SCHEMAS]):
        if place[-1:] == ("pattern",) and isinstance(value, str):
            yield "/".join(place), value


def _letters(node: tuple[Any, Any]) -> set[int]:
    """Returns the ASCII characters that a single-character node matches; all if in doubt."""
    everything = set(range(128))
    match node:
        case (codes.LITERAL, code):
            return {code}
        case (codes.NOT_LITERAL, code):
            return everything - {code}
        case (codes.RANGE, (low, high)):
            return set(range(low, min(high, 127) + 1))
        case (codes.CATEGORY, category):
            sign = {"DIGIT": r"\d", "SPACE": r"\s", "WORD": r"\w"}[str(category).rpartition("_")[2]]
            found = {code for code in everything if re.match(sign, chr(code))}
            return everything - found if "NOT" in str(category) else found
        case (codes.IN, members):
            negated = members[0][0] is codes.NEGATE
            taken = set().union(*(_letters(member) for member in members[negated:]))
            return everything - taken if negated else taken
    return everything


def _first(sequence: Any) -> set[int]:
    """Returns the ASCII characters with which a match of the sequence may begin."""
    taken: set[int] = set()
    for code, value in sequence:
        if code is codes.SUBPATTERN:
            return taken | _first(value[-1])
        if code is codes.BRANCH:
            return taken | set().union(*map(_first, value[1]))
        if code in (codes.AT, codes.ASSERT, codes.ASSERT_NOT):
            continue
        if code in (codes.MAX_REPEAT, codes.MIN_REPEAT):
            taken |= _first(value[2])
            if value[0]:
                return taken
            continue
        return taken | _letters((code, value))
    return taken


def _repetitions(sequence: Any) -> Iterator[tuple[Any, Any]]:
    """Yields the unbounded quantifiers at any depth, each with the rest of its sequence."""
    sequence = list(sequence)
    for at, (code, value) in enumerate(sequence):
        if code in (codes.MAX_REPEAT, codes.MIN_REPEAT):
            if value[1] >= MANY:
                yield value[2], sequence[at + 1 :]
            yield from _repetitions(value[2])
        elif code is codes.SUBPATTERN:
            yield from _repetitions(value[-1])
        elif code is codes.BRANCH:
            for branch in value[1]:
                yield from _repetitions(branch)


def _may_be_empty(sequence: Any) -> bool:
    repeats = (codes.MAX_REPEAT, codes.MIN_REPEAT)
    return all(code is codes.AT or (code in repeats and value[0] == 0) for code, value in sequence)


def ambiguous(pattern: str) -> str:
    """Returns the part of a pattern that may backtrack, or an empty string."""
    for body, behind in _repetitions(parser.parse(pattern)):
        for inner, after in _repetitions(body):
            next_round = _first(body) if _may_be_empty(after) else set()
            if _first(inner) & (_first(after) | next_round):
                return "a repetition of repetitions of the same characters"
        for code, value in behind[:1]:
            if (
                code in (codes.MAX_REPEAT, codes.MIN_REPEAT)
                and value[1] >= MANY
                and _first(body) & _first(value[2])
            ):
                return "two repetitions of the same characters"
    return ""


@pytest.mark.parametrize(
    "pattern", ["(a+)+b", r"(\w+\s*)*;", r"\s*\s*x", "[a-z]+[a-f0-9]+$", "(?:a|[ab]+)*c"]
)
def test_slow_patterns_are_found(pattern: str) -> None:
    assert ambiguous(pattern)


@pytest.mark.parametrize(
    "pattern", [r"^-?[0-9]+(?:\.[0-9]+)?$", "a+b+", r"(?:[a-z]+,)*x", "[a-z]{2,8}_[A-Z]{8,}"]
)
def test_quick_patterns_are_not(pattern: str) -> None:
    assert not ambiguous(pattern)


def test_no_pattern_that_meets_answers_is_slow() -> None:
    found = dict.fromkeys(patterns())
    assert len(found) > 40
    assert {place: (text, why) for place, text in found if (why := ambiguous(text))} == {}
