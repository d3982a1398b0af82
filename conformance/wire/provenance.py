"""Registers where values come from at the moment when they are made, so that a replay can make them again.

A random value is registered with its recipe, a value made of another with that value and the form. What a
server made is not registered here: the answer that showed it first is in the record of the run. The registry
is one for a process and bounded; a value that it has forgotten stands literally in a replay file.
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

#: Values that are remembered; a full run makes about 20,000.
MOST = 100_000


@dataclass(frozen=True, slots=True)
class Origin:
    """The `recipe` of a random value (see `forms.new_value`), or the value `of` which `form` made it."""

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
    """Registers a random value that was made elsewhere, and returns it."""
    return _register(value, _random(**recipe))


@functools.lru_cache(1024)
def _random(**recipe: Any) -> Origin:
    # Thousands of values share few recipes.
    return Origin(recipe)


def fresh(kind: str, **recipe: Any) -> str:
    """A new random value of a kind of `forms.KINDS`: `fresh("hex", length=12)`."""
    return register(new_value({"kind": kind, **recipe}), kind=kind, **recipe)


def derive(value: str, form: str) -> str:
    """The text that a chain of forms of `forms.FORMS` makes of a value, which may be the value itself:
    `derive(key, "set.-1.g")`. Raises ValueError for a chain that no replay file could hold."""
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
    """A new Idempotency-Key: a version 4 UUID in lower case (section 4.0), or one of another `version` or
    `variant`. A replay makes one of the same variant, which is all that keys of one version differ in."""
    return fresh("uuid", **{"variant": secrets.choice("89ab"), **recipe})


def new_nonce() -> str:
    """A new nonce: 32 hexadecimal digits (section 5.4.3)."""
    return fresh("hex", length=32)


def origin(value: str) -> Origin | None:
    """The origin of a value; None for one that was not registered."""
    return _origins.get(value)


def root(value: str) -> str:
    """The value that this one was derived from, through all forms; itself if it was not derived."""
    seen = {value}
    while (known := _origins.get(value)) is not None and known.of and known.of not in seen:
        value = known.of
        seen.add(value)
    return value


def registered() -> list[str]:
    """The values that are registered now."""
    with _lock:
        return list(_origins)
