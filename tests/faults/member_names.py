"""Servers that read members of a body under other names than the documented ones (sections 4.1 to 4.7)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any
from unicodedata import normalize

from conformance.contract.operation_sets import OPERATION_SETS
from conformance.reference.context import Context
from conformance.reference.seams.validation import FIELDS

from .bodies import required
from .catalogue import faults, refuse, seam, seams
from .fields import WRAPPERS, under

#: Reads a name of a member as the documented one that it resembles.
Fold = Callable[[str], str]

#: Kind -> what is the same of two names to a server.
FOLDS: Mapping[str, Fold] = {
    "in any letter case": str.lower,
    "its first letter in any case": lambda name: name[:1].lower() + name[1:],
    "in camel case": lambda name: re.sub("(?<=[a-z0-9])[A-Z]", lambda word: f"_{word[0].lower()}", name),
    "in capitalized words": lambda name: re.sub(
        "(?<!^)(?<!_)[A-Z]", lambda word: f"_{word[0]}", name
    ).lower(),
    "with hyphens": lambda name: name.replace("-", "_"),
    "without underscores": lambda name: name.replace("_", ""),
    "with spaces around": str.strip,
    "in letters and digits only": lambda name: re.sub("[^a-z0-9]", "", normalize("NFKC", name).lower()),
}


def _renamed(document: dict[str, Any], names: Mapping[str, str], fold: Fold, order: str) -> dict[str, Any]:
    """Returns an object with the documented names, by their folded forms; of several members of one name the
    last, the first, or the documented one counts."""
    made: dict[str, Any] = {}
    for name, value in document.items():
        known = name if name in names.values() else names.get(fold(name), name)
        if known not in made or order == "last" or (order == "documented" and known == name):
            made[known] = value
    return made


def _read(self: Any, usual: Any, ctx: Context) -> dict[str, Any]:
    kind, order = self.value
    fold = FOLDS[kind]
    document = _renamed(usual(), {fold(each.name): each.name for each in FIELDS[ctx.operation]}, fold, order)
    for field in FIELDS[ctx.operation]:
        if field.members and isinstance(document.get(field.name), dict):
            names = {fold(member): member for member in field.members}
            document[field.name] = _renamed(document[field.name], names, fold, order)
    return document


def _kinds(operation: str) -> dict[str, tuple[str, str]]:
    several = any("_" in field.name for field in FIELDS[operation])
    kinds = [kind for kind in FOLDS if several or "case" not in kind or kind == "in any letter case"]
    if not several:
        kinds = ["in any letter case", "its first letter in any case", "with spaces around"]
    return {
        **{f"{kind}, the last counts": (kind, "last") for kind in kinds},
        **{f"{kind}, the first counts": (kind, "first") for kind in kinds},
        **{f"{kind}, if the documented is missing": (kind, "documented") for kind in kinds},
    }


def _in_objects(self: Any, usual: Any, ctx: Context) -> dict[str, Any]:
    document: dict[str, Any] = usual()
    for field in FIELDS[ctx.operation]:
        if field.members and isinstance(document.get(field.name), dict):
            fold = FOLDS[self.value]
            names = {fold(member): member for member in field.members}
            document[field.name] = _renamed(document[field.name], names, fold, "last")
    return document


def _alias(self: Any, usual: Any, ctx: Context) -> dict[str, Any]:
    name, alias = self.value
    document: dict[str, Any] = usual()
    return {name: document[alias], **document} if alias in document else document


def _aliases(operation: str) -> dict[str, tuple[str, str]]:
    camel = {
        field.name: re.sub("_(.)", lambda word: word[1].upper(), field.name) for field in FIELDS[operation]
    }
    shown = {"account_name", "address", "routing_number", "swift_code", "iban"}
    return {
        f"{alias} for {name}": (name, alias)
        for name, alias in camel.items()
        if alias != name and name not in shown
    }


def _from_paths(self: Any, usual: Any, ctx: Context) -> dict[str, Any]:
    """Reads members of objects from paths of names beside the object."""
    document: dict[str, Any] = usual()
    for field in FIELDS[ctx.operation]:
        for member in field.members:
            path = self.value.format(field.name, member)
            if path in document and isinstance(document.get(field.name, {}), dict):
                within = document.get(field.name) or (ctx.beneficiary or {}).get(field.name, {})
                document[field.name] = {**within, member: document[path]}
    return document


def _no_others(ctx: Context) -> None:
    """Refuses members that are left under unknown names."""
    if ctx.body.keys() - {field.name for field in FIELDS[ctx.operation]}:
        refuse("invalid_field")


faults["body.member-names"] |= {
    "Unknown members are refused, but a name is read in another form.": seams(
        {"parse_body": _read, "check_together": lambda self, usual, ctx: (_no_others(ctx), usual())[1]},
        each={kind: (kind, "last") for kind in ("in any letter case", "with spaces around")},
    ),
    "Unknown members are refused, but one has an alias.": seams(
        {
            "parse_body": lambda self, usual, ctx: {
                (self.value[0] if name == self.value[1] else name): each for name, each in usual().items()
            },
            "check_together": lambda self, usual, ctx: (_no_others(ctx), usual())[1],
        },
        each=lambda operation: {
            kind: names for kind, names in _aliases(operation).items() if names[0] in required(operation)
        },
        operations=OPERATION_SETS["create"],
    ),
    "Members are read under other names, too.": seam("parse_body", _read, each=_kinds),
    "A member has an alias in camel case, which counts where it is missing.": seam(
        "parse_body", _alias, each=_aliases
    ),
    "Members of an address are read under other names, too.": seam(
        "parse_body",
        _in_objects,
        operations=("createBeneficiary", "updateBeneficiary"),
        each=("in any letter case", "in camel case", "with hyphens"),
    ),
    "Unknown members are refused, but those of an address are read under other names.": seams(
        {"parse_body": _in_objects, "check_together": lambda self, usual, ctx: (_no_others(ctx), usual())[1]},
        operations=("createBeneficiary", "updateBeneficiary"),
        each=("in any letter case", "with hyphens"),
    ),
    "Members of an object count before those of the body.": seam(
        "parse_body",
        lambda self, usual, ctx: {**(body := usual()), **under(ctx, self.value, body)},
        each=WRAPPERS,
    ),
    "An object stands for the whole body.": seam(
        "parse_body",
        lambda self, usual, ctx: under(ctx, self.value, body := usual()) or body,
        operations=("updateBeneficiary",),
        each=WRAPPERS,
    ),
    "Members of an address are read from paths beside it, as of a form.": seam(
        "parse_body",
        _from_paths,
        operations=("createBeneficiary", "updateBeneficiary"),
        each={"with points": "{}.{}", "in brackets": "{}[{}]"},
    ),
}
