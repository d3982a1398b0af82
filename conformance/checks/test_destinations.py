"""Payout destinations (sections 2.4 and 4.3): masked numbers and types."""

from __future__ import annotations

import re

from conformance._text import shared_prefix
from conformance.checks.check import CheckContext, check
from conformance.checks.members import not_its_own
from conformance.judge.comparison import shown
from conformance.judge.verdicts import Inconclusive
from conformance.wire.messages import MISSING, Exchange
from conformance.world import samples
from conformance.world.account import Account, call
from conformance.world.creations import created_in, creations
from conformance.world.run import SAMPLE_REMEDIES
from conformance.world.samples import Body
from conformance.world.shapes import accepted_body, accepts

#: Type of destination -> members that do not apply to it.
INAPPLICABLE = {
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


def create(ctx: CheckContext, body: Body, purpose: str) -> Exchange:
    """Creates a destination where their number does not matter; returns the exchange."""
    fixture = created_in(ctx.run, "createPayoutDestination")
    return ctx.send(call("createPayoutDestination", fixture.ids("createPayoutDestination"), body), purpose)


#: Hidden number of a destination -> the shape that has it.
_NUMBERS = {"account_number": "bank account", "iban": "IBAN alone", "wallet_address": "wallet"}


@check("create.echo", operations=("createPayoutDestination",))
def test_numbers_with_the_same_end(ctx: CheckContext) -> None:
    """A destination whose hidden number ends as that of another one of its beneficiary is a new one: its
    create is answered with its own label."""
    operation = ctx.operation.id
    fixture = Account(ctx.run, account_id=ctx.account().account_id)
    for name, shape in _NUMBERS.items():
        if not accepts(ctx.run, operation, shape):
            continue
        first, second = (accepted_body(fixture, operation, shape) for _ in range(2))
        if name not in first or "label" not in second:
            continue
        earlier = ctx.accept(fixture.call(operation, first), f"a destination with {name}")
        alike = {**second, name: samples.other_value(name, first[name])}
        what = f"a destination whose {name} ends as that of another"
        answer = ctx.send(fixture.call(operation, alike), what)
        if answer.succeeded:
            ctx.expect("create.echo", f"{what}: its own label", not_its_own(answer, "label"), answer, earlier)


def squeezed(text: str) -> str:
    """Strips the separators of a number, in lower case."""
    return "".join(letter for letter in text if letter.isalnum()).lower()


def clabe() -> str:
    """Draws a Mexican CLABE with a valid check digit: bank 032, place 180 and eleven digits of an account."""
    number = "032180" + samples.digits(11)
    weights = (3, 7, 1) * 6
    return number + str(
        -sum(int(digit) * weight % 10 for digit, weight in zip(number, weights, strict=False)) % 10
    )


def ends_with(ctx: CheckContext, answer: Exchange, number: str, what: str) -> bool:
    """Judges destination.last4 on an answer, if the server accepted the number; returns whether it did."""
    if not answer.succeeded:
        return False
    name = "account_number_last4"
    ctx.equal("destination.last4", f"{what}: {name}", answer.get(name), number[-4:], answer)
    return True


@check("destination.last4")
def test_last_four_digits(ctx: CheckContext) -> None:
    """Bank accounts of every kind, and with numbers of several lengths that begin with zeros or have zeros in
    their last four digits, show exactly the last four; so does a Mexican CLABE, where one is accepted."""
    judged = False
    for made in creations(ctx.run, "createPayoutDestination"):
        number = made.body.get("account_number")
        if isinstance(number, str):
            judged |= ends_with(ctx, made.exchange, number, f"created with {made.kind}")
    bank = created_in(ctx.run, "createPayoutDestination").bank_account()
    if "account_number" not in bank:
        bank = ctx.run.samples.bank_accounts()[0]
    for length, end in ((10, "0042"), (10, "0000"), (8, ""), (12, "1230"), (17, "9001")):
        begin = "" if end else "00000"
        number = begin + samples.digits(length - len(begin + end)) + end
        what = f"an account number of {length} digits" + (f" ending in {end}" if end else "")
        judged |= ends_with(ctx, create(ctx, {**bank, "account_number": number}, what), number, what)
    number, what = samples.digits(10), "an account number beside an IBAN"
    if "iban" not in bank:
        both = {**bank, "account_number": number, "iban": samples.iban()}
        judged |= ends_with(ctx, create(ctx, both, what), number, what)
    number = clabe()
    what = "a Mexican CLABE"
    answer = create(ctx, {**bank, "country": "MX", "currency": "MXN", "account_number": number}, what)
    if answer.succeeded and isinstance(answer.get("clabe_last4"), str):
        last = answer.get("clabe_last4")
        ctx.equal("destination.last4", f"{what}: clabe_last4", last, number[-4:], answer)
    if answer.succeeded and isinstance(answer.get("account_number_last4"), str):
        # A server that does not treat a CLABE as an account number shows none.
        judged |= ends_with(ctx, answer, number, what)
    if not judged:
        raise Inconclusive(
            "the server accepts no destination with an account number",
            "Say in the target file what it accepts: [samples.payout_destination.bank_account].",
        )


@check("destination.masked", "destination.masked-enough")
def test_masked_numbers(ctx: CheckContext) -> None:
    """A destination created with an IBAN or a wallet address shows iban_masked or wallet_address_masked: a
    string without the full value, and with no more than a third of it or six characters."""
    judged = False
    alone: Body | None = None
    for made in creations(ctx.run, "createPayoutDestination"):
        for name, member, kind in (
            ("iban", "iban_masked", "bank_account"),
            ("wallet_address", "wallet_address_masked", "wallet"),
        ):
            value = made.body.get(name)
            # Beside an American account number, an IBAN may not apply.
            beside = name == "iban" and "account_number" in made.body
            if isinstance(value, str) and made.body.get("type") == kind and not beside:
                judge_masked(ctx, made.exchange, member, value, f"created with {made.kind}")
                judged = True
                alone = alone or (made.body if name == "iban" else None)
    fixture = created_in(ctx.run, "createPayoutDestination")
    details = {"account_number": samples.digits(10), **alone} if alone else fixture.bank_account()
    value, what = samples.iban(), f"an IBAN beside {'an account number' if alone else 'bank details'}"
    answer = create(ctx, {**details, "iban": value}, what)
    # In a country of IBANs it applies, whatever stands beside it.
    if answer.succeeded and (alone or answer.get("iban_masked") not in (MISSING, None)):
        judge_masked(ctx, answer, "iban_masked", value, f"created with {what}")
        judged = True
    what = "an IBAN in groups of four"
    if alone is not None:
        grouped = re.sub("(....)(?=.)", r"\1 ", value := samples.iban())
        answer = create(ctx, {**alone, "iban": grouped}, what)
        if answer.succeeded:
            judge_masked(ctx, answer, "iban_masked", value, f"created with {what}")
    if not judged:
        raise Inconclusive(
            "the server accepts no destination with an IBAN or a wallet address",
            f"Say in the target file what it accepts: {SAMPLE_REMEDIES['createPayoutDestination']}.",
        )


def judge_masked(ctx: CheckContext, answer: Exchange, member: str, value: str, what: str) -> None:
    """Judges destination.masked and destination.masked-enough on an answer."""
    mask = answer.get(member)
    text = isinstance(mask, str) and mask != ""
    got = "the full value" if text and squeezed(value) in squeezed(mask) else "" if text else shown(mask)
    ctx.expect("destination.masked", f"{what}: {member}, a string that hides the full value", got, answer)
    if "destination.masked-enough" in ctx.rules and isinstance(mask, str):
        most = max(6, len(squeezed(value)) // 3)
        expected = f"{what}: {member}, which shows {most} characters of the value at most"
        number = _common(squeezed(mask), squeezed(value))
        got = f"{number} of {len(squeezed(value))} characters" if number > most else ""
        ctx.expect("destination.masked-enough", expected, got, answer)


def _common(mask: str, value: str) -> int:
    """Number of characters that a mask shares with the beginning and the end of a value."""
    first = shared_prefix(mask, value)
    return first + shared_prefix(mask[first:][::-1], value[first:][::-1])


@check("format.inapplicable-fields")
def test_inapplicable_fields(ctx: CheckContext) -> None:
    """Records which members that do not apply to a destination's type are null and which are left out."""
    for made in creations(ctx.run, "createPayoutDestination"):
        if made.kind not in ("the sample", "a wallet"):
            continue
        for name in INAPPLICABLE.get(str(made.body.get("type")), ()):
            value = made.exchange.get(name)
            seen = "null" if value is None else "left out" if value is MISSING else "a value"
            ctx.observe(
                "format.inapplicable-fields",
                f"{name} of a {made.body.get('type')} destination",
                seen,
                made.exchange,
            )


@check("destination.card")
def test_card_destination(ctx: CheckContext) -> None:
    """Records the answer to a card destination with the fields that all destinations have."""
    bank = ctx.run.samples.bank_accounts()[0]
    body = {"type": "card", "country": bank["country"], "currency": bank["currency"], "label": bank["label"]}
    answer = create(ctx, body, "a card destination")
    ctx.observe(
        "destination.card",
        "a card destination with country, currency and label",
        "accepted" if answer.succeeded else answer.described(),
        answer,
    )
