"""What a server puts into each new account by itself: section 4 does not say that the lists of virtual
accounts and wallets begin empty, as it does of balances and of a beneficiary's destinations."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from conformance.contract import timestamps
from conformance.contract.traits import ADDS_TO
from conformance.judge.comparison import objects
from conformance.judge.effects import marked
from conformance.judge.expectations import Expectation
from conformance.judge.pages import none_of_another
from conformance.wire.messages import Exchange
from conformance.wire.pages import MAX_SIZE, page_of, query
from conformance.world.cache import Key
from conformance.world.lateness import look_until
from conformance.world.run_context import RunContext

#: The lists that a server may begin with elements of its own.
OPERATIONS = ("listVirtualAccounts", "listWallets")

_FURNISHED = Key[bool]("whether new accounts come with something of the server's own")

#: Seconds by which the times of one request may differ where they are cut or rounded.
_ROUNDING = 1


def furnished(run: RunContext, operation: str) -> bool:
    """Whether a list shows elements in a new account in which the run has made nothing. They count as the
    server's own if no answer to the run has made them and none is older than the account; what is of other
    accounts does not. Looked at once in a run. Raises Inconclusive where no account can be made."""
    if operation not in OPERATIONS:
        return False
    return run.cache.get(_FURNISHED.of(operation), lambda: _look(run, operation))


def _look(run: RunContext, operation: str) -> bool:
    if not made_by(run, operation):
        # Something that a list of other accounts' elements would show.
        elsewhere = run.account(fresh=True)
        run.send(elsewhere.client, elsewhere.call(ADDS_TO[operation]), "an element of another account")
    fixture = run.account(fresh=True)
    listing = fixture.call(operation).with_query(query(1, MAX_SIZE))
    exchange = look_until(
        run.cache,
        f"{operation} of a new account",
        lambda: run.send(fixture.client, listing, "does a new account come with something in it?"),
        lambda seen: (page := page_of(seen)) is None or bool(page.items),
    )
    items = objects(exchange.get("items")) if page_of(exchange) else []
    known = made_by(run, operation)
    return bool(items) and all(_came_with(fixture.account, item, known) for item in items)


def _came_with(account: Exchange, item: Mapping[str, Any], known: Collection[str]) -> bool:
    """Whether an element may have come with an account: no request made it, and it is no older."""
    opened, came = timestamps.parse(account.get("created")), timestamps.parse(item.get("created"))
    if opened is None or came is None or came < opened - _ROUNDING:
        return False
    return item.get("id") not in known and not marked(item)


def made_by(run: RunContext, operation: str) -> set[str]:
    """The ids of the elements of an operation's lists that the run has made anywhere."""
    return {made.id for made in run.made.resources if made.operation == ADDS_TO[operation]}


def only_own(
    run: RunContext,
    operation: str,
    what: str,
    shown: Collection[str],
    created: Collection[str],
    strangers: Mapping[str, str] | None = None,
    *,
    exact: bool = True,
) -> Expectation:
    """A list, which showed the ids `shown`, shows nothing of another parent; with `exact`, none but the
    created elements and what the server itself puts into new accounts."""
    others = set(shown) - set(created)
    if exact and others and furnished(run, operation):
        exact = False
        elsewhere = dict.fromkeys(others & made_by(run, operation), "another account's")
        strangers = {**elsewhere, **(strangers or {})}
    seen = set(shown)
    others_shown = [
        [identifier, whose] for identifier, whose in (strangers or {}).items() if identifier in seen
    ]
    return none_of_another(
        f"{what}: only elements that were created there",
        created=[identifier for identifier in created if identifier in seen],
        strangers=others_shown,
        exact=exact,
    )


def added(
    run: RunContext, operation: str, items: Iterable[Mapping[str, Any]], known: Collection[str]
) -> set[str]:
    """The ids of those elements of a list that are not `known` and that the server itself may have put there:
    nothing of a request shows in them."""
    unknown = {str(item.get("id")) for item in items if not marked(item)}.difference(known)
    unknown = unknown and unknown - made_by(run, operation)
    return unknown if unknown and furnished(run, operation) else set()
