"""Valid payout destinations, each derived from an account's samples; later ones are plainer."""

from __future__ import annotations

from conformance.wire.messages import MISSING
from conformance.world.run import Account
from conformance.world.samples import Body, belgian_iban, changed, iban, solana_address


def with_iban(fixture: Account) -> list[Body]:
    """The accepted bank details with an IBAN added, then bank details with an IBAN only."""
    body = fixture.body("createPayoutDestination")
    if "iban" in body:
        return [body]
    return [{**body, "iban": iban(), "swift_code": "DEUTDEFF"}, *european(fixture)]


def european(fixture: Account) -> list[Body]:
    return fixture.run.samples.bank_accounts()[-1:]


def long_swift(fixture: Account) -> list[Body]:
    german = {"iban": iban(), "swift_code": "COBADEFFXXX", "label": MISSING}
    belgian = {**german, "country": "BE", "iban": belgian_iban(), "swift_code": "KREDBEBBXXX"}
    known = [body for body in european(fixture) if "swift_code" in body]
    return defaults([changed(body, changes) for changes in (belgian, german) for body in known])


def accounts(fixture: Account, by_number: bool) -> list[Body]:
    return [each for each in fixture.run.samples.bank_accounts() if ("account_number" in each) is by_number]


def numbered(fixture: Account) -> list[Body]:
    body = fixture.body("createPayoutDestination")
    return [body] if "account_number" in body else accounts(fixture, True)


def savings(fixture: Account) -> list[Body]:
    body = fixture.body("createPayoutDestination")
    savings = {**body, "account_type": "savings"}
    elsewhere = {**savings, "routing_number": "011401533"}
    return [{**elsewhere, "swift_code": "BOFAUS3N"}, elsewhere, savings] if "account_type" in body else []


def wallet(fixture: Account) -> list[Body]:
    return fixture.run.samples.wallet_destinations()


def other_network(fixture: Account) -> list[Body]:
    solana = {"network": "solana_devnet", "wallet_address": solana_address()}
    more = {"is_default": True, "label": MISSING}
    # Not the country of its beneficiary.
    others = (solana | more | {"country": "DE"}, solana | more, {"network": "polygon"} | more)
    return [changed(body, other) for other in others for body in wallet(fixture)]


def defaults(destinations: list[Body]) -> list[Body]:
    return [*(body | {"is_default": True} for body in destinations), *destinations]
