"""Everything known about one request on its way through the pipeline."""

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
    """A list request's parameters, and the elements found."""

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
    #: Unix epoch in microseconds when the request came in: one instant for all it does.
    now: int
    #: Header names in lower case; a repeated header's values are joined with a comma (RFC 9110, 5.2).
    headers: dict[bytes, bytes]
    path: bytes
    query: bytes
    operation: str = ""
    params: dict[str, str] = field(default_factory=dict)
    organization: OrganizationRow | None = None
    customer: Record | None = None
    account: Record | None = None
    beneficiary: Record | None = None
    virtual_account: Record | None = None
    #: The canonical Idempotency-Key, once it was found valid.
    key: str | None = None
    #: True if the key was never answered before, or is answered with its first answer.
    first_use: bool = False
    replayed: bool = False
    #: The JSON object that was sent, and its fields that were found valid.
    body: dict[str, Any] = field(default_factory=dict)
    values: dict[str, Any] = field(default_factory=dict)
    listing: Listing | None = None
    #: The resource that the answer shows.
    record: Record | None = None
    #: For whoever overrides several seams and must hand something from one to another.
    notes: dict[str, Any] = field(default_factory=dict)

    @property
    def store(self) -> Store:
        return self.server.store

    def header(self, name: bytes) -> str | None:
        """A request header's value as text (invalid UTF-8 replaced), or None. `name` is in lower case."""
        value = self.headers.get(name)
        return None if value is None else value.decode("utf-8", "replace")


def new_context(server: Server, request: Request, now: int) -> Context:
    """The context of a request that just came in."""
    headers: dict[bytes, bytes] = {}
    for name, value in request.headers:
        name = name.lower()
        headers[name] = headers[name] + b", " + value if name in headers else value
    path, _, query = request.target.partition(b"?")
    return Context(server, request, now, headers, path, query)
