"""The reference model: the contents of an account after a sequence of requests, by the specification.

It does not model what is open: which default destination counts, what a refused request does to its
Idempotency-Key."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from conformance.contract.fields import documented
from conformance.contract.traits import ADDS_TO, TRAITS
from conformance.judge.comparison import MOVING, same
from conformance.wire.messages import Call, Exchange

Document = dict[str, Any]

#: Members of a resource that jobs, other clients or requests to other resources may change.
RESTLESS = MOVING | {"is_default", "payout_destinations"}


@dataclass
class Thing:
    """A created resource: the operation that created it, its id, and its expected members."""

    operation: str
    id: str
    members: Document
    #: The answers to its create and updates.
    answers: list[Exchange] = field(default_factory=list)

    def steady(self) -> Document:
        """Its expected documented members, without RESTLESS ones."""
        names = documented(self.operation)
        return {name: value for name, value in self.members.items() if name in names and name not in RESTLESS}

    def evidence_of(self, name: str, value: Any) -> list[Exchange]:
        """The latest answer that shows a member with this value, if any."""
        return [answer for answer in self.answers if same(answer.get(name), value)][-1:]


@dataclass
class Payee(Thing):
    """A beneficiary with its destinations in the order of creation."""

    #: The rule of its latest change, which a read that disagrees breaks.
    rule: str = "read.equals-create"
    destinations: list[Thing] = field(default_factory=list)
    disabled: bool = False
    #: Time when it was last shown, in Unix seconds, local clock.
    at: float = 0.0

    def steady(self) -> Document:
        """As for any resource; a disabled status stays."""
        return {**super().steady(), **({"status": "disabled"} if self.disabled else {})}


@dataclass
class Post:
    """An accepted POST, for idempotent replays (section 4.0)."""

    answer: Exchange
    #: Number of changes in the model when it was answered.
    at: int

    @property
    def call(self) -> Call:
        return self.answer.call


class Model:
    """The contents of an account, and the POSTs that can be replayed."""

    def __init__(self) -> None:
        self.payees: list[Payee] = []
        self.virtual_accounts: list[Thing] = []
        self.wallets: list[Thing] = []
        self.posts: list[Post] = []
        self.changes = 0
        #: Label in a refused create -> operation.
        self.refused: dict[str, str] = {}

    def created(self, operation: str, answer: Exchange, payee: Payee | None = None) -> None:
        """Adds the resource of an accepted create."""
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
        """Applies an accepted PATCH."""
        self.changes += 1
        payee.members = {**payee.members, **changes}
        payee.rule = "beneficiary.update"

    def disabled(self, payee: Payee, answer: Exchange) -> None:
        """Applies an accepted disable."""
        self._changed(answer)
        payee.members = {**payee.members, "status": "disabled"}
        payee.rule, payee.disabled = "beneficiary.disable", True

    def has_wallet(self, currency: Any, network: Any) -> bool:
        """True if the account has the wallet of a pair already (section 4.6)."""
        pairs = [(wallet.members.get("currency"), wallet.members.get("network")) for wallet in self.wallets]
        return (currency, network) in pairs

    def listed(self, operation: str, payee: Payee | None) -> list[Thing]:
        """The elements of a list without filters."""
        match TRAITS[ADDS_TO[operation]].creates:
            case "payout_destination":
                return payee.destinations if payee is not None else []
            case "virtual_account":
                return self.virtual_accounts
        return self.wallets
