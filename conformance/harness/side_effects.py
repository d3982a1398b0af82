"""Whether requests had an effect, as the owner of the resources sees it: in lists, reads and balances."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Sequence
from decimal import Context, Decimal, InvalidOperation
from types import TracebackType
from typing import Any

from conformance.contract.fields import documented
from conformance.fixtures.account import AccountFixture, call
from conformance.harness.context import CheckContext
from conformance.judging.comparison import same, show
from conformance.wire.messages import Call, Exchange

Document = dict[str, Any]

UNTOUCHED = "refusal.changes-nothing"

#: Operation -> the list in which what it creates shows.
LISTS = {
    "createAccount": "listAccounts",
    "createPayoutDestination": "listPayoutDestinations",
    "createVirtualAccount": "listVirtualAccounts",
    "createWallet": "listWallets",
}

#: Operations whose effect may show in the account's balances.
MONEY = ("createPayout", "createPayin")

_BENEFICIARY = re.compile(r"bene_[A-Za-z0-9_-]+")

#: Pages that a walk reads at most.
MOST_PAGES = 200

#: No amount is rounded, and none is too strange to reckon with.
_EXACT = Context(prec=500, traps=[])

_AMOUNTS = ("available_balance", "pending_payout", "pending_payin", "total_balance")


def walk(
    ctx: CheckContext, fixture: AccountFixture, operation: str, purpose: str, size: int = 100
) -> tuple[list[Document] | None, Exchange]:
    """All items of a list of a scene, page by page, and the last answer; None where a page shows none."""
    items: list[Document] = []
    page = 0
    while True:
        page += 1
        listing = fixture.call(operation).with_query({"page": page, "size": size})
        exchange = ctx.send(listing, purpose, owner(fixture))
        shown = exchange.get("items")
        if not exchange.succeeded or not isinstance(shown, list):
            return None, exchange
        items += [one for one in shown if isinstance(one, dict)]
        pages = exchange.get("pages")
        more = page < pages if type(pages) is int else len(shown) == size
        if not shown or not more or page == MOST_PAGES:
            return items, exchange


def owner(fixture: AccountFixture) -> str:
    """The organization in whose name a scene's resources are looked at."""
    return fixture.client.organization.name


class SideEffects:
    """What an operation does to a scene between entering the block and `judge`.

    `accepted` holds ids of resources that were rightly created meanwhile. Resources that no operation
    shows (beneficiaries without their id, payouts where no balance moves) are looked for as far as it goes.
    """

    def __init__(self, ctx: CheckContext, fixture: AccountFixture, operation: str = "") -> None:
        self.ctx = ctx
        self.fixture = fixture
        self.operation = operation or ctx.operation.id
        self.accepted: set[str] = set()
        self._before: Any = None
        self._failed: Exchange | None = None
        self._lock = contextlib.ExitStack()

    def __enter__(self) -> SideEffects:
        if self.operation in ("createAccount", "createPayout"):
            # What other workers create would show as an effect.
            self._lock.enter_context(self.ctx.run.quiet_accounts())
        try:
            self.start()
        except BaseException:
            self._lock.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._lock.close()

    # ------------------------------------------------------------------ judging

    def start(self) -> None:
        """Takes the present state as the one to compare with."""
        self._failed = None
        self._before, self._failed = self._state()

    def judge(
        self, rule: str, what: str, sent: Sequence[Exchange], again: Callable[[], Exchange] | None = None
    ) -> None:
        """Judges that `what`, the answers of which are `sent`, changed nothing.

        Where others may be at work on the same resource, `again` repeats one of the requests, to tell its
        effect from theirs. Does nothing where the trial does not judge the rule.
        """
        if rule not in self.ctx.rules:
            return
        wanted = f"no effect of {what}"
        if self.ctx.operation.id == "createBeneficiary":
            self._judge_named(rule, what, sent)
        if self.operation == "createBeneficiary":
            return
        if self._before is None:
            self._cannot_tell(rule, self._failed)
            return
        changes, looked = self.changes(sent)
        if changes and again is not None and self.operation in MONEY:
            for _ in range(2):
                self.start()
                again()
                changes, looked = self.changes(sent) if self._before is not None else ("", None)
                if not changes:
                    break
        if looked is None:
            self._cannot_tell(rule, self._failed)
            return
        self.ctx.judge(rule, not changes, wanted, changes or "none", looked, *sent[-1:])

    def judge_refused(
        self, what: str, answers: Sequence[Exchange], cause: str, again: Callable[[], Exchange] | None = None
    ) -> None:
        """Judges that refused requests changed nothing, unless some were not refused, which is `cause`'s
        business."""
        if UNTOUCHED not in self.ctx.rules or not answers:
            return
        unrefused = [one for one in answers if not one.refused]
        if unrefused:
            reason = f"not all of {what} were refused, so their effects cannot be told apart"
            self.ctx.not_exercised(UNTOUCHED, reason)
        else:
            self.judge(UNTOUCHED, what, answers, again)

    def changes(self, sent: Sequence[Exchange] = ()) -> tuple[str, Exchange | None]:
        """What has changed since the start, and the exchange that shows it (None where it cannot be told)."""
        after, looked = self._state()
        if looked is None or after is None or self._before is None:
            self._failed = looked
            return "", None
        before = self._before
        if self.operation == "createAccount":
            return self._new_accounts(sent, looked) if after > before else ("", looked)
        if self.operation in LISTS:
            new = [one for one in after if one not in before and one not in self.accepted]
            other = [one for one in before if one in after and not same(before[one], after[one])]
            shown = [f"{len(new)} more in {LISTS[self.operation]}"] * bool(new)
            shown += [f"{len(other)} changed in {LISTS[self.operation]}"] * bool(other)
            return ", ".join(shown), looked
        changed = [name for name in {**before, **after} if not same(before.get(name), after.get(name))]
        shown = [f"{name} {show(before.get(name))} is now {show(after.get(name))}"[:160] for name in changed]
        return "; ".join(shown), looked

    def moved(self) -> dict[str, Decimal]:
        """By how much each amount of the balances differs from the start; empty where none is shown."""
        after, _ = self._state()
        before = self._before
        if not isinstance(before, dict) or not isinstance(after, dict):
            return {}
        return {name: _EXACT.subtract(after[name], before[name]) for name in after if name in before}

    def _new_accounts(self, sent: Sequence[Exchange], looked: Exchange) -> tuple[str, Exchange | None]:
        """Other clients of a live server create accounts, too: only names that were sent count."""
        names = {name for name in map(_name, sent) if name}
        items, last = walk(
            self.ctx, self.fixture, "listAccounts", "is there an account of a name that was sent?"
        )
        if items is None or "name" in self.ctx.run.samples.over("account"):
            self._failed = last
            return "", None
        new = {str(one.get("id")) for one in items if one.get("name") in names} - self.accepted
        return (f"{len(new)} more of the same name in listAccounts" if new else ""), last

    def _judge_named(self, rule: str, what: str, sent: Sequence[Exchange]) -> None:
        """No operation lists beneficiaries: only one that an answer names can be looked for."""
        named = {
            one: exchange
            for exchange in sent
            for one in _BENEFICIARY.findall(exchange.response_body.decode("utf-8", "replace"))
            if one not in exchange.call.target and one not in self.accepted
        }
        for identifier, exchange in list(named.items())[:5]:
            ids = {"account_id": self.fixture.account_id, "beneficiary_id": identifier}
            found = self.ctx.send(
                call("getBeneficiary", ids), "is there what the answer names?", owner(self.fixture)
            )
            got = f"{exchange.status}, and getBeneficiary shows a new beneficiary"
            self.ctx.judge(rule, not found.succeeded, f"no effect of {what}", got, exchange, found)
        self.ctx.judge(rule, True, f"no effect of {what}", "none", *sent[-1:])

    def _cannot_tell(self, rule: str, looked: Exchange | None) -> None:
        if looked is None:
            self.ctx.skip_judgement(rule, "nothing shows the effect of requests")
        elif self.ctx.usable(rule, looked):
            shown_by = f"{looked.operation}, which shows the effect of requests,"
            self.ctx.skip_judgement(rule, f"{shown_by} was answered {looked.described()}", looked)

    # ------------------------------------------------------------------ looking

    def _state(self) -> tuple[Any, Exchange | None]:
        """What `changes` compares, None where it is not shown, and the exchange that should show it."""
        fixture, ctx = self.fixture, self.ctx
        match self.operation:
            case "createBeneficiary":
                return None, None
            case "createAccount":
                listing = fixture.call("listAccounts").with_query({"page": 1, "size": 1})
                exchange = ctx.send(listing, "how many accounts are there?", owner(fixture))
                total = exchange.get("total")
                return (total if exchange.succeeded and type(total) is int else None), exchange
            case "updateBeneficiary" | "disableBeneficiary":
                return self._members(fixture.call("getBeneficiary"), "the beneficiary as it is")
            case "createPayout" | "createPayin":
                ids = {"customer_id": fixture.customer_id, "account_id": fixture.account_id}
                balances = call("getAccountBalances", ids)
                exchange = ctx.send(balances, "the balances as they are", owner(fixture))
                return (amounts(exchange.get("balances")) if exchange.succeeded else None), exchange
        items, exchange = walk(ctx, fixture, LISTS[self.operation], "what is in the list?")
        if items is None:
            return None, exchange
        return {str(one.get("id")): self._documented(one) for one in items}, exchange

    def _documented(self, document: Document) -> Document:
        """What a resource shows in documented members: others may change at any time."""
        return {name: document[name] for name in documented(self.operation) if name in document}

    def _members(self, reading: Call, purpose: str) -> tuple[Document | None, Exchange]:
        exchange = self.ctx.send(reading, purpose, owner(self.fixture))
        if not exchange.succeeded or not isinstance(exchange.document, dict):
            return None, exchange
        shown = {name: exchange.get(name) for name in documented("getBeneficiary")}
        return {name: value for name, value in shown.items() if value is not None}, exchange


def _name(exchange: Exchange) -> str:
    """The account name that a request sent; empty where it sent none."""
    try:
        document = exchange.call.document
    except (ValueError, RecursionError):
        return ""
    name = document.get("name") if isinstance(document, dict) else None
    return name if isinstance(name, str) else ""


def amounts(balances: Any) -> dict[str, Decimal] | None:
    """The amounts of an account by currency and kind, as numbers, so that another scale is no change."""
    if not isinstance(balances, list):
        return None
    found: dict[str, Decimal] = {}
    for one in balances:
        if not isinstance(one, dict):
            return None
        for kind in _AMOUNTS:
            with contextlib.suppress(InvalidOperation):
                amount = Decimal(str(one.get(kind)))
                if amount.is_finite():
                    found[f"{one.get('currency')} {kind}"] = amount
    return found
