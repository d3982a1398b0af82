"""Sequences of requests: schemathesis's state machine over the links of openapi.yaml, judged by the oracle.

An example begins with an account and follows links: a beneficiary of the new account, a destination of the
new beneficiary, a payout to it. In the document for schemathesis the customer is part of the paths, so that
an account needs nothing before it.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import hypothesis
from schemathesis import Case as GeneratedCase
from schemathesis import Response

from conformance.contract.operations import OPERATIONS
from conformance.contract.rules import RULES
from conformance.contract.traits import TRAITS
from conformance.fuzz.examples import Examples, seed_of, settings_of
from conformance.fuzz.exploration import FuzzSettings
from conformance.fuzz.fixtures import PAYEES, OperationFixtures
from conformance.fuzz.generated_requests import unreached
from conformance.fuzz.generation import ACCEPT, case_of, described, load, prepared
from conformance.judge import outcomes
from conformance.judge.cells import Cell
from conformance.judge.oracle import OWN, UNKNOWN, ExpectedAnswer, Known, expect
from conformance.judge.verdicts import Inconclusive
from conformance.target.applicability import absent
from conformance.wire.messages import Exchange
from conformance.world.calls import identifier, quoted, unknown_like
from conformance.world.case import call_of
from conformance.world.lane import Lane

#: Steps of an example, and examples for each of a part of single requests.
STEPS, SHARE = 16, 0.2

#: The id in a path where no link is followed.
NOBODY = "nobody"


def sendable(lane: Lane) -> dict[str, OperationFixtures]:
    """The operations that the server has valid requests for, with their fixtures."""
    usable = {}
    for operation in OPERATIONS:
        if absent(RULES["http.success-json"], operation, lane.target):
            continue
        fixtures = OperationFixtures(lane, operation, shared=True)
        try:
            fixtures.valid  # noqa: B018 - made now, not within an example
        except Inconclusive:
            continue
        usable[operation] = fixtures
    return usable


def paths(operations: dict[str, OperationFixtures]) -> dict[str, Any]:
    """The paths of the document for schemathesis, with valid requests and links only."""
    document: dict[str, Any] = {}
    for operation, fixtures in operations.items():
        own, item = OPERATIONS[operation], described(operation, ACCEPT, fixtures.valid)
        item["parameters"] = [
            {"name": name, "in": "path", "required": True, "schema": {"enum": [NOBODY]}}
            for name in own.path_parameters
            if name != "customer_id"
        ]
        item["responses"]["2XX"]["links"] = {
            name: _link(link) for name, link in own.links.items() if link["operationId"] in operations
        }
        path = own.path.replace("{customer_id}", "customer")
        document.setdefault(path, {})[own.method.lower()] = item
    return document


def _link(link: dict[str, Any]) -> dict[str, Any]:
    """A link without the customer."""
    followed = {name: value for name, value in link["parameters"].items() if name != "customer_id"}
    return {**link, "parameters": followed}


class Sequence:
    """One example: sends its requests, judges their answers, and knows the ids of what it created."""

    def __init__(self, examples: Examples, operations: dict[str, OperationFixtures]) -> None:
        self.examples = examples
        self.lane = examples.lane
        self._operations = operations
        self._ids: set[str] = set()
        self._accounts = 0

    def send(self, generated: GeneratedCase[Any]) -> tuple[Exchange, Any]:
        """Sends a generated request and judges the answer; returns it, and the document that links follow."""
        operation = generated.operation.definition.raw["operationId"]
        fixtures, case = self._operations[operation], case_of(operation, generated)
        ids = {name: str(value) for name, value in (generated.path_parameters or {}).items()}
        unknown = {name for name, value in ids.items() if value not in self._ids}
        ids |= {name: unknown_like(fixtures.fixture.id_of(name)) for name in unknown}
        ids["customer_id"] = self.lane.target.primary.customer_id
        path = tuple((name, UNKNOWN if name in unknown else OWN) for name, _ in case.path)
        valid, body, payee = fixtures.valid, case.body, OWN
        if not TRAITS[operation].draws_on_funds:
            valid, body = fixtures.renewed(body)
        elif not self._ids.issuperset(json.loads(body or b"{}").get(name) for name in PAYEES[OWN]):
            payee = UNKNOWN
        call = call_of(case, {name: quoted(value) for name, value in ids.items()}, body)
        expected = expect(call, self.lane.target, Known(path, payee, valid))
        reads = call.method == "GET" and not expected.refusals
        send = self.examples.find if reads else self.examples.send
        exchange = send(call, f"a step of a sequence, {operation}")
        self.examples.count(exchange)
        self._judge(expected, exchange)
        return exchange, self._followed(exchange)

    def _judge(self, expected: ExpectedAnswer, exchange: Exchange) -> None:
        operation = str(exchange.operation)
        for reason in (*expected.passes[:1], *([expected.refusal] if expected.refusal else [])):
            self.examples.expect(reason.rule, *reason.judge(exchange), operation=operation)
        if not expected.refusals and exchange.method == "GET":
            # A write may be refused for what came before it: a disabled beneficiary, a pair, a quota.
            rule = expected.accepted.rule if expected.accepted is not None else "read.equals-create"
            accepted = outcomes.accepted("what an earlier step created", exchange)
            self.examples.expect(rule, *accepted, operation=operation)
        self.examples.inspect(exchange)

    def _followed(self, exchange: Exchange) -> Any:
        """The document of an answer that links follow."""
        if not exchange.succeeded:
            return None
        try:
            own = identifier(exchange)
        except Inconclusive:
            return None
        if exchange.operation == "createAccount":
            self._accounts += 1
            if self._accounts % 2 == 0:
                # Stands for the funded account, so that payouts are accepted.
                own = self.lane.target.primary.funded_account_id or own
        self._ids.add(own)
        return {**exchange.document, "id": own}


def explore(lane: Lane, part: str, settings: FuzzSettings) -> list[Cell]:
    """Runs sequences and returns a cell for each judged rule."""
    name = f"sequences {part}"
    examples = Examples(lane, "createAccount", "test_fuzz.test_sequences", settings.share())
    operations = sendable(lane)
    with examples.recording():
        machine: Any = load(name, paths(operations)).as_state_machine()

        class Sequences(machine):  # type: ignore[misc]
            """Sends by the suite's client; what an answer must be, the oracle knows."""

            def setup(self) -> None:
                examples.begin()
                self.sequence = Sequence(examples, operations)

            def call(self, case: GeneratedCase[Any], **options: Any) -> Response:
                with examples.performing():
                    exchange, document = self.sequence.send(case)
                return Response(
                    status_code=exchange.status or 599,
                    headers={"content-type": ["application/json"]},
                    content=json.dumps(document).encode(),
                    request=prepared(case),
                    elapsed=exchange.elapsed,
                    verify=True,
                )

            def validate_response(self, response: Response, case: GeneratedCase[Any], **options: Any) -> None:
                """Nothing: `call` has judged the answer."""

        limited = replace(settings, examples=max(1, round(settings.cases * SHARE)))
        hypothesis.seed(seed_of(settings, name))(Sequences)
        # Shrinking sequences takes thousands of requests; of the steps, cells have those that matter.
        Sequences.run(settings=settings_of(limited, name, shrink=False, stateful_step_count=STEPS))
    return [*examples.concluded(), *unreached(examples, "createAccount")]
