"""Other spellings of members' names, which decoders, serializers and form binders read as documented ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any


def _capitals(name: str) -> str:
    return "".join(word.capitalize() for word in name.split("_"))


#: Form of a name -> how it is made of a documented one, which it may equal.
SPELLINGS: Mapping[str, Callable[[str], str]] = {
    "in upper case": str.upper,
    "with a capital": str.capitalize,
    "in camel case": lambda name: name[:1] + _capitals(name)[1:],
    "in capitalized words": _capitals,
    "with hyphens": lambda name: name.replace("_", "-"),
    "without underscores": lambda name: name.replace("_", ""),
    "with a space behind it": lambda name: f"{name} ",
    "with a space before it": lambda name: f" {name}",
}

#: Form of the names of an object and of its member, beside the object -> how it is made.
FLATTENED: Mapping[str, Callable[[str, str], str]] = {
    "behind a point": lambda name, member: f"{name}.{member}",
    "in brackets": lambda name, member: f"{name}[{member}]",
}

#: Members in which some frameworks look for the fields, as paths of names; {} is the name of the resource.
_WRAPPERS = ("{}", "data", "data.attributes", "attributes", "payload", "params", "body", "input")


def wrappers(resource: str) -> list[tuple[str, ...]]:
    """Paths of the members in which some frameworks look for a resource's fields."""
    return [tuple(path.format(resource).split(".")) for path in _WRAPPERS]


def nested(values: Iterable[tuple[tuple[str, ...], Any]]) -> dict[str, Any]:
    """The object that has each value at its path of names."""
    tree: dict[str, Any] = {}
    for path, value in values:
        within = tree
        for name in path[:-1]:
            within = within.setdefault(name, {})
        within[path[-1]] = value
    return tree


def spellings(name: str) -> dict[str, str]:
    """Other spellings of a name -> the first form that makes them."""
    forms: dict[str, str] = {}
    for form, spelled in SPELLINGS.items():
        if spelled(name) != name:
            forms.setdefault(spelled(name), form)
    return forms
