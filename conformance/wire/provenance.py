"""Provenance of generated values, registered so that a replay can generate them again.

A random value is registered with its recipe, a derived one with its source and form. Values of the server are
found in the exchanges of the run instead. The registry is per process and bounded; a forgotten value is
literal in a replay file.
"""

from __future__ import annotations

import functools
import re
import secrets
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from conformance.wire.forms import FORM, SameText, changed, new_value

_CHAIN = re.compile(rf"{FORM}(?:\|{FORM})*")

#: Maximum number of registered values; a full run has about 20,000.
MOST = 100_000


@dataclass(frozen=True, slots=True)
class Origin:
    """The `recipe` of a random value (see `forms.new_value`), or source (`of`) and form of a derived one."""

    recipe: Mapping[str, Any] = field(default_factory=dict)
    of: str = ""
    form: str = ""


_origins: dict[str, Origin] = {}
_lock = threading.Lock()


def _register(value: str, origin: Origin) -> str:
    with _lock:
        _origins.pop(value, None)
        _origins[value] = origin
        if len(_origins) > MOST:
            del _origins[next(iter(_origins))]
    return value


def register(value: str, **recipe: Any) -> str:
    """Registers a random value and returns it."""
    return _register(value, _random(**recipe))


@functools.lru_cache(1024)
def _random(**recipe: Any) -> Origin:
    # Cached: thousands of values share few recipes.
    return Origin(recipe)


def fresh(kind: str, **recipe: Any) -> str:
    """A new, registered random value of a kind of `forms.KINDS`: `fresh("hex", length=12)`."""
    return register(new_value({"kind": kind, **recipe}), kind=kind, **recipe)


def derive(value: str, form: str) -> str:
    """Applies a chain of forms of `forms.FORMS`, such as `set.-1.g`, and registers the result.

    Returns the value itself if the forms do not change it. Raises ValueError for an invalid chain."""
    if not _CHAIN.fullmatch(form):
        raise ValueError(f"{form!r} is no chain of forms")
    try:
        made = changed(value, form)
    except SameText:
        return value
    known = _origins.get(made)
    if made == value or (known is not None and known.recipe):
        return made
    return _register(made, Origin(of=value, form=form))


def new_key(**recipe: Any) -> str:
    """A new Idempotency-Key: a lower-case UUID of version 4 (section 4.0), or another `version` or `variant`.

    The variant digit is part of the recipe, so that a replay repeats it."""
    return fresh("uuid", **{"variant": secrets.choice("89ab"), **recipe})


def new_nonce() -> str:
    """A new nonce: 32 hexadecimal digits (section 5.2)."""
    return fresh("hex", length=32)


def origin(value: str) -> Origin | None:
    """The origin of a value; None if it is not registered."""
    return _origins.get(value)


def root(value: str) -> str:
    """The value at the start of a chain of derivations; the value itself if it was not derived."""
    seen = {value}
    while (known := _origins.get(value)) is not None and known.of and known.of not in seen:
        value = known.of
        seen.add(value)
    return value


def registered() -> list[str]:
    """All registered values."""
    with _lock:
        return list(_origins)
