"""Undocumented reads and writes (sections 1 and 5) need authentication and stay within the organization."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

from conformance.checks.check import CheckContext, check
from conformance.contract import signing
from conformance.contract.fields import documented
from conformance.contract.json_text import all_objects
from conformance.contract.operations import OPERATIONS, Operation
from conformance.contract.rules import OPERATION_SETS
from conformance.contract.traits import ADDS_TO, TRAITS
from conformance.judge.comparison import identifiers
from conformance.judge.hidden_numbers import HIDDEN_FIELDS, squeezed
from conformance.judge.invariants import secret_in
from conformance.judge.outcomes import unusable
from conformance.judge.verdicts import Inconclusive
from conformance.wire.forms import new_key
from conformance.wire.messages import MISSING, Auth, Call, Exchange
from conformance.wire.pages import MAX_SIZE
from conformance.world.account import Account, identifier, parameters, quoted, unknown_like
from conformance.world.creations import creations

RULE = "auth.undocumented-reads"

#: Paths with a documented GET.
_PATHS = {operation.path for operation in OPERATIONS.values() if operation.method == "GET"}

#: Status for a method that a server does not implement (RFC 9110, 15.6.2).
NOT_IMPLEMENTED = 501


@check(RULE)
def test_undocumented_reads_are_guarded(ctx: CheckContext) -> None:
    """GET on the addresses where a created resource may be readable, alone or in a list, shows it neither
    without authentication nor to another organization, also below the latter's own account; nor do documented
    paths with the id of its customer or account left empty."""
    create = creations(ctx.run, ctx.operation.id)[0].exchange
    members = documented(ctx.operation.id)
    for what, call in _reads(create):
        unsigned = call.but(auth=Auth(omit=signing.HEADERS))
        _judge(ctx, ctx.send(unsigned, f"{what} without authentication"), create, members)
        if ctx.target.secondary is not None:
            _judge(ctx, ctx.send(call, f"{what} by another organization", "secondary"), create, members)
    for what, call in (
        [*_without_parent(create), *_below(ctx, create)] if ctx.target.secondary is not None else ()
    ):
        _judge(ctx, ctx.send(call, what, "secondary"), create, members)


@check(RULE)
def test_undocumented_changes_are_guarded(ctx: CheckContext) -> None:
    """PUT and DELETE on a created resource have no effect without authentication or for another organization;
    nor has a payout from an account that the body names."""
    create = creations(ctx.run, ctx.operation.id)[-1].exchange
    target, unsigned = f"{create.call.path}/{identifier(create)}", Auth(omit=signing.HEADERS)
    nowhere = f"{create.call.path}/{unknown_like(identifier(create))}"
    put, delete = Call(None, "PUT", target, body=create.call.body), Call(None, "DELETE", target)
    tried = [
        ("a PUT without authentication", put.but(auth=unsigned), "primary"),
        ("a DELETE without authentication", delete.but(auth=unsigned), "primary"),
    ]
    if ctx.target.secondary is not None:
        tried.append(("a PUT by another organization", put, "secondary"))
        tried.append(("a DELETE by another organization", delete, "secondary"))
    if ctx.target.secondary is not None and ctx.operation.traits.draws_on_funds:
        account = {"account_id": create.call.path.split("/")[3]}
        named = create.call.but(operation=None, target="/v1/transfers/payouts", idempotency_key=new_key())
        what = "a payout from another organization's account, which the body names"
        tried.append((what, named.with_json({**create.call.document, **account}), "secondary"))
    for what, call, organization in tried:
        known = ctx.send(call, what, organization)
        sent = [known]
        if known.succeeded:
            # A server that answers an unknown id alike carries nothing out.
            sent.append(ctx.send(call.but(target=nowhere), f"{what} of an unknown id", organization))
        done = known.succeeded and not any(other.succeeded for other in sent[1:])
        got = unusable(known, documented=False) or (known.described() if done else "")
        ctx.expect(RULE, f"{what}: not carried out", got, *sent)


@check("tenancy.foreign-parent", operations=OPERATION_SETS["read"])
def test_foreign_parent_in_the_query(ctx: CheckContext) -> None:
    """An own list or resource, read with another organization's path parameters in the query, shows nothing
    of that organization."""
    own, foreign = ctx.run.account("tenant"), ctx.run.account("tenant", "secondary")
    read = "list" if ctx.operation.is_list else "resource"
    if ctx.operation.is_list:
        with contextlib.suppress(Inconclusive):
            _of_list(foreign, ctx.operation.id)
    what = f"the {read} of the other organization, by itself"
    theirs = ctx.shown(foreign.call(ctx.operation.id), what, "secondary")
    ids = {name: foreign.ids(ctx.operation.id)[name] for name in parameters(ctx.operation.id)}
    what = f"an own {read} with the ids of another organization's parents in its query"
    answer = ctx.send(own.call(ctx.operation.id).with_query(ids), what)
    if _shown(theirs):
        common = _shown(answer) & _shown(theirs)
        got = unusable(answer) or (f"{len(common)} elements of the other's list" if common else "")
        ctx.expect("tenancy.foreign-parent", f"{what}: none of its elements", got, answer, theirs)


def _of_list(fixture: Account, operation: str) -> object:
    """Creates an element of a fixture's list."""
    match TRAITS[ADDS_TO[operation]].creates:
        case "payout_destination":
            return fixture.destination
        case "virtual_account":
            return fixture.virtual_account
        case "wallet":
            return fixture.create("createWallet")
    return fixture.account


def _shown(answer: Exchange) -> set[str]:
    """The ids of a list's items, or of the resource; none in an answer without them."""
    items = answer.get("items")
    if not answer.succeeded or items is not MISSING:
        return {*(identifiers(items) or ())} if answer.succeeded else set()
    own = answer.get("id")
    return {own} if isinstance(own, str) else set()


@check("secrets.hidden", operations=("createPayoutDestination",))
def test_undocumented_reads_are_masked(ctx: CheckContext) -> None:
    """The same addresses show their own organization no full number of a destination."""
    create = creations(ctx.run, ctx.operation.id)[0].exchange
    sent = create.call.document
    numbers = [(name, squeezed(sent[name])) for name in HIDDEN_FIELDS if len(sent.get(name, "")) >= 8]
    for what, call in _reads(create):
        answer = ctx.send(call, what)
        got = secret_in(answer, ctx.target, numbers)
        ctx.expect("secrets.hidden", f"{what}: masked numbers", got, answer)


def _reads(create: Exchange) -> Iterator[tuple[str, Call]]:
    """Undocumented GETs that may show a created resource, with their names."""
    collection, own = create.call.path, identifier(create)
    described = OPERATIONS[create.call.operation or ""]
    targets = [collection] if described.path not in _PATHS else []
    if not _single(described):
        targets.append(f"{collection}/{own}")
    alone = f"/v1/{collection.rpartition('/')[2]}"
    for target in (*targets, f"{alone}/{own}", f"{alone}?size={MAX_SIZE}"):
        path = target.replace(own, "{id}").split("/")
        yield f"GET {'/'.join(path[-2:])}", Call(None, "GET", target)


def _single(described: Operation) -> bool:
    """True if a GET of one resource that the operation creates is documented."""
    return any(path.rpartition("/")[0] == described.path and path.endswith("}") for path in _PATHS)


def _without_parent(create: Exchange) -> Iterator[tuple[str, Call]]:
    """GETs of a created resource and its list with an empty first id, which an access check may skip."""
    described = OPERATIONS[create.call.operation or ""]
    version, top, _, *rest = create.call.path.strip("/").split("/")
    collection = "/".join(["", version, top, "", *rest])
    for operation in OPERATIONS.values():
        single = operation.path.endswith("}") and operation.path.rpartition("/")[0] == described.path
        if operation.method == "GET" and (single or operation.path == described.path):
            target = f"{collection}/{identifier(create)}" if single else f"{collection}?size={MAX_SIZE}"
            what = f"{operation.id} with an empty id of the {top[:-1]}, by another organization"
            yield what, Call(None, "GET", target)


def _below(ctx: CheckContext, create: Exchange) -> Iterator[tuple[str, Call]]:
    """Undocumented GETs of a created resource below another organization's path, alone and in a list, where a
    server may check the owner of the path only."""
    described = OPERATIONS[create.call.operation or ""]
    single, listed = _single(described), described.path in _PATHS
    if single and listed:
        return
    try:
        ids = ctx.run.account(owner="secondary").ids(described.id)
    except Inconclusive:
        return
    path = described.path.format(**{name: quoted(value) for name, value in ids.items()})
    several, below = described.path.rpartition("/")[2], "below another organization's own path, by it"
    if not single:
        yield f"GET of a {several[:-1]} {below}", Call(None, "GET", f"{path}/{identifier(create)}")
    if not listed:
        yield f"GET of the {several} {below}", Call(None, "GET", f"{path}?size={MAX_SIZE}")


def _judge(ctx: CheckContext, answer: Exchange, create: Exchange, members: Sequence[str]) -> None:
    got = unusable(answer, documented=False) or _resource_in(answer, identifier(create), members)
    ctx.expect(RULE, f"{answer.purpose}: no resource shown", got, answer)


def _resource_in(answer: Exchange, identifier: str, members: Sequence[str]) -> str:
    """An object in an answer with this id and another documented member."""
    for each in all_objects(answer.document) if answer.succeeded else ():
        others = [name for name in members if name != "id" and name in each]
        if each.get("id") == identifier and others:
            return f"{answer.status} with {', '.join(['id', *others[:2]])}"
    return ""
