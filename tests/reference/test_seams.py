"""The reference server can be broken, or made to choose otherwise, by overriding one seam."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from conformance.reference.app import system_clock
from conformance.reference.behaviour import Behaviour
from conformance.reference.context import Context
from conformance.reference.messages import Response
from conformance.reference.refusals import Refusal
from conformance.reference.serving.listener import served
from conformance.reference.store import Condition
from conformance.wire.client import Client
from conformance.wire.messages import Call
from conformance.wire.transport import new_transport
from tests.support.reference_world import World, refusal

# --------------------------------------------------------------------------- faults, one seam each


class ExactCase(Behaviour):
    """auth.header-case"""

    def authentication_header(self, ctx: Context, name: str) -> str | None:
        return next((value.decode() for key, value in ctx.request.headers if key == name.encode()), None)


class LateAuthentication(Behaviour):
    """auth.comes-first"""

    def stages(self, ctx: Context) -> Any:
        return (self.check_key, self.resolve, self.authenticate, self.replay, self.validate, self.act)


class TooLenient(Behaviour):
    """fields.max-length, of one field of one operation"""

    def check_length(self, ctx: Context, field: Any, value: str) -> None:
        if (ctx.operation, field.name) != ("createBeneficiary", "title"):
            super().check_length(ctx, field, value)


class ActsThenRefuses(Behaviour):
    """refusal.changes-nothing"""

    def refused(self, ctx: Context, refusal: Refusal) -> None:
        if refusal.kind == "invalid_signature" and ctx.operation == "createAccount":
            self.resolve(ctx)
            self.validate(ctx)
            self.act(ctx)


class ForgetsBodies(Behaviour):
    """idempotency.conflict, on one operation"""

    def same_body(self, ctx: Context, answer: Any) -> bool:
        return ctx.operation == "createPayin" or super().same_body(ctx, answer)


class SharedKeys(Behaviour):
    """idempotency.other-organization"""

    def answer_scope(self, ctx: Context) -> str:
        return ctx.operation


class OpenDoors(Behaviour):
    """tenancy.foreign-parent, tenancy.no-leak"""

    def on_foreign_parent(self, ctx: Context, kind: str, record: Any) -> Any:
        return record


class ShowsIbans(Behaviour):
    """secrets.hidden, in one place"""

    def iban_masked(self, ctx: Context, record: Any) -> str | None:
        return record["iban"] if ctx.operation == "getBeneficiary" else super().iban_masked(ctx, record)


class LateStart(Behaviour):
    """list.start-date"""

    def start_date_condition(self, ctx: Context, query: Any) -> Condition | None:
        condition = super().start_date_condition(ctx, query)
        return condition and condition._replace(operator=">")


class NotJson(Behaviour):
    """http.content-type"""

    def finish(self, ctx: Context, response: Response) -> Response:
        if ctx.operation != "listWallets":
            return response
        return response.with_header(b"content-type", b"text/html")


class NumbersForMoney(Behaviour):
    """format.money"""

    def amount_text(self, ctx: Context, record: Any) -> Any:
        return float(record["amount"])


def _foreign(world: World) -> Call:
    return world.call("listAccounts", customer_id=world.seeded.secondary.customer_id)


def _shared_key(world: World) -> bool:
    call = world.call("createAccount")
    mine, theirs = world.send(call), world.send(call.but(target=_foreign(world).target), "secondary")
    return bool(mine.get("id") == theirs.get("id"))


def _acted(world: World) -> bool:
    before = world.rows()
    assert refusal(world.send(world.call("createAccount").signed(secret="x"))) == (401, "invalid_signature")
    return world.rows() > before


def _conflicting(world: World) -> bool:
    call = world.call("createPayin")
    return bool(world.send(call).document == world.send(call.with_field("amount", "11")).document)


def _late(world: World) -> bool:
    first = world.send(world.call("listPayoutDestinations"))
    query = {"start_date": first.get("items", 0, "created")}
    return bool(world.send(world.call("listPayoutDestinations").with_query(query)).get("total") == 0)


FAULTS: list[tuple[type[Behaviour], Callable[[World], bool]]] = [
    (LateAuthentication, lambda world: world.send(_foreign(world).signed(secret="x")).status == 403),
    (
        TooLenient,
        lambda world: world.send(world.call("createBeneficiary").with_field("title", "x" * 21)).succeeded,
    ),
    (ActsThenRefuses, _acted),
    (ForgetsBodies, _conflicting),
    (SharedKeys, _shared_key),
    (OpenDoors, lambda world: world.send(_foreign(world)).succeeded),
    (ShowsIbans, lambda world: "DE89370400440532013000" in str(world.make("getBeneficiary"))),
    (LateStart, _late),
    (NotJson, lambda world: world.send(world.call("listWallets")).header("content-type") == "text/html"),
    (NumbersForMoney, lambda world: world.make("createPayin")["amount"] == 10.0),
]


@pytest.mark.parametrize(("fault", "broken"), FAULTS, ids=[fault.__name__ for fault, _ in FAULTS])
def test_a_seam_breaks_its_rule_and_the_reference_keeps_it(
    fault: type[Behaviour],
    broken: Callable[[World], bool],
) -> None:
    assert broken(World(fault()))
    assert not broken(World())


def test_header_names_reach_the_behaviour_as_sent() -> None:
    call = World().call("listAccounts")
    swapped = call.signed(name_case="swapped")
    assert World().send(swapped).succeeded
    world = World(ExactCase())
    assert refusal(world.send(swapped)) == (401, "missing_headers")
    world.server.clock = system_clock
    with served(world.server) as base_url:
        client = Client(base_url, world.clients["primary"].organization, new_transport())
        assert client.send(call).succeeded
        assert refusal(client.send(swapped)) == (401, "missing_headers")


def test_a_broken_behaviour_is_answered_with_500(caplog: pytest.LogCaptureFixture) -> None:
    class Broken(Behaviour):
        def act(self, ctx: Context) -> None:
            raise KeyError(ctx.operation)

    world = World()
    world.server.behaviour = Broken()
    exchange = world.clients["primary"].send(world.call("listAccounts"))
    assert (exchange.status, exchange.error_type) == (500, "server_error")
    assert "KeyError" in caplog.text


# --------------------------------------------------------------------------- variants


class Otherwise(Behaviour):
    """Chooses otherwise wherever the specification is open."""

    timestamp_digits = 0
    array_style = "comma"
    newest_first = True

    def stages(self, ctx: Context) -> Any:
        return (self.authenticate, self.replay, self.validate, self.resolve, self.check_state, self.act)

    def success_status(self, ctx: Context) -> int:
        return 200

    def refusal_status(self, ctx: Context, refusal: Refusal) -> int:
        return 400 if refusal.status == 422 else refusal.status

    def in_range(self, ctx: Context, name: str, value: int, highest: int | None) -> int:
        return max(1, min(value, highest or value))

    def shape(self, ctx: Context, kind: str, document: dict[str, Any]) -> dict[str, Any]:
        if kind == "payout_destination":
            document = {name: value for name, value in document.items() if value is not None}
        return {**document, "links": []}

    def remembers_refusal(self, ctx: Context, refusal: Refusal) -> bool:
        return True

    def common_headers(self, ctx: Context) -> list[tuple[bytes, bytes]]:
        return []


def test_a_variant_chooses_otherwise() -> None:
    world = World(Otherwise())
    account = world.call("createAccount")
    assert world.send(account).succeeded
    assert refusal(world.send(account, "secondary")) == (403, "forbidden")
    made = world.send(world.call("createPayoutDestination"))
    assert made.status == 200 and made.header("date") is None
    assert "swift_code" not in made.document and made.get("links") == []
    assert made.get("created") == "2027-01-15T08:00:00Z"
    listing = world.call("listPayoutDestinations")
    page = world.send(listing.with_query("size=1000&page=-3&statuses=active,inactive"))
    assert (page.get("size"), page.get("page"), page.get("items", 0, "id")) == (100, 1, made.get("id"))
    assert world.make("updateBeneficiary")["updated"] > made.get("created")
    world.clock.forward(3.7)
    late = world.make("createPayoutDestination")
    assert late["created"] == "2027-01-15T08:00:03Z"
    assert world.send(listing.with_query({"start_date": late["created"]})).get("total") == 1
    assert world.send(listing.with_query({"end_date": "2027-01-15T08:00:03.5Z"})).get("total") == 3
    call = world.call("createPayout", {"amount": "0", "currency": "USD"})
    refused = world.send(call)
    assert refused.status == 400
    assert world.send(call).response_body == refused.response_body
    assert refusal(world.send(call.with_field("amount", "1"))) == (409, "idempotency_key_conflict")
    assert world.send(call).response_body == refused.response_body
