"""An engine for defective bodies: beside a valid request that the server accepts, and in an account that
shows the effects of refused requests: after its cases it judges refusal.changes-nothing, where the check
cites it.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Concatenate, ParamSpec, Self

from conformance.checks.auth_probes import earliest
from conformance.checks.check import CheckFunction, check
from conformance.checks.check_context import CheckContext
from conformance.checks.engine import Engine, named_as
from conformance.checks.repetition import anew
from conformance.checks.side_effects import EFFECTS, UNTOUCHED, SideEffects, judge_pair
from conformance.contract.fields import Field, request_fields
from conformance.contract.traits import TRAITS
from conformance.judge.findings import Inconclusive, LeftOut
from conformance.judge.oracle import Reason
from conformance.wire.messages import Call, Exchange, to_json
from conformance.world.account import AccountFixture, call, identifier, renewed
from conformance.world.bodies import SAMPLE, bodies
from conformance.world.cache import Key
from conformance.world.case import Case
from conformance.world.samples import Body, marker
from conformance.world.shapes import OTHER_SHAPES, TURNS, accepted_body, accepts, by_shape, shape_of

P = ParamSpec("P")

_BENEFICIARY = Key[Exchange]("the beneficiary of invalid updates")


#: Shapes of bodies beside the sample, as sentences name them.
_PLACES = {
    "individual": "an individual's body",
    "business": "a business's body",
    "IBAN alone": "a body with an IBAN alone",
    "wallet": "a wallet's body",
}


class DefectiveBodies(Engine):
    """The engine of a check for bodies that must be refused.

    `shape` names the valid body that they derive from. `stop` is the reason why the server refuses the valid
    request, too: then a defective one that it accepts is still a violation, and one that it refuses shows
    nothing. Raises Inconclusive when that is so of the sample, unless it was accepted before (a refusal in
    other words shows something then), or is a payout: most are refused for lack of funds, but one of zero may
    slip through.
    """

    def __init__(self, ctx: CheckContext, shape: str = SAMPLE) -> None:
        super().__init__(ctx, self._account)
        self.shape = shape
        self.stop: Inconclusive | None = None
        self._refused: list[Exchange] = []
        self._effects: SideEffects | None = None
        try:
            accepted_body(self.fixture, self.operation, shape)
        except Inconclusive as stop:
            left_out, before = isinstance(stop, LeftOut), earliest(ctx)
            if shape == SAMPLE and not TRAITS[self.operation].draws_on_funds and not left_out:
                if before is None:
                    raise
                # There are enough of what it creates: a defect may be refused in other words than that.
                self.beside = ctx.send(ctx.valid(), "a valid request, beside defective ones")
            self.stop = stop
        # Tried before effects are watched.
        rows = TURNS.get(self.operation, ()) if shape == SAMPLE and not self.stop else ()
        self._turns = itertools.cycle(
            [shape, *(row for row in rows if accepts(ctx.run, self.operation, row))]
        )

    def _account(self) -> AccountFixture:
        """The fixture of the operation's defective requests, one for the run; that of wallets has none."""
        return self.ctx.account("shared" if TRAITS[self.operation].shared else self._purpose)

    @property
    def _purpose(self) -> str:
        return "invalid bodies/without wallets" if TRAITS[self.operation].unique_pair else "invalid bodies"

    @property
    def _beneficiary(self) -> Exchange:
        """The exchange that created the beneficiary of defective updates: a business, where the server
        accepts one, so that each field means something; an individual where the shape is one."""
        return self.ctx.run.cache.get(_BENEFICIARY.of(self.shape), self._new_beneficiary)

    def _new_beneficiary(self) -> Exchange:
        create = "createBeneficiary"
        shape = "business" if self.shape == SAMPLE else self.shape
        shape = shape if accepts(self.ctx.run, create, shape) else SAMPLE
        return self.fixture.create(create, accepted_body(self.fixture, create, shape))

    # ------------------------------------------------------------------ requests

    @property
    def ids(self) -> dict[str, str]:
        if not TRAITS[self.operation].subset_of:
            return self.fixture.ids(self.operation)
        return {"account_id": self.fixture.account_id, "beneficiary_id": identifier(self._beneficiary)}

    def valid(self) -> Body:
        """A new body of the shape: as the server accepts it, else the likeliest."""
        if self.stop:
            return bodies(self.fixture, self.operation, self.shape)[0]
        return accepted_body(self.fixture, self.operation, self.shape)

    def good(self, name: str, otherwise: Any = None) -> Any:
        """A valid value of a field; of an update, the one that the beneficiary has."""
        known = self._beneficiary.call.document if TRAITS[self.operation].subset_of else self.valid()
        return known.get(name, otherwise)

    def having(self, name: str, value: Any) -> Body:
        """A valid body but for one field.

        An update changes a field before the defective one and one after it as well, so that it shows when it
        is carried out by half.
        """
        if not TRAITS[self.operation].subset_of:
            return {**self._another(name), name: value}
        title = "Dr" if self.good("title") != "Dr" else "Mr"
        around = {"title": title, name: value, "note": f"conformance {marker()}"}
        return {**around, name: value}

    def without(self, name: str) -> Body:
        """A valid body but for one field that is left out."""
        return {key: value for key, value in self._another(name).items() if key != name}

    def _another(self, name: str) -> Body:
        """A valid body for a defect of a field: the sample and some that stand in for it, by turns. What the
        currency and ids may be depends on the rest of a body."""
        if self.stop or name == "currency" or name.endswith("_id"):
            return self.valid()
        return accepted_body(self.fixture, self.operation, next(self._turns))

    def must_accept(self) -> None:
        """Raises Inconclusive when the server refuses the valid request."""
        if self.stop:
            raise self.stop

    def wrong(
        self,
        rule: str,
        field: Field,
        where: str,
        kinds: Iterable[tuple[str, Any]],
        how: str = "as {}",
        *,
        elsewhere: int = 1,
    ) -> Iterator[Case]:
        """Valid bodies but for one field, which has a wrong value of each of these kinds; `how` names a kind.
        In other kinds of body than the first (`where`) the first of them, or so many, are enough."""
        for kind, value in list(kinds)[: elsewhere if where else None]:
            name = f"{field.name} {how.format(kind)}{within(where)}"
            yield self.defective(rule, name, self.having(field.name, value))

    # ------------------------------------------------------------------ sending

    def defective(self, rule: str, name: str, body: Body) -> Case:
        """A case with this body."""
        return self.case(rule, name, body=to_json(body))

    def send(self, call: Call, name: str) -> Exchange:
        """Sends a call; notes a refused one for its effects, and leaves a place where it was accepted."""
        answer = self.ctx.send(call, name)
        if answer.refused:
            self._refused.append(answer)
        elif answer.succeeded:
            self._move_on()
        return answer

    def seen(self, answer: Exchange) -> str:
        """`accepted` or `refused`: with which status and error is the matter of other rules."""
        return "accepted" if answer.succeeded else "refused"

    def send_body(self, body: Any, name: str) -> Exchange:
        """Sends a body that is not judged as a case."""
        return self.send(call(self.operation, self.ids, body), name)

    def _shows_nothing(self, case: Case, reason: Reason, answer: Exchange) -> bool:
        if self.stop and answer.refused and self.beside is None:
            self.skip_judgement(case.rule, case.name, answer)
            return True
        return super()._shows_nothing(case, reason, answer)

    def skip_judgement(self, rule: str, what: str, exchange: Exchange) -> None:
        """Notes that a refusal shows nothing because the valid request is refused, too."""
        assert self.stop is not None
        reason = f"{what}: refused, but {self.stop.reason}"
        self.ctx.skip_judgement(rule, reason, exchange, stop=self.stop)

    def _move_on(self) -> None:
        """Leaves the place where a defective request was accepted: what it made would make verdicts wrong."""
        if TRAITS[self.operation].subset_of:
            self.ctx.run.cache.forget(_BENEFICIARY.of(self.shape))
        elif not TRAITS[self.operation].shared:
            self.ctx.run.accounts.forget(self._purpose)
            for shape in (SAMPLE, *OTHER_SHAPES["updateBeneficiary"]):
                self.ctx.run.cache.forget(_BENEFICIARY.of(shape))
        self._start()

    # ------------------------------------------------------------------ effects

    def run(
        self, table: Callable[Concatenate[Self, P], Iterable[Case]], *args: P.args, **kwargs: P.kwargs
    ) -> list[Exchange]:
        """As the engine does; judges the effects of those that were refused."""
        self._start()
        answers = super().run(table, *args, **kwargs)
        if self._effects is not None and self.ctx.wanted(EFFECTS):
            if self._refused:
                self._judge(self._effects)
            else:
                self.ctx.not_exercised(UNTOUCHED, "nothing was refused after what was accepted")
        return answers

    def _start(self) -> None:
        self._refused.clear()
        if UNTOUCHED in self.ctx.rules and self.ctx.wanted(EFFECTS):
            ids = self.ids if TRAITS[self.operation].subset_of else None
            self._effects = SideEffects(self.ctx, self.fixture, ids=ids).start()

    def _judge(self, effects: SideEffects) -> None:
        effects.judge(UNTOUCHED, f"{len(self._refused)} refused requests", self._refused, self._again)
        if TRAITS[self.operation].unique_pair:
            self._judge_pair()

    def _again(self) -> list[Exchange]:
        """Sends the refused requests once more; of those that ask for money, the ones that can ask for an
        amount by which it is known."""
        again = anew(self.ctx.run, [exchange.call for exchange in self._refused])
        return [
            self.ctx.send(renewed(repeated), f"{exchange.purpose}, again")
            for repeated, exchange in zip(again, self._refused, strict=True)
            if not self.ctx.operation.traits.moves_money or repeated.body != exchange.call.body
        ]

    def _judge_pair(self) -> None:
        """A refused wallet must not take its pair: a valid one of the same pair can still be created."""
        valid = call(self.operation, self.ids, self.valid())
        created = self.ctx.send(valid, "a valid wallet after refused ones")
        self.ctx.run.accounts.forget(self._purpose)
        elsewhere = judge_pair(
            self.ctx,
            created,
            self._refused,
            lambda: self.ctx.send(self.ctx.valid(), "a valid wallet in a new account"),
        )
        if elsewhere is not None:
            reason = f"a valid wallet is no longer accepted: {elsewhere.described()}"
            self.ctx.skip_judgement(UNTOUCHED, reason, created, elsewhere)


Fields = Sequence[Field]
Cases = Iterable[Case]

#: A table of one value a field at least: engine, fields, and the words for a kind of body beside the sample.
FieldTable = Callable[[DefectiveBodies, Fields, str], Cases]


def within(where: str) -> str:
    """The end of a case's name that says in which kind of body it is; empty in the sample."""
    return f" in {where}" if where else ""


def field_table(
    rule: str,
    fields: Callable[[Field], object],
    elsewhere: Callable[[CheckContext], bool] = lambda ctx: True,
) -> Callable[[FieldTable], CheckFunction]:
    """Marks a table as the check of a rule and of refusal.changes-nothing, for the operation's fields that
    `fields` chooses: each in the shape of body where it means something and, if `elsewhere` says so, in the
    other kinds of body that the server accepts."""

    def mark(table: FieldTable) -> CheckFunction:
        def run(ctx: CheckContext) -> None:
            chosen = [field for field in request_fields(ctx.operation.id) if fields(field)]
            shapes = by_shape(ctx.operation.id, chosen)
            in_each_shape(ctx, table, shapes, chosen if elsewhere(ctx) else [])

        return check(rule, UNTOUCHED)(named_as(table, run))

    return mark


def _elsewhere(
    ctx: CheckContext, fields: Iterable[Field]
) -> Iterator[tuple[DefectiveBodies, str, list[Field]]]:
    """The other kinds of body that the server accepts, one after another, each with its name and those of the
    fields that mean something in it and are not tried in it first.

    Servers check each kind of body by a schema of its own, so that one may lack a limit that the others have.
    """
    operation = ctx.operation.id
    create = ctx.operation.traits.subset_of or operation
    homes = {field: shape_of(create, field.name) for field in fields}
    for shape in OTHER_SHAPES.get(operation, ()):
        if not accepts(ctx.run, operation, shape):
            continue
        engine = DefectiveBodies(ctx, shape)
        body = engine.valid()
        elsewhere = [field for field, home in homes.items() if home in (SAMPLE, shape) or field.name in body]
        yield engine, _PLACES[shape], [field for field in elsewhere if homes[field] != shape]


def in_each_shape(
    ctx: CheckContext, table: FieldTable, shapes: Mapping[str, Sequence[Field]], others: Sequence[Field]
) -> None:
    """Runs a table of fields, each in the shape of body where it means something, then those of `others` in
    the other kinds of body that the server accepts."""
    for shape, fields in shapes.items():
        DefectiveBodies(ctx, shape).run(table, fields, "")
    for engine, where, fields in _elsewhere(ctx, others):
        engine.run(table, fields, where)
