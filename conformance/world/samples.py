"""Valid request bodies for every operation, overridden by the target file's samples.

A body has every documented member that any server must accept, all five members of an address, and a random
marker in its names, by which the suite recognizes its own resources on a live server.
"""

from __future__ import annotations

import itertools
import re
import secrets
import threading
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from conformance.contract.fields import FREE_LENGTH, FREE_TEXT, Field, request_fields
from conformance.contract.traits import SAMPLE_OPERATIONS, TRAITS
from conformance.judge.effects import EXACT, plain
from conformance.target.file import Target
from conformance.wire.forms import letters
from conformance.wire.messages import MISSING
from conformance.world.corpora.fingerprints import COLLIDING

Body = dict[str, Any]

DEFAULT_WALLET_PAIRS = (("USDC", "solana_devnet"), ("USDT", "solana_devnet"))

#: Letters of several scripts that no Unicode normal form changes, and punctuation that HTML, SQL, shells,
#: JSON and URLs escape.
LETTERS = "Zo\u0436 \u540d\u524d \u0398\u03ad\u03c3\u03b7"

#: Letters of Latin-1 alone: where an answer has no others, some servers write it in Latin-1.
WESTERN = "\xc6r\xf8 Stra\xdfe"
SIGNS = 'O\'Neil &  Co <b>"#1"</b> 50%20+1 \\ / ; {x}'

#: LF, CR LF and a tab.
LINES = "\n\tNext line\r\nLast line"

#: Maximum length of a label or a name (section 8).
LONGEST = 255

#: Fiat currencies to try, in order, where one must differ from the sample's.
OTHER_CURRENCIES = ("USD", "EUR", "GBP")

#: Fields in which any letter may change, unlike those with an enumeration or a syntax.
FREE = (*FREE_TEXT, "account_name")

#: Members to change: a value, MISSING to leave the member out, or a function of the sample.
Changes = Mapping[str, Any]

#: Makes a valid beneficiary one of a business.
BUSINESS: Changes = {
    "beneficiary_type": "business",
    "company_name": lambda _: f"Analytical Engines {marker()}",
}


def changed(body: Body, changes: Changes, sample: Body | None = None) -> Body:
    """Copies a body with members changed; function values are called with the sample, or the body."""
    values = {name: value(sample or body) if callable(value) else value for name, value in changes.items()}
    return {name: value for name, value in {**body, **values}.items() if value is not MISSING}


#: Prefix of all markers of a run: `cf` and six letters.
_run = ["cf" + letters(6)]


def run_label() -> str:
    """The prefix in all names and labels of this run, by which its resources can be found."""
    return _run[0]


def label_run(label: str) -> None:
    """Sets the label of a run that several processes take part in."""
    _run[0] = label


def marker() -> str:
    """A unique random word that begins with the label of the run."""
    return run_label() + letters(10)


def text(field: Field) -> str:
    """A unique text for a field, within its length."""
    return f"Conformance {marker()}"[-(field.max_length or FREE_LENGTH) :]


def digits(count: int) -> str:
    """A random decimal number of `count` digits that does not start with 0."""
    least = 10 ** (count - 1)
    return str(least + secrets.randbelow(9 * least))


def checked_iban(country: str, account: str) -> str:
    """The IBAN of an account number, of digits and capitals, with valid check digits (ISO 13616)."""
    number = "".join(str(int(sign, 36)) for sign in f"{account}{country}")
    return f"{country}{98 - int(f'{number}00') % 97:02d}{account}"


def iban(end: str = "") -> str:
    """A random German IBAN, with these digits at its end if they are four."""
    return checked_iban("DE", "37040044" + digits(6) + (end if re.fullmatch("[0-9]{4}", end) else digits(4)))


_BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"


def solana_address() -> str:
    """A random Solana address: 32 bytes in base 58."""
    number, text = int.from_bytes(b"\x01" + secrets.token_bytes(31)), ""
    while number:
        number, digit = divmod(number, 58)
        text = _BASE58[digit] + text
    return text


#: North American area codes; with the exchange 555, few of the numbers are in use.
# fmt: off
_AREAS = (
    201, 202, 203, 205, 206, 207, 208, 209, 210, 212, 213, 214, 215, 216, 217, 218, 219, 224, 225, 228,
    229, 231, 234, 239, 240, 248, 251, 252, 253, 254, 256, 260, 262, 267, 269, 270, 276, 281, 301, 302,
    303, 304, 305, 307, 308, 309, 310, 312, 313, 314, 315, 316, 317, 318, 319, 320, 321, 323, 325, 330,
)
# fmt: on

#: Sizes of the number ranges, and strides coprime to them: consecutive numbers look unrelated.
_PHONES, _PHONE_STEP = len(_AREAS) * 10_000, 7919
_TAX_IDS, _TAX_ID_STEP = 500 * 99 * 9999, 104_729

#: Numbers the beneficiaries of a process; telephone and tax numbers derive from it.
_PEOPLE = itertools.count(secrets.randbelow(10**12))


def phone(number: int) -> str:
    """Maps a number to one of `_PHONES` American telephone numbers."""
    area, line = divmod(number * _PHONE_STEP % _PHONES, 10_000)
    return f"+1{_AREAS[area]}555{line:04d}"


def tax_id(number: int) -> str:
    """Maps a number to one of `_TAX_IDS` numbers with the syntax of an American taxpayer number."""
    area, rest = divmod(number * _TAX_ID_STEP % _TAX_IDS, 99 * 9999)
    group, serial = divmod(rest, 9999)
    return f"{100 + area}{group + 1:02d}{serial + 1:04d}"


def grouped_phones(phone: Any) -> list[str]:
    """Two notations of an American telephone number with spaces; none for other numbers."""
    if not (isinstance(phone, str) and len(phone) == 12 and phone.startswith("+1")):
        return []
    area, exchange, line = phone[2:5], phone[5:8], phone[8:]
    return [f"+1 ({area}) {exchange}-{line}", f"+1 {area} {exchange} {line}"]


def with_marks(body: Mapping[str, Any]) -> Body:
    """The free texts of a body, each with a random marker."""
    changes: Body = {
        name: f"{body[name][:40]} {marker()}" for name in FREE if isinstance(body.get(name), str)
    }
    if isinstance(body.get("address"), dict):
        changes["address"] = {**body["address"], "address_line": f"1 {marker()} Street"}
    return changes


#: A letter outside Latin-1, which encodings that lack it replace.
LETTER = "\u0436"


def with_long_texts(body: Mapping[str, Any]) -> Body:
    """The texts of a body, lengthened by digits, punctuation, a marker and the first of colliding words, for
    servers that compare a prefix, letters only, or a weak fingerprint."""
    words = " ".join(pair.value[0] for pair in COLLIDING)
    return {
        name: f"{body[name]} 12 {'& so on ' * times}{words} {LETTER} {marker()}."
        for name, times in (("name", 17), ("label", 17), ("note", 43), ("description", 100))
        if isinstance(body.get(name), str)
    }


class Amounts:
    """Draws unusual amounts a little above a given one, by which the suite recognizes its own payments.

    None repeats before all are used; the order is random. Thread-safe.
    """

    def __init__(self) -> None:
        self._left: dict[str, list[Decimal]] = {}
        self._lock = threading.Lock()

    def next(self, amount: str) -> str:
        """Returns an amount below twice the given one, or at most 98 minor units above it. What is no plain
        decimal stays as it is."""
        if plain(amount) is None or len(amount.partition(".")[0]) > 15:
            return amount
        with self._lock:
            left = self._left[amount] = self._left.get(amount) or _above(amount)
            return format(left.pop(), "f")


#: Amounts that are drawn from, at most.
_AMOUNTS = 10_000


def _above(amount: str) -> list[Decimal]:
    """Amounts above a given one, in random order: in minor units no multiple of 5, and none that ends in 98
    or 99."""
    fraction = amount.partition(".")[2]
    unit = Decimal(1).scaleb(-min(len(fraction), 2))
    base = Decimal(amount)
    units = int(base / unit)
    steps = range(max(11, units // 9), max(99, units))
    drawn = secrets.SystemRandom().sample(steps, min(len(steps), _AMOUNTS))
    return [base + unit * step for step in drawn if (units + step) % 5 and (units + step) % 100 < 98]


#: Ten-thousandths of which no two multiples of less than a hundred are alike but for whole cents.
_PARTS = [Decimal(part).scaleb(-4) for part in range(1, 100) if part % 2 and part % 5]

#: Shared by the workers of a process, as they may test one server at the same time.
_UNUSUAL = Amounts()


class Samples:
    """The valid bodies for one target; every call returns new ones."""

    def __init__(self, target: Target) -> None:
        self._over = target.samples
        #: True if amounts have ten-thousandths, by which payments are told from those of others.
        self.in_parts = False

    def _overridden(self, kind: str, body: Body) -> Body:
        """Completes a body by further plain texts, and overrides it by the target file; its amount and pairs
        are read elsewhere."""
        fields = request_fields(SAMPLE_OPERATIONS[kind])
        texts = {
            field.name: text(field)
            for field in fields
            if field.plain and not field.shape and field.name not in body
        }
        own = {key: value for key, value in self.over(kind).items() if key not in ("amount", "pairs")}
        return {**body, **texts, **own}

    def over(self, kind: str) -> Mapping[str, Any]:
        """The members of a kind of sample that the target file sets."""
        over: Mapping[str, Any] = self._over.get(kind, {})
        return over

    @property
    def wallet_pairs(self) -> list[tuple[str, str]]:
        """The (currency, network) pairs that wallets may be created with."""
        pairs = self.over("wallet").get("pairs")
        return [(pair[0], pair[1]) for pair in pairs] if pairs else list(DEFAULT_WALLET_PAIRS)

    def of(self, kind: str) -> Body:
        """A sample of a kind of resource: by its own method, or of texts, codes, an amount, and the first
        choice of each enumeration."""
        if own := getattr(self, kind, None):
            body: Body = own()
            return body
        usual = {"country": "US", "currency": "USD", "amount": "1.00"}
        fields = request_fields(SAMPLE_OPERATIONS[kind])
        values = {field.name: usual.get(field.kind, *field.choices[:1]) for field in fields}
        return self._overridden(kind, {name: value for name, value in values.items() if value is not None})

    def beneficiary(self) -> Body:
        word, number = marker(), next(_PEOPLE)
        return self._overridden(
            "beneficiary",
            {
                "title": "Ms",
                "first_name": "Ada",
                "middle_name": "King",
                "last_name": "Lovelace",
                "display_name": f"Ada Lovelace {word}",
                "email": f"ada.{word}@example.com",
                "phone": phone(number),
                "address": address("region"),
                "tax_id": tax_id(number),
                "country_code": "US",
                "note": f"conformance {word}",
            },
        )

    def bank_accounts(self) -> list[Body]:
        """Bank accounts to try, the likeliest first: the required fields are not shown (section 2.10)."""
        kind = "payout_destination.bank_account"
        bare = {"type": "bank_account", "label": f"conformance {marker()}"}
        american = {
            **bare,
            "country": "US",
            "currency": "USD",
            "account_number": digits(10),
            "account_name": "Ada Lovelace",
            "routing_number": "021000021",
            "account_type": "checking",
        }
        european = {
            **bare,
            "country": "DE",
            "currency": "EUR",
            "account_name": "Ada Lovelace",
            "iban": iban(),
            "swift_code": "DEUTDEFF",
        }
        bodies = [self._overridden(kind, american), self._overridden(kind, european)]
        if self.over(kind):
            bodies.insert(1, self._overridden(kind, {"country": "US", "currency": "USD", **bare}))
        return bodies

    def wallet_destinations(self) -> list[Body]:
        """Wallet destinations to try; USD last, as section 4.3 states an ISO 4217 currency, which no crypto
        code is."""
        body = self._overridden(
            "payout_destination.wallet",
            {
                "country": "US",
                "type": "wallet",
                "currency": "USDC",
                "network": "ethereum",
                "wallet_address": "0x" + secrets.token_hex(20),
                "label": f"conformance {marker()}",
            },
        )
        return [body] if body["currency"] == "USD" else [body, {**body, "currency": "USD"}]

    def amount(self, operation: str) -> str:
        """An unusual amount of a payout or payin: see `Amounts`; with ten-thousandths if `in_parts`."""
        kind, usual = {"createPayout": ("payout", "1.00"), "createPayin": ("payin", "10.00")}[operation]
        amount = _UNUSUAL.next(str(self.over(kind).get("amount", usual)))
        if not self.in_parts or plain(amount) is None:
            return amount
        return format(EXACT.add(Decimal(amount), secrets.choice(_PARTS)), "f")

    def payout(self, beneficiary_id: str, destination_id: str, currency: str) -> Body:
        body = {
            "beneficiary_id": beneficiary_id,
            "payout_destination_id": destination_id,
            "amount": self.amount("createPayout"),
            "currency": currency,
            "note": f"conformance {marker()}",
        }
        return self._overridden("payout", body)

    def virtual_account(self) -> Body:
        return self._overridden("virtual_account", {"currency": "EUR", "label": f"conformance {marker()}"})

    def wallet(self, index: int = 0) -> Body:
        """A wallet of the pair with that index."""
        pair = dict(zip(TRAITS["createWallet"].unique_pair, self.wallet_pairs[index], strict=True))
        return self._overridden("wallet", {"label": f"conformance {marker()}"}) | pair

    def wallets(self) -> list[Body]:
        """A wallet of each pair."""
        return [self.wallet(index) for index in range(len(self.wallet_pairs))]

    def payin(self) -> Body:
        return self._overridden(
            "payin",
            {
                "amount": self.amount("createPayin"),
                "currency": "USD",
                "payment_method": "bank_transfer",
                "description": f"conformance {marker()}",
            },
        )


def address(region: str) -> dict[str, str]:
    """An address with all five members; `region` is the name of one that virtual accounts call `state`."""
    return {
        "address_line": "1 Main Street",
        "city": "New York",
        region: "NY",
        "postal_code": "10001",
        "country": "US",
    }
