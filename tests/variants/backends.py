"""What payment back ends do within the choices that the specification leaves: how runtimes write times and
JSON, fraud checks, limits of one place, and what follows from a change."""

from __future__ import annotations

import json
import re
from typing import Any

from conformance.reference.behaviour import Behaviour
from conformance.reference.context import Context, Record
from conformance.reference.core_messages import Response
from conformance.reference.seams.resources import RECORD_KINDS
from tests.support.overrides import Usual, with_header

from .choice import choice, demand, memory, move, times, with_members

# ---------------------------------------------------------------------- runtimes


def _is_json(response: Response) -> bool:
    return (b"content-type", b"application/json") in response.headers


@choice(seam="timestamp_text")
def fractions_trimmed(self: Behaviour, usual: Usual, ctx: Context, instant: int | None) -> str | None:
    """Writes no zeros at the end of a fraction, nor an empty one, as Go does."""
    text = usual(ctx, instant)
    return text and re.sub(r"\.?0*Z$", "Z", text) if text and "." in text else text


@choice(seam="timestamp_text")
def ticks(self: Behaviour, usual: Usual, ctx: Context, instant: int | None) -> str | None:
    """Writes times in units of 100 ns, as .NET does."""
    text = usual(ctx, instant)
    return f"{text[:-1]}0Z" if text and len(text) == 27 else text


@choice(seam="finish")
def slashes_escaped(self: Behaviour, usual: Usual, ctx: Context, response: Response) -> Response:
    """Escapes slashes and letters outside ASCII, with a line feed at the end, as PHP does."""
    response = usual(ctx, response)
    if _is_json(response):
        response.body = json.dumps(json.loads(response.body)).replace("/", "\\/").encode() + b"\n"
    return response


@choice(seam="finish")
def members_in_any_order(self: Behaviour, usual: Usual, ctx: Context, response: Response) -> Response:
    """Writes the members of each second answer in reverse order, as hash tables may."""
    response = usual(ctx, response)
    if _is_json(response) and times(self, "members in any order") % 2:

        def turned(value: Any) -> Any:
            if isinstance(value, dict):
                return {name: turned(member) for name, member in reversed(value.items())}
            return [turned(item) for item in value] if isinstance(value, list) else value

        response.body = json.dumps(turned(json.loads(response.body)), ensure_ascii=False).encode()
    return response


@choice("http.extra-fields", seam="finish")
def members_of_odd_types(self: Behaviour, usual: Usual, ctx: Context, response: Response) -> Response:
    """Adds members of every type: an empty name, large numbers, null, nested lists, links."""
    links = {"self": {"href": ctx.path.decode("latin-1")}, "parents": [[], [None], {"": 0}]}
    return with_members(usual(ctx, response), **{"": None}, _links=links, _version=12345678901234567890)


@choice(seam="finish")
def cookies_and_tags(self: Behaviour, usual: Usual, ctx: Context, response: Response) -> Response:
    """Sets a cookie of the session, and entity tags and links, on every answer."""
    number = times(self, "cookies and tags")
    response = with_header(usual(ctx, response), b"set-cookie", b"session=%d; Path=/; HttpOnly" % number)
    response = with_header(response, b"etag", b'W/"%d"' % number)
    return with_header(response, b"link", b'</v1>; rel="index"')


# ---------------------------------------------------------------------- what follows from a change


@choice(seam="disable_beneficiary")
def destinations_disabled_too(self: Behaviour, usual: Usual, ctx: Context) -> None:
    """Disables the destinations of a disabled beneficiary."""
    usual(ctx)
    for each in ctx.store.select("payout_destination", (ctx.beneficiary or {})["id"]):
        move(self, ctx, each, status="disabled")


@choice(seam="patched")
def reviewed_after_change(self: Behaviour, usual: Usual, ctx: Context, record: Record) -> Record:
    """Puts a beneficiary under review once its name has changed."""
    patched: Record = usual(ctx, record)
    named = {"first_name", "last_name", "company_name"} & ctx.values.keys()
    return {**patched, "status": "inactive"} if named and patched["status"] == "active" else patched


@choice(seam="create_payout")
def verified_when_paid(self: Behaviour, usual: Usual, ctx: Context) -> None:
    """Verifies a beneficiary with its first payout."""
    usual(ctx)
    payee = self.find(ctx, "beneficiary", str(ctx.values.get("beneficiary_id")))
    if payee is not None and not payee["verified"]:
        move(self, ctx, payee, verified=True)


# ---------------------------------------------------------------------- limits


@demand(seam="check_state", status=409)
def few_people_in_an_account(self: Behaviour, ctx: Context) -> object:
    """Limits an account to 30 beneficiaries."""
    limited = ctx.operation == "createBeneficiary"
    return limited and ctx.store.count(RECORD_KINDS[ctx.operation], self.parent(ctx)["id"]) >= 30


@demand(seam="check_funds", status=403)
def few_payouts_to_one(self: Behaviour, ctx: Context) -> object:
    """Limits the payouts to one destination to 20 a day."""
    paid = memory(self, "few payouts to one")
    paid[ctx.values.get("payout_destination_id")] += 1
    return paid[ctx.values.get("payout_destination_id")] > 20


@demand(seam="check_funds")
def no_bursts(self: Behaviour, ctx: Context) -> object:
    """Refuses more than 15 payouts from one account within a tenth of a second."""
    recent = memory(self, "no bursts")
    place = self.parent(ctx)["id"]
    last = [each for each in recent[place] or [] if each > ctx.now - 100_000]
    recent[place] = [*last, ctx.now]
    return len(last) >= 15
