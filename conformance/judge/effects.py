"""Effects of requests, found by comparing two reads.

On a live server money settles, jobs verify, and other clients create and pay. So an effect is a change that
nobody else causes: a resource that no answer has named, a member that jobs do not change, money that moves as
the operation moves it. A change that others may have caused is doubtful, and is confirmed by repetition.
"""

from __future__ import annotations

import contextlib
import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal, InvalidOperation
from typing import Any, NamedTuple

from conformance.contract.field_values import plain_amount
from conformance.contract.traits import TRAITS
from conformance.judge.comparison import MOVING, differences, objects, sent_document, show
from conformance.wire.messages import Call, Exchange
from conformance.wire.pages import identity

Document = dict[str, Any]

#: Currency and member of a balance -> its amount, or its change.
Money = dict[tuple[str, str], Decimal]

#: Maximum number of changed amounts in a sentence.
_SHOWN = 4

#: Members that jobs change, or that a create of another resource changes.
_PASSED_ON = MOVING | {"is_default"}

#: Arithmetic without rounding or exceptions.
EXACT = Context(prec=500, traps=[])

#: What others move balances by, a multiple of it.
CENT = Decimal("0.01")

#: The least part of an amount that counts: with it, amounts of up to 400 digits are added without rounding.
_LEAST = Decimal("1E-90")

_NO_SEPARATORS = str.maketrans("", "", "_'")
_DIGITS = re.compile(r"[0-9]+(?:\.[0-9]+)?")

_BENEFICIARY = re.compile(r"bene_[A-Za-z0-9_-]+")

#: Marker that the suite puts into names and labels; its alphabet keeps random ids from matching.
_MARK = re.compile(r"cf[b-t]{16}")


@dataclass(frozen=True)
class Effect:
    """Changes between two reads, described in `text`, which is empty without any.

    A doubtful one may have another cause; `signature` is what its repetition must show again, or the money
    moved.
    """

    text: str = ""
    doubtful: bool = False
    signature: Any = None

    def __bool__(self) -> bool:
        return bool(self.text)


# ---------------------------------------------------------------------- resources


def by_id(items: Iterable[Any]) -> dict[str, Document]:
    """Elements of a list by id."""
    return {identity(item): item for item in items if isinstance(item, dict)}


def settled(
    before: Document, after: Document, looks: Sequence[Document], asked: Sequence[Document]
) -> Document:
    """A state after requests, with the members as before that a look shows so, unless a body `asked` for what
    they are now; of elements by id likewise."""

    def member(name: str, value: Any) -> Any:
        if name not in before:
            return value
        earlier = before[name]
        if isinstance(value, dict) and isinstance(earlier, dict):
            inner_looks = [look[name] for look in looks if isinstance(look.get(name), dict)]
            inner_asked = [inner for body in asked if isinstance(inner := body.get(name, body), dict)]
            return settled(earlier, value, inner_looks, inner_asked)
        by_turns = any(look.get(name, value) == earlier for look in looks)
        return earlier if by_turns and value not in [body.get(name, earlier) for body in asked] else value

    return {name: member(name, value) for name, value in after.items()}


def in_list(
    operation: str, before: Mapping[str, Document], after: Mapping[str, Document], known: Collection[str]
) -> Effect:
    """Changes in the list of what an operation creates: new resources that are not `known`, and changed
    members that jobs do not change."""
    new = [identifier for identifier in after if identifier not in before and identifier not in known]
    changed = [
        (identifier, changes[0])
        for identifier in before
        if identifier in after
        and (changes := differences(operation, after[identifier], before[identifier], but=_PASSED_ON))
    ]
    parts = [f"{len(new)} more in the list"] if new else []
    for _, (name, got, expected) in changed[:2]:
        parts.append(f"{name} {show(expected)} of an element is now {show(got)}"[:160])
    return Effect("; ".join(parts))


def in_resource(
    operation: str, before: Document, after: Document, answered: Sequence[Document] = ()
) -> Effect:
    """Changes in a resource that an operation reads, except to values that earlier requests have `answered`:
    reads may lag behind.

    Jobs change `verified`, the status and `updated`. A change of `updated` alone is doubtful, and so is one
    to disabled, which others may ask for.
    """
    changed = differences(operation, after, before, but={"object"})
    changed = [
        (name, got, expected)
        for name, got, expected in changed
        if not any(not differences(operation, {name: got}, {name: late.get(name)}) for late in answered)
    ]
    names = {name for name, _, _ in changed}
    moved_by_job = bool(names & {"status", "verified"})
    telling = [
        (name, got, expected)
        for name, got, expected in changed
        if name not in MOVING
        or (name == "status" and got == "disabled")
        or (name == "updated" and not moved_by_job)
    ]
    parts = [f"{name} {show(expected)} is now {show(got)}"[:160] for name, got, expected in telling]
    doubtful = len(telling) == 1 and telling[0][0] in ("status", "updated")
    return Effect("; ".join(parts), doubtful, telling[0][0] if doubtful else None)


def named_beneficiaries(exchange: Exchange) -> list[str]:
    """Ids of beneficiaries in an answer, errors included."""
    return list(dict.fromkeys(_BENEFICIARY.findall(exchange.response_body.decode("utf-8", "replace"))))


# ---------------------------------------------------------------------- accounts of a customer


def marks(calls: Iterable[Call]) -> set[str]:
    """Markers and account names in requests."""
    words: set[str] = set()
    for call in calls:
        words.update(_MARK.findall((call.body or b"").decode("utf-8", "replace")))
        name = sent_document(call).get("name")
        words |= {name} if isinstance(name, str) and len(name) > 20 else set()
    return words


def marked(item: Mapping[str, Any]) -> bool:
    """True if a string of a resource holds a marker of the suite."""
    return any(isinstance(value, str) and _MARK.search(value) for value in item.values())


def in_accounts(items: Sequence[Any], fresh: Sequence[Any], sent: Sequence[Call]) -> Effect:
    """Accounts in a customer's list that requests created: those of `items` with a marker of theirs. Of the
    `fresh` ones, those without any marker are doubtful: other clients' accounts, or a marker was lost."""
    own = marks(sent)
    named = [item for item in objects(items) if any(mark in str(item.get("name")) for mark in own)]
    if named:
        return Effect(f"{len(named)} more of the same name in listAccounts")
    names = Counter(str(item.get("name"))[:255] for item in objects(fresh))
    unmarked = Counter({name: count for name, count in names.items() if not _MARK.search(name)})
    text = f"{unmarked.total()} more in listAccounts, named {show(next(iter(unmarked)))}" if unmarked else ""
    return Effect(text, bool(text), unmarked or None)


def of_a_name(fresh: Sequence[Any], name: Any) -> Effect:
    """New accounts of one name that no answer has named; doubtful, as others may open such."""
    text = f"{len(fresh)} more in listAccounts, named {show(name)}, whose ids no answer shows"
    return Effect(text, True, name) if fresh else Effect()


# ---------------------------------------------------------------------- money


def amounts(balances: Any) -> Money | None:
    """Amounts of an account's balances; None if they are not an array of objects."""
    if not isinstance(balances, list):
        return None
    money: Money = {}
    for balance in balances:
        if not isinstance(balance, dict):
            return None
        for member in ("available_balance", "pending_payout", "pending_payin", "total_balance"):
            with contextlib.suppress(InvalidOperation):
                amount = Decimal(str(balance.get(member)))
                if amount.is_finite() and EXACT.quantize(amount, _LEAST) == amount:
                    money[str(balance.get("currency")), member] = amount
    return money


def in_balances(operation: str, before: Money, after: Money) -> Effect:
    """Movements of money like the operation's; always doubtful, since other clients move money too."""
    moved = movement(operation, before, after)
    parts = [
        f"{member} {before.get((currency, member), 0)} {currency} is now {after[currency, member]}"
        for (currency, member) in list(moved)[:_SHOWN]
    ]
    return Effect("; ".join(parts), bool(parts), moved or None)


def movement(operation: str, before: Money, after: Money) -> Money:
    """Change of each amount that has the sign of the operation's."""
    return {member: change for member, change in changes(operation, before, after).items() if change > 0}


def changes(operation: str, before: Money, after: Money) -> Money:
    """Change of each amount that the operation moves, positive where it has the sign of the operation's."""
    signs = TRAITS[operation].moves_money
    return {
        key: EXACT.multiply(EXACT.subtract(now, before.get(key, Decimal(0))), Decimal(signs[key[1]]))
        for key, now in after.items()
        if key[1] in signs
    }


class Move(NamedTuple):
    """Movement of a balance's member by a multiple of an amount that was asked for, and a fee."""

    member: tuple[str, str]
    times: int
    fee: Decimal


#: Maximum number of times that a faulty server carries out one request.
_TIMES_EACH = 2


def multiples(effect: Effect, amounts: Sequence[Decimal]) -> set[Move]:
    """Movements of money by multiples of the first amount that requests ask for, or by a fee alone."""
    first = amounts[0] if amounts else Decimal(0)
    return {
        Move(member, times, fee)
        for member, moved in (effect.signature or {}).items()
        for times in range(_TIMES_EACH * len(amounts) + 1)
        if (fee := EXACT.subtract(moved, EXACT.multiply(first, Decimal(times)))) >= 0
    }


def multiples_in_parts(parts: Money, amounts: Sequence[Decimal]) -> set[Move]:
    """Movements of money by multiples of the first amount that requests ask for, or by another amount alone,
    where others move whole cents: `parts` is what is moved beyond these."""
    return {Move(member, 0, part) for member, part in parts.items()} | {
        Move(member, times, Decimal(0))
        for member, part in parts.items()
        for times in range(1, _TIMES_EACH * len(amounts) + 1)
        if below_cents(EXACT.multiply(amounts[0], Decimal(times))) == part
    }


def below_cents(amount: Decimal) -> Decimal:
    """What an amount is above the next lower whole cent."""
    return EXACT.remainder(EXACT.add(EXACT.remainder(amount, CENT), CENT), CENT)


def plain(value: Any) -> Decimal | None:
    """Value of a positive decimal string in ASCII digits without exponent; None for anything else."""
    return Decimal(value) or None if plain_amount(value) else None


def sent_amount(call: Call) -> Decimal | None:
    """Amount of a valid request; None if it has none."""
    return plain(sent_document(call).get("amount"))


def asked_amount(call: Call) -> Decimal | None:
    """Amount of a request as a lenient server may read it: digits of any script, signs and separators
    ignored; None without digits."""
    value = sent_document(call).get("amount")
    if not isinstance(value, str | int | float) or isinstance(value, bool):
        return None
    text = "".join(str(unicodedata.digit(sign, sign)) for sign in str(value)).translate(_NO_SEPARATORS)
    text = text.replace(",", "") if "." in text else text.replace(",", ".")
    match = _DIGITS.search(text)
    return Decimal(match[0]) or None if match else None
