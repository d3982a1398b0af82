"""The resources a check works on: made through the API, in a fresh account unless sharing hides nothing."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from conformance.contract import OPERATIONS
from conformance.exchange import MISSING, Call, Exchange, to_json
from conformance.verdict import Inconclusive

if TYPE_CHECKING:
    from conformance.suite import Suite

#: Path parameter -> the scene attribute that provides it.
_PARAMETERS = ("customer_id", "account_id", "beneficiary_id", "virtual_account_id")


#: Characters that RFC 3986 allows in a segment of a path besides letters, digits and `_.-~`.
_IN_A_SEGMENT = "%!$&'()*+,;=:@"


def new_key() -> str:
    """A fresh Idempotency-Key: a version 4 UUID in lower case (section 4.0)."""
    return str(uuid.uuid4())


def call(operation: str, ids: dict[str, str], body: Any = None, **changes: Any) -> Call:
    """A call of an operation with path parameters filled in, a JSON body and, on POST, a fresh key."""
    described = OPERATIONS[operation]
    return Call(
        operation=operation,
        method=described.method,
        # An id that a server made up may hold anything; one that is encoded already stays as it is.
        target=described.path.format(
            **{name: quote(value, safe=_IN_A_SEGMENT) for name, value in ids.items()}
        ),
        body=None if body is None else to_json(body),
        idempotency_key=new_key() if described.method == "POST" else None,
        **changes,
    )


class Scene:
    """One account of one organization and what stands under it; each part is created when first asked for.

    A part that the server refuses to create raises Inconclusive, each time it is asked for.
    """

    def __init__(
        self,
        suite: Suite,
        organization: str = "primary",
        account_id: str | None = None,
        customer_id: str | None = None,
    ) -> None:
        self.suite = suite
        self.client = suite.client(organization)
        self.customer_id = customer_id or self.client.organization.customer_id
        self._parts: dict[str, Exchange | Inconclusive] = {}
        self._account_id = account_id

    # ------------------------------------------------------------------ parts

    def _made(self, part: str, make: Callable[[], Exchange]) -> Exchange:
        if part not in self._parts:
            try:
                self._parts[part] = make()
            except Inconclusive as refusal:
                self._parts[part] = refusal
        made = self._parts[part]
        if isinstance(made, Inconclusive):
            raise Inconclusive(made.reason, made.cure, made.cause)
        return made

    def _id(self, part: str, make: Callable[[], Exchange]) -> str:
        return identifier(self._made(part, make))

    @property
    def account(self) -> Exchange:
        """The exchange that created the account."""
        return self._made("account", lambda: self.create("createAccount"))

    @property
    def account_id(self) -> str:
        return self._account_id or identifier(self.account)

    @property
    def beneficiary(self) -> Exchange:
        """The exchange that created the beneficiary."""
        return self._made("beneficiary", lambda: self.create("createBeneficiary"))

    @property
    def beneficiary_id(self) -> str:
        return identifier(self.beneficiary)

    @property
    def destination(self) -> Exchange:
        """The exchange that created the (bank account) payout destination."""
        return self._made("destination", lambda: self.create("createPayoutDestination"))

    @property
    def destination_id(self) -> str:
        return identifier(self.destination)

    @property
    def virtual_account(self) -> Exchange:
        """The exchange that created the virtual account."""
        return self._made("virtual_account", lambda: self.create("createVirtualAccount"))

    @property
    def virtual_account_id(self) -> str:
        return identifier(self.virtual_account)

    # ------------------------------------------------------------------ calls

    def ids(self, operation: str) -> dict[str, str]:
        """The path parameters of an operation in this scene."""
        return {name: getattr(self, name) for name in OPERATIONS[operation].path_parameters}

    def call(self, operation: str, body: Any = None) -> Call:
        """A sound call of an operation in this scene, with a sound body unless one is given."""
        if body is None and OPERATIONS[operation].request_schema is not None:
            body = self.body(operation)
        return call(operation, self.ids(operation), body)

    def body(self, operation: str) -> dict[str, Any]:
        """A sound body of an operation in this scene."""
        samples = self.suite.samples
        match operation:
            case "createAccount":
                return samples.account()
            case "createBeneficiary":
                return samples.beneficiary()
            case "updateBeneficiary":
                return {"note": samples.beneficiary()["note"]}
            case "createPayoutDestination":
                return self.suite.bank_account(self)
            case "createPayout":
                currency = self.destination.get("currency")
                return samples.payout(
                    self.beneficiary_id, self.destination_id, currency if isinstance(currency, str) else "USD"
                )
            case "createVirtualAccount":
                return samples.virtual_account()
            case "createWallet":
                return samples.wallet()
            case "createPayin":
                return samples.payin()
        raise KeyError(operation)

    def create(self, operation: str, body: Any = None) -> Exchange:
        """Sends a sound create; raises Inconclusive when the server refuses it."""
        return self.suite.accept(self.client, self.call(operation, body), f"a sound {operation}, to work on")


def identifier(exchange: Exchange) -> str:
    """The id of the resource an exchange created; raises Inconclusive when there is none."""
    value = exchange.get("id")
    # An unpaired surrogate cannot be sent back in UTF-8.
    if not isinstance(value, str) or not value or any("\ud800" <= one <= "\udfff" for one in value):
        shown = "no id" if value is MISSING else f"the id {value!r:.60}"
        raise Inconclusive(
            f"{exchange.operation} answered {exchange.described()} with {shown}, which cannot be used further",
            cause="format.id",
        )
    return value


def parameters(operation: str) -> tuple[str, ...]:
    """The path parameters of an operation, the top-level one first."""
    return tuple(name for name in _PARAMETERS if name in OPERATIONS[operation].path_parameters)


def unknown_like(known: str) -> str:
    """An id of the same shape as a known one that, as good as certainly, does not exist.

    The prefix stays; every digit becomes another digit and every letter another letter of its
    kind (hexadecimal where all are), so that servers which look at the shape of an id accept it.
    """
    import secrets

    prefix, separator, rest = known.partition("_")
    if not separator:
        prefix, rest = "", known
    if rest.isdigit():
        return f"{prefix}{separator}9{''.join(secrets.choice('0123456789') for _ in range(max(len(rest) - 1, 11)))}"
    hexadecimal = all(c in "0123456789abcdefABCDEF-" for c in rest)
    letters = "abcdef" if hexadecimal else "abcdefghjkmnpqrstvwxyz"

    def other(character: str) -> str:
        if character.isdigit():
            return secrets.choice("0123456789")
        if character.isascii() and character.islower():
            return secrets.choice(letters)
        if character.isascii() and character.isupper():
            return secrets.choice(letters.upper())
        return character

    # The first characters may carry a version, a time or a shard: keep them where enough is left.
    keep = len(rest) - 12 if len(rest) > 16 else 0
    while True:
        candidate = rest[:keep] + "".join(map(other, rest[keep:]))
        if candidate != rest:
            break
    if len(rest) < 6:
        candidate += "".join(secrets.choice("0123456789" if hexadecimal else letters) for _ in range(10))
    return f"{prefix}{separator}{candidate}"
