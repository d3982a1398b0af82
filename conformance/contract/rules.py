"""The catalogue of rules, as spec/rules.yaml states it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType
from typing import Any

import yaml

_PACKAGE = Path(__file__).resolve().parents[1]

#: The folder of the specification's data: inside an installed package, beside it in a checkout.
SPEC = _PACKAGE / "spec" if (_PACKAGE / "spec").is_dir() else _PACKAGE.parent / "spec"

#: libyaml's parser, ten times as fast, where PyYAML was built with it.
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class Level(StrEnum):
    """How firmly the specification states a rule.

    required: an implementation that does otherwise fails. implied: it is warned. open: it is only observed.
    """

    REQUIRED = "required"
    IMPLIED = "implied"
    OPEN = "open"


@dataclass(frozen=True)
class Rule:
    """One rule: `section` numbers sections of the specification, `operations` are operationIds in the
    catalogue's order, `needs` names what a target must offer for it to be exercised (`secondary`: a second
    organization, `other_customer`: a second customer). `follows` names rules which, when broken on an
    operation, usually break this one along with them: reports show both as one cause. `quote` holds the words
    of the specification that the rule rests on, and is empty where only whole sections say it."""

    id: str
    section: tuple[str, ...]
    level: Level
    statement: str
    operations: tuple[str, ...]
    needs: tuple[str, ...] = ()
    follows: tuple[str, ...] = ()
    quote: str = ""


def load_yaml(path: Path) -> Any:
    """The data of a YAML file. Raises OSError or yaml.YAMLError."""
    return yaml.load(path.read_bytes(), Loader=_LOADER)


def _rules(catalogue: Mapping[str, Any]) -> dict[str, Rule]:
    sets = catalogue["operation_sets"]
    rules = {}
    for entry in catalogue["rules"]:
        operations = entry["operations"]
        rules[entry["id"]] = Rule(
            id=entry["id"],
            section=tuple(entry["section"]),
            level=Level(entry["level"]),
            statement=entry["statement"],
            operations=tuple(sets[operations] if isinstance(operations, str) else operations),
            needs=tuple(entry.get("needs", ())),
            follows=tuple(entry.get("follows", ())),
            quote=entry.get("quote", ""),
        )
    return rules


_CATALOGUE = load_yaml(SPEC / "rules.yaml")

#: Number of a section of the specification -> its title.
SECTIONS: Mapping[str, str] = MappingProxyType(_CATALOGUE["sections"])

#: Name of a set of operations -> operationIds.
OPERATION_SETS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {name: tuple(operations) for name, operations in _CATALOGUE["operation_sets"].items()}
)

#: Every rule by its id, in the catalogue's order.
RULES: Mapping[str, Rule] = MappingProxyType(_rules(_CATALOGUE))
