"""Plans the elements of the lists that a run fills, as different from one another as the server allows."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace

from conformance.contract.operations import OPERATIONS
from conformance.contract.traits import TRAITS
from conformance.world.account import Account
from conformance.world.bodies import bodies
from conformance.world.creations import KINDS
from conformance.world.samples import LETTER, LONGEST, Body, marker
from conformance.world.shapes import SHAPES, accepted_body, accepts
from conformance.world.text_turns import FIXED, all_texts

#: Lengths of a small list, above the default page size, and of a large one, above the largest page size.
SMALL, LARGE = 12, 101

#: Example currencies and networks of section 2.7, tried in pairs where the target file names none; a server
#: may support few of them.
_EXAMPLES = (
    ("USDC", "USDT", "ETH", "USDC_ETHEREUM"),
    ("ethereum", "polygon", "bitcoin", "solana_devnet"),
)


@dataclass(frozen=True)
class Planned:
    """An element to create. A body of a special `kind` has a `plain` one to fall back to; a `known` one is
    tried whatever else the server refused."""

    body: Body
    plain: Body | None = None
    kind: str = ""
    known: bool = False


#: Position in a small list of destinations -> row of BODIES.
_DESTINATION_ROWS = {
    0: "the default",
    1: "bank details without label",
    2: "wallet",
    3: "IBAN",
    4: "a label with signs",
    5: "the longest label",
    7: "IBAN alone",
    8: "wallet",
    # Replaces the first as the default, so that the first's `updated` and `created` differ.
    9: "the default",
}

#: Position in a small list of virtual accounts -> row; those at odd positions have other currencies.
_VIRTUAL_ACCOUNT_ROWS = {2: "the longest label", 4: "a label with letters and signs", 6: "an address"}

#: Position among the accounts of a customer -> row.
_ACCOUNT_ROWS = {0: "the longest name", 1: "letters and signs"}


def _planned(fixture: Account, operation: str, row: str | None, known: bool = False) -> Planned:
    """Plans an element of a row of BODIES, or of the sample, which keeps a label or name that the target file
    sets."""
    body = fixture.body(operation)
    fixed = fixture.run.samples.over(OPERATIONS[operation].resource)
    if row is None or (row.startswith("the longest ") and row.rpartition(" ")[2] in fixed):
        return Planned(body, known=known)
    if row not in SHAPES.get(operation, ()):
        return Planned(bodies(fixture, operation, row)[0], body, row, known)
    if not accepts(fixture.run, operation, row):
        return Planned(body)
    return Planned(accepted_body(fixture, operation, row), body, row)


def _with_text(fixture: Account, operation: str, text: tuple[str, str] | None) -> Planned:
    """Plans the sample with a text as its label or name, unless the target file sets that."""
    body, name = fixture.body(operation), TRAITS[operation].free_text
    if text is None or name in fixture.run.samples.over(OPERATIONS[operation].resource):
        return Planned(body)
    return Planned({**body, name: text[1]}, body, text[0])


def _called_like(planned: Planned, earlier: Planned, operation: str) -> Planned:
    """An element with the label or name of an earlier one, which a server may want to be its own: a list may
    know its elements by it."""
    name = TRAITS[operation].free_text
    if name not in earlier.body:
        return planned
    body = {**planned.body, name: earlier.body[name]}
    return Planned(body, planned.plain or planned.body, planned.kind or "a text of another", planned.known)


def accounts_of_customer(fixture: Account) -> Iterator[Planned]:
    """Plans accounts with all kinds of names, then samples without end."""
    # A name without a random part may also be that of an account of an earlier run.
    texts = (text for text in all_texts() if not text[0].startswith(FIXED))
    first = [_planned(fixture, "createAccount", row) for row in _ACCOUNT_ROWS.values()]
    yield from first
    yield _called_like(_with_text(fixture, "createAccount", None), first[-1], "createAccount")
    while True:
        yield _with_text(fixture, "createAccount", next(texts, None))


def labelled(fixture: Account, operation: str) -> Iterator[Planned]:
    """Plans samples with all kinds of labels, then samples without end."""
    for text in itertools.chain(all_texts(), itertools.repeat(None)):
        yield _with_text(fixture, operation, text)


def destinations(fixture: Account) -> Iterator[Planned]:
    """Plans payout destinations of all kinds that the server accepts."""
    create, texts = "createPayoutDestination", all_texts()
    wallets: list[Planned] = []
    for index in range(SMALL):
        row = _DESTINATION_ROWS.get(index)
        planned = _planned(fixture, create, row) if row else _with_text(fixture, create, next(texts))
        if index == SMALL - 1 and "account_type" in planned.body:
            planned = replace(planned, body={**planned.body, "account_type": "savings"})
        if row == "wallet":
            wallets.append(planned)
            planned = _called_like(planned, wallets[0], create)
        yield planned


def virtual_accounts(fixture: Account) -> Iterator[Planned]:
    """Plans virtual accounts in several currencies, where the server supports more than one."""
    # Destinations have the first three, as quick runs fill no large list.
    create, texts = "createVirtualAccount", itertools.islice(all_texts(), 3, None)
    earlier: Planned | None = None
    for index in range(SMALL):
        if index in _VIRTUAL_ACCOUNT_ROWS:
            yield _planned(fixture, create, _VIRTUAL_ACCOUNT_ROWS[index])
        elif index % 2 == 0:
            yield _with_text(fixture, create, next(texts))
        else:
            others = bodies(fixture, create, "another currency")
            body = others[index // 2 % len(others)]
            planned = Planned(body, fixture.body(create), body["currency"])
            last = index == SMALL - 1
            yield _called_like(planned, earlier, create) if earlier and last else planned
            earlier = planned


def wallets(fixture: Account) -> Iterator[Planned]:
    """Plans wallets of the target file's pairs, else of the documented pairs and the examples."""
    samples = fixture.run.samples
    known = samples.wallet_pairs
    # The most telling text, then those that other wallets do not have.
    texts = itertools.chain(
        itertools.islice(all_texts(), 1), itertools.islice(all_texts(), len(KINDS["createWallet"]), None)
    )
    longest = "the longest label, of more bytes than characters", f"{marker()} ".ljust(LONGEST, LETTER)
    examples = ((example, other) for other in _EXAMPLES[1] for example in _EXAMPLES[0])
    more = [] if samples.over("wallet").get("pairs") else [("BTC", "bitcoin"), *examples]
    pairs = [*known[:SMALL], *dict.fromkeys(pair for pair in more if pair not in known)]
    earlier: Planned | None = None
    for index, pair in enumerate(pairs):
        row = {known[-1]: "a label with letters and signs"}.get(pair)
        planned = _planned(fixture, "createWallet", row, pair in known)
        if row is None:
            text = longest if pair == known[0] else None if index == 2 else next(texts, None)
            planned = replace(_with_text(fixture, "createWallet", text), known=pair in known)
        if earlier and index == 2:
            planned = _called_like(planned, earlier, "createWallet")
        earlier = planned
        changes = dict(zip(("currency", "network"), pair, strict=True))
        plain = planned.plain and {**planned.plain, **changes}
        yield replace(planned, body={**planned.body, **changes}, plain=plain)
