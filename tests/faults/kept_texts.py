"""Servers that change one kind of text in one field when storing it (sections 2 and 4.2)."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from typing import Any

from conformance.contract.fields import Field
from conformance.contract.rules import OPERATION_SETS
from conformance.reference.context import Context

from .catalogue import Row, Values, seam
from .lists import item

#: Kind -> change of a text; None for no value.
CHANGES: dict[str, Callable[[str], str | None]] = {
    "CR LF is LF": lambda text: text.replace("\r\n", "\n"),
    "LF is a space": lambda text: text.replace("\n", " "),
    "n/a is no value": lambda text: None if text.lower() in ("n/a", "na") else text,
    "leading zeros are dropped": lambda text: text.lstrip("0") if text.isdigit() and text != "0" else text,
    "a number is a double": lambda text: f"{float(text):.0f}" if re.fullmatch(r"\d{16,}", text) else text,
    "signs that are not seen are dropped": lambda text: "".join(
        letter for letter in text if unicodedata.category(letter) != "Cf"
    ),
    "joiners are dropped": lambda text: text.replace("\u200d", ""),
    "replacement characters are dropped": lambda text: text.replace("\ufffd", ""),
    "line separators are LF": lambda text: re.sub("[\u2028\u2029]", "\n", text),
    "private characters are dropped": lambda text: re.sub("[\ue000-\uf8ff]", "", text),
    "quotes are straight": lambda text: re.sub("[\u2018\u2019]", "'", re.sub("[\u201c\u201d]", '"', text)),
    "dashes are hyphens": lambda text: re.sub("[\u2013\u2014]", "-", text),
    "accents are dropped": lambda text: "".join(
        letter for letter in text if unicodedata.category(letter) != "Mn"
    ),
    "a sharp s is two": lambda text: text.replace("\xdf", "ss"),
    "@ is (at)": lambda text: text.replace("@", "(at)"),
    "colons are dropped": lambda text: text.replace(":", ""),
    "it ends before a hash sign": lambda text: text.partition("#")[0] or text,
    "it ends before a semicolon": lambda text: text.partition(";")[0] or text,
    "spaces are one": lambda text: re.sub(" {2,}", " ", text),
    "zero is no value": lambda text: None if text in ("0", "0.0") else text,
    "null is no value": lambda text: None if text == "null" else text,
    "control characters are dropped": lambda text: re.sub("[\x01-\x08\x0b\x0e-\x1f]", "", text),
    "DEL is dropped": lambda text: text.replace("\x7f", ""),
    "C1 is dropped": lambda text: re.sub("[\x80-\x9f]", "", text),
    "entities are decoded": lambda text: text.replace("&amp;", "&").replace("&lt;", "<"),
    "ampersands are escaped": lambda text: text.replace("&", "&amp;"),
    "templates are filled": lambda text: re.sub(r"\$\{.*?\}|\{\{.*?\}\}", "", text),
    "escapes are decoded": lambda text: text.replace("\\u0041", "A").replace("%41", "A"),
    "true is 1": lambda text: "1" if text == "true" else text,
    "a formula is quoted": lambda text: f"'{text}" if text.startswith("=") else text,
    "quotes around it are dropped": lambda text: text.strip('"'),
    "words begin with capitals": lambda text: text.title() if re.fullmatch('[a-z "]{12,}', text) else text,
    "JSON is an object": lambda text: "[object Object]" if text.startswith("{") else text,
    "it ends before an astral character": lambda text: re.split("[\U00010000-\U0010ffff]", text)[0] or "?",
    "a date is a time": lambda text: f"{text}T00:00:00Z" if re.fullmatch(r"\d{4}-\d\d-\d\d", text) else text,
}

#: Fields of a beneficiary that are long enough for every text.
_FIELDS = ("first_name", "middle_name", "last_name", "display_name", "company_name", "note")

_PLACES = (*_FIELDS, *(f"address.{member}" for member in ("address_line", "city", "region", "postal_code")))


#: Changes of a text to no value: a required field would be refused, or shown in no documented form.
_TO_NOTHING = [kind for kind in CHANGES if kind.endswith("is no value")]

#: Fields that may have no value.
_NULLABLE = ("middle_name", "note")


def _each(operation: str) -> Values:
    """Makes all changes of an operation's only free text; several fields share the changes, so that each
    change is made in some of them."""
    match operation:
        case "createBeneficiary" | "updateBeneficiary":
            shift = 0 if operation == "createBeneficiary" else 5
            chosen = [
                (_PLACES[(at + turn * 3 + shift) % len(_PLACES)], kind)
                for turn in range(3)
                for at, kind in enumerate(CHANGES)
                if kind not in _TO_NOTHING
            ] + [(name, kind) for name in _NULLABLE for kind in _TO_NOTHING]
        case "createPayout" | "createPayoutDestination":
            chosen = [("note" if operation == "createPayout" else "label", kind) for kind in CHANGES]
        case _:
            name = "name" if operation == "createAccount" else "label"
            chosen = [(name, kind) for kind in CHANGES if kind not in _TO_NOTHING]
    # Account names are random, so none of them is such a text.
    return {
        f"{name}, {kind}": (name, CHANGES[kind])
        for name, kind in chosen
        if (name, kind) != ("name", "true is 1")
    }


def _kept(self: Any, ctx: Context, field: Field, value: Any) -> Any:
    """Stores a text as changed."""
    name, _, member = self.value[0].partition(".")
    kept, change = self.usual(), self.value[1]
    if field.name != name or kept is None:
        return kept
    if member:
        return {**kept, member: change(kept.get(member, ""))} if isinstance(kept, dict) else kept
    return change(kept) if isinstance(kept, str) else kept


#: Kind -> member of an address, and the length that bank forms and columns limit it to.
CUTS = {
    f"{member} {length}": (member, length)
    for member, lengths in {
        "address_line": (35, 100, 255, 512),
        "city": (30, 100, 255),
        "region": (50, 100, 255),
        "postal_code": (10, 20, 50),
    }.items()
    for length in lengths
}


def _cut(self: Any, ctx: Context, field: Field, value: Any) -> Any:
    name, length = self.value
    kept = self.usual()
    if field.name == "address" and isinstance(kept, dict) and isinstance(kept.get(name), str):
        return {**kept, name: kept[name][:length]}
    return kept


def _shown(self: Any, element: dict[str, Any]) -> dict[str, Any]:
    """Shows an element with a changed name or label."""
    name = "name" if "name" in element else "label"
    text = element.get(name)
    return {**element, name: self.value(text)} if isinstance(text, str) else element


def rows_of_creates() -> dict[str, Row]:
    """Returns the rows of create.echo."""
    operations = [name for name in OPERATION_SETS["create"] if name != "createPayin"]
    return {
        "One kind of text is kept otherwise in one field.": seam(
            "kept_value", _kept, operations=operations, each=_each
        ),
        "A member of the address is cut.": seam(
            "kept_value", _cut, operations=("createBeneficiary",), each=CUTS
        ),
    }


def rows_of_updates() -> dict[str, Row]:
    """Returns the rows of beneficiary.update."""
    return {
        "One kind of text that a PATCH names is kept otherwise in one field.": seam(
            "kept_value", _kept, each=_each
        ),
        "A member of the address that a PATCH names is cut.": seam("kept_value", _cut, each=CUTS),
    }


#: Kinds of texts that no label of a short list of wallets has.
_NOT_OF_WALLETS = (
    "leading zeros are dropped",
    "a number is a double",
    "quotes around it are dropped",
    "words begin with capitals",
    "JSON is an object",
)


def rows_of_lists() -> dict[str, Row]:
    """Returns the rows of list.complete."""
    # Account names are random, so none of them is such a text.
    others = (*_TO_NOTHING, "true is 1", "it ends before an astral character")
    return {
        "One kind of text is shown otherwise by a list.": item(
            _shown,
            each=lambda operation: {
                kind: change
                for kind, change in CHANGES.items()
                if kind not in (*others, *(_NOT_OF_WALLETS if operation == "listWallets" else ()))
            },
        ),
    }
