"""What belongs to others (sections 2.4 and 5.5): private data, which no answer may show, and ids that
resemble an existing one, which collations, columns, decoders and look-ups of a part may take for it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any
from unicodedata import normalize
from urllib.parse import unquote

from conformance.checks.check import Check
from conformance.contract import timestamps
from conformance.contract.fields import HIDDEN, documented
from conformance.contract.json_text import all_objects, all_texts
from conformance.judge.comparison import document, same, sent_document
from conformance.judge.hidden_numbers import squeezed
from conformance.judge.outcomes import Got, Unclear, unusable
from conformance.wire.forms import percent_encoded, replaced
from conformance.wire.messages import Exchange
from conformance.world.calls import quoted
from conformance.world.lane import Fixture
from conformance.world.purposes import TENANT

LEAK = "tenancy.no-leak"

#: Minimum length of a private text: shorter ones may occur by chance.
_TELLING = 6

#: Minimum length of a member's text that a part of the request may explain: not of a country.
_SHORTEST = 3


def numbers_of(created: Iterable[Exchange]) -> list[tuple[str, str]]:
    """Field and value of each number that no answer may show in full."""
    sent = [(name, each.call.document.get(name)) for each in created for name in HIDDEN]
    # A number below 8 characters may occur by chance.
    return [(name, squeezed(value)) for name, value in sent if isinstance(value, str) and len(value) >= 8]


class PrivateData:
    """Private texts of an account's resources, from documented members only: a server may add others to all
    answers.

    `exchanges` created the resources of the fixture, then those of the stranger's fixture."""

    def __init__(self, at: Check, fixture: Fixture, stranger: Fixture) -> None:
        private, known = _created(at, fixture), _created(at, stranger)
        self.exchanges = [*private, *known]
        self._documents = [_documented(exchange) for exchange in private]
        texts = {fixture.customer_id, fixture.client.organization.api_key, *all_texts(self._documents)}
        # A text in resources of both organizations is a constant.
        texts -= {stranger.customer_id, *all_texts([_documented(exchange) for exchange in known])}
        self._facts = sorted(text for text in texts if len(text) >= _TELLING and not _may_be_now(text))

    def shown_in(self, answer: Exchange) -> Got:
        """Describes what a refusal shows of the data that the caller may not see; empty for nothing."""
        if lost := unusable(answer):
            return lost
        if not answer.refused:
            reason = f"{answer.purpose} was answered {answer.described()}, not refused"
            return Unclear(reason, "tenancy.foreign-parent")
        leaked = self._fact_in(answer) or self._member_in(answer)
        return f"{answer.status} that shows {leaked}" if leaked else ""

    def _fact_in(self, answer: Exchange) -> str:
        """Describes a private text that an answer shows and the request did not contain; empty if none."""
        sent = _sent(answer)
        texts = list(all_texts(answer.document)) or [answer.response_body.decode("utf-8", "replace")]
        texts += [value for _, value in answer.response_headers]
        for fact in self._facts:
            if fact not in sent and any(fact in text for text in texts):
                return f"{fact[:60]!r} of the other's resource"
        return ""

    def _member_in(self, answer: Exchange) -> str:
        """Describes a member that an answer shares with a resource, value included; empty if none."""
        sent, texts = _sent(answer), set(all_texts(sent_document(answer.call)))
        members = [member for each in all_objects(answer.document) for member in each.items()]
        for name, value in members:
            if value in (None, "", [], {}):
                continue
            within = isinstance(value, str) and len(value) >= _SHORTEST and value in sent
            if isinstance(value, str) and (value in texts or within or _may_be_now(value)):
                continue
            if any(name in private and same(private[name], value) for private in self._documents):
                return f"the member {name[:60]!r} of the other's resource"
        return ""


def _documented(create: Exchange) -> dict[str, Any]:
    names = documented(create.operation or "")
    return {name: value for name, value in document(create).items() if name in names}


def _sent(answer: Exchange) -> str:
    return f"{answer.call.target}\n{unquote(answer.call.target)}\n" + (answer.call.body or b"").decode(
        "utf-8", "replace"
    )


def _created(at: Check, fixture: Fixture) -> list[Exchange]:
    """Returns the exchanges that created a fixture's resources, those that the server accepts."""
    created = []
    for part in ("account", "beneficiary", "payout_destination", "virtual_account"):
        with at.probe(LEAK):
            created.append(fixture.part(part))
    return created


def _may_be_now(text: str) -> bool:
    """True for an instant of a whole second: it may be the present, which any answer may show."""
    step = timestamps.step(text)
    return step is not None and step >= 1


def between_organizations(at: Check) -> dict[str, PrivateData]:
    """Organization -> private data of the other one, created if need be; empty without another one."""
    if LEAK not in at.rules or at.target.secondary is None:
        return {}
    own, foreign = at.lane.account(TENANT), at.lane.account(TENANT, "secondary")
    return {"primary": PrivateData(at, foreign, own), "secondary": PrivateData(at, own, foreign)}


# ---------------------------------------------------------------------- ids that resemble an existing one

#: Ids that may be case-insensitive: UUIDs, ULIDs, hexadecimal digits.
_CASELESS = re.compile("[0-9A-Fa-f-]+|[0-9A-HJKMNP-TV-Za-hjkmnp-tv-z]{26}")


def _tail(known: str) -> str:
    """Returns an id without its prefix; empty for a short one, and for one without a prefix."""
    prefix, _, rest = known.rpartition("_")
    return rest if prefix and len(rest) >= 6 else ""


def _recased(known: str) -> str:
    rest = known.rpartition("_")[2]
    if len(rest) < 6 or _CASELESS.fullmatch(rest):
        return ""
    return known.removesuffix(rest) + rest.swapcase()


def _sparse(known: str) -> str:
    """Returns an id if near-identical ones are unlikely to exist: at least 12 characters after the last
    underscore, not all digits; else an empty text."""
    tail = known.rpartition("_")[2]
    return known if len(tail) >= 12 and not tail.isdigit() else ""


def _accented(known: str) -> str:
    index = max(map(known.rfind, "aceiou"))
    accent = "\N{COMBINING ACUTE ACCENT}"
    return replaced(known, index, normalize("NFC", known[index] + accent)) if index >= 0 else ""


def _wide(known: str) -> str:
    index = max((index for index, sign in enumerate(known) if sign.isalnum() and sign.isascii()), default=-1)
    return replaced(known, index, chr(ord(known[index]) + 0xFEE0)) if index >= 0 else ""


def _with_inside(sign: str) -> Callable[[str], str]:
    """Returns what puts a character before the last three of an id."""
    return lambda known: f"{known[:-3]}{sign}{known[-3:]}" if len(known) > 3 else ""


#: What distinguishes an id from an existing one, and how it is made; empty where such an id may exist. A
#: server may trim the texts of a body, as the first three. Collations ignore characters without width and
#: accents, and texts are normalized to NFKC.
ALIKE: Mapping[str, Callable[[str], str]] = {
    "with a space behind it": lambda known: f"{known} ",
    "with a space before it": lambda known: f" {known}",
    "with a line feed behind it": lambda known: f"{known}\n",
    "with the prefix of no resource": lambda known: _tail(known) and f"zzz_{_tail(known)}",
    "in another letter case": _recased,
    "with one character more": lambda known: _sparse(known) and f"{known}0",
    # Servers split ids at it, and in SQL it matches any character.
    "with an underscore in the place of a character": lambda known: (
        _sparse(known) and replaced(known, -3, "_")
    ),
    # Both a regular expression and a pattern of GLOB and of key-value stores.
    "with a pattern in the place of its last characters": lambda known: (
        _sparse(known) and f"{known[:-3]}[^~]*"
    ),
    "without its last character": lambda known: _sparse(known)[:-1],
    "without its prefix": lambda known: _sparse(known)[max(1, len(known) - len(known.rpartition("_")[2])) :],
    "with a soft hyphen behind it": lambda known: f"{known}\N{SOFT HYPHEN}",
    "with a zero-width space in it": _with_inside("\N{ZERO WIDTH SPACE}"),
    "with an accent": _accented,
    "with a letter of full width": _wide,
}

TRIMMED = 3

#: The same, of which operations use one each in turn, children another one than their parents:
#: percent-encoding is decoded twice, columns truncate, white space is dropped, and NUL
#: ends texts.
IN_TURN: Sequence[tuple[str, Callable[[str], str]]] = (
    ("that is percent-encoded twice", percent_encoded),
    ("with 144 zeros behind it", lambda known: known + "0" * 144),
    ("with a zero-width joiner in it", _with_inside("\N{ZERO WIDTH JOINER}")),
    ("with a space in it", _with_inside(" ")),
    ("that goes on behind NUL", lambda known: f"{known}\0x"),
)


def near(known: str, turn: tuple[str, Callable[[str], str]], skip: int = 0) -> Iterator[tuple[str, str]]:
    """Yields ids that resemble a known one, with what distinguishes them: all but the first `skip` rows, and
    the one whose `turn` it is."""
    for what, change in (*list(ALIKE.items())[skip:], turn):
        if (other := change(known)) and other != known:
            yield f"an existing id {what}", other


def encoded(text: str, *, lower: bool = False) -> str:
    """Percent-encodes an id (RFC 3986), and one character that need not be, in hexadecimal digits of that
    case."""
    # A code with a letter, whose case shows.
    places = (
        index for index, sign in enumerate(text) if sign == quoted(sign) and not f"{ord(sign):02x}".isdigit()
    )
    at = next(places, 0)
    return quoted(text[:at]) + percent_encoded(text[at], lower=lower) + quoted(text[at + 1 :])
