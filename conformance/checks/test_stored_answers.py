"""Answers that a server stores by an Idempotency-Key, or another header, of a read or PATCH (sections 4.0
and 5.5): never for another organization."""

from __future__ import annotations

from conformance.checks.check import Check, check
from conformance.checks.members import furnish
from conformance.contract.operations import OPERATIONS
from conformance.judge.isolation import NOTHING_OF_OTHERS
from conformance.wire.forms import new_key
from conformance.wire.messages import Call, Exchange
from conformance.world.calls import parameters
from conformance.world.lane import Fixture
from conformance.world.purposes import TENANT

PARENT, ISOLATION = "tenancy.foreign-parent", "tenancy.isolation"


@check(
    PARENT,
    ISOLATION,
    operations=tuple(name for name, operation in OPERATIONS.items() if not operation.is_post),
)
def test_headers_of_the_owner(at: Check) -> None:
    """The owner reads, or changes, with an Idempotency-Key and a request id. With both, and the ETag of the
    answer, another organization is shown its own at its own address, and refused at the owner's; with the key
    of the owner's POST as well."""
    owner, other = at.lane.account(TENANT), at.lane.account(TENANT, "secondary")
    for account in (owner, other):
        with at.probe(PARENT, ISOLATION):
            furnish(account, at.operation)
    key, identity = new_key(), new_key()
    alike: tuple[tuple[str, str], ...] = (("X-Request-Id", identity), ("X-Correlation-Id", identity))
    usual = owner.call(at.operation.id)
    first = at.find(
        usual.but(idempotency_key=key, headers=alike), "the owner's request with an Idempotency-Key"
    )
    if etag := first.header("etag"):
        alike = (*alike, ("If-None-Match", etag))
    same = usual.but(idempotency_key=key, headers=alike)
    own = other.call(at.operation.id).path
    what = "another organization's request at its own address, with the key and headers of the first one's"
    answer = at.send(same.but(target=own), what, "secondary")
    if at.usable(ISOLATION, answer):
        got = at.lane.invariants.isolation.foreign(answer)[0] if answer.succeeded else ""
        at.expect(ISOLATION, f"{what}: {NOTHING_OF_OTHERS}", got, answer, first)
    _judge(at, same, "with the key and headers of its owner's", first)
    if (create := _created(at, owner)) is not None:
        posted = same.but(idempotency_key=create.call.idempotency_key)
        _judge(at, posted, "with the key of its owner's POST", create)


def _judge(at: Check, request: Call, how: str, first: Exchange) -> None:
    """Judges that another organization's request is refused: a server may refuse the key as well."""
    at.refused(
        PARENT, at.send(request, f"another organization's request {how}", "secondary"), 0, "", "", first
    )


def _created(at: Check, owner: Fixture) -> Exchange | None:
    """The create, of what the operation shows, whose path is nearest to the operation's."""
    described = at.operation
    part = "account"
    if described.resource == "beneficiary":
        part = "beneficiary"
    elif "beneficiary_id" in parameters(described.id):
        part = "payout_destination"
    elif "virtual" in described.path:
        part = "virtual_account"
    with at.probe(PARENT):
        return owner.part(part)
    return None
