"""What requests changed, told from two looks at what the owner of the resources sees.

Nothing stands still on a live server: money settles, jobs verify, other clients create and pay. What counts
as an effect is therefore what nobody else brings about: a resource of which no answer has told, a value that
a job does not move, money that moves as the operation moves it. What others might have done as well is
doubtful, and is told by repetition: an effect comes each time, and not in the pauses (`repeated`, `paid`).
"""

from __future__ import annotations

import contextlib
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal, InvalidOperation
from typing import Any

from conformance.contract.traits import TRAITS
from conformance.judging.comparison import MOVING, differences, objects, show
from conformance.wire.messages import Call, Exchange
from conformance.wire.pages import identity

Document = dict[str, Any]

#: Currency and member of a balance -> its amount, or by how much that changed.
Money = dict[tuple[str, str], Decimal]

#: Members of an element that jobs move, or that an accepted create takes from one and gives to another.
_PASSED_ON = MOVING | {"is_default"}

#: No amount is rounded, and none is too strange to reckon with.
EXACT = Context(prec=500, traps=[])

_BENEFICIARY = re.compile(r"bene_[A-Za-z0-9_-]+")

#: The random words that the suite puts into names and labels.
_MARK = re.compile(r"cf[0-9a-f]{12}")


@dataclass(frozen=True)
class Effect:
    """What two looks show to have changed; `found` says it in words and is empty where nothing has.

    A doubtful one may be somebody else's; `signature` is what its repetition would show as well, or the
    money that moved.
    """

    found: str = ""
    doubtful: bool = False
    signature: Any = None

    def __bool__(self) -> bool:
        return bool(self.found)


NONE = Effect()


# ---------------------------------------------------------------------- resources


def by_id(items: Iterable[Any]) -> dict[str, Document]:
    """The elements of a list by their ids."""
    return {identity(item): item for item in items if isinstance(item, dict)}


def in_list(
    operation: str, before: Mapping[str, Document], after: Mapping[str, Document], known: Collection[str]
) -> Effect:
    """What an operation that creates changed in the list of what it creates: resources whose ids are not
    `known`, and others in what no job moves."""
    new = [identifier for identifier in after if identifier not in before and identifier not in known]
    changed = [
        (identifier, found[0])
        for identifier in before
        if identifier in after
        and (found := differences(operation, after[identifier], before[identifier], but=_PASSED_ON))
    ]
    shown = [f"{len(new)} more in the list"] * bool(new)
    for _, (name, got, expected) in changed[:2]:
        shown.append(f"{name} {show(expected)} of an element is now {show(got)}"[:160])
    return Effect("; ".join(shown))


def in_resource(
    operation: str, before: Document, after: Document, answered: Sequence[Document] = ()
) -> Effect:
    """What changed in a resource that an operation reads, but for what an earlier accepted request has
    `answered`: reads may lag behind that.

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
        with contextlib.suppress(ValueError, RecursionError):
            document = call.document
            name = document.get("name") if isinstance(document, dict) else None
            found |= {name} if isinstance(name, str) and len(name) > 20 else set()
    return found


def in_accounts(items: Sequence[Any], fresh: Sequence[Any], sent: Sequence[Call]) -> Effect:
    """Which accounts in a customer's list come of requests: those of `items` that carry a mark of theirs. Of
    the `fresh` ones, those without any mark of the suite may be other clients', or have lost it: doubtful."""
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
    """The amounts of an account's balances; None where they are no array of objects."""
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
    """How money moved as the operation moves it: always doubtful, as others move money in the same way."""
    moved = movement(operation, before, after)
    shown = [
        f"{member} {before.get((currency, member), 0)} {currency} is now {after[currency, member]}"
        for (currency, member) in moved
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


def sent_amount(call: Call) -> Decimal | None:
    """The amount that a request asks to move; None where it is no positive decimal."""
    with contextlib.suppress(ValueError, RecursionError, InvalidOperation):
        document = call.document
        value = document.get("amount") if isinstance(document, dict) else None
        amount = Decimal(value) if isinstance(value, str) else None
        if amount is not None and amount.is_finite() and amount > 0:
            return amount
    return None


# ---------------------------------------------------------------------- repetition


def repeated(first: Effect, rounds: Sequence[tuple[Effect, Effect]]) -> bool:
    """Whether repeating requests has brought the same effect each time, and nothing happened in the pauses:
    `rounds` are what each repetition and the pause after it showed."""
    return bool(rounds) and all(
        effect and effect.signature == first.signature and not pause for effect, pause in rounds
    )


def paid(rounds: Sequence[tuple[Money, Decimal]], most: int = 50) -> str:
    """The member of a balance that each repetition moved by a multiple of its own amount, up to a fee that
    is the same each time; empty if there is none. `rounds` are movements and the amounts sent, which are as
    good as never what others move."""
    if not rounds:
        return ""
    unlike = len({amount for _, amount in rounds}) > 1
    for member in rounds[0][0]:
        for times in range(1, most + 1):
            rest = {
                EXACT.subtract(moved.get(member, Decimal(0)), EXACT.multiply(amount, Decimal(times)))
                for moved, amount in rounds
            }
            if len(rest) == 1 and (rest == {Decimal(0)} or (unlike and rest.pop() > 0)):
                return f"{member[1]} {member[0]}, {times} times the amount"
    return ""
