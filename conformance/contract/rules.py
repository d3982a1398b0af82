"""The catalogue of rules, from spec/rules.yaml."""

from __future__ import annotations

import fnmatch
import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Annotated, Any

import msgspec

from conformance._files import InputError
from conformance._records import says
from conformance._text import meant
from conformance.contract.documents import load, unusable
from conformance.contract.operation_sets import CITED, OPERATION_SETS, cited_rules, citing
from conformance.contract.operations import OPERATIONS


class Level(StrEnum):
    """Strength with which the specification states a rule.

    required: an implementation that does otherwise fails. implied: it is warned. open: it is only observed.
    """

    REQUIRED = "required"
    IMPLIED = "implied"
    OPEN = "open"


class Side(StrEnum):
    """Whom a rule binds. In the catalogue `both` means the two others."""

    SERVER = "server"
    CLIENT = "client"


@dataclass(frozen=True)
class Rule:
    """A rule of the catalogue."""

    id: Annotated[str, says("The rule's id, which never changes its meaning.")]
    section: Annotated[tuple[str, ...], says("Sections of the specification.")]
    level: Annotated[Level, says("How firmly the specification states it.")]
    statement: Annotated[str, says("What the rule demands.")]
    operations: Annotated[tuple[str, ...], says("The operations that it is about.")]
    needs: Annotated[
        tuple[str, ...],
        says(
            "What a target must offer: secondary, a second organization; other_customer, a second customer."
        ),
    ] = ()
    follows: Annotated[
        tuple[str, ...], says("Rules which, when broken, usually break this one along with them.")
    ] = ()
    quote: Annotated[str, says("The specification's words behind it; empty if whole sections say it.")] = ""
    sides: Annotated[tuple[Side, ...], says("Whom it binds.")] = (Side.SERVER,)
    client: Annotated[str, says("What it demands of a client's requests; empty if it binds none.")] = ""


def _rule(entry: Mapping[str, Any]) -> Rule:
    """A rule from its entry, whose operations may be the name of a set of them."""
    operations, side = entry["operations"], entry.get("side", Side.SERVER)
    sides = [each for each in Side if side in (each, "both")]
    if isinstance(operations, str):
        sets = {CITED: citing(entry["id"]), **OPERATION_SETS}
        if operations not in sets:
            raise unusable(f"rules.yaml names {operations} ({entry['id']}), which is no set of operations")
        operations = sets[operations]
    return msgspec.convert({**entry, "operations": operations, "sides": sides}, Rule)


_CATALOGUE = load("rules.yaml")

#: Section number -> title.
SECTIONS: Mapping[str, str] = MappingProxyType(_CATALOGUE["sections"])


def section_title(section: str) -> str:
    """Title of a section of the specification, or of the nearest enclosing section that has one."""
    while section and section not in SECTIONS:
        section = section.rpartition(".")[0]
    return SECTIONS.get(section, "")


def section_order(section: str) -> tuple[int, ...]:
    """Sort key of a section number: 5.10 follows 5.9."""
    return tuple(int(part) for part in section.split("."))


def chapter(section: str) -> str:
    """Heading of a section in reports: its first two numbers (5.4.3 -> 5.4)."""
    return ".".join(section.split(".")[:2])


@functools.cache
def own_sections(resource: str) -> tuple[str, ...]:
    """The sections about a resource, such as `payout_destination`: of its fields, and of its endpoints."""
    words, first = (
        resource.replace("_", " ").capitalize(),
        resource.removesuffix("_balances").replace("_", " "),
    )
    titles = {number: title for number, title in _CATALOGUE["sections"].items() if "." in number}
    fields = [number for number, title in titles.items() if number[0] == "2" and title == words]
    named = (
        number
        for number, title in titles.items()
        if number[0] == "4" and title.lower().startswith(first[:-1])
    )
    return (*fields, *sorted(named, key=lambda number: len(titles[number]))[:1])


def _binding(side: Side) -> Mapping[str, Rule]:
    """The rules that bind one side."""
    return MappingProxyType({name: rule for name, rule in ALL_RULES.items() if side in rule.sides})


#: All rules by id, in catalogue order.
ALL_RULES: Mapping[str, Rule] = MappingProxyType({entry["id"]: _rule(entry) for entry in _CATALOGUE["rules"]})


def _unknown() -> Iterator[str]:
    """What names an operation or a rule that is not there."""
    for rule in ALL_RULES.values():
        names = {*rule.operations} - {*OPERATIONS} | {*rule.follows} - {*ALL_RULES}
        yield from (f"rules.yaml names {name} ({rule.id})" for name in sorted(names))
    for name, operation in OPERATIONS.items():
        cited = sorted(cited_rules(name) - {*ALL_RULES})
        yield from (f"{operation.response_schema_uri} names the rule {rule}" for rule in cited)


for _each in _unknown():
    raise unusable(f"{_each}, which is not there")

#: Rules that bind servers, and clients (judged by `conformance serve --judge`).
RULES, CLIENT_RULES = _binding(Side.SERVER), _binding(Side.CLIENT)

#: Version of the catalogue; a release that adds rules raises the minor number.
VERSION: str = _CATALOGUE["version"]


def rules_named(text: str, catalogue: Mapping[str, Rule] = ALL_RULES, option: str = "") -> list[str]:
    """Ids of the rules named by an id, a pattern such as `auth.*`, or an area such as `auth`.

    Raises InputError, prefixed with the option."""
    text = text.rstrip(".")
    areas = {rule.partition(".")[0] for rule in catalogue}
    ids = fnmatch.filter(catalogue, f"{text}.*" if text in areas else text)
    if not ids:
        raise InputError(
            f"{option}there is no rule {text[:60]!r}{meant(text, [*catalogue, *areas])}; "
            "`conformance rules` lists them."
        )
    return ids


def rules_of_section(text: str, catalogue: Mapping[str, Rule] = ALL_RULES) -> list[str]:
    """Ids of the rules of a section and its subsections. Raises InputError."""
    number = text.removeprefix("§").strip().rstrip(".")
    ids = [
        rule.id
        for rule in catalogue.values()
        if any(section == number or section.startswith(f"{number}.") for section in rule.section)
    ]
    if not ids:
        numbers = sorted({section for rule in catalogue.values() for section in rule.section})
        raise InputError(f"--section: no rule is of section {text[:40]!r}; they are {', '.join(numbers)}.")
    return ids
