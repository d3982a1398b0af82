"""Sends the requests of an example and compares every answer with the model."""

from __future__ import annotations

from conformance.contract import timestamps
from conformance.contract.fields import documented
from conformance.contract.operations import OPERATIONS
from conformance.contract.rules import RULES
from conformance.contract.traits import TRAITS
from conformance.fuzz.fixtures import pairs_are_free
from conformance.judge import outcomes
from conformance.judge.comparison import alike, objects, same, same_ids
from conformance.judge.hidden_numbers import HIDDEN_FIELDS
from conformance.load.reference_model import Document, Payee, Thing
from conformance.load.sender import ExampleOver, Sender
from conformance.wire.messages import Exchange
from conformance.world.account import Account, call
from conformance.world.lag import eventually, within


class Driver(Sender):
    """Creates, changes and reads the resources of an account, and judges them by its model."""

    # ------------------------------------------------------------------ creating

    def create(self, operation: str, body: Document, payee: Payee | None = None) -> None:
        """Sends a create; the oracle judges a refusal that is due, the model the rest."""
        traits, due = TRAITS[operation], OPERATIONS[operation].required_fields - body.keys()
        exchange = self.send(call(operation, self.ids_of(payee), body), "create")
        if traits.unique_pair and self.model.has_wallet(body.get("currency"), body.get("network")):
            refused = outcomes.refused("a second wallet of a pair", exchange)
            self.expect("wallet.duplicate", operation, *refused)
        elif not due and (not traits.unique_pair or pairs_are_free(self.run)):
            self._judge_accepted(operation, exchange, payee)
        if exchange.refused:
            self.add_refused(operation, body)
        elif exchange.succeeded and isinstance(exchange.document, dict):
            self.judge_created(operation, body, exchange, payee)

    def _judge_accepted(self, operation: str, exchange: Exchange, payee: Payee | None = None) -> None:
        if exchange.refused and self._may_refuse(operation, payee):
            return
        no_key = exchange.error_code == "invalid_idempotency_key"
        rule = "idempotency.key-accepted" if no_key else "fields.accepts-valid"
        what = "a request that keeps every stated limit"
        self.expect(rule, operation, *outcomes.accepted(what, exchange))

    def _may_refuse(self, operation: str, payee: Payee | None) -> bool:
        """True if a valid request may be refused: the beneficiary is disabled. Raises ExampleOver at a quota,
        which refuses the sample as well."""
        if payee is not None and payee.disabled:
            return True
        if not TRAITS[operation].creates or TRAITS[operation].unique_pair:
            return False
        sample = Account(self.run, account_id=self.ids["account_id"]).body(operation)
        again = self.send(call(operation, self.ids_of(payee), sample), "is the valid request accepted?")
        if again.refused:
            raise ExampleOver
        return False

    def judge_created(self, operation: str, body: Document, exchange: Exchange, payee: Payee | None) -> None:
        self.holds("create.echo", operation)
        # Which of several destinations is the default is open (destination.second-default).
        left_out = {*HIDDEN_FIELDS, "amount", "is_default"}
        for name, value in body.items():
            if name in left_out or isinstance(value, dict) or name not in documented(operation):
                continue
            if not same(exchange.get(name), value):
                echo = outcomes.equal(name, exchange.get(name), value, exchange)
                self.expect("create.echo", operation, *echo)
        number = body.get("account_number")
        if TRAITS[operation].creates == "payout_destination" and isinstance(number, str):
            name = "account_number_last4"
            last4 = outcomes.equal(name, exchange.get(name), number[-4:], exchange)
            self.expect("destination.last4", operation, *last4)
        for name, value in TRAITS[operation].initial.items():
            initially = outcomes.equal(name, exchange.get(name), value, exchange)
            self.expect("create.initial-state", operation, *initially)
        self.model.created(operation, exchange, payee)

    # ------------------------------------------------------------------ beneficiaries

    def update(self, payee: Payee, changes: Document) -> None:
        """Sends a PATCH of valid values."""
        exchange = self.send(call("updateBeneficiary", self.ids_of(payee), changes), "change a beneficiary")
        self._judge_accepted("updateBeneficiary", exchange, payee)
        if exchange.succeeded:
            self._judge_moved(payee, exchange, "beneficiary.update-moves-updated", "updateBeneficiary")
            self.model.updated(payee, changes)
            self._judge_beneficiary(payee, exchange, "updateBeneficiary", "beneficiary.update")
            payee.answers.append(exchange)

    def disable(self, payee: Payee) -> None:
        """Disables a beneficiary; a second time may be refused."""
        request = call("disableBeneficiary", self.ids_of(payee))
        exchange = self.send(request, "disable")
        if payee.disabled and exchange.refused:
            return
        if not payee.disabled:
            accepted = outcomes.accepted("disabling", exchange)
            self.expect("idempotency.key-accepted", "disableBeneficiary", *accepted)
        if exchange.succeeded:
            if not payee.disabled:
                self._judge_moved(payee, exchange, "beneficiary.disable-moves-updated", "disableBeneficiary")
            earlier = payee.rule
            self.model.disabled(payee, exchange)
            # Its answer may show that an earlier change was lost.
            rule = earlier if exchange.get("status") == "disabled" else payee.rule
            self._judge_beneficiary(payee, exchange, "disableBeneficiary", rule)

    def _judge_moved(self, payee: Payee, exchange: Exchange, rule: str, operation: str) -> None:
        """Judges that a change moves `updated`, unless the server's clock is too coarse."""
        before, after = payee.members.get("updated"), exchange.get("updated")
        step, first, second = timestamps.step(before), timestamps.parse(before), timestamps.parse(after)
        if first is None or second is None or step is None or exchange.started - payee.at <= step:
            return
        self.expect(rule, operation, *outcomes.later("updated", exchange, "updated", before))

    def read(self, payee: Payee) -> None:
        """Reads a beneficiary."""
        exchange = self.read_resource("getBeneficiary", payee, "beneficiary_id")
        self._judge_beneficiary(payee, exchange, "getBeneficiary", payee.rule)

    def read_resource(self, operation: str, thing: Thing, parameter: str) -> Exchange:
        """Reads a resource until it agrees with the model, for a bounded time."""
        request = call(operation, {**self.ids, parameter: thing.id})
        return eventually(
            self.run.cache,
            operation,
            lambda: self.send(request, "read a resource"),
            lambda seen: agrees(thing, seen),
        )

    def _judge_beneficiary(self, payee: Payee, exchange: Exchange, operation: str, rule: str) -> None:
        """Judges that a beneficiary in an answer is that of the model, destinations included."""
        # A read may show that an earlier operation, whose rule it is, was lost.
        on = operation if operation in RULES[rule].operations else RULES[rule].operations[0]
        self.expect(rule, on, *outcomes.accepted("the beneficiary", exchange))
        payee.members = {**payee.members, "updated": exchange.get("updated")}
        payee.at = exchange.arrived
        self.judge_members(payee, exchange, rule, on)
        held, expected = _destinations(exchange), sorted(destination.id for destination in payee.destinations)
        late = exchange.started - within(self.run.cache)
        if exchange.method != "GET" and any(
            identifier not in held and self.run.made.latest(identifier) > late for identifier in expected
        ):
            # Unlike a read, this request cannot be repeated until they show.
            return
        name = "payout_destinations"
        exactly = outcomes.equal(name, exchange.get(name), expected, exchange, alike=same_ids)
        self.expect("beneficiary.destinations", operation, *exactly)

    def judge_members(self, thing: Thing, exchange: Exchange, rule: str, operation: str) -> None:
        """Judges that a resource in an answer is that of the model; member by member only if one differs."""
        if agrees(thing, exchange):
            self.holds(rule, operation)
            return
        for name, value in thing.steady().items():
            answers = thing.evidence_of(name, value)
            what = "as an earlier answer shows it" if answers else "as earlier requests left it"
            self.expect(rule, operation, *outcomes.member(what, exchange, name, value), *answers)


def agrees(thing: Thing, exchange: Exchange) -> bool:
    """True if an answer agrees with the model of a resource."""
    members = exchange.succeeded and all(
        alike(thing.operation, name, exchange.get(name), value) for name, value in thing.steady().items()
    )
    if not members or not isinstance(thing, Payee):
        return members
    return _destinations(exchange) == sorted(destination.id for destination in thing.destinations)


def _destinations(exchange: Exchange) -> list[str]:
    """The sorted ids of a beneficiary's destinations."""
    return sorted(str(destination.get("id")) for destination in objects(exchange.get("payout_destinations")))
