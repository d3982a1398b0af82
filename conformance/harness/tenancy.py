"""Resources of several owners, the paths that mix them up, and what a refusal may not tell of another's."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from typing import Any

from conformance.contract import timestamps
from conformance.contract.fields import documented
from conformance.contract.operations import OPERATIONS
from conformance.fixtures.account import AccountFixture, call, parameters, unknown_like
from conformance.fixtures.cache import Key
from conformance.fixtures.run_context import RunContext
from conformance.fixtures.samples import marker
from conformance.judging.comparison import same
from conformance.judging.findings import Inconclusive
from conformance.wire.messages import Call, Exchange

#: Free text fields, which carry a word of their own in marked scenes.
_MARKED = (
    "name",
    "first_name",
    "middle_name",
    "last_name",
    "display_name",
    "note",
    "label",
    "account_name",
    "description",
)

#: Forms of ids whose letters have no case of their own: UUIDs, ULIDs, hexadecimal digits.
_CASELESS = re.compile("[0-9A-Fa-f-]+|[0-9A-HJKMNP-TV-Za-hjkmnp-tv-z]{26}")

#: Shorter values may stand in any text by chance.
_TELLING = 6


_TENANT = Key["MarkedScene"]("a tenant's account")


class MarkedScene(AccountFixture):
    """A scene whose free text fields all carry random words, which appear nowhere else by chance."""

    def body(self, operation: str) -> dict[str, Any]:
        body = super().body(operation)
        # What the target file says about a field is what its server wants there.
        laid_over = {name for sample in self.run.target.samples.values() for name in sample}
        for name in _MARKED:
            if isinstance(body.get(name), str) and name not in laid_over:
                body[name] = f"{body[name][:40]} {marker()}"
        if isinstance(body.get("address"), dict) and "address" not in laid_over:
            body["address"] = {**body["address"], "address_line": f"1 {marker()} Street"}
        return body


def tenant_fixture(run: RunContext, name: str) -> AccountFixture:
    """One of the scenes that tenancy checks share; no other check works in them.

    "own", "sibling" (the same customer) and "cousin" (the organization's other customer) belong to the
    primary organization, "foreign" to the secondary.
    """
    customer = run.target.primary.other_customer_id if name == "cousin" else None
    organization = "secondary" if name == "foreign" else "primary"
    return run.cache.get(_TENANT.of(name), lambda: MarkedScene(run, organization, customer_id=customer))


# ---------------------------------------------------------------------- paths


def mixed(operation: str, top: dict[str, str], children: dict[str, str], body_of: AccountFixture) -> Call:
    """A call whose top-level path parameter comes from one place and the others from another."""
    first, *rest = parameters(operation)
    ids = {first: top[first], **{name: children[name] for name in rest}}
    body = body_of.body(operation) if OPERATIONS[operation].request_schema is not None else None
    return call(operation, ids, body)


def top_of(operation: str) -> str:
    """The top-level path parameter of an operation."""
    return parameters(operation)[0]


def children_of(operation: str) -> tuple[str, ...]:
    """The path parameters of an operation below the top-level one."""
    return parameters(operation)[1:]


def unknown(ids: dict[str, str]) -> dict[str, str]:
    """Ids of the same shape that do not exist."""
    return {name: unknown_like(value) for name, value in ids.items()}


def almost(ids: dict[str, str], name: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Ids that share most of their characters with one that exists, for servers that compare prefixes; none
    where ids are so short or so regular that such an id may well exist, too."""
    prefix, _, rest = ids[name].rpartition("_")
    if len(rest) >= 6 and rest.swapcase() != rest and not _CASELESS.fullmatch(rest):
        other = f"{prefix}_{rest.swapcase()}" if prefix else rest.swapcase()
        yield "an existing id in another letter case", {**ids, name: other}
    if len(rest) < 12 or rest.isdigit():
        return
    yield "an id with one character more than an existing one", {**ids, name: ids[name] + "0"}
    yield "an id that lacks the last character of an existing one", {**ids, name: ids[name][:-1]}


# ---------------------------------------------------------------------- leaks


class PrivateData:
    """What a scene's resources are like: what no refusal may show to another organization.

    Only documented members count: a server may have others that all its answers carry, whoever asks.
    """

    def __init__(self, fixture: AccountFixture, stranger: AccountFixture) -> None:
        self.documents = _documents(fixture)
        organization = fixture.client.organization
        known = {text for document in _documents(stranger) for text in _texts(document)}
        known |= {stranger.customer_id}
        found = {text for document in self.documents for text in _texts(document)}
        found |= {fixture.customer_id, organization.api_key}
        # What both organizations' resources hold alike is a constant, and tells nothing.
        self._telling = {text for text in found - known if _is_telling(text)}

    def shown_by(self, answer: Exchange) -> str:
        """Which of the facts an answer shows although the request did not hold it; empty if none."""
        sent = answer.call.target + "\n" + (answer.call.body or b"").decode("utf-8", "replace")
        given = set(_texts(_json(answer.call)))
        shown = list(_texts(answer.document)) or [answer.response_body.decode("utf-8", "replace")]
        shown += [value for _, value in answer.response_headers]
        for fact in sorted(self._telling):
            if fact not in sent and any(fact in text for text in shown):
                return f"{fact[:60]!r} of the other's resource"
        for name, value in _members(answer.document):
            if value in (None, "", [], {}):
                continue
            if isinstance(value, str) and (value in given or value in sent or _may_be_now(value)):
                continue
            if any(name in document and same(document[name], value) for document in self.documents):
                return f"the member {name[:60]!r} of the other's resource"
        return ""


def _documents(fixture: AccountFixture) -> list[dict[str, Any]]:
    """What a scene's resources were answered as in documented members, those that can be created."""
    found = []
    for part in ("account", "beneficiary", "destination", "virtual_account"):
        with contextlib.suppress(Inconclusive):
            made: Exchange = getattr(fixture, part)
            names = documented(made.operation or "")
            if isinstance(made.document, dict):
                found.append({name: value for name, value in made.document.items() if name in names})
    return found


def _is_telling(text: str) -> bool:
    return len(text) >= _TELLING and not _may_be_now(text)


def _may_be_now(text: str) -> bool:
    """Whether a text is an instant of a whole second: perhaps the present one, which any answer may show."""
    step = timestamps.step(text)
    return step is not None and step >= 1


def _json(request: Call) -> Any:
    try:
        return request.document
    except (ValueError, RecursionError):
        return None


def _texts(value: Any) -> Iterator[str]:
    """All strings in a JSON value; deep nesting, which only a hostile answer has, is not followed."""
    for _, one in _members({"": value}):
        if isinstance(one, str):
            yield one
        elif isinstance(one, list):
            yield from (item for item in one if isinstance(item, str))


def _members(value: Any, depth: int = 0) -> Iterator[tuple[str, Any]]:
    """All members of all objects in a JSON value, down to a depth that no sound answer reaches."""
    if depth > 20:
        return
    if isinstance(value, dict):
        for name, member in value.items():
            yield name, member
            yield from _members(member, depth + 1)
    elif isinstance(value, list):
        for member in value:
            yield from _members(member, depth + 1)
