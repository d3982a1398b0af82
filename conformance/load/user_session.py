"""A session: the requests of one user in one account, each answer judged immediately."""

from __future__ import annotations

import random
import time
from contextlib import suppress
from functools import partialmethod
from typing import Any

from conformance.contract import signing
from conformance.contract.operations import OPERATIONS, match
from conformance.contract.rules import RULES
from conformance.fuzz.fixtures import pairs_are_free
from conformance.judge import outcomes, paging
from conformance.judge.comparison import same_amount
from conformance.judge.oracle import FOREIGN, OWN, SIBLING, Known, expect
from conformance.judge.oracle.requests import Path
from conformance.load.contention import RACES, payouts_at_once
from conformance.load.driver import Driver
from conformance.load.history import Concurrently, HistoryRecorder, Throttled, concurrently
from conformance.load.process import LoadProcess
from conformance.load.reference_model import Document, Payee
from conformance.wire.messages import Call, Exchange
from conformance.world.account import Account, call, unknown_like
from conformance.world.samples import marker

#: Maximum races in one account, so that its lists stay short.
MOST_RACES = 6

#: Maximum age of a reused nonce in seconds: the window of 300 (section 8) less a margin.
NONCE_AGE = 240

#: Authentication defects of a request (section 5), as fields of Auth.
DEFECTS: tuple[dict[str, Any], ...] = (
    {"secret": "another-secret-of-nobody-0123456789"},
    {"signature_form": "second half left out"},
    {"timestamp_offset": -400},
    {"timestamp_offset": 400},
    {"mistake": "no method"},
    {"mistake": "hashed body"},
    *({"omit": (name,)} for name in signing.HEADERS),
)


class Session(Driver):
    """The requests of one user in an account of its own.

    Each method raises SessionOver after a violation, or if the account's state becomes unknown, and
    Inconclusive if nothing more may be sent.
    """

    def __init__(self, process: LoadProcess) -> None:
        run = process.begin()
        self.process, self.rng = process, random.Random()
        self._racing: tuple[Account, int] | None = None
        super().__init__(run, process.valid, process.elsewhere)
        process.sessions.add(self)

    # ------------------------------------------------------------------ judging

    def send(self, request: Call, purpose: str, organization: str = "primary") -> Exchange:
        """Sends a request; the oracle judges the answer."""
        exchange = super().send(request, purpose, organization)
        self._by_oracle(exchange, Known(self._whose(request, organization), now=self.run.clock.now()))
        return exchange

    def mistake(self, request: Call, purpose: str, known: Known, *others: Exchange) -> Exchange:
        """Sends a request that must be refused; `others` are earlier exchanges that explain the refusal."""
        exchange = self.run.send(self.run.client(), request, purpose)
        self.usable(exchange)
        if not known.nonces or exchange.nonce in known.nonces:
            self._by_oracle(exchange, known, *others)
        return exchange

    def _by_oracle(self, exchange: Exchange, known: Known, *others: Exchange) -> None:
        """Judges an answer by the oracle. The model judges acceptance, since it knows the quota of the
        account."""
        request, operation = exchange.call, str(exchange.operation)
        expected = expect(request, self.run.target, known)
        for reason in (expected.refusal, *expected.passes[: not expected.refusals], expected.answered):
            if reason is not None and operation in RULES[reason.rule].operations:
                self.expect(reason.rule, operation, *reason.judge(exchange), *others)

    def _whose(self, request: Call, organization: str) -> Path | None:
        """The owners of the resources in the path; None if unknown."""
        found = match(request.method, request.path)
        own, sibling = set(self.ids.values()), self.elsewhere["sibling"].account_id
        own |= {self.process.payer.account_id} if self.process.payer else set()

        def kind(value: str) -> str:
            things = (*self.model.payees, *self.model.virtual_accounts)
            mine = value in own or any(thing.id == value for thing in things)
            return OWN if mine else SIBLING if value == sibling else ""

        kinds = [(name, kind(value)) for name, value in found[1].items()] if found else []
        if not kinds or not all(kind for _, kind in kinds):
            return None
        return tuple(kinds) if organization == "primary" else ((kinds[0][0], FOREIGN), *kinds[1:])

    # ------------------------------------------------------------------ creating, changing and paying

    def body(self, operation: str) -> Document:
        """A valid body with unique values and label."""
        body = self.elsewhere["sibling"].body(operation)
        for name in ("label", "display_name", "name"):
            if name in body and name not in self.valid[operation].pinned:
                body[name] = f"Load {marker()}"
        return body

    def payee(self) -> Payee | None:
        """A beneficiary that is not disabled, at random."""
        payees = [payee for payee in self.model.payees if not payee.disabled]
        return self.rng.choice(payees) if payees else None

    def add(self, kind: str = "VirtualAccount") -> None:
        """Creates a resource and adds it to the model."""
        operation, payee = f"create{kind}", self.payee() if kind == "PayoutDestination" else None
        if operation in self.valid and (payee or kind != "PayoutDestination"):
            self.create(operation, self.body(operation), payee)

    def change(self) -> None:
        """Updates a field of a beneficiary."""
        if payee := self.payee():
            name = self.rng.choice(("note", "display_name", "middle_name"))
            self.update(payee, {name: f"Load {self.rng.randrange(10**9)}"})

    def replace(self) -> None:
        """Disables a beneficiary, and creates another."""
        if payee := self.payee():
            self.disable(payee)
            self.read(payee)
        self.add("Beneficiary")

    def pay(self, times: int = 1) -> None:
        """Makes a payout from the funded account; sends it several times concurrently if `times` is above
        one."""
        if self.process.payer is None or self.process.held:
            return
        request = self.process.payer.call("createPayout")
        self.process.paying += 1
        try:
            if times == 1:
                answers = [self.send(request, "a payout")]
            else:
                racer = self.run.client(), request, "a payout, sent more than once at a time"
                answers = self.run.race([racer] * times)
        finally:
            self.process.paying -= 1
        if times > 1:
            what = f"{times} simultaneous requests with one key and body"
            self.expect("idempotency.race", "createPayout", *outcomes.same_among_accepted(what, answers))
        made = next((one for one in answers if one.succeeded and isinstance(one.document, dict)), None)
        if made is None:
            return
        body = request.document
        exactly = outcomes.equal("amount", made.get("amount"), body["amount"], made, alike=same_amount)
        self.expect("create.amount-exact", "createPayout", *exactly)
        self.judge_created("createPayout", body, made, None)

    pay_twice = partialmethod(pay, 2)

    # ------------------------------------------------------------------ sending again

    def repeat(self) -> None:
        """Repeats an accepted POST of this session."""
        if self.model.posts:
            post = self.rng.choice(self.model.posts)
            exchange = self.send(post.call, "the same key and body again")
            changed = self.model.changes > post.at
            rule = "idempotency.replay-after-change" if changed else "idempotency.replay"
            same = outcomes.same_answer("the same key and body again", post.answer, exchange)
            self.expect(rule, str(post.call.operation), *same)

    def repeat_of_earlier(self) -> None:
        """Repeats an accepted POST of an earlier session."""
        if not self.process.posts:
            return
        first = self.rng.choice(self.process.posts)
        self.run.record[first.number] = first
        again = self.send(first.call, "a key of an earlier session again", first.organization)
        same = outcomes.same_answer("the key and body of an earlier session again", first, again)
        self.expect("idempotency.replay", str(first.operation), *same)

    def change_under_a_key(self) -> None:
        """Sends a used key with a different body."""
        if posts := [post for post in self.model.posts if post.call.body]:
            post = self.rng.choice(posts)
            body, operation = post.call.document, str(post.call.operation)
            body = {**body, "label" if "label" in body else "note": "something else"}
            exchange = self.send(post.call.with_json(body), "the same key, another body")
            conflict = outcomes.refused(
                "a used key with another body", exchange, 0, "idempotency_error", "idempotency_key_conflict"
            )
            self.expect("idempotency.conflict", operation, *conflict, post.answer)
            self.add_refused(operation, body)

    def used_nonce(self) -> None:
        """Sends a request with a recently used nonce, possibly of another user."""
        if not self.process.accepted:
            return
        first = self.rng.choice(self.process.accepted)
        if time.time() - first.started > NONCE_AGE or not first.nonce:
            return
        self.run.record[first.number] = first
        request = self.any_read().signed(nonce=first.nonce)
        self.mistake(request, "a nonce that was used before", Known(nonces={first.nonce}), first)

    # ------------------------------------------------------------------ reading

    def any_read(self) -> Call:
        """A read request in this account, at random."""
        operation = self.rng.choice(("listVirtualAccounts", "listWallets", "getAccountBalances"))
        return call(operation, self.ids)

    def walk(self) -> None:
        """Reads all pages of a list."""
        operation = self.rng.choice(("listVirtualAccounts", "listVirtualAccounts", "listWallets"))
        self.judge_list(operation, self.rng.choice((1, 2, 10, 100)))

    def walk_destinations(self) -> None:
        """Reads all destinations of a beneficiary."""
        if payee := self.payee():
            self.judge_list("listPayoutDestinations", 10, payee)

    def read_virtual_account(self) -> None:
        """Reads a virtual account."""
        if things := self.model.virtual_accounts:
            thing = self.rng.choice(things)
            exchange = self.read_resource("getVirtualAccount", thing, "virtual_account_id")
            accepted = outcomes.accepted("the virtual account", exchange)
            self.expect("read.equals-create", "getVirtualAccount", *accepted)
            self.judge_members(thing, exchange, "read.equals-create", "getVirtualAccount")

    def read_beneficiary(self) -> None:
        """Reads a beneficiary, possibly disabled."""
        if payees := self.model.payees:
            self.read(self.rng.choice(payees))

    def look_back(self) -> None:
        """Reads the session's resources before it ends."""
        for payee in self.model.payees[:2]:
            self.read(payee)
        if self.model.virtual_accounts:
            self.judge_list("listVirtualAccounts", 100)

    def page_of_accounts(self) -> None:
        """Reads a page of the customer's accounts, to which all sessions add."""
        page = {"page": self.rng.randint(1, 3), "size": self.rng.choice((10, 50, 100))}
        exchange = self.send(call("listAccounts", self.ids).with_query(page), "a page of accounts")
        if not exchange.succeeded:
            return
        style = self.run.target.array_style
        for rule, judgement in paging.demanded("listAccounts", exchange, style):
            self.expect(rule, "listAccounts", *judgement)

    # ------------------------------------------------------------------ mistakes

    def ill_signed(self) -> None:
        """Sends a request with a wrong signature."""
        operation = self.rng.choice(("createVirtualAccount", "createBeneficiary", ""))
        body = self.body(operation) if operation in self.valid else None
        request = self.any_read() if body is None else call(operation, self.ids, body)
        request = request.signed(**self.rng.choice(DEFECTS))
        exchange = self.mistake(request, "a mistake in the signature", Known(now=self.run.clock.now()))
        if body is not None and exchange.refused:
            self.add_refused(operation, body)

    def ill_formed(self) -> None:
        """Sends a create without a required field."""
        operation = self.rng.choice(("createBeneficiary", "createVirtualAccount", "createWallet"))
        if operation in self.valid:
            body = self.body(operation)
            body.pop(
                self.rng.choice([name for name in OPERATIONS[operation].required_fields if name in body])
            )
            self.create(operation, body)

    def another_organization(self) -> None:
        """Reads as another organization right after the owner."""
        if "secondary" in self.elsewhere:
            request = self.any_read()
            self.send(request, "the owner reads")
            exchange = self.send_until_found(request, "another organization's request", "secondary")
            refused = outcomes.refused("another organization's account", exchange, 403)
            self.expect("tenancy.foreign-parent", str(request.operation), *refused)

    def another_account(self) -> None:
        """Reads a virtual account under a sibling account, or an unknown one."""
        if not self.model.virtual_accounts:
            return
        ids = {**self.ids, "virtual_account_id": self.rng.choice(self.model.virtual_accounts).id}
        if self.rng.random() < 0.5:
            rule, what = "tenancy.sibling-child", "a child of a sibling account: 404"
            ids["account_id"] = self.elsewhere["sibling"].account_id
        else:
            rule, what = "tenancy.missing-child", "an unknown child"
            ids["virtual_account_id"] = unknown_like(ids["virtual_account_id"])
        exchange = self.send(call("getVirtualAccount", ids), "a child that is not there")
        self.expect(rule, "getVirtualAccount", *outcomes.refused(what, exchange, 404))

    # ------------------------------------------------------------------ races

    def race(self, kind: str, send: Concurrently = concurrently) -> None:
        """Sends concurrent requests for one resource and judges them as a history; `kind` is a key of
        RACES."""
        if kind == "wallets" and not pairs_are_free(self.run):
            return
        fixture, races = self._racing or (None, 0)
        # Some kinds assume a new account.
        if fixture is None or races >= MOST_RACES or kind in ("wallets", "beneficiaries"):
            fixture, races = self.run.account(fresh=True), 0
        self._racing = fixture, races + 1
        with suppress(Throttled):
            RACES[kind](HistoryRecorder(self.run, self.recorder, self.rng, send), fixture)

    def race_for_funds(self, send: Concurrently = concurrently) -> None:
        """Sends payouts sequentially and concurrently, while those of users are held."""
        if self.process.payouts is not None:
            history = HistoryRecorder(self.run, self.recorder, self.rng, send)
            with suppress(Throttled):
                payouts_at_once(history, self.process.payouts)

    race_for_a_key = partialmethod(race, "keys")
    race_for_a_nonce = partialmethod(race, "nonces")
    race_for_fields = partialmethod(race, "beneficiaries")
    race_for_a_wallet = partialmethod(race, "wallets")
