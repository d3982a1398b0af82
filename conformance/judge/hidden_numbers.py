"""Full numbers of payout destinations, which no answer may show (section 2.4)."""

from __future__ import annotations

import re

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

#: What hides characters in a mask: signs, or several letters x.
_HIDDEN = re.compile(r"[\W_]+|x{2,}")

#: The sign between two groups of characters that a mask shows.
_BETWEEN_GROUPS = re.compile(r"(?<=[^\W_])[ .\-](?=[^\W_])")

_SPACING = re.compile(r"[\s\-.]+")
_ACCOUNT = re.compile(r"/v1/accounts/([^/?]+)")


class HiddenNumbers:
    """Numbers of destinations as sent, by account: answers about other accounts cannot show them, unless they
    name one of these destinations."""

    def __init__(self) -> None:
        #: Destination -> its account.
        self._accounts: dict[str, str] = {}
        #: Account -> number -> the field, and the exchange that sent it.
        self._numbers: dict[str, dict[str, tuple[str, int]]] = {}
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
                self._numbers.setdefault(account, {})[squeezed(value)] = name, exchange.number
        visible = {name: value for name, value in body.items() if name not in hidden}
        self._texts.setdefault(account, set()).update(
            squeezed(text[:_REMEMBERED]) for text in all_texts(visible) if len(text) >= _SHORTEST
        )

    def known(self, exchange: Exchange) -> bool:
        """True if a number is known that the answer could show."""
        return any(self._numbers.get(account) for account in self._near(exchange))

    def _near(self, exchange: Exchange) -> set[str]:
        """The accounts of a request: that of its path, and that of the destination which its body names."""
        named = sent_document(exchange.call).get("payout_destination_id")
        other = self._accounts.get(named) if isinstance(named, str) else None
        return {_account(exchange), *filter(None, [other])}

    def revealed(self, exchange: Exchange, text: str) -> tuple[str, int]:
        """The field whose full value an answer shows, with its place, and the number of the exchange that
        sent it; "" and 0 without one. A value that was sent in another field too is no secret."""
        plain, accounts = squeezed(text), self._near(exchange)
        for account in accounts:
            for value, origin in self._numbers.get(account, {}).items():
                if value in plain and not any(
                    value in other for each in accounts for other in self._texts.get(each, ())
                ):
                    place = place_of(exchange, value)
                    return f"{origin[0]} of a payout destination{place}", origin[1]
        return "", 0

    def revealed_in_part(self, exchange: Exchange, text: str) -> tuple[str, int]:
        """The same for a refusal that shows more of a number sent than a mask may, and more than occurs in
        texts by chance."""
        plain, known = squeezed(text), self._numbers.get(_account(exchange), {})
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
    return _SPACING.sub("", text).lower()
