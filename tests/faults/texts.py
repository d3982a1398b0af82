"""Servers that keep or show a text in another form (sections 2 and 4): changes of texts by place."""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from urllib.parse import unquote

from conformance.contract.fields import Field
from conformance.contract.operation_sets import OPERATION_SETS
from conformance.reference.context import Context
from conformance.reference.seams.validation import FIELDS
from tests.specification import ADDRESS

from .catalogue import Only, Row, faults, seam
from .paging import LONG_LISTS
from .resources import free_texts
from .rows import LABELS, item

Change = Callable[[str], str | None]


def without(pattern: str) -> Change:
    """Returns the change that drops what matches a pattern."""
    return lambda text: re.sub(pattern, "", text)


def cut(length: int) -> Change:
    return lambda text: text[:length]


def of_category(category: str) -> Change:
    """Returns the change that drops the characters of a category of Unicode."""
    return lambda text: "".join(letter for letter in text if unicodedata.category(letter) != category)


def nothing(word: str) -> Change:
    """Returns the change that takes a word for no value."""
    return lambda text: None if text == word else text


#: Changes of whole texts and of single characters, as servers make them to all texts.
EVERYWHERE: dict[str, Change] = {
    "question marks": lambda text: text.encode("ascii", "replace").decode(),
    "mojibake": lambda text: text.encode("utf-8").decode("latin-1"),
    "capitals": str.upper,
    "small letters": str.lower,
    "markup escaped": lambda text: text.replace("&", "&amp;").replace("<", "&lt;").replace("'", "&#39;"),
    "markup stripped": without("<[^>]*>?"),
    "quotes doubled": lambda text: text.replace("'", "''"),
    "quotes escaped": lambda text: text.replace("'", "\\'").replace('"', '\\"'),
    "backslashes doubled": lambda text: text.replace("\\", "\\\\"),
    "backslashes stripped": without(r"\\"),
    "inner spaces joined": without(" +"),
    "two spaces are one": lambda text: text.replace("  ", " "),
    "percent decoded": without("%"),
    "escapes of URLs decoded": unquote,
    "plus signs as spaces": lambda text: text.replace("+", " "),
}

#: Changes of one kind of text; None for no value.
ONE_KIND: dict[str, Change] = {
    "CR LF is LF": lambda text: text.replace("\r\n", "\n"),
    "LF is a space": lambda text: text.replace("\n", " "),
    "n/a is no value": lambda text: None if text.lower() in ("n/a", "na") else text,
    "leading zeros are dropped": lambda text: text.lstrip("0") if text.isdigit() and text != "0" else text,
    "a number is a double": lambda text: f"{float(text):.0f}" if re.fullmatch(r"\d{16,}", text) else text,
    "signs that are not seen are dropped": of_category("Cf"),
    "joiners are dropped": without("\u200d"),
    "replacement characters are dropped": without("\ufffd"),
    "line separators are LF": lambda text: re.sub("[\u2028\u2029]", "\n", text),
    "private characters are dropped": without("[\ue000-\uf8ff]"),
    "quotes are straight": lambda text: re.sub("[\u2018\u2019]", "'", re.sub("[\u201c\u201d]", '"', text)),
    "dashes are hyphens": lambda text: re.sub("[\u2013\u2014]", "-", text),
    "accents are dropped": of_category("Mn"),
    "a sharp s is two": lambda text: text.replace("\xdf", "ss"),
    "@ is (at)": lambda text: text.replace("@", "(at)"),
    "colons are dropped": without(":"),
    "it ends before a hash sign": lambda text: text.partition("#")[0] or text,
    "it ends before a semicolon": lambda text: text.partition(";")[0] or text,
    "spaces are one": lambda text: re.sub(" {2,}", " ", text),
    "zero is no value": lambda text: None if text in ("0", "0.0") else text,
    "null is no value": lambda text: None if text == "null" else text,
    "control characters are dropped": without("[\x01-\x08\x0b\x0e-\x1f]"),
    "DEL is dropped": without("\x7f"),
    "C1 is dropped": without("[\x80-\x9f]"),
    "entities are decoded": lambda text: text.replace("&amp;", "&").replace("&lt;", "<"),
    "ampersands are escaped": lambda text: text.replace("&", "&amp;"),
    "templates are filled": without(r"\$\{.*?\}|\{\{.*?\}\}"),
    "escapes are decoded": lambda text: text.replace("\\u0041", "A").replace("%41", "A"),
    "doubled percent signs are one": lambda text: text.replace("%%", "%"),
    "doubled dollar signs are one": lambda text: text.replace("$$", "$"),
    "variables are filled": without(r"\$[a-z]\w*"),
    "lists are filled": without(r"@[a-z]\w*"),
    "doubled hyphens are one": lambda text: text.replace("--", "-"),
    "doubled dots are one": lambda text: text.replace("..", "."),
    "thousands are not separated": lambda text: re.sub(r"(?<=\d),(?=\d{3})", "", text),
    "directives of a format are dropped": without("%[sd]"),
    "true is 1": lambda text: "1" if text == "true" else text,
    "a formula is quoted": lambda text: f"'{text}" if text.startswith("=") else text,
    "quotes around it are dropped": lambda text: text.strip('"'),
    "words begin with capitals": lambda text: text.title() if re.fullmatch('[a-z "]{12,}', text) else text,
    "JSON is an object": lambda text: "[object Object]" if text.startswith("{") else text,
    "it ends before an astral character": lambda text: re.split("[\U00010000-\U0010ffff]", text)[0] or "?",
    **{f"{word} is no value": nothing(word) for word in ("undefined", "None", "none", "NULL", "nil")},
    "a date is a time": lambda text: f"{text}T00:00:00Z" if re.fullmatch(r"\d{4}-\d\d-\d\d", text) else text,
}

#: Changes of texts of some field: of lines and columns, of digits, of words, and lengths of columns.
OF_FIELDS: dict[str, Change] = {
    "a tab is a space": lambda text: text.replace("\t", " "),
    "lines are joined": lambda text: text.replace("\n", " "),
    "lines end as on Windows": lambda text: text.replace("\n", "\r\n"),
    "lines end as on Unix": lambda text: text.replace("\r\n", "\n"),
    "the first line only": lambda text: text.partition("\n")[0],
    "without spaces": without(" "),
    "without hyphens": without("-"),
    "without brackets": without("[()]"),
    "without its first dot": lambda text: text.replace(".", "", 1),
    "without its last dot": lambda text: text.rstrip("."),
    "digits alone": without(r"\D"),
    "as a number": lambda text: text.lstrip("0") if text.isdigit() else text,
    "with a capital": str.capitalize,
    "words with capitals": str.title,
    "null as no value": lambda text: "" if text.lower() == "null" else text,
    "a timestamp is in UTC": lambda text: (
        f"{text[:-6]}Z" if re.fullmatch(r"[-\d]{10}T[:\d]{8}\+\d\d:\d\d", text) else text
    ),
    "ASCII only": lambda text: text.encode("ascii", "ignore").decode(),
    "apostrophes escaped": lambda text: text.replace("'", "&#39;"),
    **{f"cut at {n}": cut(n) for n in (10, 20, 30, 35, 50, 100, 255, 512, 1000, 4000, 10_000)},
}

#: Losses that an implied rule names: of characters outside the basic plane, and of normal forms.
LOSSES: dict[str, Change] = {
    "three bytes at most": lambda text: "".join(letter if ord(letter) < 0x10000 else "?" for letter in text),
    "composed": lambda text: unicodedata.normalize("NFC", text),
    "decomposed": lambda text: unicodedata.normalize("NFD", text),
    "compatible": lambda text: unicodedata.normalize("NFKC", text),
    "any space as a space": lambda text: re.sub(r"\s", " ", text),
    "without characters that are not seen": of_category("Cf"),
}

CHANGES = {**EVERYWHERE, **ONE_KIND, **OF_FIELDS, **LOSSES}

_LINES = ("a tab is a space", "lines are joined", "lines end as on Windows", "lines end as on Unix")
_LONG = ("cut at 255", "cut at 512", "cut at 1000", "cut at 4000", "cut at 10000")

_ADDRESS = ("apostrophes escaped", "ASCII only", "words with capitals", "without spaces")

#: Operation -> place -> changes of its texts beside those that all free texts get.
PLACES: dict[str, dict[str, tuple[str, ...]]] = {
    "createBeneficiary": {
        "first_name": ("ASCII only", "quotes escaped"),
        "middle_name": ("ASCII only",),
        "last_name": (
            "ASCII only",
            "quotes doubled",
            "words with capitals",
            "with a capital",
            "null as no value",
        ),
        "company_name": (tuple(EVERYWHERE)[4:]),
        "display_name": ("quotes doubled", "backslashes stripped"),
        "note": (*_LINES, "the first line only", *_LONG),
        "phone": ("without spaces", "without hyphens", "without brackets", "digits alone"),
        "email": ("without its first dot",),
        "tax_id": ("digits alone", "as a number", "capitals", "without hyphens"),
        "title": ("without its last dot",),
        "address.address_line": (*_ADDRESS, "cut at 35", "cut at 100", "cut at 255", "cut at 512"),
        "address.city": (*_ADDRESS, "cut at 30", "cut at 100", "cut at 255"),
        "address.region": ("words with capitals", "without spaces", "cut at 50", "cut at 100", "cut at 255"),
        "address.postal_code": ("as a number", "without spaces", "cut at 10", "cut at 20", "cut at 50"),
    },
    "createPayout": {"note": (*_LINES, "the first line only")},
    "createPayoutDestination": {"label": (*_LONG, "a timestamp is in UTC")},
    "createAccount": {"name": ("a timestamp is in UTC",)},
    "createVirtualAccount": {"label": ("a timestamp is in UTC",)},
}
PLACES["updateBeneficiary"] = PLACES["createBeneficiary"]

#: Changes of a text to no value: a required field would be refused, or shown in no documented form.
_TO_NOTHING = [kind for kind in ONE_KIND if kind.endswith("is no value")]


def _of_one_kind(operation: str) -> Iterator[tuple[str, str]]:
    """Makes all changes of an operation's free texts; several fields, and the members of an address, share
    the changes, so that each change is made in some of them."""
    create = operation.replace("update", "create")
    texts = {field.name: field for field in FIELDS[create] if field.name in free_texts(create)}
    places = [*texts]
    if len(texts) > 1:
        places += [f"address.{name}" for name in ADDRESS if name != "country"]
    shift = 0 if operation == create else 5
    for turn in range(3 if len(places) > 1 else 1):
        for at, kind in enumerate(ONE_KIND):
            place = places[(at + turn * 3 + shift) % len(places)]
            # Account names are random, so none of them says true.
            if kind not in _TO_NOTHING and (place, kind) != ("name", "true is 1"):
                yield place, kind
    for name, field in texts.items():
        if not field.required:
            yield from ((name, kind) for kind in _TO_NOTHING)


def _cells(operation: str) -> dict[str, tuple[str, Change]]:
    free = [("free texts", kind) for kind in EVERYWHERE if free_texts(operation.replace("update", "create"))]
    own = [(place, kind) for place, kinds in PLACES.get(operation, {}).items() for kind in kinds]
    return {
        f"{place}, {kind}": (place, CHANGES[kind]) for place, kind in (*free, *own, *_of_one_kind(operation))
    }


def _kept(self: Any, usual: Any, ctx: Context, field: Field, value: Any) -> Any:
    """Stores the texts of a place as changed."""
    (place, change), kept = self.value, usual()
    name, _, member = place.partition(".")
    names = {"free texts": free_texts(self.operation.replace("update", "create")), "all texts": [field.name]}
    if field.name not in names.get(place, [name]):
        return kept
    if member and isinstance(kept, dict):
        return {**kept, member: change(kept.get(member, ""))}
    return change(kept) if isinstance(kept, str) else kept


def keeping(each: Callable[[str], Mapping[str, Any]] | Mapping[str, Any], **options: Any) -> Row:
    """Makes a row of servers that store the texts of a place, `value[0]`, changed by `value[1]`."""
    return seam("kept_value", _kept, each=each, **options)


faults["create.echo"] |= {
    "A text is kept in another form than it was sent.": keeping(
        _cells,
        operations=[name for name in OPERATION_SETS["create"] if name != "createPayin"],
        by_field=True,
    )
}

faults["beneficiary.update"] |= {
    "A text that a PATCH names is kept in another form.": keeping(_cells, by_field=True)
}

for rule in ("create.text-exact", "beneficiary.update-text-exact"):
    faults[rule] |= {
        "Texts are stored with other characters.": keeping(
            {kind: ("all texts", change) for kind, change in LOSSES.items()}
        ),
        "An address is kept in its normal form.": keeping(
            {
                "e-mail in lower case": ("email", str.lower),
                "telephone number of E.164": ("phone", lambda text: "+" + re.sub(r"\D", "", text)),
            },
            operations=("createBeneficiary", "updateBeneficiary"),
        ),
    }


#: Kinds of texts that no label of a short list of wallets has.
_NOT_OF_WALLETS = (
    *("leading zeros are dropped", "a number is a double", "quotes around it are dropped"),
    *("words begin with capitals", "JSON is an object"),
)


def _shown(self: Any, ctx: Context, shown: dict[str, Any], *_: Any) -> dict[str, Any]:
    """Shows an element with a changed name, label or note."""
    texts = {name: shown[name] for name in LABELS if isinstance(shown.get(name), str)}
    return {**shown, **{name: self.value(text) for name, text in texts.items()}}


# Account names are random, so none of them is such a text.
_OF_NO_LIST = (*_TO_NOTHING, "true is 1", "it ends before an astral character")

faults["list.complete"] |= {
    "A text is shown in another form by a list.": item(
        _shown,
        each={
            "question marks": EVERYWHERE["question marks"],
            "escaped for HTML": html.escape,
            "cut at 100": cut(100),
            "cut at 50": cut(50),
            "cut at 255 bytes": lambda text: text.encode()[:255].decode(errors="ignore"),
            **{
                kind: Only(change, LONG_LISTS if kind in _NOT_OF_WALLETS else OPERATION_SETS["list"])
                for kind, change in ONE_KIND.items()
                if kind not in _OF_NO_LIST
            },
        },
    )
}
