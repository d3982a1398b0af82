"""Symbols in replay files: `{{account_1.id}}` stands for what an earlier step was answered, `{{key_1}}` for a
fresh Idempotency-Key, `{{primary.customer_id}}` for a value of the target file, `{{now+310}}` for server
time.

`+N` or `-N` after a name moves a time by seconds. Forms after it, each behind a `|`, change the text: see
conformance.wire.forms. A symbol that nothing defines stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from conformance.wire.forms import FORM, changed, moved

SYMBOL = re.compile(rf"\{{\{{([a-z][a-z0-9_]*(?:\.[a-z0-9_]+)?)([+-][0-9]{{1,12}})?((?:\|{FORM})*)\}}\}}")

#: Members of an organization in the target file that symbols may stand for in a request. Its secrets only
#: sign.
TARGET_VALUES = (
    "customer_id",
    "other_customer_id",
    "funded_account_id",
    "beneficiary_id",
    "payout_destination_id",
    "api_key",
)

#: The only place of a secret, as the key of a signature.
SECRET = re.compile(r"\{\{(primary|secondary)\.secret\}\}")

#: Characters that the symbols of one text may stand for together.
LONGEST = 16 * 1024 * 1024


def braced(name: str) -> str:
    """A symbol as it stands in a file."""
    return "{{" + name + "}}"


def rendered(text: str, value: Callable[[str], str | None]) -> str:
    """The text with its symbols replaced; those that `value` does not know (None) stay as they are.

    Raises ValueError where that makes more than LONGEST characters."""
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


def filled(plain: Any, value: Callable[[str], str | None]) -> Any:
    """JSON data with the symbols in its texts replaced."""
    if isinstance(plain, str):
        return rendered(plain, value)
    if isinstance(plain, dict):
        return {name: filled(member, value) for name, member in plain.items()}
    return [filled(member, value) for member in plain] if isinstance(plain, list) else plain
