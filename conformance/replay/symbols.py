"""Symbols in replay files: `{{account_1.id}}` is a value of an earlier answer, `{{key_1}}` a new random one,
`{{primary.customer_id}}` one of the target file, `{{now+310}}` server time.

`+N` or `-N` adds seconds to a time. Forms, each after a `|`, transform the text: see conformance.wire.forms.
An undefined symbol stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from conformance.wire.forms import FORM, changed, moved

SYMBOL = re.compile(rf"\{{\{{([a-z][a-z0-9_]*(?:\.[a-z0-9_]+)?)([+-][0-9]{{1,12}})?((?:\|{FORM})*)\}}\}}")

#: Members of an organization in the target file that requests may contain.
TARGET_VALUES = (
    "customer_id",
    "other_customer_id",
    "funded_account_id",
    "beneficiary_id",
    "payout_destination_id",
    "api_key",
)

#: Stands for a secret; allowed only as the key of a signature.
SECRET = re.compile(r"\{\{(primary|secondary)\.secret\}\}")

#: Maximum length of the values of all symbols in a text, in characters.
LONGEST = 16 * 1024 * 1024


def braced(name: str) -> str:
    """Formats a symbol: its name in braces."""
    return "{{" + name + "}}"


def rendered(text: str, value: Callable[[str], str | None]) -> str:
    """Replaces the symbols in a text, except those for which `value` returns None.

    Raises ValueError for values of more than LONGEST characters in total."""
    length = 0

    def replaced(found: re.Match[str]) -> str:
        nonlocal length
        name, shift, forms = found.groups()
        known = value(name)
        if known is None:
            return found[0]
        made = changed(moved(known, shift) if shift else known, forms)
        length += len(made)
        if length > LONGEST:
            raise ValueError(f"its symbols stand for more than {LONGEST:,} characters")
        return made

    return SYMBOL.sub(replaced, text)


def each_text(plain: Any, change: Callable[[str], str]) -> Any:
    """Applies a function to the texts of JSON data, not to the names of members."""
    if isinstance(plain, str):
        return change(plain)
    if isinstance(plain, dict):
        return {name: each_text(member, change) for name, member in plain.items()}
    return [each_text(member, change) for member in plain] if isinstance(plain, list) else plain


def filled(plain: Any, value: Callable[[str], str | None]) -> Any:
    """Replaces the symbols in the texts of JSON data."""
    return each_text(plain, lambda text: rendered(text, value))
