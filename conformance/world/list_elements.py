"""The elements with which a run fills lists, as different from one another as the server allows."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from conformance.contract.fields import HIDDEN
from conformance.contract.operations import OPERATIONS
from conformance.contract.traits import TRAITS
from conformance.world.bodies import bodies
from conformance.world.lane import Fixture
from conformance.world.other_values import other_value
from conformance.world.samples import Body
from conformance.world.text_turns import label_texts

#: Elements of a small list, above the default page size, and of a large one, above the largest page size.
SMALL, LARGE = 12, 101

#: Currencies and networks of wallets that section 2.7 gives as examples; a server may support few pairs.
_EXAMPLES = (
    ("BTC", "bitcoin"),
    *(
        (currency, network)
        for network in ("ethereum", "polygon", "bitcoin", "solana_devnet")
        for currency in ("USDC", "USDT", "ETH", "USDC_ETHEREUM")
    ),
)

_OTHER_CURRENCIES = dict.fromkeys(range(1, SMALL, 2), "another currency")

#: Create -> position of the element -> row of BODIES; the elements at other positions are samples, each with
#: another text as its name or label.
_ROWS: Mapping[str, Mapping[int, str]] = {
    "createAccount": {0: "the longest name", 1: "letters and signs"},
    "createPayoutDestination": {
        0: "the default",
        1: "bank details without label",
        2: "wallet",
        3: "IBAN",
        4: "a label with signs",
        5: "the longest label",
        6: "a savings account",
        7: "IBAN alone",
        8: "wallet",
        # Replaces the first as the default, so that the first's `updated` and `created` differ.
        11: "the default",
    },
    "createVirtualAccount": {
        2: "the longest label",
        4: "a label with letters and signs",
        6: "an address",
        **_OTHER_CURRENCIES,
    },
    "createWallet": {0: "the longest label", 1: "a label with letters and signs"},
}

#: Create -> position of an element -> position of an earlier one, whose name or label it has: a list may know
#: its elements by it.
_NAMESAKES: Mapping[str, Mapping[int, int]] = {
    "createAccount": {2: 1},
    "createPayoutDestination": {8: 2},
    "createVirtualAccount": {11: 9},
    "createWallet": {2: 1},
}

#: Likewise, the end of whose number it has.
_SAME_ENDS: Mapping[str, Mapping[int, int]] = {"createPayoutDestination": {10: 0}}


@dataclass(frozen=True)
class Element:
    """An element to create: bodies to try, the plainest last, and their kind; a server need not accept a
    `spare` one."""

    bodies: list[Body]
    kind: str = ""
    spare: bool = True


def elements(fixture: Fixture, create: str, *, plain: bool = False) -> Iterator[Element]:
    """Yields the elements of a list: those of rows unless `plain`, and samples that each have another text as
    their name or label. Without end but for wallets, of which each pair has one."""
    samples = fixture.lane.samples
    if not TRAITS[create].unique_pair:
        yield from _labelled(fixture, create, plain)
        return
    pairs = samples.wallet_pairs[:SMALL]
    if not samples.over("wallet").get("pairs"):
        pairs += [pair for pair in _EXAMPLES if pair not in pairs]
    for pair, element in zip(pairs, _labelled(fixture, create, plain), strict=False):
        changes = dict(zip(TRAITS[create].unique_pair, pair, strict=True))
        yield Element(
            [{**body, **changes} for body in element.bodies], element.kind, pair not in samples.wallet_pairs
        )


def _labelled(fixture: Fixture, create: str, plain: bool) -> Iterator[Element]:
    name, rows = TRAITS[create].free_text, {} if plain else _ROWS.get(create, {})
    fixed = name in fixture.lane.samples.over(OPERATIONS[create].resource)
    # The name of an account without a random part may also be that of an account of an earlier run.
    texts = list(label_texts(fixed=not TRAITS[create].shared))
    if create not in _ROWS:
        # No row has a long text.
        texts.insert(0, texts.pop())
    sequence: list[Element] = []
    for position in itertools.count():
        sample, kind = fixture.body(create), rows.get(position, "")
        bodies = [*_of_row(fixture, create, kind, [each.kind for each in sequence].count(kind)), sample]
        earlier = None if plain else _NAMESAKES.get(create, {}).get(position)
        if earlier is not None and name in sequence[earlier].bodies[0]:
            bodies = [{**bodies[0], name: sequence[earlier].bodies[0][name]}, *bodies]
        elif not kind and texts:
            kind, label = texts.pop(0)
            bodies = [{**sample, name: label}, sample]
        if not plain and (like := _SAME_ENDS.get(create, {}).get(position)) is not None:
            theirs = sequence[like].bodies[0].items()
            ends = {part: other_value(part, each) for part, each in theirs if part in HIDDEN}
            bodies = [{**bodies[0], **ends}, *bodies] if ends.keys() <= bodies[0].keys() else bodies
        if fixed:
            # What the target file sets stays.
            bodies = [{**body, name: sample[name]} for body in bodies]
        sequence.append(Element(bodies, kind))
        yield sequence[-1]


def _of_row(fixture: Fixture, create: str, row: str, turn: int) -> list[Body]:
    """The bodies of a row; in each further turn another one first. None without a row."""
    tries = bodies(fixture, create, row) if row else []
    start = turn % max(1, len(tries))
    return tries[start:] + tries[:start]
