"""JSON data from and to frozen dataclasses, by their annotations."""

from __future__ import annotations

import dataclasses
import functools
import types
import typing
from collections.abc import Mapping
from enum import Enum
from typing import Any, TypeVar, cast

T = TypeVar("T")

#: Metadata of a member that is left out of the JSON data while it is None.
OPTIONAL = {"optional": True}


class FormError(ValueError):
    """Data that do not have the form of a type; the text names the place."""


def to_json(value: Any) -> Any:
    """A value as JSON data."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {
            field.name: to_json(getattr(value, field.name))
            for field in dataclasses.fields(value)
            if not (field.metadata.get("optional") and getattr(value, field.name) is None)
        }
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return {str(key): to_json(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [to_json(item) for item in value]
    return value


def from_json(kind: type[T], data: Any) -> T:
    """Data as a value of a dataclass. Members that it does not know are left out. Raises FormError."""
    return cast(T, _read(kind, data, ""))


@functools.cache
def _members(kind: type) -> tuple[tuple[dataclasses.Field[Any], Any], ...]:
    hints = typing.get_type_hints(kind)
    return tuple((field, hints[field.name]) for field in dataclasses.fields(kind))


def _read(kind: Any, data: Any, place: str) -> Any:
    origin = typing.get_origin(kind)
    if kind is Any:
        return data
    if origin in (typing.Union, types.UnionType):
        return _read_union(typing.get_args(kind), data, place)
    if origin is tuple:
        return _read_tuple(typing.get_args(kind), data, place)
    if origin is not None and issubclass(origin, Mapping):
        _demand(isinstance(data, dict), data, "an object", place)
        value = typing.get_args(kind)[1]
        return {key: _read(value, item, f"{place}/{key}") for key, item in data.items()}
    if dataclasses.is_dataclass(kind):
        return _read_members(cast(type, kind), data, place)
    if issubclass(kind, Enum):
        _demand(data in [member.value for member in kind], data, f"a {kind.__name__.lower()}", place)
        return kind(data)
    if kind is float:
        _demand(isinstance(data, (int, float)) and not isinstance(data, bool), data, "a number", place)
    else:
        good = isinstance(data, kind) and (kind is bool or not isinstance(data, bool))
        _demand(good, data, f"of type {kind.__name__}", place)
    return data


def _read_union(kinds: tuple[Any, ...], data: Any, place: str) -> Any:
    if data is None and type(None) in kinds:
        return None
    [kind] = [kind for kind in kinds if kind is not type(None)]
    return _read(kind, data, place)


def _read_tuple(kinds: tuple[Any, ...], data: Any, place: str) -> Any:
    _demand(isinstance(data, list), data, "an array", place)
    if kinds[-1] is Ellipsis:
        return tuple(_read(kinds[0], item, f"{place}/{index}") for index, item in enumerate(data))
    _demand(len(data) == len(kinds), data, f"an array of {len(kinds)}", place)
    return tuple(_read(kind, item, place) for kind, item in zip(kinds, data, strict=True))


def _read_members(kind: type, data: Any, place: str) -> Any:
    _demand(isinstance(data, dict), data, "an object", place)
    values = {}
    for field, hint in _members(kind):
        if field.name in data:
            values[field.name] = _read(hint, data[field.name], f"{place}/{field.name}")
        elif field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING:
            raise FormError(f"{place or 'the document'}: {field.name} is missing")
    return kind(**values)


def _demand(good: bool, data: Any, wanted: str, place: str) -> None:
    if not good:
        raise FormError(f"{place.lstrip('/') or 'the document'}: it should be {wanted}, not {data!r:.60}")
