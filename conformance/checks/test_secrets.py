"""Secrets (sections 2.4 and 5.1), which no answer shows, and undocumented reads and writes (sections 1
and 5), which need authentication and stay within the organization."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from urllib.parse import unquote

from conformance.checks.check import Check, check
from conformance.checks.members import furnish
from conformance.checks.other_tenants import numbers_of
from conformance.contract import signing
from conformance.contract.fields import HIDDEN, documented, request_fields
from conformance.contract.json_text import all_objects
from conformance.contract.operation_sets import OPERATION_SETS
from conformance.contract.operations import OPERATIONS
from conformance.judge.comparison import identifiers
from conformance.judge.invariants import secret_in, telling_secrets
from conformance.judge.outcomes import Unclear, unusable
from conformance.judge.verdicts import Inconclusive
from conformance.wire.forms import new_key
from conformance.wire.messages import MISSING, Auth, Call, Exchange
from conformance.wire.pages import MAX_SIZE
from conformance.world import parts, samples
from conformance.world.bodies import bodies
from conformance.world.calls import call, identifier, parameters, quoted, renewed, unknown_like
from conformance.world.creations import creations
from conformance.world.lane import Fixture
from conformance.world.purposes import PAYOUTS, TENANT
from conformance.world.shapes import accepted_body, accepts

CREATE = "createPayoutDestination"

#: Operations whose answers concern destinations or their beneficiaries.
_NEAR = (
    CREATE,
    "listPayoutDestinations",
    "getBeneficiary",
    "updateBeneficiary",
    "disableBeneficiary",
    "createPayout",
)

#: A fixture, and the creates of its destinations: those of each kind, and those with numbers of all lengths.
Vault = tuple[Fixture, list[Exchange], list[Exchange]]


def new_vault(at: Check) -> Vault:
    """A new account with a destination of each kind that the server accepts. Raises Inconclusive if it
    refuses the sample."""
    run = at.lane
    # Only that of a beneficiary to be disabled is no other operation's.
    own = at.operation.id if at.operation.traits.disables else ""
    fixture = run.account(fresh=True, operation=own)
    created = [fixture.destination]
    wallet, bank = run.samples.wallet_destinations()[0], fixture.bank_account()
    # A server may mask only the numbers of the destination's type, or only addresses of one network.
    numbered = {**wallet, "iban": samples.iban()}
    other = {**numbered, "network": "solana_devnet", "wallet_address": samples.solana_address()}
    card = {**bank, "type": "card", "account_number": samples.digits(16)}
    beside = {**bank, "iban": samples.iban(), "wallet_address": wallet["wallet_address"]}
    rows = [bodies(fixture, CREATE, name) for name in ("IBAN alone", "wallet")]
    for tries in (*rows, [other, numbered], [card], [beside]):
        calls = [fixture.call(CREATE, body) for body in tries]
        answers = at.until_accepted(calls, "a destination whose number must stay hidden")
        created += [answer for answer in answers if answer.succeeded]
    shapes = ("IBAN alone", "wallet")
    plain = [accepted_body(fixture, CREATE, each) if accepts(run, CREATE, each) else None for each in shapes]
    unusual = parts.of_all_lengths(*plain).items()
    tried = [at.send(fixture.call(CREATE, body), f"a destination with {what}") for what, body in unusual]
    return fixture, created, [answer for answer in tried if answer.succeeded]


@check("secrets.hidden")
def test_no_answer_shows_secrets(at: Check) -> None:
    """In an account with destinations of each kind the operation is called validly, as an idempotent replay
    and with all sorts of defects, with the numbers in the bodies: no answer has a full number or a signing
    secret."""
    fixture, created, unusual = _vault(at)
    numbers = numbers_of([*created, *unusual])
    if not numbers and not telling_secrets(at.target):
        raise Inconclusive(
            Unclear(
                "the signing secrets are so short that they may stand in any text by chance",
                remedy="Give the organizations secrets of 16 characters or more.",
            )
        )
    answers = list(_answers(at, fixture, created))
    if at.operation.id == CREATE:
        again = [at.send(each.call, f"the key of {each.purpose} again") for each in unusual]
        answers = [*created, *unusual, *answers, *again]
    for exchange in answers:
        what = f"{exchange.purpose}: an answer without secrets"
        at.expect("secrets.hidden", what, secret_in(exchange, at.target, numbers), exchange)


def _vault(at: Check) -> Vault:
    if at.operation.traits.draws_on_funds:
        fixture = at.lane.account(PAYOUTS)
        return fixture, [fixture.destination], []
    if at.operation.traits.disables:
        return new_vault(at)
    with contextlib.suppress(Inconclusive):
        fixture, created, unusual = at.lane.common.cache.get("vault", lambda: new_vault(at))
        return fixture.seen_by(at.lane), created, unusual
    fixture = at.lane.account()
    return fixture, [fixture.destination] if at.operation.id in _NEAR else [], []


def _answers(at: Check, fixture: Fixture, created: Sequence[Exchange]) -> Iterator[Exchange]:
    operation, creates = at.operation.id, at.operation.id == CREATE
    valid = created[-1].call if creates else fixture.call(operation)
    for each in created if creates else ():
        kind = each.call.document.get("type")
        yield at.send(each.call, f"the key of a {kind} destination again")
        if each.call is not valid and kind != "card":
            for what, defective in _wrong_fields(at, each.call):
                yield at.send(defective, f"a {kind} destination with {what}")
    if not creates:
        yield at.send(valid, "a valid request")
    for what, defective in _defects(at, valid):
        yield at.send(defective, what)
    if creates:
        yield at.send(valid.signed(nonce=created[-1].nonce), "a nonce that was used before")
        if at.target.secondary is not None:
            yield at.send(renewed(valid), "another organization's request", "secondary")
    if at.operation.is_list and at.operation.resource == "payout_destination":
        yield at.send(valid.with_query({"page": 1, "size": 100}), "a list of 100")
        yield at.send(valid.with_query({"size": 0}), "a size of 0")


def _defects(at: Check, valid: Call) -> Iterator[tuple[str, Call]]:
    """Requests with one defect each, whose error messages may quote the request."""
    operation, (_, _, _, parent, _, *children) = at.operation, valid.path.split("/")

    def for_unknown(known: str) -> Call:
        return renewed(valid).but(target=valid.target.replace(known, quoted(unknown_like(unquote(known))), 1))

    yield "a wrong signature", valid.signed(mistake="other middle digit")
    yield "an unknown parent", for_unknown(parent)
    if operation.id not in _NEAR:
        return
    yield "a header left out", valid.signed(omit=("X-Signature",))
    yield "a timestamp of an hour ago", valid.signed(timestamp_offset=-3600)
    if operation.id == CREATE:
        yield "an unknown API key", valid.signed(api_key=unknown_like(at.target.primary.api_key))
        yield "an empty nonce", valid.signed(empty=("X-Nonce",))
        yield "no key", valid.but(idempotency_key=None)
        yield "an unknown child", for_unknown(children[0])
    if operation.is_post:
        yield "a key that is not a UUID", valid.but(idempotency_key="not-a-uuid")
        if valid.body:
            text = "label" if "label" in valid.document else "note"
            yield "the same key with another body", valid.with_field(text, samples.marker())
        yield "the key again", valid
    if valid.body:
        yield "a body cut short", renewed(valid).but(body=valid.body[:-1])
        yield "a body in an array", renewed(valid).with_json([valid.document])
        yield from _wrong_fields(at, valid)


def _wrong_fields(at: Check, valid: Call) -> Iterator[tuple[str, Call]]:
    """The request with one invalid field, or without a required one."""
    wrong = {"country": "USA", "currency": "US", "note": 7, "label": ["x"], "account_type": ""}
    for name, value in wrong.items():
        if name in valid.document:
            yield f"a wrong {name}", renewed(valid).with_field(name, value)
    for name in at.operation.required_fields:
        yield f"a body without {name}", renewed(valid).without_field(name)
    if {"iban", "account_number"} <= valid.document.keys():
        for field in request_fields(at.operation.id):
            value = valid.document.get(field.name, "x")
            # A message may quote the value that it refuses.
            if not field.required and field.name not in wrong:
                yield f"{field.name} in an array", renewed(valid).with_field(field.name, [value])
            if field.name in HIDDEN and field.max_length:
                overlong = value.ljust(field.max_length + 1, "0")
                yield f"{field.name} of too many characters", renewed(valid).with_field(field.name, overlong)


# ---------------------------------------------------------------------- undocumented reads and writes

RULE = "auth.undocumented-reads"

_UNSIGNED = Auth(omit=signing.HEADERS)

#: Paths with a documented GET.
_PATHS = {operation.path for operation in OPERATIONS.values() if operation.method == "GET"}


def _addresses(at: Check, collection: str, own: str, *, documented: bool) -> list[str]:
    """Returns the addresses where a GET of a resource, alone or in a list, is documented, or where not."""
    alone = any(path.rpartition("/")[0] == at.operation.path and path.endswith("}") for path in _PATHS)
    addresses = {
        f"{collection}?size={MAX_SIZE}": at.operation.path in _PATHS,
        f"{collection}/{quoted(own)}": alone,
    }
    return [address for address, known in addresses.items() if known is documented]


def _undocumented(at: Check, create: Exchange) -> list[str]:
    """Returns undocumented addresses that may show a created resource, also at the top level."""
    collection, own = create.call.path, identifier(create)
    top = f"/v1/{collection.rpartition('/')[2]}"
    return [
        *_addresses(at, collection, own, documented=False),
        f"{top}/{quoted(own)}",
        f"{top}?size={MAX_SIZE}",
    ]


@check(RULE)
def test_undocumented_reads_are_guarded(at: Check) -> None:
    """GET on the addresses where a created resource or its customer may be readable, alone or in a list,
    shows it neither without authentication nor to another organization, also below the latter's own account;
    nor do documented paths with the id of its customer or account left empty."""
    create = creations(at.lane, at.operation.id)[0].exchange
    addresses = {address: identifier(create) for address in _undocumented(at, create)}
    version, top, parent, *rest = create.call.path.strip("/").split("/")
    if at.operation.path_parameters == ("customer_id",):
        # No operation creates one.
        alone, listed = f"/{version}/{top}/{parent}", f"/{version}/{top}?size={MAX_SIZE}"
        addresses |= dict.fromkeys((alone, listed), unquote(parent))
    for address, own in addresses.items():
        what = f"GET {address} without authentication"
        _judge_read(at, own, at.send(Call(None, "GET", address, auth=_UNSIGNED), what))
    if at.target.secondary is None:
        return
    # An access check may skip an empty id.
    collections = [("/".join(["", version, top, "", *rest]), True)]
    # A server may check the owner of the path only.
    with at.probe(*at.rules):
        ids = at.lane.account(owner="secondary").ids(at.operation.id)
        collections.append((call(at.operation.id, ids).path, False))
    for collection, known in collections:
        places = _addresses(at, collection, identifier(create), documented=known)
        addresses |= dict.fromkeys(places, identifier(create))
    for address, own in addresses.items():
        what = f"GET {address} by another organization"
        _judge_read(at, own, at.send(Call(None, "GET", address), what, "secondary"))


def _judge_read(at: Check, own: str, answer: Exchange) -> None:
    """Judges that an answer has no object with the id `own` and another documented member."""
    got = ""
    for each in all_objects(answer.document) if answer.succeeded else ():
        others = [name for name in documented(at.operation.id) if name != "id" and name in each]
        if each.get("id") == own and others:
            got = got or f"{answer.status} with {', '.join(['id', *others[:2]])}"
    expected = f"{answer.purpose}: no resource shown"
    at.expect(RULE, expected, unusable(answer, documented=False) or got, answer)


@check("secrets.hidden", operations=("createPayoutDestination",))
def test_undocumented_reads_are_masked(at: Check) -> None:
    """The same addresses show their own organization no full number of a destination."""
    create = creations(at.lane, at.operation.id)[0].exchange
    for address in _undocumented(at, create):
        answer = at.send(Call(None, "GET", address), what := f"GET {address}")
        got = secret_in(answer, at.target, numbers_of([create]))
        at.expect("secrets.hidden", f"{what}: masked numbers", got, answer)


@check(RULE)
def test_undocumented_changes_are_guarded(at: Check) -> None:
    """PUT and DELETE on a created resource have no effect without authentication or for another organization;
    nor has a payout from an account that the body names."""
    create = creations(at.lane, at.operation.id)[-1].exchange
    target = f"{create.call.path}/{quoted(identifier(create))}"
    nowhere = f"{create.call.path}/{quoted(unknown_like(identifier(create)))}"
    put, delete = Call(None, "PUT", target, body=create.call.body), Call(None, "DELETE", target)
    tries = [
        ("a PUT without authentication", put.but(auth=_UNSIGNED), "primary"),
        ("a DELETE without authentication", delete.but(auth=_UNSIGNED), "primary"),
    ]
    if at.target.secondary is not None:
        tries.append(("a PUT by another organization", put, "secondary"))
        tries.append(("a DELETE by another organization", delete, "secondary"))
        if at.operation.traits.draws_on_funds:
            body = {**create.call.document, "account_id": create.call.ids["account_id"]}
            payout = create.call.but(
                operation=None, target="/v1/transfers/payouts", idempotency_key=new_key()
            )
            what = "a payout from another organization's account, which the body names"
            tries.append((what, payout.with_json(body), "secondary"))
    for what, request, organization in tries:
        sent = [at.send(request, what, organization)]
        if sent[0].succeeded:
            # A server that answers an unknown id alike carries nothing out.
            sent.append(at.send(request.but(target=nowhere), f"{what} of an unknown id", organization))
        done = sent[0].succeeded and not sent[-1].succeeded
        got = unusable(sent[0], documented=False) or (sent[0].described() if done else "")
        at.expect(RULE, f"{what}: not carried out", got, *sent)


@check("tenancy.foreign-parent", operations=OPERATION_SETS["read"])
def test_foreign_parent_in_the_query(at: Check) -> None:
    """An own list or resource, read with another organization's path parameters in the query, shows nothing
    of that organization."""
    own, foreign = at.lane.account(TENANT), at.lane.account(TENANT, "secondary")
    read = "list" if at.operation.is_list else "resource"
    if at.operation.is_list:
        with at.probe("tenancy.foreign-parent"):
            furnish(foreign, at.operation)
    what = f"the {read} of the other organization, by itself"
    theirs = at.eventually(
        lambda: at.find(foreign.call(at.operation.id), what, "secondary"), lambda answer: bool(_ids(answer))
    )
    ids = {name: foreign.ids(at.operation.id)[name] for name in parameters(at.operation.id)}
    what = f"an own {read} with the ids of another organization's parents in its query"
    answer = at.send(own.call(at.operation.id).with_query(ids), what)
    if foreign_ids := _ids(theirs):
        common = len(_ids(answer) & foreign_ids)
        got = unusable(answer) or (f"{common} elements of the other's list" if common else "")
        at.expect("tenancy.foreign-parent", f"{what}: none of its elements", got, answer, theirs)


def _ids(answer: Exchange) -> set[str]:
    """The ids of a list's items, or of the resource; none in an answer without them."""
    items = answer.get("items") if answer.succeeded else None
    if items is MISSING:
        items = [answer.document]
    return {*(identifiers(items) or ())}
