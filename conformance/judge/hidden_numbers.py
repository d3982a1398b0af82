"""Full numbers of payout destinations, which no answer may show (section 2.4)."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence

from conformance._text import shared_prefix
from conformance.contract.fields import HIDDEN
from conformance.contract.json_text import all_objects, all_texts
from conformance.contract.traits import traits_of
from conformance.judge.comparison import sent_document
from conformance.wire.messages import Exchange

#: Minimum length of a number, without zeros at its beginning, as ids of databases may have them: shorter ones
#: may occur by chance.
_SHORTEST = 8

#: Maximum length of a part of a number that occurs in other texts by chance.
_BY_CHANCE = 6

#: Maximum characters remembered of a string in another field.
_REMEMBERED = 10_000

#: The member of a body that names a destination.
_NAMING = b"payout_destination_id"

#: What hides characters in a mask: signs, or several letters x.
_HIDDEN = re.compile(r"[\W_]+|x{2,}")

#: The sign between two groups of characters that a mask shows.
_BETWEEN_GROUPS = re.compile(r"(?<=[^\W_])[ .\-](?=[^\W_])")

_ACCOUNT = re.compile(r"/v1/accounts/([^/?]+)")

#: Digits among which a number may stand, and the most of them in a text in which it is looked for so.
_DIGITS, _MOST_DIGITS = re.compile(f"[0-9]{{{_SHORTEST},}}"), 10_000


class _Numbers:
    """Numbers sent to one account."""

    def __init__(self) -> None:
        #: Number -> the field, and the exchange that sent it.
        self.origins: dict[str, tuple[str, int]] = {}
        #: Lengths of those of digits alone, which are hundreds, and the others.
        self._lengths, self._others = set[int](), list[str]()

    def add(self, value: str, field: str, number: int) -> None:
        if value.isdigit() and len(value) >= _SHORTEST:
            self._lengths.add(len(value))
        elif value not in self.origins:
            self._others.append(value)
        self.origins[value] = field, number

    def within(self, plain: str) -> list[str]:
        """Those that stand in a text."""
        digits = _DIGITS.findall(plain) if self._lengths else []
        if sum(map(len, digits)) > _MOST_DIGITS:
            return [value for value in self.origins if value in plain]
        there = [value for value in self._others if value in plain]
        for length in self._lengths:
            for run in (run for run in digits if len(run) >= length):
                parts = (run[at : at + length] for at in range(len(run) - length + 1))
                there += [part for part in parts if part in self.origins]
        return there


class HiddenNumbers:
    """Numbers of destinations as sent, by account: answers about other accounts cannot show them, unless they
    name one of these destinations."""

    def __init__(self) -> None:
        #: Destination -> its account.
        self._accounts: dict[str, str] = {}
        self._numbers: defaultdict[str, _Numbers] = defaultdict(_Numbers)
        #: Account -> strings sent in other fields, which answers may show.
        self._texts: dict[str, set[str]] = {}

    def remember(self, exchange: Exchange) -> None:
        """Records the values of an accepted request; an error may quote those of a refused one."""
        if not exchange.succeeded or exchange.method == "GET":
            return
        hidden = HIDDEN if traits_of(exchange.operation).creates == "payout_destination" else ()
        account, body = _account(exchange), sent_document(exchange.call)
        if not hidden and not account:
            return  # not about an account
        if hidden:
            self._accounts[str(exchange.get("id"))] = account
        for name in hidden:
            value = body.get(name)
            if isinstance(value, str) and len(value.lstrip("0")) >= _SHORTEST and value.isascii():
                self._numbers[account].add(squeezed(value), name, exchange.number)
        visible = {name: value for name, value in body.items() if name not in hidden}
        self._texts.setdefault(account, set()).update(
            squeezed(text[:_REMEMBERED]) for text in all_texts(visible) if len(text) >= _SHORTEST
        )

    def near(self, exchange: Exchange) -> list[str]:
        """The accounts of a request, that of its path and that of the destination which its body names, if
        one has numbers, which the answer could show."""
        accounts, body = [_account(exchange)], exchange.call.body or b""
        if _NAMING in body or b"\\" in body:
            named = sent_document(exchange.call).get(_NAMING.decode())
            accounts += [self._accounts[named]] if isinstance(named, str) and named in self._accounts else []
        return accounts if any(account in self._numbers for account in accounts) else []

    def revealed(self, exchange: Exchange, accounts: Sequence[str], plain: str) -> tuple[str, int]:
        """The field whose full value an answer shows, with its place, and the number of the exchange that
        sent it; "" and 0 without one. A value that was sent in another field too is no secret. The text of
        the answer is as `squeezed` returns it."""
        for account in filter(self._numbers.__contains__, accounts):
            for value in self._numbers[account].within(plain):
                if not any(value in other for each in accounts for other in self._texts.get(each, ())):
                    field, number = self._numbers[account].origins[value]
                    return f"{field} of a payout destination{place_of(exchange, value)}", number
        return "", 0

    def revealed_in_part(self, exchange: Exchange, plain: str) -> tuple[str, int]:
        """The same for a refusal that shows more of a number sent than a mask may, and more than occurs in
        texts by chance."""
        account = _account(exchange)
        known = self._numbers[account].origins if account in self._numbers else {}
        body = sent_document(exchange.call)
        sent = [squeezed(str(body[name])) for name in HIDDEN if name in body]
        for value in (value for value in sent if value in known):
            length = max(_BY_CHANCE, most_visible(len(value))) + 1
            if any(value[at : at + length] in plain for at in range(len(value) - length + 1)):
                return known[value]
        return "", 0


def place_of(exchange: Exchange, text: str) -> str:
    """Where an answer has a text: " in its header x", or " in its member x"; "" if in no single value."""
    plain = squeezed(text)
    header = next((name for name, value in exchange.response_headers if plain in squeezed(value)), "")
    if header:
        return f" in its header {header}"
    member = next(
        (
            name
            for each in all_objects(exchange.document)
            for name, value in each.items()
            if isinstance(value, str) and plain in squeezed(value)
        ),
        "",
    )
    return f" in its member {member[:60]}" if member else ""


def most_visible(length: int) -> int:
    """Maximum number of characters that a mask shows of a value of a length: at least six and a third stay
    hidden, of less than nine all but four."""
    return 4 if length < 9 else length - max(6, -(-length // 3))


def mask_defect(mask: str, value: str) -> str:
    """What is wrong with the mask of a value; "" if nothing is. It hides enough, and what it shows stands in
    the value: what it begins or ends with, at the value's beginning or end."""
    plain = letters_of(value)
    pieces = _HIDDEN.split(_BETWEEN_GROUPS.sub("", mask.lower()))
    number, most = sum(map(len, pieces)), most_visible(len(plain))
    if number > most:
        return f"{number} of {len(plain)} characters, which are more than {most}"
    first, *middle, last = pieces if len(pieces) > 1 else ("", "", pieces[0])
    if len(pieces) == 1:
        start = shared_prefix(last, plain)
        stands = plain.endswith(last[start:])
    else:
        stands = plain.startswith(first) and plain.endswith(last) and all(piece in plain for piece in middle)
    return "" if stands else "characters that do not stand there in the value"


def letters_of(text: str) -> str:
    """The letters and digits of a number, in lower case."""
    return "".join(filter(str.isalnum, text)).lower()


def _account(exchange: Exchange) -> str:
    match = _ACCOUNT.match(exchange.call.target)
    return match[1] if match else ""


def squeezed(text: str) -> str:
    """Removes the spacing in which numbers are grouped, and lower-cases."""
    return "".join(text.split()).replace("-", "").replace(".", "").lower()
