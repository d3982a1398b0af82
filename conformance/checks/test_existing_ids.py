"""Bodies that name what exists (sections 1 to 4): an upsert by the id in a body takes it over, a body that is
spread over the path's ids moves the new resource elsewhere, and a nested one takes what belongs to others."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

from conformance.checks.beneficiaries import Beneficiary
from conformance.checks.check import Check, check
from conformance.checks.members import mismatches
from conformance.checks.side_effects import owner
from conformance.contract.fields import documented, request_fields
from conformance.contract.json_text import all_texts
from conformance.contract.operation_sets import OPERATION_SETS
from conformance.contract.operations import OPERATIONS, response_schema
from conformance.contract.traits import CREATES, TRAITS
from conformance.judge import outcomes
from conformance.judge.comparison import MOVING, alike, document, identifiers, objects, show
from conformance.judge.outcomes import Got, Unclear
from conformance.judge.paging import pageless
from conformance.judge.verdicts import Inconclusive
from conformance.wire.messages import Exchange
from conformance.wire.pages import MAX_SIZE, identity
from conformance.world.calls import call, identifier
from conformance.world.creations import created_in, creations
from conformance.world.lane import Fixture
from conformance.world.purposes import CREATED, SHARED, SIBLING_TENANT, TENANT, Purpose
from conformance.world.samples import Body, marker

RULE = "body.existing-ids"

#: Whose resource a body names -> the account that it stands in, and its organization.
_OWNERS: dict[str, tuple[Purpose, str]] = {
    "another own": (CREATED, "primary"),
    "a sibling account's": (SIBLING_TENANT, "primary"),
    "another organization's": (TENANT, "secondary"),
}

#: Members that name the parent of a resource, or a parent of that.
_PARENTS = dict.fromkeys(name for each in OPERATIONS.values() for name in each.path_parameters)


class Named:
    """A resource of the kind that an operation creates or changes, which a body names by its id."""

    def __init__(self, at: Check, whose: str) -> None:
        self.at, self.whose = at, whose
        self._create = at.operation.traits.subset_of or at.operation.id
        self.fixture = _place(at, whose, self._create)
        self.exchange = at.lane.cache.get(("named in bodies", whose, self._create), self._new)

    def _new(self) -> Exchange:
        if self._create == "createAccount":
            return Fixture(self.at.lane, owner(self.fixture), vacant=True).account
        return self.fixture.part(TRAITS[self._create].creates)

    def members(self) -> Body:
        """Members that name it, its parents, and what stands under it: those that the operation does not
        take."""
        operation, fields = (
            self.at.operation.id,
            {field.name for field in request_fields(self.at.operation.id)},
        )
        known = {*response_schema(operation)["properties"], *OPERATIONS[operation].path_parameters}
        members: Body = {"id": identifier(self.exchange)}
        for name in _PARENTS:
            if name in known - fields or name == "customer_id":
                members[name] = self.fixture.id_of(name)
        if self._create == "createAccount":
            members["account_id"] = members["id"]
        for name in _nested(operation):
            with self.at.probe(RULE):
                members[name] = [document(self.fixture.destination)]
        return members

    def ids(self) -> set[str]:
        """Ids of it and of what stands above and under it."""
        return {text for each in self.members().values() for text in _ids(each)}

    def lost(self, new: str) -> tuple[Got, Exchange | None]:
        """Looks at it as its owner; returns what has become of it, or that a new resource stands beside it,
        and the answer."""
        traits = TRAITS[self._create]
        if traits.listed_by and traits.creates != "account":
            request = call(traits.listed_by, self.fixture.ids(traits.listed_by))
            request = request.with_query({"page": 1, "size": MAX_SIZE})
        elif read := traits.read_by:
            own = {f"{traits.creates}_id": identifier(self.exchange)}
            request = call(read, {**self.fixture.ids(read), **own})
        else:
            return "", None
        under = {name: {*_ids(each)} for name, each in self.members().items() if isinstance(each, list)}
        what = f"{self.whose} {traits.creates.replace('_', ' ')}, which a body named"
        answer = self.at.eventually(
            lambda: self.at.find(request, what, owner(self.fixture)),
            lambda answer: self._problem(answer, new, under) == "",
            request.operation or "",
        )
        return self._problem(answer, new, under), answer

    def _problem(self, answer: Exchange, new: str, under: dict[str, set[str]]) -> Got:
        """What a read of it, or of its list, shows otherwise than it was: itself, the ids `under` it
        by member, or a new resource beside it."""
        if reason := outcomes.unusable(answer, documented=False):
            return reason
        if not answer.succeeded:
            return answer.described()
        if TRAITS[self._create].creates == "account":
            return ""
        # What stands under it may be created at any time, by other checks too.
        passed_over = {*MOVING, *_nested(self.at.operation.id)}
        expected = {name: each for name, each in document(self.exchange).items() if name not in passed_over}
        if "items" not in document(answer):
            wrong = mismatches(answer, expected)
            # Others may have been tried there.
            wrong += [name for name, ids in under.items() if not ids <= {*_ids(answer.get(name))}]
            return f"another {wrong[0]}" if wrong else ""
        if lost := pageless(answer):
            return lost
        items = {identity(item): item for item in objects(answer.get("items"))}
        own = identifier(self.exchange)
        if new in items and new != own:
            return f"the new resource {show(new)} in its list"
        if own not in items:
            return "a list without it" if answer.get("pages") == 1 else ""
        item = items[own]
        # Servers choose another default where one is created.
        names = item.keys() & expected.keys() - {"is_default"}
        wrong = [
            name
            for name in documented(self._create)
            if name in names and not alike(self._create, name, item[name], expected[name])
        ]
        return f"another {wrong[0]}" if wrong else ""

    def unnamed(self) -> Got:
        """What a new resource of the kind, which no body named, is shown as otherwise than it was made; empty
        where there can be none."""
        other = copy.copy(self)
        try:
            other.exchange = self.fixture.create(self._create)
        except Inconclusive:
            return ""
        return other.lost("")[0]


def _place(at: Check, whose: str, create: str) -> Fixture:
    """Returns the place of resources to name: that in which the operation creates others, or one with
    resources of its own in an account of another owner; for wallets in a new account."""
    purpose, organization = _OWNERS[whose]
    fresh = TRAITS[create].once
    if purpose is CREATED and not fresh:
        return created_in(at.lane, create)

    def make() -> Fixture:
        account = at.lane.account(SHARED if fresh else purpose, organization, fresh=fresh).account_id
        return Fixture(at.lane, organization, account_id=account)

    return at.lane.cache.get(("named in bodies", whose, fresh), make)


def _nested(operation: str) -> list[str]:
    """Members of an answer that hold resources."""
    return [name for name in response_schema(operation)["properties"] if name.removesuffix("s") in CREATES]


def _ids(value: Any) -> list[str]:
    return [value] if isinstance(value, str) else list(identifiers(value) or ())


def _named(at: Check) -> Iterator[Named]:
    """Yields resources of each owner that the target has and the server creates."""
    for whose, (_, organization) in _OWNERS.items():
        if organization == "primary" or at.target.secondary is not None:
            with at.probe(RULE):
                yield Named(at, whose)


def _judge(at: Check, named: Named, answer: Exchange, own: set[str]) -> None:
    """Judges that a body which names a resource was refused or its ids ignored, and that the resource is as
    it was; `own` are ids that the answer may show."""
    what = answer.purpose
    at.expect(RULE, *outcomes.refused_or_ignored(what, answer))
    new = answer.get("id") if answer.call.path != named.exchange.call.path else ""
    if answer.succeeded:
        members = {name: answer.get(name) for name in response_schema(at.operation.id)["properties"]}
        theirs = sorted((named.ids() - own) & {*all_texts(members)})
        got = outcomes.memberless(answer) or (f"{show(theirs[0])}, which the body named" if theirs else "")
        at.expect(RULE, f"{what}: an answer that shows nothing of that", got, answer, named.exchange)
    lost, look = named.lost(new if answer.succeeded and isinstance(new, str) else "")
    if isinstance(lost, str) and lost and named.unnamed() == lost:
        lost = Unclear(f"one that no body named is shown so as well: {lost}", "read.equals-create")
    if look is not None:
        at.expect(RULE, f"after {what}: that is as its owner made it", lost, look, answer, named.exchange)


def _one_by_one(members: Body) -> Iterator[tuple[str, Body]]:
    for name, value in members.items():
        yield f"the {name} of", {name: value}


def _name_all(at: Check, send: Callable[[Named, Body, str], Exchange]) -> None:
    """Sends bodies that name each resource, by all its ids; where that is refused, by one after the other."""
    for named in _named(at):
        members = named.members()
        if send(named, members, "all ids of").refused:
            for what, each in _one_by_one(members):
                send(named, each, what)


@check(RULE, operations=OPERATION_SETS["create"])
def test_create_that_names_what_exists(at: Check) -> None:
    """A create with the ids of an existing resource of the kind (an own one, a sibling account's, another
    organization's), of its parents and of what stands under it, all at once and, if that is refused, one by
    one, is refused or ignores them: what they name is neither changed, nor taken over, nor shown."""
    operation = at.operation.id
    # Raises Inconclusive where the sample is refused.
    _ = creations(at.lane, operation)

    def create(named: Named, members: Body, what: str) -> Exchange:
        fixture = created_in(at.lane, operation)
        # The pair of a wallet is taken where the one that is named stands.
        pair = TRAITS[operation].unique_pair
        sample = at.lane.samples.wallet(-1) if pair else fixture.body(operation)
        body = {**sample, **members}
        answer = at.send(
            call(operation, fixture.ids(operation), body), f"{what} {named.whose} resource in a body"
        )
        own = {*fixture.ids(operation).values(), fixture.customer_id}
        own |= {text for text in body.values() if isinstance(text, str)} - {*all_texts(members)}
        _judge(at, named, answer, own)
        return answer

    _name_all(at, create)


@check(RULE, operations=("updateBeneficiary",))
def test_update_that_names_what_exists(at: Check) -> None:
    """The same of a PATCH, which changes no other resource than that of its path."""
    fixture = created_in(at.lane, "createBeneficiary")
    person = Beneficiary(at, Fixture(at.lane, account_id=fixture.account_id))

    def patch(named: Named, members: Body, what: str) -> Exchange:
        answer = person.patch({"note": marker(), **members}, f"{what} {named.whose} resource in a PATCH")
        _judge(at, named, answer, {*person.ids.values(), fixture.customer_id})
        return answer

    _name_all(at, patch)
