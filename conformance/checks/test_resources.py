"""Created resources (sections 2, 3 and 4.1 to 4.7): echo, texts, initial state, formats and later reads."""

from __future__ import annotations

import contextlib
import itertools
from typing import Any

from conformance.checks.beneficiaries import Beneficiary
from conformance.checks.check import Check, check
from conformance.checks.list_judging import shown_as_created
from conformance.checks.members import (
    judge_last_words,
    judge_members,
    no_balance,
    read_until,
    send_with_texts,
    showing,
)
from conformance.contract.new_resources import NULLABLE, PARENTS, initial_state, sent, stated
from conformance.contract.operation_sets import OPERATION_SETS
from conformance.contract.operations import item_fields, response_rules
from conformance.contract.traits import CREATES, TRAITS, create_read_by
from conformance.judge import outcomes
from conformance.judge.comparison import MOVING, document, found_again, identifiers, normalized, same
from conformance.judge.outcomes import NOTHING_SHOWN, Judgement
from conformance.judge.verdicts import Inconclusive
from conformance.wire.messages import MISSING, Exchange
from conformance.wire.pages import MAX_SIZE, query
from conformance.world.calls import call, identifier
from conformance.world.corpora.stored_texts import PRECISE
from conformance.world.creations import created_in, creations, place
from conformance.world.known_lists import large_list
from conformance.world.lane import Fixture
from conformance.world.samples import Body
from conformance.world.shapes import with_all_texts
from conformance.world.text_turns import Place, places, stands_for_nothing, turns, with_texts

#: Rules of the format of any answer.
FORMATS = (
    "format.fields",
    "format.object",
    "format.id",
    "format.account-id",
    "format.timestamp",
    "format.money",
    "format.nullable",
    "format.enum",
    "format.bank-details",
    "format.iban",
)


# ---------------------------------------------------------------------- creating


@check("create.echo")
def test_what_was_sent_is_shown(at: Check) -> None:
    """Resources are created with all fields, with the required ones only, with other values and with text
    that is easily corrupted: each answer shows every field as sent, and the ids of its parents; what a query
    says beside the body does not replace it."""
    operation = at.operation.id
    for resource in creations(at.lane, operation):
        what, exchange = f"created with {resource.kind}", resource.exchange
        fields, other = sent(operation, resource.body), normalized(resource.body)
        judge_members(at, "create.echo", exchange, fields, what, otherwise=other)
        parent = PARENTS[operation]
        at.member("create.echo", exchange, parent, resource.fixture.ids(operation)[parent], what=what)
    usual, text = at.valid(), at.operation.traits.free_text
    # Answers to payins show no description.
    name, value = (text, "conformance") if text in sent(operation, usual.document) else ("amount", "7.13")
    if name in usual.document:
        what = f"created with another {name} in the query than in the body"
        answer = at.send(usual.with_query({name: value}), what)
        if answer.succeeded:
            at.member("create.echo", answer, name, usual.document[name])


@check("create.text-exact", "create.echo")
def test_text_comes_back_exactly(at: Check) -> None:
    """Text with characters outside the basic plane and in several normal forms, in each free-text field,
    comes back as sent, if accepted, and never loses the characters behind these; so do e-mail addresses and
    telephone numbers."""
    rule, operation, name = "create.text-exact", at.operation.id, at.operation.traits.free_text
    for resource in creations(at.lane, operation):
        written = {name: resource.body[name] for name in normalized(resource.body)}
        judge_members(at, rule, resource.exchange, written, f"created with {resource.kind}")
    at.not_exercised("create.echo", "no text in letters and signs of all kinds was taken")
    fixture = created_in(at.lane, operation)
    body, fixed = with_all_texts(fixture, operation), fixture.lane.samples.over(at.operation.resource)
    if name not in body or name in fixed:
        at.not_exercised(rule, f"the sample has no free {name}")
        return
    texts = {place: PRECISE for place in places(operation) if {place[0]} & body.keys() - fixed}
    calls = [fixture.call(operation, tried) for tried in with_texts(operation, body, texts)]
    answers = at.until_accepted(calls, what := f"{name} in letters and signs of all kinds")
    if not answers or answers[-1].refused:
        at.not_applicable(rule, f"{what} was refused")
        return
    answer, names = answers[-1], list(dict.fromkeys(name for name, _ in texts))
    judge_members(at, rule, answer, {name: answer.call.document[name] for name in names})
    judge_last_words(at, "create.echo", answer, [*texts], what)
    if answer.succeeded:
        _judge_stored(at, fixture, answer, names)


def _judge_stored(at: Check, fixture: Fixture, created: Exchange, names: list[str]) -> None:
    """Judges that a read of the new resource, else the list that holds it, shows texts as the create answered
    or sent them: a database may take fewer characters than JSON. A customer has too many accounts to look for
    one."""
    rule, traits = "create.text-exact", at.operation.traits
    answered = {name: created.get(name) for name in names}
    what = "text of all kinds of letters, read later"
    if traits.shown_only_by_read:
        ids = fixture.ids(at.operation.id) | {f"{traits.creates}_id": identifier(created)}
        body = created.call.document
        look = read_until(at, call(traits.read_by, ids), what, answered, otherwise=body)
        judge_members(at, rule, look, answered, otherwise=body, shown_by=[created])
        return
    if not traits.listed_by or traits.shared:
        return
    listing = fixture.call(traits.listed_by).with_query(query(1, MAX_SIZE))

    def judgements(answer: Exchange) -> dict[str, Judgement]:
        return {
            name: shown_as_created(f"{what} in its list", name, answer, created)
            for name in names
            if name in item_fields(traits.listed_by)
        }

    look = at.eventually(
        lambda: at.send(listing, what),
        lambda answer: all(got == "" for _, got, *_ in judgements(answer).values()),
        traits.listed_by,
    )
    if created.get("id") in (identifiers(look.get("items")) or ()):
        for name, judgement in judgements(look).items():
            at.expect(rule, *judgement, member=name)


@check("create.initial-state")
def test_initial_state(at: Check) -> None:
    """Resources created with each kind of body show the stated initial state, and the stated default of each
    field that was not sent."""
    operation = at.operation.id
    for resource in creations(at.lane, operation):
        expected, what = initial_state(operation, resource.body), f"newly created with {resource.kind}"
        judge_members(at, "create.initial-state", resource.exchange, expected, what)


@check("create.assigned")
def test_assigned_values_are_its_own(at: Check) -> None:
    """Records whether two resources share a value that the server assigns."""
    creates = [creation.exchange for creation in creations(at.lane, at.operation.id)]
    for name in ("bank_details", "reference", "provider_reference_id", "addresses"):
        values = [exchange.get(name) for exchange in creates]
        if len(creates) > 1 and MISSING not in values:
            alike = any(same(value, other) for value, other in itertools.combinations(values, 2))
            answer = "shared" if alike else "of its own"
            at.observe("create.assigned", f"{name} of another resource", answer, *creates)


@check("format.nullable", operations=tuple(NULLABLE))
def test_fields_left_out_are_null(at: Check) -> None:
    """Optional fields typed "or null" that were not sent are in the answer, and null."""
    operation = at.operation.id
    for resource in creations(at.lane, operation):
        for name in NULLABLE[operation]:
            if resource.body.get(name) is None:
                what = f"created with {resource.kind}, {name} not sent, or null"
                at.equal("format.nullable", what, name, None, resource.exchange)


@check("format.id-unique")
def test_every_resource_has_its_own_id(at: Check) -> None:
    """Resources of one account (also with the same body), of another account and of another organization all
    have different ids."""
    operation = at.operation.id
    creates = [creation.exchange for creation in creations(at.lane, operation)]
    first = creations(at.lane, operation)[0]
    if not at.operation.traits.unique_pair:
        again = call(operation, first.fixture.ids(operation), first.body)
        creates.append(at.send(again, "the same body again, with another key"))
    if not at.operation.traits.draws_on_funds:  # only the funded account can be relied on to pay
        for organization in ("primary", *(("secondary",) if at.target.secondary else ())):
            with at.probe("format.id-unique"):
                elsewhere = at.account(owner=organization, fresh=at.operation.traits.once).call(operation)
                creates.append(at.send(elsewhere, f"one in another account ({organization})", organization))
    accepted = [each for each in creates if each.succeeded and isinstance(each.get("id"), str)]
    ids: dict[str, Exchange] = {}
    for exchange in accepted:
        other = ids.setdefault(str(exchange.get("id")), exchange)
        if other is exchange:
            other = accepted[0]
        if other is not exchange:
            same_id = exchange.get("id") == other.get("id") and not found_again(exchange, other)
            got = "the id of another resource" if same_id else ""
            at.expect("format.id-unique", f"{exchange.purpose}: an id of its own", got, exchange, other)


# ---------------------------------------------------------------------- reading


@check("read.equals-create", "read.delay")
def test_read_equals_create(at: Check) -> None:
    """After several creates with different bodies, each resource is read, the first one twice: each read
    shows what its create answered."""
    create = create_read_by(at.operation.id)
    rule, resources = "read.equals-create", creations(at.lane, create)
    for resource in [*resources, resources[0]]:
        fixture, exchange = resource.fixture, resource.exchange
        try:
            own = {"account_id": fixture.account_id, f"{at.operation.resource}_id": identifier(exchange)}
        except Inconclusive as stop:
            at.unclear(rule, stop.why, exchange)
            continue
        created, truth = document(exchange), stated(create, resource.body, fixture.ids(create))
        reading, what = call(at.operation.id, own), f"read after it was created with {resource.kind}"
        answer = read_until(at, reading, what, created, but=MOVING, otherwise=truth)
        if at.accepted(rule, answer) and isinstance(answer.document, dict):
            judge_members(at, rule, answer, created, but=MOVING, otherwise=truth, shown_by=[exchange])
    at.observe_delay("when does a write show?")


# ---------------------------------------------------------------------- formats


@check(*FORMATS, operations=OPERATION_SETS["all"])
def test_answers_have_the_documented_form(at: Check) -> None:
    """Each member of the answer to a valid request has its documented format; other checks judge this of
    every answer as well."""
    operation = at.operation.id
    if operation in OPERATION_SETS["create"]:
        answers = [resource.exchange for resource in creations(at.lane, operation)]
    else:
        answers = [showing(at, "a valid request with something to show")]
    for answer in answers:
        for rule in at.rules.values():
            unseen = rule.id not in response_rules(operation, answer.document)
            if at.operation.traits.shows_balances and unseen and answer.get("balances") == []:
                no_balance(at, rule.id, answer)
                continue
            if not at.operation.filled_by or answer.get("items"):
                # A client cannot make a server show optional members, nor elements that no create makes.
                at.not_applicable(rule.id, NOTHING_SHOWN)
            at.expect(rule.id, *outcomes.documented(rule.statement, rule.id, operation, [answer]))


# ---------------------------------------------------------------------- texts that servers alter


#: Creates of which each element of a long list has texts of its own.
_LABELLED = {name for name in CREATES.values() if TRAITS[name].listed_by and not TRAITS[name].unique_pair}


@check("create.echo", operations=_LABELLED)
def test_labels_of_many(at: Check) -> None:
    """Elements of a long list, created with names or labels of all kinds, show these as sent."""
    name = at.operation.traits.free_text
    with contextlib.suppress(Inconclusive):
        for exchange in large_list(at.lane, at.operation.traits.listed_by).created.values():
            if name in exchange.call.document:
                at.member("create.echo", exchange, name, exchange.call.document[name])
    at.not_exercised("create.echo", "there is no long list")


@check(
    "create.echo",
    operations=[
        name
        for name in CREATES.values()
        if places(name) and name not in _LABELLED and not TRAITS[name].draws_on_funds
    ],
)
def test_texts_of_all_kinds(at: Check) -> None:
    """Resources are created with texts that servers are known to alter, in each field: each answer shows them
    as sent, unless the server refuses them."""
    operation = at.operation.id
    for number, texts in enumerate(turns(operation), 1):
        what = f"created with letters and signs of all kinds, set {number}"
        fixture, sample = place(at.lane, operation)
        pair = {name: sample[name] for name in at.operation.traits.unique_pair}
        # That of an individual may be null.
        shape = "individual with company_name" if stands_for_nothing(texts) else "business"
        send_with_texts(at, fixture, with_all_texts(fixture, operation, shape) | pair, texts, what)
    at.not_exercised("create.echo", "the server takes none of the texts")


@check("beneficiary.update", "beneficiary.update-text-exact")
def test_updates_with_texts_of_all_kinds(at: Check) -> None:
    """Each field of a beneficiary is changed to texts that servers are known to alter, all fields at once:
    each answer, and a read at the end, shows them as sent, unless the server refuses them."""
    exact = "beneficiary.update-text-exact"
    rule, operation, fixture = "beneficiary.update", at.operation.id, at.account(fresh=True)
    fixed, changed = fixture.lane.samples.over("beneficiary"), dict[str, Any]()
    plain = with_all_texts(fixture, "createBeneficiary")
    plain = {name: value for name, value in plain.items() if name not in fixed}
    person = Beneficiary(at, fixture)
    precise: dict[Place, str | None] = {place: PRECISE for place in places(operation) if place[0] in plain}
    for number, texts in enumerate([precise, *turns(operation)]):
        what = f"a PATCH to letters and signs of all kinds, set {number + 1}"
        patches: list[Body] = []
        for body in with_texts(operation, plain, texts):
            patch = {name: value for name, value in body.items() if value != plain[name]}
            kind = "individual" if stands_for_nothing(texts) else "business"
            patches.append(patch | ({"beneficiary_type": kind} if "company_name" in patch else {}))
        answer = person.patch_any(patches, what) if patches else None
        if answer is None or not answer.succeeded:
            continue
        patch = answer.call.document
        if texts is precise:
            judge_members(at, exact, answer, {name: patch[name] for name, _ in texts if name in patch})
            sent_texts = [place for place in texts if place[0] in patch]
            judge_last_words(at, rule, answer, sent_texts, what)
        else:
            changed |= patch
            judge_members(at, rule, answer, changed)
    if changed:
        what = "a read after PATCHes to letters and signs of all kinds"
        judge_members(at, rule, person.read_until(what, changed), changed)
    at.not_exercised(rule, "the server takes none of the texts")
    at.not_applicable(exact, "the server takes no text in letters and signs of all kinds")
