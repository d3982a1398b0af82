"""The state of one request in the pipeline."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from conformance.reference.core_messages import Request

if TYPE_CHECKING:
    from conformance.reference.app import Server
    from conformance.reference.store import Condition, OrganizationRow, Store

#: A stored resource: its id, parent, organization, instants (microseconds) and fields as sent.
Record = dict[str, Any]


@dataclass(slots=True)
class Listing:
    """The parameters of a list request, and the elements found."""

    page: int
    size: int
    conditions: list[Condition]
    total: int = 0
    records: list[Record] = field(default_factory=list)


@dataclass(slots=True)
class Context:
    """The state of one request; each stage of the pipeline fills in its part."""

    server: Server
    request: Request
    #: Arrival in microseconds since the Unix epoch; the time of all effects.
    now: int
    #: Headers by name in lower case; values of a repeated header are joined by commas (RFC 9110, 5.2).
    headers: dict[bytes, bytes]
    path: bytes
    query: bytes
    operation: str = ""
    params: dict[str, str] = field(default_factory=dict)
    organization: OrganizationRow | None = None
    customer: Record | None = None
    account: Record | None = None
    beneficiary: Record | None = None
    #: What the path names below them.
    child: Record | None = None
    #: The canonical Idempotency-Key, once validated.
    key: str | None = None
    #: True if the key is new, and if its stored answer is replayed.
    first_use: bool = False
    replayed: bool = False
    #: The JSON object sent, and its validated fields.
    body: dict[str, Any] = field(default_factory=dict)
    values: dict[str, Any] = field(default_factory=dict)
    listing: Listing | None = None
    #: The resource in the answer.
    record: Record | None = None
    #: Lets an override of several seams pass values between them.
    notes: dict[str, Any] = field(default_factory=dict)

    @property
    def store(self) -> Store:
        return self.server.store

    def header(self, name: bytes) -> str | None:
        """The value of a header, by name in lower case, as text with invalid UTF-8 replaced; None without
        it."""
        value = self.headers.get(name)
        return None if value is None else value.decode("utf-8", "replace")


def new_context(server: Server, request: Request, now: int) -> Context:
    """The context of a new request."""
    headers: dict[bytes, bytes] = {}
    for name, value in request.headers:
        name = name.lower()
        headers[name] = headers[name] + b", " + value if name in headers else value
    path, _, query = request.target.partition(b"?")
    return Context(server, request, now, headers, path, query)
