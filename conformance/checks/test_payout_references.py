"""References in payouts (sections 4.4 and 5.5) to payees that are not under the account."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from conformance.checks.beneficiaries import Defaults
from conformance.checks.check import Check, check
from conformance.checks.engine import Engine
from conformance.checks.other_tenants import IN_TURN, LEAK, TRIMMED, between_organizations, near
from conformance.checks.side_effects import UNTOUCHED, anew
from conformance.contract.needs import REFERENCES
from conformance.judge.oracle import NEAR, UNKNOWN
from conformance.wire.messages import Exchange, to_json
from conformance.world.bodies import SAMPLE
from conformance.world.calls import renewed, unknown_like
from conformance.world.case import Case
from conformance.world.lane import Fixture
from conformance.world.purposes import SIBLING_TENANT, TENANT
from conformance.world.samples import Body
from conformance.world.shapes import accepts

RULE, OWNER = "tenancy.payout-references", "tenancy.payout-destination-owner"

MEMBERS = tuple(REFERENCES["createPayout"])


@check(RULE, "tenancy.payout-references-status", OWNER, UNTOUCHED, LEAK)
def test_payout_references(at: Check) -> None:
    """A payout with a beneficiary or destination that is unknown, another account's, another organization's,
    or spelled differently, is refused (implied: with 404) and has no effect; so is one with a destination of
    another beneficiary, and one with an unknown destination of a beneficiary that has a default. Default
    destinations of others are named too, and stay the default."""
    fixture = at.account()
    # A second fixture in the same account has another beneficiary.
    other = Fixture(at.lane, account_id=fixture.account_id)
    strangers = {"another account's": at.lane.account(SIBLING_TENANT)}
    if at.target.secondary is not None:
        strangers["another organization's"] = at.lane.account(TENANT, "secondary")
    defaults = {whose: _default(at, each) for whose, each in {**strangers, "": other}.items()}
    engine = Engine(at, lambda: fixture)
    valid = engine.document()
    what = "payouts that name what is not under the account"
    steps = list(engine.steps(_cases(engine, valid, strangers, defaults)))
    answers = engine.batch(steps, [engine], leaks=between_organizations(at), what=what)
    crossed = _judge_crossed(at, engine, valid, other, defaults[""])
    for default in filter(None, defaults.values()):
        ids = {default.id, default.fixture.destination_id}
        named = [each for each in (*answers, *crossed) if each.call.document[MEMBERS[1]] in ids]
        default.judge_refused("payouts that name the default of what is not under the account", named)
    with at.probe(RULE):
        _judge_stood_for(at, fixture, valid)
    what = "the payout that names its own beneficiary and destination"
    at.accept(fixture.call("createPayout", valid), what)


def _default(at: Check, fixture: Fixture) -> Defaults | None:
    """Creates a default destination, a wallet where the server accepts one; None where it is refused."""
    shape = "wallet" if accepts(at.lane, "createPayoutDestination", "wallet") else SAMPLE
    with at.probe(UNTOUCHED):
        return Defaults(at, fixture, shape)
    return None


def _cases(
    engine: Engine,
    valid: Body,
    strangers: Mapping[str, Fixture],
    defaults: Mapping[str, Defaults | None],
) -> Iterator[Case]:
    """Yields payouts to payees outside the account, and to ids like those of the own payee."""
    ids = {whose: (each.beneficiary_id, each.destination_id) for whose, each in strangers.items()}
    ids["unknown"] = (
        unknown_like(engine.fixture.beneficiary_id),
        unknown_like(engine.fixture.destination_id),
    )
    for whose, own in ids.items():
        beneficiary, destination = ({name: value} for name, value in zip(MEMBERS, own, strict=True))
        bodies = {
            "beneficiary and destination": {**valid, **beneficiary, **destination},
            "beneficiary": {**valid, **beneficiary},
            "destination": {**valid, **destination},
        }
        if default := defaults.get(whose):
            bare = {name: value for name, value in valid.items() if name != "note"}
            bodies["default destination"] = {**bare, MEMBERS[1]: default.id}
        for what, body in bodies.items():
            yield engine.case(RULE, f"a payout that names {whose} {what}", body=to_json(body), payee=UNKNOWN)
    for member, turn in zip(MEMBERS, IN_TURN[1::2], strict=True):
        for what, other in near(str(valid[member]), turn, TRIMMED):
            name = f"a payout whose {member} is {what}"
            yield engine.case(RULE, name, body=to_json({**valid, member: other}), payee=NEAR)


def _judge_stood_for(at: Check, fixture: Fixture, valid: Body) -> None:
    """Judges a payout to an unknown destination of a beneficiary whose only one is its default."""
    payee = Fixture(at.lane, account_id=fixture.account_id)
    payee.create("createPayoutDestination", {**payee.bank_account(), "is_default": True})
    named = {MEMBERS[0]: payee.beneficiary_id, MEMBERS[1]: unknown_like(str(valid[MEMBERS[1]]))}
    what = "a payout that names an unknown destination, of a beneficiary with a default"
    answer = at.send(fixture.call("createPayout", {**valid, **named}), what)
    if not at.locked_out(RULE, answer):
        at.refused(RULE, answer)


def _judge_crossed(
    at: Check, engine: Engine, valid: Body, other: Fixture, default: Defaults | None
) -> list[Exchange]:
    """Judges payouts to destinations of another beneficiary of the account; returns the answers."""
    effects = engine.snapshot()
    what = "a payout that names a destination of another beneficiary of the account"
    answers = [
        at.send(engine.fixture.call("createPayout", {**valid, MEMBERS[1]: destination}), what)
        for destination in (other.destination_id, *([default.id] if default else []))
    ]
    refused = [answer for answer in answers if answer.refused]

    def again() -> list[Exchange]:
        calls = anew(at.lane, [answer.call for answer in refused])
        return [at.send(renewed(repeated), f"{what}, again") for repeated in calls]

    effects.judge_refused(what, refused, again)
    for answer in answers:
        if not at.locked_out(OWNER, answer):
            at.refused(OWNER, answer)
    return answers
