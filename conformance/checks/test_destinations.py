"""Payout destinations (sections 2.4 and 4.3): masked numbers, types, and which of them is the default."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from conformance._text import listed
from conformance.checks.beneficiaries import Beneficiary, defaults, same_defaults, shown_defaults
from conformance.checks.check import Check, check
from conformance.checks.members import judge_as_sent, judge_members
from conformance.checks.races import Rounds
from conformance.checks.side_effects import UNTOUCHED, SideEffects
from conformance.contract.fields import request_fields
from conformance.judge import outcomes
from conformance.judge.comparison import show
from conformance.judge.hidden_numbers import letters_of, mask_defect, most_visible
from conformance.judge.outcomes import Unclear
from conformance.judge.paging import pageless
from conformance.judge.verdicts import Inconclusive
from conformance.wire.messages import MISSING, Call, Exchange
from conformance.world import parts, samples
from conformance.world.calls import call, identifier, renewed
from conformance.world.creations import created_in, creations
from conformance.world.lane import Fixture
from conformance.world.other_values import other_last, other_value
from conformance.world.purposes import CREATED
from conformance.world.refused_samples import SAMPLE_REMEDIES, refusal_of_valid
from conformance.world.samples import Body
from conformance.world.shapes import SHAPES, accepted_body, accepts

CREATE = "createPayoutDestination"


def _create(at: Check, body: Body, purpose: str) -> Exchange:
    """Creates a destination where their number does not matter; returns the exchange."""
    return at.send(call(CREATE, created_in(at.lane, CREATE).ids(CREATE), body), purpose)


# ---------------------------------------------------------------------- numbers

#: Hidden number of a destination -> the shape that has it.
_NUMBERS = {"account_number": "bank account", "iban": "IBAN alone", "wallet_address": "wallet"}


@check("create.echo", operations=(CREATE,))
def test_numbers_alike(at: Check) -> None:
    """A destination whose hidden number ends as that of another one of its beneficiary, or differs from it at
    its end only, is a new one: its create is answered with its own label."""
    fixture = Fixture(at.lane, account_id=at.account().account_id)
    for name, shape in _NUMBERS.items():
        if not accepts(at.lane, CREATE, shape):
            continue
        first = accepted_body(fixture, CREATE, shape)
        if name not in first or "label" not in first:
            continue
        earlier = at.accept(fixture.call(CREATE, first), f"a destination with {name}")
        for how, number in (
            ("ends as", other_value(name, first[name])),
            ("differs at its end only from", other_last(name, first[name])),
        ):
            what = f"a destination whose {name} {how} that of another"
            alike = {**accepted_body(fixture, CREATE, shape), name: number}
            answer = at.send(fixture.call(CREATE, alike), what)
            if answer.succeeded:
                judge_as_sent(at, "create.echo", answer, "label", what, [earlier])


def _clabe() -> str:
    """Draws a Mexican CLABE with a valid check digit: bank 032, place 180 and eleven digits of an account."""
    number = "032180" + samples.digits(11)
    weighted = (int(digit) * weight % 10 for digit, weight in zip(number, (3, 7, 1) * 6, strict=False))
    return number + str(-sum(weighted) % 10)


@check("destination.last4", "create.echo")
def test_last_four_digits(at: Check) -> None:
    """Bank accounts of every kind, and with numbers of several lengths that begin with zeros or have zeros in
    their last four digits, show exactly the last four; so does a Mexican CLABE, where one is accepted. They
    are in the country and the currency that were sent, whatever number is beside them."""
    rule, member = "destination.last4", "account_number_last4"
    bank = created_in(at.lane, CREATE).bank_account()
    if "account_number" not in bank:
        bank = at.lane.samples.bank_accounts()[0]
    rows: dict[str, Body] = {}
    for length, end in ((10, "0042"), (10, "0000"), (8, ""), (12, "1230"), (17, "9001")):
        begin = "" if end else "00000"
        number = begin + samples.digits(length - len(begin + end)) + end
        what = f"an account number of {length} digits" + (f" ending in {end}" if end else "")
        rows[what] = {"account_number": number}
    if "iban" not in bank:
        both = {"account_number": samples.digits(10), "iban": samples.iban()}
        rows["an account number beside an IBAN"] = both
    rows["a Mexican CLABE"] = {"country": "MX", "currency": "MXN", "account_number": _clabe()}
    answers = {f"created with {each.kind}": each.exchange for each in creations(at.lane, CREATE)}
    answers |= {what: _create(at, {**bank, **row}, what) for what, row in rows.items()}
    at.not_exercised("create.echo", "the server accepts no destination with such a number")
    codes = [field.name for field in request_fields(CREATE) if field.code]
    for what in rows:
        place = {name: answers[what].call.document.get(name) for name in codes}
        judge_members(at, "create.echo", answers[what], place, f"created with {what}")
    for what, answer in answers.items():
        number, last = answer.call.document.get("account_number"), answer.get(member)
        if not isinstance(number, str) or not answer.succeeded:
            continue
        if what == "a Mexican CLABE" and isinstance(answer.get("clabe_last4"), str):
            at.equal(rule, what, "clabe_last4", number[-4:], answer)
        # A server that does not treat a CLABE as an account number shows none.
        if what != "a Mexican CLABE" or isinstance(last, str):
            at.equal(rule, what, member, number[-4:], answer)
    if not at.cells[rule].judged:
        at.unclear(
            rule,
            "the server accepts no destination with an account number",
            remedy="Say in the target file what it accepts: [samples.payout_destination.bank_account].",
        )


@check("destination.masked", "destination.masked-enough")
def test_masked_numbers(at: Check) -> None:
    """A destination created with an IBAN or a wallet address shows iban_masked or wallet_address_masked: a
    string that hides at least six characters and a third of the value, and shows only what stands in it."""
    alone: Body | None = None
    wallet: Body | None = None
    for creation in creations(at.lane, CREATE):
        name = {"bank_account": "iban", "wallet": "wallet_address"}.get(str(creation.body.get("type")), "")
        # Beside an American account number, an IBAN may not apply.
        if name in creation.body and not (name == "iban" and "account_number" in creation.body):
            _judge_masked(at, creation.exchange, name, f"created with {creation.kind}")
            alone = alone or (creation.body if name == "iban" else None)
            wallet = wallet or (creation.body if name == "wallet_address" else None)
    details = (
        {"account_number": samples.digits(10), **alone}
        if alone
        else created_in(at.lane, CREATE).bank_account()
    )
    beside = f"an IBAN beside {'an account number' if alone else 'bank details'}"
    further = {beside: {**details, "iban": samples.iban()}}
    if alone:
        groups = re.sub("(....)(?=.)", r"\1 ", samples.iban())
        further["an IBAN in groups of four"] = {**alone, "iban": groups}
    for what, body in further.items():
        answer = _create(at, body, what)
        # In a country of IBANs it applies, whatever stands beside it.
        if answer.succeeded and (alone or answer.get("iban_masked") not in (MISSING, None)):
            _judge_masked(at, answer, "iban", f"created with {what}")
    for what, body in parts.of_all_lengths(alone, wallet).items():
        answer = _create(at, body, what)
        if answer.succeeded:
            name = "wallet_address" if body.get("type") == "wallet" else "iban"
            _judge_masked(at, answer, name, f"created with {what}")
    if not at.cells["destination.masked"].judged:
        raise Inconclusive(
            Unclear(
                "the server accepts no destination with an IBAN or a wallet address",
                remedy=f"Say in the target file what it accepts: {SAMPLE_REMEDIES[CREATE]}.",
            )
        )


def _judge_masked(at: Check, answer: Exchange, name: str, what: str) -> None:
    """Judges destination.masked and destination.masked-enough on an answer."""
    member, value = f"{name}_masked", answer.call.document[name]
    mask = answer.get(member)
    text = isinstance(mask, str) and mask != ""
    whole = text and letters_of(value) in letters_of(mask)
    got = "the full value" if whole else "" if text else show(mask)
    expected = f"{what}: {member}, a string that hides the full value"
    at.expect("destination.masked", expected, got, answer, member=member)
    if "destination.masked-enough" in at.rules and isinstance(mask, str):
        most = most_visible(len(letters_of(value)))
        expected = f"{what}: {member}, with {most} characters of the value's beginning and end at most"
        at.expect("destination.masked-enough", expected, mask_defect(mask, value), answer, member=member)


# ---------------------------------------------------------------------- types

#: Type of destination -> members that do not apply to it.
_INAPPLICABLE = {
    "bank_account": ("network", "wallet_address_masked"),
    "wallet": (
        "account_number_last4",
        "routing_number",
        "account_type",
        "clabe_last4",
        "iban_masked",
        "swift_code",
    ),
}


@check("format.inapplicable-fields")
def test_inapplicable_fields(at: Check) -> None:
    """Records which members that do not apply to a destination's type are null and which are left out."""
    for creation in creations(at.lane, CREATE):
        kind = str(creation.body.get("type"))
        for name in _INAPPLICABLE.get(kind, ()) if creation.kind in ("the sample", "wallet") else ():
            value = creation.exchange.get(name)
            choice = "null" if value is None else "left out" if value is MISSING else "a value"
            question = f"{name} of a {kind} destination"
            at.observe("format.inapplicable-fields", question, choice, creation.exchange)


@check("destination.card")
def test_card_destination(at: Check) -> None:
    """Records the answer to a card destination with the fields that all destinations have."""
    bank = at.lane.samples.bank_accounts()[0]
    body = {"type": "card", "country": bank["country"], "currency": bank["currency"], "label": bank["label"]}
    at.record("destination.card", _create(at, body, "a card destination with country, currency and label"))


@check(UNTOUCHED, operations=(CREATE,))
def test_details_that_may_be_refused(at: Check) -> None:
    """Destinations without their bank or wallet details, or with wrong check digits, may be refused (section
    2.10); what is refused is not stored. Servers may look at details last."""
    fixture = at.account(fresh=True)
    bank, wallet = at.lane.samples.bank_accounts()[0], at.lane.samples.wallet_destinations()[0]
    bare = {name: value for name, value in bank.items() if name in ("country", "type", "currency", "label")}
    rows = {
        "a bank account without details": bare,
        "a bank account with wrong check digits": {**bare, "iban": other_last("iban", samples.iban())},
        "a card without details": {**bare, "type": "card"},
        "a wallet without an address": {
            name: value for name, value in wallet.items() if name != "wallet_address"
        },
    }
    first = [at.send(fixture.call(CREATE, body), what) for what, body in rows.items()]
    effects = SideEffects(at, fixture).start()

    def again() -> list[Exchange]:
        return [at.send(renewed(each.call), f"{each.purpose}, again") for each in first if each.refused]

    effects.judge_refused("destinations whose details are refused", again(), again)


# ---------------------------------------------------------------------- defaults


@check("create.initial-state", operations=(CREATE,))
def test_first_destination_is_no_default(at: Check) -> None:
    """The first destination of a beneficiary, a business where the server accepts one, created without
    is_default, is not its default."""
    rule, what = "create.initial-state", "the first destination of a beneficiary, is_default not sent"
    fixture = Fixture(at.lane, account_id=at.account(fresh=True).account_id, business=True)
    answer = at.send(_default(fixture).without_field("is_default"), what)
    if answer.succeeded:
        at.member(rule, answer, "is_default", False)
    else:
        at.not_exercised(rule, f"{what}, was answered {answer.described()}")


ONE_DEFAULT = "destination.default"


@check("destination.second-default", ONE_DEFAULT)
def test_second_default(at: Check) -> None:
    """Records what becomes of a default destination when a second default is created. Of defaults of
    all kinds, with others between them, one is the default: the new one if its answer says so."""
    rule, question = "destination.second-default", "a second default destination"
    fixture = at.account(fresh=True)
    first = default = at.accept(_default(fixture), "a first default destination")
    shapes = [shape for shape in SHAPES[CREATE] if accepts(at.lane, CREATE, shape)]
    bodies = [fixture.bank_account(), *(accepted_body(fixture, CREATE, shape) for shape in shapes)]
    for number, body in enumerate(bodies):
        if number:
            at.send(_default(fixture).with_field("is_default", False), "a destination that is no default")
        new = at.send(call(CREATE, fixture.ids(CREATE), {**body, "is_default": True}), question)
        if not new.succeeded:
            if not number:
                at.record(rule, new)
            continue
        default = new if new.get("is_default") is True else default
        listing = defaults(at, fixture, identifier(default))
        at.expect(ONE_DEFAULT, *_one_default(question, listing, [default]), new)
        if not number:
            stays = shown_defaults(listing) == [identifier(first)]
            choice = "the first stays the default" if stays else "the second becomes the only default"
            at.observe(rule, question, choice, first, new, listing)


#: Default destinations that are created at once, and rounds of them.
_AT_ONCE, _RACES = 9, 4


@check(ONE_DEFAULT)
def test_defaults_at_once(at: Check) -> None:
    """Of several default destinations of a beneficiary that are created at once, one is the default."""
    what = f"{_AT_ONCE} simultaneous creates of default destinations"
    rounds = Rounds(at, _RACES)
    for _ in rounds:
        fixture = at.account(fresh=True)
        answers = rounds.race([_default(fixture) for _ in range(_AT_ONCE)], what)
        created = [answer for answer in answers if answer.succeeded]
        if created:
            listing = defaults(at, fixture, *map(identifier, created))
            at.expect(ONE_DEFAULT, *_one_default(what, listing, created), *created)
        elif not rounds.spoilt:
            raise refusal_of_valid(answers[0])


def _one_default(what: str, listing: Exchange, those: Sequence[Exchange]) -> outcomes.Judgement:
    """A list shows one default, which is one of those creates."""
    sentence = f"after {what}: one destination is the default, as its create answered"
    if lost := pageless(listing):
        return sentence, lost, listing
    held = shown_defaults(listing)
    good = len(held) == 1 and held[0] in [identifier(each) for each in those]
    got = f"{len(held)} are: {listed(held, 2)}" if held else "none is"
    return sentence, "" if good else got, listing


@check(
    "refusal.changes-nothing", "idempotency.replay-after-change", "destination.default", operations=(CREATE,)
)
def test_default_moves_for_accepted_requests_only(at: Check) -> None:
    """The default destination stays when another default is refused, also once the next destination is
    accepted, when the create of an earlier default is repeated with its key, and when a destination that is
    no default (is_default null, left out or false, of other types), or another beneficiary's default, is
    created."""

    def refused(fixture: Fixture, first: Call) -> list[Call]:
        account = at.account(CREATED).account_id
        return [
            first.with_field("label", samples.marker()),
            _default(fixture).with_field("iban", "X" * 35),
            _default(fixture).with_field("type", "wallet").without_field("network"),
            _default(fixture, {"account_id": account, "beneficiary_id": fixture.beneficiary_id}),
            _default(fixture).with_field("country", "USA"),
        ]

    def plain(fixture: Fixture, _: Call) -> list[Call]:
        shapes = [shape for shape in SHAPES[CREATE] if accepts(at.lane, CREATE, shape)]
        return [
            _default(fixture).with_field("is_default", None),
            *(fixture.call(CREATE, accepted_body(fixture, CREATE, shape)) for shape in shapes),
            _default(fixture).without_field("is_default"),
            _default(fixture).with_field("is_default", False),
        ]

    def of_another(fixture: Fixture, _: Call) -> list[Call]:
        return [_default(fixture, Beneficiary(at, fixture).ids)]

    for rule, what, requests in (
        ("refusal.changes-nothing", "a refused default destination", refused),
        (
            "idempotency.replay-after-change",
            "an earlier default's create, with the same key",
            lambda _, first: [first],
        ),
        ("destination.default", "a destination that is no default", plain),
        ("destination.default", "another beneficiary's default", of_another),
    ):
        _judge_default(at, rule, what, requests)


def _judge_default(at: Check, rule: str, what: str, requests: Callable[[Fixture, Call], list[Call]]) -> None:
    """Judges that requests leave the default of a new beneficiary as it is."""
    fixture = at.account(fresh=True)
    calls = [_default(fixture) for _ in range(2)]
    creates = [at.send(each, "a default destination") for each in calls]
    if not creates[0].succeeded:
        at.unclear(rule, f"a default destination was answered {creates[0].described()}", creates[0])
        return
    moved = [identifier(each) for each in creates if each.succeeded and each.get("is_default") is True]
    before = defaults(at, fixture, *moved[-1:])
    of_refusals = rule == "refusal.changes-nothing"
    sent = []
    if of_refusals and at.target.secondary is not None:
        sent.append(at.send(_default(fixture), what, "secondary"))
    sent += [at.send(request, what) for request in requests(fixture, calls[0])]
    if not at.usable(rule, sent[-1]) or any(
        answer.refused is not of_refusals for answer in (sent if of_refusals else sent[-1:])
    ):
        return
    if of_refusals:
        # What a refused request has changed in memory may be stored with the next one.
        further = _default(fixture).with_field("is_default", False)
        sent.append(at.send(further, "a destination that is no default, after refused ones"))
    after = defaults(at, fixture, *shown_defaults(before))
    sentence = f"after {what}: the same destination is the default"
    judgement = same_defaults(sentence, after, before)
    if of_refusals and judgement[1] and _taken_by_others(at):
        reason = "a destination that is no default takes it, whatever was refused before"
        at.unclear(rule, reason, after, cause="destination.default")
    else:
        at.expect(rule, *judgement, *sent)


def _taken_by_others(at: Check) -> bool:
    """True if a beneficiary's default is none any more when a destination follows that is no default."""
    fixture = at.account(fresh=True)
    first = at.send(_default(fixture), "a default destination")
    at.send(_default(fixture).with_field("is_default", False), "a destination that is no default, after it")
    return shown_defaults(defaults(at, fixture, identifier(first))) == []


def _default(fixture: Fixture, ids: dict[str, str] | None = None) -> Call:
    """Builds the create of a default destination, of the fixture's beneficiary or that of these ids."""
    return call(CREATE, ids or fixture.ids(CREATE), {**fixture.bank_account(), "is_default": True})
