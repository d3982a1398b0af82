"""Effects of requests, told from two reads by the owner of the resources.

Nothing stands still on a live server: money settles, jobs verify, other clients create and pay. What counts
as an effect is therefore what nobody else brings about: a resource of which no answer has told, a value that
a job does not move, money that moves as the operation moves it. What others might have done as well is
doubtful, and is told by repetition: an effect comes each time, and not in the pauses (`repeated`, `paid`).
"""

from __future__ import annotations

import contextlib
import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Context, Decimal, InvalidOperation
from typing import Any

from conformance.contract.traits import TRAITS
from conformance.judge.comparison import MOVING, differences, objects, sent_document, show
from conformance.wire.messages import Call, Exchange
from conformance.wire.pages import identity

Document = dict[str, Any]

#: Currency and member of a balance -> its amount, or by how much that changed.
Money = dict[tuple[str, str], Decimal]

#: Amounts that are told of all that moved.
_SHOWN = 4

#: Members of an element that jobs move, or that an accepted create takes from one and gives to another.
_PASSED_ON = MOVING | {"is_default"}

#: No amount is rounded, and none is too strange to reckon with.
EXACT = Context(prec=500, traps=[])

_PLAIN = re.compile(r"[0-9]+(\.[0-9]+)?")
_DIGITS = re.compile(r"[0-9]+(?:\.[0-9]+)?")

_BENEFICIARY = re.compile(r"bene_[A-Za-z0-9_-]+")

#: The random words that the suite puts into names and labels, of few letters: no random id has one
#: by chance.
_MARK = re.compile(r"cf[b-t]{16}")


@dataclass(frozen=True)
class Effect:
    """Changes between two reads; `found` says them in words and is empty without one.

    A doubtful one may be somebody else's; `signature` is what its repetition would show as well, or the
    money that moved.
    """

    found: str = ""
    doubtful: bool = False
    signature: Any = None

    def __bool__(self) -> bool:
        return bool(self.found)


# ---------------------------------------------------------------------- resources


def by_id(items: Iterable[Any]) -> dict[str, Document]:
    """The elements of a list by their ids."""
    return {identity(item): item for item in items if isinstance(item, dict)}


def in_list(
    operation: str, before: Mapping[str, Document], after: Mapping[str, Document], known: Collection[str]
) -> Effect:
    """Changes in the list of what an operation creates: resources whose ids are not `known`, and members of
    others that no job moves."""
    new = [identifier for identifier in after if identifier not in before and identifier not in known]
    changed = [
        (identifier, found[0])
        for identifier in before
        if identifier in after
        and (found := differences(operation, after[identifier], before[identifier], but=_PASSED_ON))
    ]
    shown = [f"{len(new)} more in the list"] if new else []
    for _, (name, got, expected) in changed[:2]:
        shown.append(f"{name} {show(expected)} of an element is now {show(got)}"[:160])
    return Effect("; ".join(shown))


def in_resource(
    operation: str, before: Document, after: Document, answered: Sequence[Document] = ()
) -> Effect:
    """Changes in a resource that an operation reads, but for those that an earlier accepted request has
    `answered`: reads may lag behind it.

    Jobs move `verified` and the status, and `updated` with them; only the API disables. `updated` alone may
    still be the work of a job that shows nothing else, which is doubtful.
    """
    changed = differences(operation, after, before, but={"object"})
    changed = [
        (name, got, expected)
        for name, got, expected in changed
        if not any(not differences(operation, {name: got}, {name: late.get(name)}) for late in answered)
    ]
    names = {name for name, _, _ in changed}
    moved_by_job = bool(names & {"status", "verified"})
    told = [
        (name, got, expected)
        for name, got, expected in changed
        if name not in MOVING
        or (name == "status" and got == "disabled")
        or (name == "updated" and not moved_by_job)
    ]
    shown = [f"{name} {show(expected)} is now {show(got)}"[:160] for name, got, expected in told]
    doubtful = {name for name, _, _ in told} == {"updated"}
    return Effect("; ".join(shown), doubtful, "updated" if doubtful else None)


def named_beneficiaries(exchange: Exchange) -> list[str]:
    """The ids of beneficiaries that an answer names."""
    return list(dict.fromkeys(_BENEFICIARY.findall(exchange.response_body.decode("utf-8", "replace"))))


# ---------------------------------------------------------------------- accounts of a customer


def marks(calls: Iterable[Call]) -> set[str]:
    """The random words and the account names that requests carry."""
    found: set[str] = set()
    for call in calls:
        found.update(_MARK.findall((call.body or b"").decode("utf-8", "replace")))
        name = sent_document(call).get("name")
        found |= {name} if isinstance(name, str) and len(name) > 20 else set()
    return found


def marked(item: Mapping[str, Any]) -> bool:
    """True if a resource carries a random word of the suite in any of its texts."""
    return any(isinstance(value, str) and _MARK.search(value) for value in item.values())


def in_accounts(items: Sequence[Any], fresh: Sequence[Any], sent: Sequence[Call]) -> Effect:
    """Accounts in a customer's list that requests made: those of `items` that carry a mark of theirs. Of the
    `fresh` ones, those without any mark of the suite may be other clients', or have lost it: doubtful."""
    own = marks(sent)
    named = [item for item in objects(items) if any(mark in str(item.get("name")) for mark in own)]
    if named:
        return Effect(f"{len(named)} more of the same name in listAccounts")
    names = Counter(str(item.get("name"))[:255] for item in objects(fresh))
    unmarked = Counter({name: count for name, count in names.items() if not _MARK.search(name)})
    found = f"{unmarked.total()} more in listAccounts, named {show(next(iter(unmarked)))}" if unmarked else ""
    return Effect(found, bool(found), unmarked or None)


# ---------------------------------------------------------------------- money


def amounts(balances: Any) -> Money | None:
    """The amounts of an account's balances; None where they are not an array of objects."""
    if not isinstance(balances, list):
        return None
    found: Money = {}
    for balance in balances:
        if not isinstance(balance, dict):
            return None
        for member in ("available_balance", "pending_payout", "pending_payin", "total_balance"):
            with contextlib.suppress(InvalidOperation):
                amount = Decimal(str(balance.get(member)))
                if amount.is_finite():
                    found[str(balance.get("currency")), member] = amount
    return found


def in_balances(operation: str, before: Money, after: Money) -> Effect:
    """Movements of money like the operation's: always doubtful, as others move money in the same way."""
    moved = movement(operation, before, after)
    shown = [
        f"{member} {before.get((currency, member), 0)} {currency} is now {after[currency, member]}"
        for (currency, member) in list(moved)[:_SHOWN]
    ]
    return Effect("; ".join(shown), bool(shown), moved or None)


def movement(operation: str, before: Money, after: Money) -> Money:
    """By how much each amount moved in the direction in which the operation moves it."""
    moved: Money = {}
    for (currency, member), now in after.items():
        change = EXACT.subtract(now, before.get((currency, member), Decimal(0)))
        change = EXACT.multiply(change, Decimal(TRAITS[operation].moves_money.get(member, 0)))
        if change > 0:
            moved[currency, member] = change
    return moved


def plain(value: Any) -> Decimal | None:
    """The value of a positive plain decimal string, None for all else: what a lenient parser takes for a
    number as well (digits of other scripts, underscores, exponents) is none."""
    if not isinstance(value, str) or not _PLAIN.fullmatch(value):
        return None
    return Decimal(value) or None


def sent_amount(call: Call) -> Decimal | None:
    """The amount that a valid request asks to move; None where it asks for none."""
    return plain(sent_document(call).get("amount"))


def asked_amount(call: Call) -> Decimal | None:
    """The amount that a request asks to move, in whatever way a lenient server may read it: digits of any
    script, signs and separators passed over; None where there are no digits."""
    value = sent_document(call).get("amount")
    if not isinstance(value, str | int | float) or isinstance(value, bool):
        return None
    text = "".join(str(unicodedata.digit(sign, sign)) for sign in str(value)).replace("_", "")
    text = text.replace(",", "") if "." in text else text.replace(",", ".")
    found = _DIGITS.search(text)
    return Decimal(found[0]) or None if found else None


# ---------------------------------------------------------------------- repetition


def repeated(first: Effect, rounds: Sequence[tuple[Effect, Effect]]) -> bool:
    """True if repeating requests brought the same effect each time, and nothing happened in the pauses:
    `rounds` are the effects of each repetition and of the pause after it."""
    return bool(rounds) and all(
        effect and effect.signature == first.signature and not pause for effect, pause in rounds
    )


@dataclass(frozen=True)
class Payment:
    """One repetition of requests that ask for an amount: by how much balances moved, the amount, how many
    requests asked for it, and by how much balances moved in the pause afterwards."""

    moved: Money
    amount: Decimal
    requests: int = 1
    pause: Money = field(default_factory=dict)


@dataclass(frozen=True)
class Paid:
    """Movement of a member of a balance by requests: so many times their amount and a fee."""

    currency: str
    member: str
    times: int
    fee: Decimal

    def __str__(self) -> str:
        more = f" and {self.fee:f}" if self.fee else ""
        return f"{self.member} {self.currency}, {self.times} times the amount{more}"


#: Most times that a faulty server may carry one request out.
_TIMES_EACH = 2


def paid(rounds: Sequence[Payment]) -> Paid | None:
    """The member of a balance that each repetition moved by the same multiple of its own amount; None where
    there is none.

    A fee that is the same each time may come on top where the amounts are all different. Where one amount
    comes again it must not move in the pauses: others pay the same each time.
    """
    if not rounds:
        return None
    unlike = len({turn.amount for turn in rounds}) == len(rounds) > 1
    most = _TIMES_EACH * max(turn.requests for turn in rounds)
    for currency, member in rounds[0].moved:
        for times in range(1, most + 1):
            fees = {_beyond(turn.moved, (currency, member), turn.amount, times) for turn in rounds}
            if len(fees) > 1:
                continue
            fee = fees.pop()
            pauses = [_beyond(turn.pause, (currency, member), turn.amount, times) for turn in rounds]
            if (fee >= 0 and unlike) or (fee == 0 and 0 not in pauses):
                return Paid(currency, member, times, fee)
    return None


def _beyond(moved: Money, member: tuple[str, str], amount: Decimal, times: int) -> Decimal:
    """Movement of a member of a balance beyond a multiple of an amount."""
    return EXACT.subtract(moved.get(member, Decimal(0)), EXACT.multiply(amount, Decimal(times)))


def follows(moved: Money, asked: Sequence[Decimal], fee: str) -> bool:
    """True if money moved by a multiple of an amount that requests ask for and a fee (a decimal)."""
    return any(
        _beyond(moved, member, amount, times) == EXACT.create_decimal(fee)
        for amount in set(asked)
        for times in range(1, _TIMES_EACH * asked.count(amount) + 1)
        for member in moved
    )
