"""Parts of valid bodies: unusual addresses of beneficiaries, payout destinations, and payees of payouts.

Addresses derive from a sample body, the others from an account's samples; later bodies are plainer."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable

from conformance.judge.outcomes import Unclear
from conformance.judge.verdicts import Inconclusive
from conformance.wire.messages import MISSING
from conformance.world.calls import call, identifier, member
from conformance.world.lane import Fixture
from conformance.world.samples import (
    LETTERS,
    Body,
    address,
    changed,
    checked_iban,
    digits,
    iban,
    marker,
    solana_address,
)

# ---------------------------------------------------------------------- addresses


def abroad(sample: Body) -> str:
    """A country other than that of the sample's payout destination."""
    return "DE" if sample.get("country_code") != "DE" else "US"


def address_abroad(sample: Body, region: str = "region") -> Body:
    # The postal code has a leading zero; the country differs from the destination's.
    return {**address(region), "city": "Dresden", "postal_code": "01067", "country": abroad(sample)}


def moved_abroad(sample: Body) -> Body:
    return {**sample["address"], "country": abroad(sample)}


#: With spaces, apostrophes and words in lower case.
ENGLISH_ADDRESS = {
    "address_line": "10 McAdam's Yard, flat 2b",
    "city": "King's Lynn and West Norfolk",
    "region": "Tyne and Wear",
    "postal_code": "NE1 4ST",
    "country": "GB",
}


def english_address(sample: Body) -> Body:
    """An English address; a German one for a sample from England."""
    return address_abroad(sample) if sample.get("country_code") == "GB" else ENGLISH_ADDRESS


def foreign_street(sample: Body) -> Body:
    return {**sample["address"], "address_line": LETTERS, "city": LETTERS}


def long_address(sample: Body) -> Body:
    """An address whose street and city are longer than the lines of bank forms."""
    city = "Llanfairpwllgwyngyllgogerychwyrndrobwllllantysiliogogogoch"
    return {**sample["address"], "address_line": "Old Station Road 1, " * 6 + "Building 7", "city": city}


def longest_address(sample: Body) -> Body:
    """An address longer than usual database columns: no maximum is stated."""
    members = {"address_line": 600, "city": 300, "region": 300, "postal_code": 60}
    return {
        **sample["address"],
        **{name: ("Building 12, " * 50)[: size - 1] + "x" for name, size in members.items()},
    }


# ---------------------------------------------------------------------- destinations


def with_iban(fixture: Fixture) -> list[Body]:
    """The accepted bank details with an IBAN added, then bank details with an IBAN only."""
    body = fixture.body("createPayoutDestination")
    if "iban" in body:
        return [body]
    return [{**body, "iban": iban(), "swift_code": "DEUTDEFF"}, *european(fixture)]


def european(fixture: Fixture) -> list[Body]:
    """Bank details with an IBAN alone."""
    return [body for body in fixture.lane.samples.bank_accounts() if "account_number" not in body]


def long_swift(fixture: Fixture) -> list[Body]:
    german = {"iban": iban(), "swift_code": "COBADEFFXXX", "label": MISSING}
    belgian = {**german, "country": "BE", "iban": belgian_iban(), "swift_code": "KREDBEBBXXX"}
    known = [body for body in european(fixture) if "swift_code" in body]
    return defaults([changed(body, changes) for changes in (belgian, german) for body in known])


def numbered(fixture: Fixture) -> list[Body]:
    body, others = fixture.body("createPayoutDestination"), fixture.lane.samples.bank_accounts()
    return [body] if "account_number" in body else [each for each in others if "account_number" in each]


def savings(fixture: Fixture) -> list[Body]:
    body = fixture.body("createPayoutDestination")
    savings = {**body, "account_type": "savings"}
    elsewhere = {**savings, "routing_number": "011401533"}
    # The country of a bank's head office is not that of the account.
    codes = [{**elsewhere, "swift_code": code} for code in ("BARCGB22", "BOFAUS3N")]
    return [*codes, elsewhere, savings] if "account_type" in body else []


def wallet(fixture: Fixture) -> list[Body]:
    return fixture.lane.samples.wallet_destinations()


def other_network(fixture: Fixture) -> list[Body]:
    solana = {"network": "solana_devnet", "wallet_address": solana_address()}
    more = {"is_default": True, "label": MISSING}
    # Not the country of its beneficiary.
    german = solana | more | {"country": "DE"}
    others = (german | {"label": None}, german, solana | more, {"network": "polygon"} | more)
    return [changed(body, other) for other in others for body in wallet(fixture)]


def defaults(destinations: list[Body]) -> list[Body]:
    return [*(body | {"is_default": True} for body in destinations), *destinations]


# ---------------------------------------------------------------------- payees


def paid(
    destinations: Callable[[Fixture], list[Body]],
    beneficiary: Callable[[Fixture], str],
    currency: str = "",
) -> Callable[[Fixture], list[Body]]:
    """Returns a row of bodies: a payout to the first destination that the server accepts, in the given
    currency or the destination's."""

    def payee_of(fixture: Fixture) -> tuple[str, str, str]:
        """Creates the payee. Raises Inconclusive where the server accepts no destination."""
        ids = {"account_id": fixture.account_id, "beneficiary_id": beneficiary(fixture)}
        for details in destinations(fixture):
            attempt = call("createPayoutDestination", ids, details)
            created = fixture.lane.send(fixture.client, attempt, "a destination of another kind, to pay to")
            if created.succeeded:
                code = currency or member(created, "currency")
                return ids["beneficiary_id"], identifier(created), code
        raise Inconclusive(Unclear("the server accepts no destination of another kind"))

    def make(fixture: Fixture) -> list[Body]:
        with contextlib.suppress(Inconclusive):
            key = ("payee of another kind", fixture.account_id, currency)
            payee = fixture.lane.common.cache.get(key, lambda: payee_of(fixture))
            return [{**fixture.lane.samples.payout(*payee), "currency": payee[2]}]
        return []

    return make


# ---------------------------------------------------------------------- numbers at both ends of their lengths


def belgian_iban() -> str:
    """A random Belgian IBAN, of whose account number the check digits are valid, too."""
    account = "735" + digits(7)
    return checked_iban("BE", account + f"{int(account) % 97 or 97:02d}")


def of_all_lengths(european: Body | None, wallet: Body | None) -> dict[str, Body]:
    """Destinations with numbers of the least and the greatest length of their form, or in other letters, by
    what is unusual about them: made of one with an IBAN alone, and of a wallet; none of None."""
    ibans = {
        "an IBAN of 15 characters": checked_iban("NO", digits(11)),
        "an IBAN of 31 characters": checked_iban("MT", f"MALT{digits(23)}"),
        "an IBAN of 34 characters": checked_iban("DE", digits(30)),
        "an IBAN of small letters in groups": re.sub("(....)(?=.)", r"\1 ", iban().lower()),
    }
    addresses = {
        f"a wallet address of {len(start) + count} characters": start + digits(count)
        for start, count in (("1", 3), ("1", 8), ("1", 25), ("bc1p", 58), ("addr1", 85))
    }
    sources = [(european, "iban", ibans), (wallet, "wallet_address", addresses)]
    return {
        what: {**body, name: number, "label": f"conformance {marker()}"}
        for body, name, numbers in sources
        for what, number in numbers.items()
        if body is not None
    }
