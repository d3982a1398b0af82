"""The engine of defective bodies, derived from a valid body that the server accepts."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from conformance.checks.check import Check, CheckFunction, check
from conformance.checks.engine import Engine, Step
from conformance.checks.side_effects import UNTOUCHED
from conformance.contract.fields import Field, request_fields
from conformance.judge.oracle import Reason
from conformance.judge.verdicts import Inconclusive
from conformance.wire.messages import Exchange, to_json
from conformance.world.bodies import SAMPLE, bodies
from conformance.world.calls import identifier
from conformance.world.case import Case
from conformance.world.lane import Fixture
from conformance.world.other_values import other_value
from conformance.world.purposes import INVALID_BODIES, SHARED, WITHOUT_WALLETS, Purpose
from conformance.world.samples import Body, marker
from conformance.world.shapes import SHAPES, TURNS, accepted_body, accepts, by_shape

#: The shape of destinations that are a business's.
_OF_A_BUSINESS = "IBAN alone"


#: Shape of body -> its name in sentences.
_PLACES = {
    "individual": "an individual's body",
    "business": "a business's body",
    "IBAN alone": "a body with an IBAN alone",
    "wallet": "a wallet's body",
}


class DefectiveBodies(Engine):
    """Engine of requests whose bodies must be refused.

    `shape` names the valid body that they derive from; `where` is its name in sentences if others are tried
    first, empty otherwise. `stop` is set where the server refuses that as well: a
    defective body that is accepted is still a violation, a refused one shows nothing. Raises Inconclusive
    where the sample is refused, unless it is a payout: most are refused for lack of funds, but one of zero
    may be accepted."""

    def __init__(self, at: Check, shape: str = SAMPLE, where: str = "") -> None:
        super().__init__(at, self._account, moved=self._move_on)
        self.shape, self.where = shape, where
        self.stop: Inconclusive | None = None
        try:
            accepted_body(self.fixture, self.operation, shape)
        except Inconclusive as stop:
            if shape == SAMPLE and not self.traits.draws_on_funds:
                raise
            self.stop = stop
        # Before the first snapshot, as this may create resources.
        rows = TURNS.get(self.operation, ()) if shape == SAMPLE and not self.stop else ()
        turns = [shape, *(row for row in rows if accepts(at.lane, self.operation, row))]
        #: The number of rows of bodies that one invalid field is in, by turns.
        self.turns, self._turns = len(turns), itertools.cycle(turns)

    def _account(self) -> Fixture:
        """Returns the fixture of defective requests, cached for the run; that of wallets has none.

        Destinations of one shape are a business's, where the server accepts one: it may check these apart."""
        fixture = self.at.account(SHARED if self.traits.shared else self._purpose)
        if self.operation != "createPayoutDestination" or self.shape != _OF_A_BUSINESS:
            return fixture
        account = fixture.account_id
        return self.at.lane.cache.get(
            ("business", account), lambda: Fixture(self.at.lane, account_id=account, business=True)
        )

    @property
    def _purpose(self) -> Purpose:
        return WITHOUT_WALLETS if self.traits.unique_pair else INVALID_BODIES

    @property
    def _beneficiary(self) -> Exchange:
        """The create of the beneficiary to update: a business where the server accepts one, so that each
        field applies; an individual for that shape."""
        return self.at.lane.cache.get(("to update", self.shape), self._new_beneficiary)

    def _new_beneficiary(self) -> Exchange:
        create = "createBeneficiary"
        shape = "business" if self.shape == SAMPLE else self.shape
        shape = shape if accepts(self.at.lane, create, shape) else SAMPLE
        return self.fixture.create(create, accepted_body(self.fixture, create, shape))

    # ------------------------------------------------------------------ requests

    @property
    def ids(self) -> dict[str, str]:
        if not self.traits.subset_of:
            return self.fixture.ids(self.operation)
        return {"account_id": self.fixture.account_id, "beneficiary_id": identifier(self._beneficiary)}

    def valid(self) -> Body:
        """Builds a new body of the shape: one that the server accepts, else the first."""
        if self.stop:
            return bodies(self.fixture, self.operation, self.shape)[0]
        return accepted_body(self.fixture, self.operation, self.shape)

    def good(self, name: str, otherwise: Any = None) -> Any:
        """Returns a valid value of a field; on update, the beneficiary's own."""
        known = self._beneficiary.call.document if self.traits.subset_of else self.valid()
        return known.get(name, otherwise)

    def having(self, name: str, value: Any) -> Body:
        """Builds a valid body with one field replaced.

        An update also changes a field before the defective one and one after it, to show a partial update."""
        if not self.traits.subset_of:
            return {**self._another(name), name: value}
        title = other_value("title", str(self.good("title")))
        around = {"title": title, name: value, "note": f"conformance {marker()}"}
        return {**around, name: value}

    def without(self, name: str) -> Body:
        """Builds a valid body without one field."""
        return {key: value for key, value in self._another(name).items() if key != name}

    def _another(self, name: str) -> Body:
        """Builds a valid body for a defect of a field: of the shape and of its substitutes in turn. Valid
        currencies and ids depend on the other fields, so these stay with the shape."""
        if self.stop or name == "currency" or name.endswith("_id"):
            return self.valid()
        return accepted_body(self.fixture, self.operation, next(self._turns))

    def must_accept(self) -> None:
        """Raises Inconclusive if the server refuses the valid request."""
        if self.stop:
            raise self.stop

    def wrong(
        self,
        rule: str,
        field: Field,
        kinds: Iterable[tuple[str, Any]],
        how: str = "as {}",
        *,
        elsewhere: int = 1,
    ) -> Iterator[Case]:
        """Yields a valid body with one field replaced by each kind of wrong value; `how` formats the kind. In
        other shapes (`where`) the first `elsewhere` kinds are enough."""
        for kind, value in list(kinds)[: elsewhere if self.where else None]:
            yield self.defective(rule, f"{field.name} {how.format(kind)}", self.having(field.name, value))

    # ------------------------------------------------------------------ sending

    def defective(self, rule: str, name: str, body: Body) -> Case:
        """Builds a case with this body, whose name tells the shape of others than the first."""
        return self.case(rule, f"{name} in {self.where}" if self.where else name, body=to_json(body))

    def _shows_nothing(self, case: Case, reason: Reason, answer: Exchange) -> bool:
        if self.stop and answer.refused:
            self.unclear(case.rule, case.name, answer)
            return True
        return super()._shows_nothing(case, reason, answer)

    def unclear(self, rule: str, what: str, exchange: Exchange) -> None:
        """Notes that a refusal shows nothing, as the valid request is refused, too."""
        assert self.stop is not None
        why = self.stop.why
        self.at.unclear(rule, why.because(f"{what}: refused, but {why.reason}"), exchange)

    def _move_on(self) -> None:
        """Replaces the fixture after an accepted defective request, whose effects would distort verdicts."""
        if self.traits.subset_of:
            self.at.lane.cache.forget(("to update", self.shape))
        elif not self.traits.shared:
            self.at.lane.forget(self._purpose)
            for shape in (SAMPLE, *SHAPES["updateBeneficiary"]):
                self.at.lane.cache.forget(("to update", shape))

    # ------------------------------------------------------------------ effects

    def batch(
        self, cases: Iterable[Case | Step], watch: Sequence[Engine] = (), **more: Any
    ) -> list[Exchange]:
        """Sends and judges cases, whose own account those that are refused must not change; nor may a refused
        wallet take its pair."""
        answers = super().batch(cases, watch or [self], **more)
        refused = [answer for answer in answers if answer.refused]
        if refused and self.traits.unique_pair and UNTOUCHED in self.at.rules:
            elsewhere = judge_pair(self.at, self.fixture, self.valid(), refused)
            self.at.lane.forget(self._purpose)
            if elsewhere is not None:
                reason = f"a valid wallet is no longer accepted: {elsewhere.described()}"
                self.at.unclear(UNTOUCHED, reason, elsewhere)
        return answers


def judge_pair(
    at: Check, fixture: Fixture, body: Body, refused: Sequence[Exchange], beside: Body | None = None
) -> Exchange | None:
    """Judges that refused wallets have not taken the pair of a body: it is accepted after them, if it is in a
    new account, `beside` such a wallet as the first one has. Where both are refused, judges nothing and
    returns the second answer."""
    create, what = at.operation.id, "a valid wallet after refused ones"
    created = at.send(fixture.call(create, body), what)
    if created.refused and not created.throttled:
        new = at.account(fresh=True)
        if beside is not None:
            at.send(new.call(create, beside), "such a wallet as the account has, in a new one")
        elsewhere = at.send(new.call(create, body), "a valid wallet in a new account")
        if not elsewhere.succeeded:
            return elsewhere
    at.accepted(UNTOUCHED, created, *(refused if created.refused else ()))
    return None


Fields = Sequence[Field]
Cases = Iterable[Case]

#: A table of defective fields.
FieldTable = Callable[[DefectiveBodies, Fields], Cases]


def field_table(rule: str, fields: Callable[[Field], object]) -> Callable[[FieldTable], CheckFunction]:
    """Marks a table as the check of a rule and of refusal.changes-nothing, for the operation's fields that
    `fields` selects: each in the shape of body where it applies and in the other shapes that the server
    accepts."""

    def mark(table: FieldTable) -> CheckFunction:
        @check(rule, UNTOUCHED)
        @functools.wraps(table)
        def run(at: Check) -> None:
            chosen = [field for field in request_fields(at.operation.id) if fields(field)]
            for engine, own in engines(at, chosen):
                engine.batch(table(engine, own))

        return run

    return mark


def engines(at: Check, fields: Sequence[Field]) -> Iterator[tuple[DefectiveBodies, list[Field]]]:
    """Yields engines of the shapes of body where fields apply, then of the other shapes that the server
    accepts, each with the fields that apply there and are not tried in it first.

    Servers may validate each shape by a schema of its own, of which one may lack a limit."""
    operation = at.operation.id
    for shape, own in by_shape(fields).items():
        yield DefectiveBodies(at, shape), own
    create = at.operation.traits.subset_of or operation
    homes = {field.name: field.shape or SAMPLE for field in request_fields(create)}
    for shape in SHAPES.get(operation, ()):
        if accepts(at.lane, operation, shape):
            engine = DefectiveBodies(at, shape, _PLACES[shape])
            body = engine.valid()
            applies = [field for field in fields if homes[field.name] == SAMPLE or field.name in body]
            yield engine, [field for field in applies if homes[field.name] != shape]
