"""Tenant scoping (section 5.5): paths that name resources of others.

ROWS has the paths. Each row is sent by its caller; the oracle judges the answer, the owners' resources must
stay as they were, and no refusal may show anything of another organization."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode

from conformance.checks.check import Check, check
from conformance.checks.engine import Engine, Step
from conformance.checks.other_tenants import IN_TURN, LEAK, between_organizations, near
from conformance.checks.races import Rounds
from conformance.checks.side_effects import UNTOUCHED, owner
from conformance.contract.operations import Operation
from conformance.judge.oracle import COUSIN, FOREIGN, NEAR, OWN, SIBLING, UNKNOWN
from conformance.wire.messages import Exchange, to_json
from conformance.wire.pages import Parameters, query, status_filter
from conformance.world.bodies import SAMPLE
from conformance.world.calls import call, parameters
from conformance.world.case import Case
from conformance.world.corpora.ids import INHERITED
from conformance.world.lane import Fixture
from conformance.world.purposes import PAYOUTS, SIBLING_TENANT, TENANT, Purpose, names_account
from conformance.world.shapes import accepted_body, accepts

PARENT, UNKNOWN_PARENT, MISSING = "tenancy.foreign-parent", "tenancy.unknown-parent", "tenancy.missing-child"

# ---------------------------------------------------------------------- tenants

#: Tenant -> the purpose and owner of its account, and the other tenants by their relation to it.
_TENANTS: Mapping[str, tuple[Purpose, str, Mapping[str, str]]] = {
    "own": (TENANT, "primary", {SIBLING: "sibling", COUSIN: "cousin", FOREIGN: "foreign"}),
    "sibling": (SIBLING_TENANT, "primary", {SIBLING: "own"}),
    "cousin": (TENANT, "cousin", {COUSIN: "own"}),
    "foreign": (TENANT, "secondary", {FOREIGN: "own"}),
    "stranger": (TENANT, "secondary", {FOREIGN: "funded"}),
    # No request of a run has made it.
    "funded": (PAYOUTS, "primary", {}),
}


def account(at: Check, name: str) -> Fixture:
    """Returns the account of a tenant: for payouts the funded one, whose balances alone show an effect."""
    purpose, whose, _ = _TENANTS[name]
    funded = name == "own" and at.operation.traits.draws_on_funds
    return at.account() if funded else at.lane.account(purpose, whose)


def tenant(at: Check, name: str) -> Engine:
    """Returns the engine of a tenant, which names resources of others."""
    _, whose, neighbours = _TENANTS[name]
    others = {kind: functools.partial(account, at, other) for kind, other in neighbours.items()}
    organization = "secondary" if whose == "secondary" else "primary"
    return Engine(at, functools.partial(account, at, name), others=others, organization=organization)


# ---------------------------------------------------------------------- paths


@dataclass(frozen=True)
class ForeignPath:
    """A request whose path names resources of others: the owners of its first parameter and of the rest.

    `body`: the caller's ("own"), the owner's ("theirs"), one of another shape with, for a list, a part of it
    ("other"), or a wallet that the owner has ("taken"). `empty`: updates also with the body {}."""

    name: str
    top: str = OWN
    rest: str = OWN
    caller: str = "own"
    body: str = "own"
    empty: bool = False
    where: Callable[[Operation], bool] = lambda operation: True


def _nested(operation: Operation) -> bool:
    return len(operation.path_parameters) > 1


def _pays(operation: Operation) -> bool:
    return bool(operation.traits.moves_money)


def _in_an_account(operation: Operation) -> bool:
    return names_account(operation.id) and not operation.traits.draws_on_funds


def _pairs(operation: Operation) -> bool:
    return bool(operation.traits.unique_pair)


ROWS: Mapping[str, Sequence[ForeignPath]] = {
    PARENT: (
        ForeignPath("another organization's path", FOREIGN, FOREIGN, body="theirs", empty=True),
        ForeignPath("another organization's account with an own payee", FOREIGN, where=_pays),
        ForeignPath("another organization's parent with an own child", FOREIGN, where=_nested),
        ForeignPath("another organization's parent with an unknown child", FOREIGN, UNKNOWN, where=_nested),
        ForeignPath(
            "another organization's account, which has that wallet", FOREIGN, body="taken", where=_pairs
        ),
        ForeignPath("the first organization's path for the second", FOREIGN, FOREIGN, "foreign", "other"),
        ForeignPath(
            "the first organization's account with funds, for the second",
            FOREIGN,
            UNKNOWN,
            "stranger",
            where=_in_an_account,
        ),
    ),
    UNKNOWN_PARENT: (
        ForeignPath("an unknown parent", UNKNOWN),
        ForeignPath("an unknown parent with an unknown child", UNKNOWN, UNKNOWN, where=_nested),
        ForeignPath("an unknown parent with another organization's child", UNKNOWN, FOREIGN, where=_nested),
    ),
    MISSING: (ForeignPath("an unknown child", OWN, UNKNOWN),),
    "tenancy.sibling-child": (
        ForeignPath("a child of another account", OWN, SIBLING, empty=True),
        ForeignPath("the other account with this one's child", OWN, SIBLING, "sibling", "other"),
        ForeignPath("a child of another customer's account", OWN, COUSIN),
    ),
    "tenancy.foreign-child": (
        ForeignPath("another organization's child under the own account", OWN, FOREIGN, empty=True),
        ForeignPath(
            "the first organization's child under the second's account", OWN, FOREIGN, "foreign", "other"
        ),
    ),
    "tenancy.other-customer-account": (
        ForeignPath("another customer's account under this customer", OWN, COUSIN),
        ForeignPath("this customer's account under the other customer", OWN, COUSIN, "cousin", "other"),
    ),
    "tenancy.foreign-account": (
        ForeignPath("another organization's account under the own customer", OWN, FOREIGN),
        ForeignPath(
            "the first organization's account under the second's customer", OWN, FOREIGN, "foreign", "other"
        ),
    ),
}

#: Operation -> another shape of body, which a server may handle separately.
_OTHER = {
    "createBeneficiary": "business",
    "updateBeneficiary": "an address abroad",
    "createPayoutDestination": "wallet",
    "createPayout": "another beneficiary and currency",
    "createVirtualAccount": "another currency",
    "createWallet": "another pair (2)",
    "createPayin": "another payment method",
}


def _cases(engine: Engine, rule: str, row: ForeignPath) -> Iterator[Case]:
    """Yields the request of a row, if the target has its owners, and that with the body {}."""
    owners, primary = {row.top, row.rest}, engine.at.target.primary
    if row.caller == "stranger" and primary.funded_account_id is None:
        return
    if COUSIN in owners and primary.other_customer_id is None:
        return
    if (FOREIGN in owners and engine.at.target.secondary is None) or not row.where(engine.at.operation):
        return
    first, *rest = parameters(engine.operation)
    whose, changes = {first: row.top, **dict.fromkeys(rest, row.rest)}, dict[str, Any]()
    if row.body != "own" and engine.at.operation.request_schema is not None:
        if (body := _body(engine, row)) is None:
            return
        changes["body"] = to_json(body)
    yield engine.case(
        rule, row.name, whose=whose, query=_part(engine) if row.body == "other" else "", **changes
    )
    if row.empty and engine.traits.subset_of:
        yield engine.case(rule, f"{row.name}, with the body {{}}", whose=whose, body=b"{}")


def _body(engine: Engine, row: ForeignPath) -> dict[str, Any] | None:
    """Returns the body of a row; None where the target has only one pair of a wallet."""
    operation, whose = engine.operation, engine.other(FOREIGN) if row.top == FOREIGN else engine.fixture
    if row.body == "taken":
        samples = engine.at.lane.samples
        if len(samples.wallet_pairs) < 2:
            return None
        engine.at.lane.cache.get(
            "another organization's wallet", lambda: whose.create(operation, samples.wallet(1))
        )
        return samples.wallet(1)
    shape = _OTHER.get(operation, SAMPLE)
    other = row.body == "other" and accepts(engine.at.lane, operation, shape)
    return accepted_body(whose, operation, shape) if other else whose.body(operation)


def _part(engine: Engine) -> str:
    """Returns the query of page 2 of size 1 of a list, with a value for each filter."""
    if not engine.at.operation.is_list:
        return ""
    named, style = {*engine.at.operation.query_parameters}, engine.at.target.array_style
    filters: Parameters = []
    if engine.at.operation.status_parameter:
        filters += status_filter(engine.operation, style, "active")
    if "currency" in named:
        create = engine.at.operation.filled_by
        code = engine.fixture.body(create)["currency"] if create else "USD"
        filters.append(("currency", str(code)))
    dates = {"start_date": "2000-01-01T00:00:00Z", "end_date": "2100-01-01T00:00:00Z"}
    filters += [(name, date) for name, date in dates.items() if name in named]
    return urlencode(query(2, 1, filters), quote_via=quote)


def _near(engine: Engine, rule: str) -> Iterator[Case]:
    """Yields ids like the existing ones, a member that all objects inherit, and another kind's id."""
    top, *children = parameters(engine.operation)
    changes = dict[str, Any]()
    if engine.traits.unique_pair:
        # One that is there is refused whatever the path names: of the last pair no check has any there.
        changes["body"] = to_json(engine.at.lane.samples.wallets()[-1])
    for name in [top] if rule == UNKNOWN_PARENT else children:
        known, inherited = engine.ids[name], engine.turn(INHERITED)
        turn = engine.turn(IN_TURN, parameters(engine.operation).index(name))
        ids = [*near(known, turn), (f"the id {inherited}", inherited)]
        with engine.at.probe(rule):
            ids.append(("the id of another kind of resource", _of_another_kind(engine.fixture, name)))
        for what, other in ids:
            yield engine.case(rule, f"{name}: {what}", whose={name: NEAR + other}, **changes)


def _of_another_kind(fixture: Fixture, name: str) -> str:
    if name == "customer_id":
        return fixture.account_id
    return fixture.id_of("virtual_account_id") if name == "beneficiary_id" else fixture.beneficiary_id


# ---------------------------------------------------------------------- checks


def judge_rows(at: Check, rule: str, *watched: str) -> None:
    """Sends the rows of a rule, and judges answers, effects on the watched tenants, and leaks."""
    steps: list[Step] = []
    for row in ROWS[rule]:
        if row.caller != "cousin" or at.target.primary.other_customer_id is not None:
            engine = tenant(at, row.caller)
            steps += engine.steps(_cases(engine, rule, row))
    own = tenant(at, "own")
    if rule in (UNKNOWN_PARENT, MISSING):
        steps += own.steps(_near(own, rule))
    watch = [tenant(at, name) for name in watched]
    reads = rule == PARENT and at.operation.method == "GET"
    answers = own.batch(
        _after_owners(at, steps) if reads else steps,
        watch,
        leaks=between_organizations(at),
        what="requests for resources of others",
    )
    if reads:
        # Of a resource that is there.
        known = [UNKNOWN not in dict(step.case.path).values() for step in steps]
        *_, last = itertools.compress(answers, known)
        if last.refused:
            _judge_owner(at, last)


def _after_owners(at: Check, steps: Sequence[Step]) -> Iterator[Step]:
    """Yields steps; before those of each organization, the other one reads what these ask for, which a cache
    that ignores credentials would then answer."""
    reader = ""
    for step in steps:
        if reader != owner(step.engine.fixture):
            reader, theirs = owner(step.engine.fixture), step.engine.other(FOREIGN)
            at.find(theirs.call(at.operation.id), "the owner reads what another will ask for", owner(theirs))
        yield step


def _judge_owner(at: Check, refusal: Exchange) -> None:
    """Judges that the owner is not answered with another's refusal from a cache; it may be locked out."""
    what = "the owner reads what another organization was just refused"
    own = account(at, "own").call(at.operation.id)
    # A replica may lag.
    answer = at.find(own.but(target=refusal.call.target), what)
    elsewhere = at.lane.account(SIBLING_TENANT).call(at.operation.id)
    alike = answer.refused and answer.status == refusal.status
    if answer.succeeded or (alike and at.send(elsewhere, "the owner reads another address").succeeded):
        at.accepted(PARENT, answer, refusal)


@check(PARENT, LEAK, UNTOUCHED)
def test_foreign_parent(at: Check) -> None:
    """Another organization's customer or account is answered with 403, whatever follows it in the path, in
    both directions, also the account of the target file; the refusal shows nothing of its resources and
    changes none."""
    if at.operation.traits.subset_of:
        # Before the snapshots, as it may move `updated`.
        request = account(at, "own").call(at.operation.id, {})
        at.send(request, "the owner changes nothing where another one will")
    judge_rows(at, PARENT, "own", "foreign")


#: The organizations whose requests are sent at once.
_BOTH = ("primary", "secondary")


@check(PARENT, operations=("listAccounts",))
def test_foreign_parent_at_once(at: Check) -> None:
    """Two organizations ask for one customer's accounts at once: its owner is answered, the other refused."""
    request = at.valid().with_query(query(1, 1))
    rounds = Rounds(at, 1)
    for _ in rounds:
        answers = rounds.race([request] * 8, "requests of two organizations at once", _BOTH)
        limited = [answer for answer in answers if answer.throttled]
        judged = {answer.organization for answer in answers if answer not in limited}
        for answer in answers:
            if answer in limited and answer.organization in judged:
                # The others are probes of their own.
                continue
            if answer.organization == "primary":
                others = (other for other in answers if other is not answer)
                at.accepted(
                    PARENT, answer, *others, what="the owner's request, beside another organization's"
                )
            else:
                at.refused(PARENT, answer, 403, what="another organization's request, beside the owner's")


@check(UNKNOWN_PARENT)
def test_unknown_parent(at: Check) -> None:
    """An unknown customer or account is answered with 404, also above children that exist elsewhere; ids that
    almost equal an existing one, or belong to another type of resource, are refused."""
    judge_rows(at, UNKNOWN_PARENT)


@check(MISSING, UNTOUCHED)
def test_missing_child(at: Check) -> None:
    """A child that does not exist under an own parent is answered with 404; ids that almost equal an existing
    child's, or belong to another type of resource, are refused."""
    judge_rows(at, MISSING, "own")


@check("tenancy.sibling-child", UNTOUCHED)
def test_child_of_sibling(at: Check) -> None:
    """A child of another account of the organization is answered with 404, in both directions, also if that
    account is another customer's and the child is disabled; the child is unchanged."""
    watched = ["own", "sibling"]
    if at.target.primary.other_customer_id is not None:
        watched.append("cousin")
        if "beneficiary_id" in at.operation.path_parameters:
            # Once in a run: servers look for these apart.
            fixture = account(at, "cousin")
            ids = {"account_id": fixture.account_id, "beneficiary_id": fixture.beneficiary_id}
            request = call("disableBeneficiary", ids)
            purpose = "a beneficiary to disable, which is another customer's"
            at.lane.cache.get((purpose, fixture.beneficiary_id), lambda: at.send(request, purpose))
    judge_rows(at, "tenancy.sibling-child", *watched)


@check("tenancy.foreign-child", LEAK, UNTOUCHED)
def test_child_of_another_organization(at: Check) -> None:
    """Another organization's child under an own account is answered with 404; the refusal shows nothing of
    it, and it is unchanged."""
    judge_rows(at, "tenancy.foreign-child", "own", "foreign")


@check("tenancy.other-customer-account")
def test_account_of_another_customer(at: Check) -> None:
    """An account of another customer of the organization is answered with 404, in both directions."""
    judge_rows(at, "tenancy.other-customer-account")


@check("tenancy.foreign-account", LEAK)
def test_account_of_another_organization(at: Check) -> None:
    """Another organization's account under an own customer is answered with 403 or 404, and not shown."""
    judge_rows(at, "tenancy.foreign-account")


@check("tenancy.and-validation")
def test_foreign_parent_and_invalid_body(at: Check) -> None:
    """Records which refusal takes precedence: another organization's account, or an invalid body."""
    question = "another organization's account and an invalid body"
    foreign = at.lane.account(TENANT, "secondary").call(at.operation.id)
    at.record("tenancy.and-validation", at.send(foreign.but(body=b"{}"), question))
