"""Values of request fields that no server may refuse, and values that every server must refuse.

Both are narrower than what openapi.yaml says: what lies between them is open (sections 2.10 and 4.8),
and whoever judges a request keeps silent about it.
"""

from __future__ import annotations

import re
import unicodedata
from decimal import Decimal
from typing import Any

#: Characters that a text may hold to be plain, as a class of a regular expression: letters of the basic plane
#: that no normal form changes, some of two and of three bytes in UTF-8.
PLAIN_LETTERS = (
    "A-Za-z\u00e0-\u00f6\u00f8-\u00ff\u0391-\u03a1"
    "\u0410-\u0418\u041a-\u0438\u043a-\u044f\u05d0-\u05ea\u3042\u4e00-\u9fa5"
)

_PLAIN_TEXT = re.compile(f"[{PLAIN_LETTERS}]+(?: [{PLAIN_LETTERS}]+)*")
_PLAIN_LABEL = re.compile(f"[{PLAIN_LETTERS}0-9]+(?: [{PLAIN_LETTERS}0-9]+)*")
_PLAIN_EMAIL = re.compile(r"[a-z][a-z0-9]{0,40}@example\.com")
_PLAIN_AMOUNT = re.compile(r"[0-9]+(?:\.[0-9]+)?", re.ASCII)
_NUMERAL = re.compile(r"([+-]?)([0-9]*)(?:\.([0-9]*))?(?:[eE][+-]?[0-9]+)?", re.ASCII)


def plain_text(value: Any, longest: int, *, digits: bool = False) -> bool:
    """Whether a value is a text of letters, single spaces and, if they are allowed, digits, not longer than
    that."""
    form = _PLAIN_LABEL if digits else _PLAIN_TEXT
    return isinstance(value, str) and len(value) <= longest and form.fullmatch(value) is not None


def plain_email(value: Any) -> bool:
    """Whether a value is an e-mail address of lower-case ASCII letters and digits."""
    return isinstance(value, str) and _PLAIN_EMAIL.fullmatch(value) is not None


def surely_longer(value: str, limit: int) -> bool:
    """Whether a text has more characters than that, however they are counted.

    Surrounding spaces, marks and invisible characters may not count, nor may characters beyond the basic
    plane (fields.max-length-astral), and a normal form may join some."""
    if len(value) <= limit:
        return False
    for text in (value, unicodedata.normalize("NFC", value), unicodedata.normalize("NFKC", value)):
        counted = sum(
            1 for one in text.strip() if one <= "\uffff" and unicodedata.category(one)[0] in "LNPSZ"
        )
        if counted <= limit:
            return False
    return True


def surely_no_code(value: str, length: int) -> bool:
    """Whether a text is no code of so many letters: empty texts, surrounding spaces and letter case are open
    (fields.lenient-values), and so are letters beyond ASCII."""
    bare = value.strip()
    return bool(bare) and not (len(bare) == length and bare.isalpha())


def surely_no_choice(value: str, choices: tuple[str, ...]) -> bool:
    """Whether a text is none of an enumeration's values, letter case and surrounding spaces aside."""
    bare = value.strip().lower()
    return bool(bare) and bare not in choices


def surely_no_amount(value: str) -> bool:
    """Whether a text is no positive decimal number in any notation (fields.amount; fields.amount-odd is
    open)."""
    bare = value.strip()
    if (
        not value.isascii()
        and not bare.isascii()
        and any(one.isdigit() and not one.isascii() for one in bare)
    ):
        return False
    found = _NUMERAL.fullmatch(bare)
    if found is None or not (found[2] or found[3]):
        return True
    return found[1] == "-" or not (found[2] + (found[3] or "")).strip("0")


def plain_amount(value: Any) -> bool:
    """Whether a value is a decimal in plain notation, so that its value is beyond doubt."""
    return isinstance(value, str) and _PLAIN_AMOUNT.fullmatch(value) is not None


def same_number(got: Any, sent: str) -> bool:
    """Whether an answer shows the amount that was sent as a plain decimal, by value."""
    if not isinstance(got, str) or not _PLAIN_AMOUNT.fullmatch(got) or not _PLAIN_AMOUNT.fullmatch(sent):
        return False
    return Decimal(got) == Decimal(sent)
