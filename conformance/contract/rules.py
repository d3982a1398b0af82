"""The catalogue of rules, as spec/rules.yaml states it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
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
    #: The version of the catalogue that it came with.
    since: str = "1.0"


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
            since=entry.get("since", "1.0"),
        )
    return rules


_CATALOGUE = load_yaml(SPEC / "rules.yaml")

#: Number of a section of the specification -> its title.
SECTIONS: Mapping[str, str] = MappingProxyType(_CATALOGUE["sections"])

#: Name of a set of operations -> operationIds.
OPERATION_SETS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {name: tuple(operations) for name, operations in _CATALOGUE["operation_sets"].items()}
)

_known = _rules(_CATALOGUE)

#: Every rule by its id, in the catalogue's order; those of users' own files behind them.
RULES: Mapping[str, Rule] = MappingProxyType(_known)

#: The ids of the catalogue's own rules.
CATALOGUE: frozenset[str] = frozenset(_known)


#: The version of the catalogue: the minor one moves with every release that adds rules.
VERSION: str = _CATALOGUE["version"]

#: The rules as the catalogue states them, whatever version a run holds on to.
_stated = dict(_known)


def _numbers(version: str) -> tuple[int, int]:
    """Raises ValueError for what is no version of a catalogue."""
    major, dot, minor = version.partition(".")
    if not (dot and major.isascii() and major.isdigit() and minor.isascii() and minor.isdigit()):
        raise ValueError(f"{version[:40]!r} is no version of the catalogue, such as {VERSION}")
    return int(major), int(minor)


def _usual() -> str:
    """The version that a run holds on to unless told otherwise: the minor one before, so that new rules warn
    for as long as one minor version lasts."""
    major, minor = _numbers(VERSION)
    return f"{major}.{max(minor - 1, 0)}"


def next_version() -> str:
    """The version with which a rule that is written now will come."""
    major, minor = _numbers(VERSION)
    return f"{major}.{minor + 1}"


_held = _usual()


def held_version() -> str:
    """The version of the catalogue whose rules decide; newer ones only warn."""
    return _held


def hold_to(version: str | None = None) -> None:
    """Lets the rules of a version of the catalogue decide: a required rule that is newer counts as implied.

    None is the minor version before the present one. Raises ValueError, with a sentence that
    `--catalogue-version` can begin, for what is no version, and for one that is yet to come.
    """
    global _held
    version = _usual() if version is None else version
    if _numbers(version) > _numbers(VERSION):
        raise ValueError(f"{version} is yet to come; the catalogue of this suite is {VERSION}")
    _held = version
    _known.update(
        (
            rule.id,
            replace(rule, level=Level.IMPLIED) if is_newer(rule) and rule.level is Level.REQUIRED else rule,
        )
        for rule in _stated.values()
    )


def is_newer(rule: Rule) -> bool:
    """Whether a rule of the catalogue is newer than the version that decides."""
    return rule.id in CATALOGUE and _numbers(rule.since) > _numbers(_held)


class RuleFileError(ValueError):
    """A file of users' own rules cannot be used; the text is one paragraph that names the place and the
    remedy."""


def add_rules(path: Path) -> list[Rule]:
    """Adds the rules of a user's own file, which has the form of spec/rules.yaml, to the catalogue.

    It may leave out `sections` and use the operation sets that there are. A file that was added before adds
    nothing. Raises RuleFileError.
    """
    try:
        document = load_yaml(path)
    except OSError as error:
        raise RuleFileError(f"{path}: the rules cannot be read ({error.strerror or error}).") from None
    except yaml.YAMLError as error:
        raise RuleFileError(
            f"{path}: the rules are not valid YAML: {' '.join(str(error).split())}."
        ) from None
    if not isinstance(document, dict):
        raise RuleFileError(f"{path}: it should hold a mapping with the member rules, like spec/rules.yaml.")
    complete = {"sections": dict(SECTIONS), "operation_sets": {}, **document}
    _validate(path, complete)
    complete["operation_sets"] = {**OPERATION_SETS, **complete["operation_sets"]}
    try:
        added = _rules(complete)
    except KeyError as error:
        raise RuleFileError(
            f"{path}: there is no operation set {error}; name one of spec/rules.yaml."
        ) from None
    for rule in added.values():
        if _known.get(rule.id, rule) != rule:
            raise RuleFileError(
                f"{path}: {rule.id}: there is such a rule; begin the id with a word of your own."
            )
        if unknown := set(rule.operations) - set(OPERATION_SETS["all"]):
            raise RuleFileError(f"{path}: {rule.id}: there is no operation {min(unknown)}.")
    _known.update(added)
    return list(added.values())


def _validate(path: Path, document: Mapping[str, Any]) -> None:
    """Raises RuleFileError for what spec/rules.schema.json refuses."""
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import best_match

    schema = json.loads((SPEC / "rules.schema.json").read_bytes())
    error = best_match(Draft202012Validator(schema).iter_errors(document))
    if error is not None:
        place = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in error.absolute_path)
        raise RuleFileError(f"{path}: {place.lstrip('.') or 'the file'}: {error.message[:300]}.")
