"""Elements of the lists that a run fills: as different from one another as the server allows."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace

from conformance.contract.operations import OPERATIONS
from conformance.contract.traits import TRAITS
from conformance.world.account import AccountFixture
from conformance.world.bodies import bodies
from conformance.world.creations import KINDS
from conformance.world.samples import Body
from conformance.world.shapes import SHAPES, accepted_body, accepts
from conformance.world.text_turns import FIXED, all_texts

#: Elements of a small list, more than a page of the default size, and of a large one, more than any page.
SMALL, LARGE = 12, 101

#: Currencies and networks of section 2.7's examples, tried in pairs where the target file names none; a
#: server may know few of them.
_EXAMPLES = (
    ("USDC", "USDT", "ETH", "BTC", "USDC_ETHEREUM"),
    ("ethereum", "polygon", "bitcoin", "solana_devnet"),
)


@dataclass(frozen=True)
class Planned:
    """An element to make: its body; if that is of a special kind, the plain body to make do with; whether the
    server must know it, whatever else it refused."""

    body: Body
    plain: Body | None = None
    kind: str = ""
    known: bool = False


#: Position in a small list of destinations -> the row of the table of bodies.
_DESTINATION_ROWS = {
    0: "the default",
    1: "bank details without label",
    2: "wallet",
    3: "IBAN",
    4: "a label with signs",
    5: "the longest label",
    7: "IBAN alone",
    8: "wallet",
    # Takes it from the first, whose `updated` then is another time than its `created`.
    9: "the default",
}

#: Position in a small list of virtual accounts -> the row; those at odd positions have other currencies.
_VIRTUAL_ACCOUNT_ROWS = {2: "the longest label", 4: "a label with letters and signs", 6: "an address"}

#: Position among the accounts of a customer -> the row.
_ACCOUNT_ROWS = {0: "the longest name", 1: "letters and signs"}


def _planned(fixture: AccountFixture, operation: str, row: str | None, known: bool = False) -> Planned:
    """An element of a row of the table of bodies, or of the sample. A label or name that the target file
    gives stays as it is."""
    body = fixture.body(operation)
    told = fixture.run.samples.over(OPERATIONS[operation].resource)
    if row is None or (row.startswith("the longest ") and row.rpartition(" ")[2] in told):
        return Planned(body, known=known)
    if row not in SHAPES.get(operation, ()):
        return Planned(bodies(fixture, operation, row)[0], body, row, known)
    if not accepts(fixture.run, operation, row):
        return Planned(body)
    return Planned(accepted_body(fixture, operation, row), body, row)


def _with_text(fixture: AccountFixture, operation: str, text: tuple[str, str] | None) -> Planned:
    """An element of the sample with a text, of which servers are known to change some, as its label or name;
    the sample where the target file says which."""
    body, name = fixture.body(operation), TRAITS[operation].free_text
    if text is None or name in fixture.run.samples.over(OPERATIONS[operation].resource):
        return Planned(body)
    return Planned({**body, name: text[1]}, body, text[0])


def accounts_of_customer(fixture: AccountFixture) -> Iterator[Planned]:
    """Accounts with names of all kinds, then such as the sample, without end."""
    # Where a name is found again, an account of a name that is no random one may be as old as any.
    texts = (text for text in all_texts() if not text[0].startswith(FIXED))
    for index in itertools.count():
        if index in _ACCOUNT_ROWS:
            yield _planned(fixture, "createAccount", _ACCOUNT_ROWS[index])
        else:
            yield _with_text(fixture, "createAccount", next(texts, None))


def labelled(fixture: AccountFixture, operation: str) -> Iterator[Planned]:
    """Elements such as the sample with labels of all kinds, then such as the sample, without end."""
    for text in itertools.chain(all_texts(), itertools.repeat(None)):
        yield _with_text(fixture, operation, text)


def destinations(fixture: AccountFixture) -> Iterator[Planned]:
    """Payout destinations of all kinds that the server accepts."""
    create, texts = "createPayoutDestination", all_texts()
    for index in range(SMALL):
        if index in _DESTINATION_ROWS:
            yield _planned(fixture, create, _DESTINATION_ROWS[index])
        else:
            yield _with_text(fixture, create, next(texts))


def virtual_accounts(fixture: AccountFixture) -> Iterator[Planned]:
    """Virtual accounts in several currencies, where the server knows more than one."""
    # Destinations have the first three: quick runs have no list with all.
    create, texts = "createVirtualAccount", itertools.islice(all_texts(), 3, None)
    for index in range(SMALL):
        if index in _VIRTUAL_ACCOUNT_ROWS:
            yield _planned(fixture, create, _VIRTUAL_ACCOUNT_ROWS[index])
        elif index % 2 == 0:
            yield _with_text(fixture, create, next(texts))
        else:
            others = bodies(fixture, create, "another currency")
            body = others[index // 2 % len(others)]
            yield Planned(body, fixture.body(create), body["currency"])


def wallets(fixture: AccountFixture) -> Iterator[Planned]:
    """Wallets of the pairs that the target file names, else of the documented pairs and the examples."""
    samples = fixture.run.samples
    known = samples.wallet_pairs
    texts = itertools.islice(all_texts(), len(KINDS["createWallet"]), None)
    examples = ((example, other) for other in _EXAMPLES[1] for example in _EXAMPLES[0])
    more = [] if samples.over("wallet").get("pairs") else [("BTC", "bitcoin"), *examples]
    for pair in [*known[:SMALL], *dict.fromkeys(pair for pair in more if pair not in known)]:
        row = {known[-1]: "a label with letters and signs", known[0]: "the longest label"}.get(pair)
        planned = _planned(fixture, "createWallet", row, pair in known)
        if row is None:
            # Texts that other wallets do not have.
            planned = replace(_with_text(fixture, "createWallet", next(texts, None)), known=pair in known)
        changes = dict(zip(("currency", "network"), pair, strict=True))
        plain = planned.plain and {**planned.plain, **changes}
        yield replace(planned, body={**planned.body, **changes}, plain=plain)
