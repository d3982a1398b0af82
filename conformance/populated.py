"""Lists whose elements are known, because the suite has made them: in accounts that nobody else works in.

Each is made when first asked for and kept for the run. The elements come in three batches whose `created`
differ, and are as different from one another as the server allows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from conformance.exchange import Call, Exchange
from conformance.listing import page_of, query
from conformance.samples import OTHER_CURRENCIES
from conformance.shapes import Shapes
from conformance.suite import Suite, refusal_of_sound
from conformance.timestamps import wait_past
from conformance.verdict import Inconclusive
from conformance.world import Scene, call

#: Each list in an account -> the operation that adds to it.
CREATES = {
    "listPayoutDestinations": "createPayoutDestination",
    "listVirtualAccounts": "createVirtualAccount",
    "listWallets": "createWallet",
}

#: Elements of a small list, more than a page of the default size, and of a large one, more than any page.
SMALL, LARGE = 12, 101

MORE_PAIRS = "Name further pairs of currency and network in the target file: [samples.wallet] pairs."

#: Accounts that a run adds to a customer's list at least, whatever the list holds already.
_OWN_ACCOUNTS = 3

#: Currencies and networks of section 2.7's examples, tried in pairs where the target file names none; a
#: server may know few of them.
_EXAMPLES = (
    ("USDC", "USDT", "ETH", "BTC", "USDC_ETHEREUM"),
    ("ethereum", "polygon", "bitcoin", "solana_devnet"),
)

Body = dict[str, Any]


#: Refusals after which a server is taken to have a limit, or to know only a fixed few.
_MOST_REFUSALS = 3


@dataclass(frozen=True)
class Planned:
    """An element to make: its body; if that is of a special kind, the plain body to make do with; whether the
    server must know it, whatever else it refused."""

    body: Body
    plain: Body | None = None
    kind: str = ""
    known: bool = False


#: The greatest length of a label (section 8).
_LONGEST = 255


@dataclass
class Stock:
    """A list and what is known to be in it; `call` is the list's call without a query."""

    call: Call
    #: The exchanges that created its elements, by id, in the order of creation.
    created: dict[str, Exchange] = field(default_factory=dict)
    #: The ids of further elements that must be in it.
    known: set[str] = field(default_factory=set)
    #: The ids of elements of other parents, and whose they are.
    strangers: dict[str, str] = field(default_factory=dict)
    #: Nothing else than `created` is in the list.
    exact: bool = True
    #: The answer that refused an element last; how many plain ones were refused, and which special ones.
    refusal: Exchange | None = None
    refusals: int = 0
    refused_kinds: set[str] = field(default_factory=set)

    def need(self, count: int) -> None:
        """Raises Inconclusive when the list has fewer elements."""
        if len(self.created) >= count:
            return
        stop = refusal_of_sound(self.refusal) if self.refusal else Inconclusive("")
        cure = stop.cure
        if self.call.operation == "listWallets":
            cure = MORE_PAIRS
        raise Inconclusive(
            f"{self.call.operation} has {len(self.created)} of the {count} elements this needs"
            + (f": {stop.reason}" if stop.reason else ""),
            cure,
            stop.cause,
        )

    def add(self, suite: Suite, scene: Scene, operation: str, body: Body | None = None) -> bool:
        """Creates an element; whether the server accepted it."""
        exchange = suite.send(scene.client, scene.call(operation, body), "an element to be listed")
        created = exchange.get("id")
        if not exchange.succeeded or not isinstance(created, str):
            self.refusal = exchange
            return False
        self.created[created] = exchange
        return True

    def wait(self) -> None:
        """Waits until the next element must show a later `created`."""
        if self.created:
            last = list(self.created.values())[-1]
            wait_past(last.get("created"), last.started + last.elapsed)


def populated(suite: Suite, operation: str) -> Stock:
    """The small list of an operation; a customer's accounts are the same list in both sizes.

    Raises Inconclusive when the server does not let it be made.
    """
    if operation == "listAccounts":
        return _accounts(suite)
    stocks = suite.shelf.setdefault("populated lists", {})
    if not stocks:
        stocks.update(_populate(suite))
    return _usable(stocks[operation])


def large(suite: Suite, operation: str) -> Stock:
    """A list of more elements than the greatest page; raises Inconclusive where fewer than 3 are allowed."""
    if operation == "listAccounts":
        return _accounts(suite)
    key = f"large {operation}"
    if key not in suite.shelf:
        Shapes(suite, CREATES[operation]).accepted("sample")
        scene = suite.fresh()
        stock = suite.shelf[key] = Stock(scene.call(operation))
        while len(stock.created) < LARGE and stock.add(suite, scene, CREATES[operation]):
            pass
    made: Stock = suite.shelf[key]
    made.need(3)
    return made


def _usable(made: Stock | Inconclusive) -> Stock:
    if isinstance(made, Inconclusive):
        raise Inconclusive(made.reason, made.cure, made.cause)
    made.need(1)
    return made


# ---------------------------------------------------------------------- a customer's accounts


def _accounts(suite: Suite) -> Stock:
    key = "accounts to list"
    if key not in suite.shelf:
        scene = suite.shared()
        stock = Stock(scene.call("listAccounts"), exact=False)
        page = page_of(
            suite.send(scene.client, stock.call.with_query(query(1, 1)), "how many accounts are there?")
        )
        there = page.total if page and page.total is not None else LARGE
        for _ in range(max(_OWN_ACCOUNTS, min(LARGE - there, LARGE))):
            if not stock.add(suite, scene, "createAccount"):
                break
        if suite.target.primary.funded_account_id:
            stock.known.add(suite.target.primary.funded_account_id)
        other = suite.target.primary.other_customer_id
        if other is not None:
            elsewhere = Scene(suite, customer_id=other)
            _add_stranger(stock, elsewhere, "createAccount", "another customer's")
        if suite.target.secondary is not None:
            _add_stranger(stock, suite.shared("secondary"), "createAccount", "another organization's")
        suite.shelf[key] = stock
    made: Stock = suite.shelf[key]
    made.need(1)
    return made


def _add_stranger(stock: Stock, scene: Scene, operation: str, whose: str) -> None:
    """An element under another parent; without it, that parent's elements are not looked for."""
    try:
        exchange = scene.suite.send(scene.client, scene.call(operation), "an element of another list")
    except Inconclusive:
        return
    created = exchange.get("id")
    if exchange.succeeded and isinstance(created, str):
        stock.strangers[created] = whose


# ---------------------------------------------------------------------- lists in an account


def _populate(suite: Suite) -> dict[str, Stock | Inconclusive]:
    """The three lists of one account, filled together so that all wait for the server's clock at once."""
    Shapes(suite, "createPayoutDestination").accepted("sample")
    scene = suite.fresh()
    made: dict[str, Stock | Inconclusive] = {}
    plans: dict[str, list[Planned]] = {}
    for operation, plan in (
        ("listPayoutDestinations", _destinations),
        ("listVirtualAccounts", _virtual_accounts),
        ("listWallets", _wallets),
    ):
        try:
            made[operation] = Stock(scene.call(operation))
            plans[operation] = list(plan(scene))
        except Inconclusive as stop:
            made[operation] = stop
    stocks = {operation: stock for operation, stock in made.items() if isinstance(stock, Stock)}
    for batch in range(3):
        for operation, stock in stocks.items():
            _add_batch(suite, scene, stock, plans[operation], batch)
        if batch == 1:
            _add_strangers(suite, scene, stocks)
        if batch < 2:
            for stock in stocks.values():
                stock.wait()
    return made


def _add_batch(suite: Suite, scene: Scene, stock: Stock, plan: list[Planned], batch: int) -> None:
    """Adds a third of the elements, taking from the plan what is used up.

    What the server must know is spread over the batches and always tried; of the rest it is not asked for
    more once it has refused several.
    """
    known = [planned for planned in plan if planned.known]
    for planned in known[: -(-len(known) // (3 - batch))]:
        plan.remove(planned)
        _add_one(suite, scene, stock, planned)
    while plan and len(stock.created) < SMALL * (batch + 1) // 3 and stock.refusals < _MOST_REFUSALS:
        planned = next((planned for planned in plan if not planned.known), None)
        if planned is None:
            break
        plan.remove(planned)
        _add_one(suite, scene, stock, planned)


def _add_one(suite: Suite, scene: Scene, stock: Stock, planned: Planned) -> None:
    """Adds an element, or its plainer counterpart where the server refuses it."""
    operation = CREATES[str(stock.call.operation)]
    if planned.plain is not None and planned.kind not in stock.refused_kinds:
        if stock.add(suite, scene, operation, planned.body):
            return
        stock.refused_kinds.add(planned.kind)
    stock.refusals += not stock.add(suite, scene, operation, planned.plain or planned.body)


def _destinations(scene: Scene) -> Iterator[Planned]:
    """Payout destinations of all kinds that the server accepts."""
    shapes = Shapes(scene.suite, "createPayoutDestination")
    plain = [scene.body("createPayoutDestination") for _ in range(SMALL)]
    special: dict[int, tuple[str, Body]] = {0: ("default", {**plain[0], "is_default": True})}
    special[1] = ("unlabelled", {name: value for name, value in plain[1].items() if name != "label"})
    for index, shape in ((2, "wallet"), (3, "IBAN"), (8, "wallet")):
        if shapes.accepted(shape):
            special[index] = (shape, shapes.body(shape, scene))
    for index, body in enumerate(plain):
        if index in special:
            kind, other = special[index]
            yield Planned(other, body, kind)
        else:
            yield Planned(body)


def _virtual_accounts(scene: Scene) -> Iterator[Planned]:
    """Virtual accounts in several currencies, where the server knows more than one."""
    usual = scene.body("createVirtualAccount").get("currency")
    others = [currency for currency in OTHER_CURRENCIES if currency != usual]
    for index in range(SMALL):
        body = scene.body("createVirtualAccount")
        if index == 2:
            yield _long(scene, "virtual_account", body)
        elif index % 2 == 0:
            yield Planned(body)
        else:
            currency = others[index // 2 % len(others)]
            yield Planned({**body, "currency": currency}, body, currency)


def _wallets(scene: Scene) -> Iterator[Planned]:
    """Wallets of the pairs that the target file names, else of the documented pairs and the examples."""
    samples = scene.suite.samples
    known = samples.wallet_pairs
    more = [("BTC", "bitcoin"), *((one, other) for other in _EXAMPLES[1] for one in _EXAMPLES[0])]
    if samples.over("wallet").get("pairs"):
        more = []
    for currency, network in [*known[:SMALL], *dict.fromkeys(pair for pair in more if pair not in known)]:
        body = {**samples.wallet(), "currency": currency, "network": network}
        if (currency, network) == known[0]:
            yield _long(scene, "wallet", body)
        else:
            yield Planned(body, known=(currency, network) in known)


def _long(scene: Scene, kind: str, body: Body) -> Planned:
    """An element whose label is as long as it may be, which a list could cut off."""
    if "label" in scene.suite.samples.over(kind):
        return Planned(body, known=kind == "wallet")
    long = {**body, "label": str(body["label"]).ljust(_LONGEST, "x")}
    return Planned(long, body, "long label", known=kind == "wallet")


def _add_strangers(suite: Suite, scene: Scene, stocks: dict[str, Stock]) -> None:
    """One element of each kind elsewhere, made in the middle, so that most filters would keep it."""
    elsewhere = suite.fresh()
    for operation, stock in stocks.items():
        _add_stranger(stock, elsewhere, CREATES[operation], "another account's")
    if stock := stocks.get("listPayoutDestinations"):
        try:
            sibling = scene.create("createBeneficiary").get("id")
        except Inconclusive:
            return
        ids = {"account_id": scene.account_id, "beneficiary_id": sibling}
        if isinstance(sibling, str):
            exchange = suite.send(
                scene.client,
                call("createPayoutDestination", ids, scene.body("createPayoutDestination")),
                "an element of another list",
            )
            created = exchange.get("id")
            if exchange.succeeded and isinstance(created, str):
                stock.strangers[created] = "another beneficiary's"
