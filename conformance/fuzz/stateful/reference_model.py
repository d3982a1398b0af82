"""The reference model: contents of one account after the requests that it was sent, by the specification.

It knows nothing of HTTP, and nothing that the specification leaves open: which default destination counts,
what a refused request does to its idempotency key."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from conformance.contract.fields import documented
from conformance.contract.traits import ADDS_TO, TRAITS
from conformance.judge.comparison import MOVING, same
from conformance.wire.messages import Call, Exchange

Document = dict[str, Any]

#: Members of a resource that jobs, other users or requests to other resources may move at any time.
RESTLESS = MOVING | {"is_default", "payout_destinations"}


@dataclass
class Thing:
    """A created resource: its operation's name for it, its id, and how it was last shown."""

    operation: str
    id: str
    shown: Document
    #: True if a list has shown it since: its `created` is then as lists and their filters know it.
    listed: bool = False
    #: The answers that have shown it as it was created, and as it was changed.
    answers: list[Exchange] = field(default_factory=list)

    def steady(self) -> Document:
        """Its documented members that nobody else moves, as they must be shown."""
        names = documented(self.operation)
        return {name: value for name, value in self.shown.items() if name in names and name not in RESTLESS}

    def told_by(self, name: str, value: Any) -> Exchange | None:
        """The latest answer that shows a member with this value; None where none does. What is compared with
        an answer, and not with the value, a replay compares with what it is answered."""
        told = [answer for answer in self.answers if same(answer.get(name), value)]
        return told[-1] if told else None


@dataclass
class Payee(Thing):
    """A beneficiary with its destinations, in the order in which they were made."""

    #: The rule that its latest change keeps; a read that shows something else breaks it.
    rule: str = "read.equals-create"
    destinations: list[Thing] = field(default_factory=list)
    disabled: bool = False
    #: Time when it was last shown: seconds since 1970, local clock.
    at: float = 0.0

    def steady(self) -> Document:
        """As for any resource; that it is disabled was asked for and stays."""
        return {**super().steady(), **({"status": "disabled"} if self.disabled else {})}


@dataclass
class Post:
    """An accepted POST, which its key brings back: section 4.0."""

    answer: Exchange
    #: Number of changes that the model had seen when it was answered.
    at: int

    @property
    def call(self) -> Call:
        return self.answer.call


class Model:
    """Contents of an account, and the POSTs that can be replayed."""

    def __init__(self) -> None:
        self.payees: list[Payee] = []
        self.virtual_accounts: list[Thing] = []
        self.wallets: list[Thing] = []
        self.posts: list[Post] = []
        self.changes = 0
        #: Labels of resources that requests asked for which were refused, and by which operation.
        self.refused: dict[str, str] = {}

    # ------------------------------------------------------------------ what happens

    def created(self, operation: str, answer: Exchange, payee: Payee | None = None) -> None:
        """A resource was created, as the answer says."""
        identifier, document, answers = str(answer.get("id")), answer.document, [answer]
        thing = Thing(operation, identifier, document, answers=answers)
        match TRAITS[operation].creates:
            case "beneficiary":
                self.payees.append(Payee(operation, identifier, document, answers=answers, at=answer.arrived))
            case "virtual_account":
                self.virtual_accounts.append(thing)
            case "wallet":
                self.wallets.append(thing)
            case "payout_destination" if payee is not None:
                payee.destinations.append(thing)
        self._changed(answer)

    def _changed(self, answer: Exchange) -> None:
        self.changes += 1
        self.posts.append(Post(answer, self.changes))

    def updated(self, payee: Payee, changes: Document) -> None:
        """A PATCH was accepted."""
        self.changes += 1
        payee.shown = {**payee.shown, **changes}
        payee.rule = "beneficiary.update"

    def disabled(self, payee: Payee, answer: Exchange) -> None:
        """A beneficiary was disabled."""
        self._changed(answer)
        payee.shown = {**payee.shown, "status": "disabled"}
        payee.rule, payee.disabled = "beneficiary.disable", True

    # ------------------------------------------------------------------ what must be so

    def has_wallet(self, currency: Any, network: Any) -> bool:
        """True if the account has its one wallet of a pair already: section 4.6."""
        pairs = [(wallet.shown.get("currency"), wallet.shown.get("network")) for wallet in self.wallets]
        return (currency, network) in pairs

    def listed(self, operation: str, payee: Payee | None) -> list[Thing]:
        """Elements that a list without filters shows."""
        match TRAITS[ADDS_TO[operation]].creates:
            case "payout_destination":
                return payee.destinations if payee is not None else []
            case "virtual_account":
                return self.virtual_accounts
        return self.wallets
