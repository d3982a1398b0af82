"""Rules of users' own: read from their file, and every mistake in it named."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from conformance._files import InputError
from conformance.contract import rules
from conformance.contract.rules import RULES, Level, add_rules

CATALOGUE = frozenset(RULES)

OWN = """
rules:
  - id: acme.page-size
    section: ["8"]
    level: required
    operations: list
    statement: The gateway refuses pages of more than 50 elements.
"""


@pytest.fixture(autouse=True)
def catalogue_as_it_was() -> Iterator[None]:
    before = dict(RULES)
    yield
    rules._known.clear()
    rules._known.update(before)


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "rules.yaml"
    path.write_text(text, "utf-8")
    return path


def test_own_rule_stands_beside_the_catalogues(tmp_path: Path) -> None:
    path = write(tmp_path, OWN)
    [rule] = add_rules(path)
    assert add_rules(path) == [rule] and RULES["acme.page-size"] is RULES[rule.id]
    assert (rule.level, len(rule.operations)) == (Level.REQUIRED, 4)
    assert rule.id not in CATALOGUE


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[1]", "a mapping with the member rules"),
        ("rules: [", "not valid YAML"),
        (OWN.replace("required", "strict"), "strict"),
        (OWN.replace("operations: list", "operations: lists"), "operation set 'lists'"),
        (OWN.replace("operations: list", "operations: [listNothing]"), "no operation listNothing"),
        (OWN.replace("acme.page-size", "list.walk"), "list.walk: there is such a rule"),
        (OWN.replace("    statement", "    sentence"), "statement"),
    ],
    ids=["array", "yaml", "level", "set", "operation", "taken", "member"],
)
def test_mistakes_are_named(text: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        add_rules(write(tmp_path, text))
    assert said in str(caught.value) and "\n" not in str(caught.value)
    assert set(RULES) == CATALOGUE


def test_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nothing\.yaml: the rules cannot be read"):
        add_rules(tmp_path / "nothing.yaml")
