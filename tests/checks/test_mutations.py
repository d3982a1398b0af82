"""Mutates each member of each answer: any mutation that the specification does not leave open is caught.

The answers of an operation are taken from a valid run. Each member is mutated in five ways, and the checks of
the operation run on a server with the mutated answers.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from conformance.checks import load_checks
from conformance.checks.check import Check, run_check
from conformance.contract.operations import OPERATIONS, match
from conformance.judge.findings import Verdict
from conformance.reference.serving.in_process import InProcessTransport
from conformance.wire.messages import Exchange
from conformance.world.account import purpose_of
from conformance.world.bodies import SAMPLE
from conformance.world.shapes import SHAPES, accepted_body
from tests.support.runs import run_on
from tests.variants.surroundings import Between

#: Sentinel: the member is removed.
ABSENT = object()

#: Path of a mutated member: member names, with "*" for all elements of an array.
Path = tuple[str, ...]


@dataclass(frozen=True)
class Mutation:
    """One mutation of one member in an operation's answers."""

    operation: str
    path: Path
    kind: str

    def __str__(self) -> str:
        return f"{self.operation} /{'/'.join(self.path)} {self.kind}"

    def apply(self, document: Any) -> Any:
        """Returns the document with each occurrence of the member mutated."""
        document = copy.deepcopy(document)
        _at(document, self.path, self.kind)
        return document


def _at(value: Any, path: Path, kind: str) -> None:
    head, rest = path[0], path[1:]
    if head == "*":
        if isinstance(value, list):
            for index, item in enumerate(value):
                if rest:
                    _at(item, rest, kind)
                else:
                    value[index] = _mutated(item, kind)
    elif isinstance(value, dict) and head in value:
        if rest:
            _at(value[head], rest, kind)
        else:
            mutated = _mutated(value[head], kind)
            if mutated is ABSENT:
                del value[head]
            else:
                value[head] = mutated


def _mutated(value: Any, kind: str) -> Any:
    match kind:
        case "absent":
            return ABSENT
        case "null":
            return None
        case "another type":
            return 7 if isinstance(value, (str, dict, list)) or value is None else "7"
        case "an array":
            return [value]
        case "another value":
            return _other(value)
    raise ValueError(kind)


def _other(value: Any) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    if isinstance(value, str):
        return value + "x"
    if isinstance(value, list):
        return [*value, *value] or [{}]
    if isinstance(value, dict):
        return {}
    return "x"


KINDS = ("absent", "null", "another type", "an array", "another value")


def paths(document: Any, prefix: Path = ()) -> Iterator[Path]:
    """Yields all members of a document, with one path for all elements of an array."""
    if isinstance(document, dict):
        for name, value in document.items():
            yield (*prefix, name)
            yield from paths(value, (*prefix, name))
    elif isinstance(document, list) and document:
        seen: dict[Path, None] = {}
        for item in document:
            seen.update(dict.fromkeys(paths(item, (*prefix, "*"))))
        yield from seen


def mutations(operation: str, document: Any) -> Iterator[Mutation]:
    """Yields the mutations that change the document."""
    for path in paths(document):
        for kind in KINDS:
            mutation = Mutation(operation, path, kind)
            if mutation.apply(document) != document:
                yield mutation


class Mutating(Between):
    """Proxy that mutates the successful answers of one operation."""

    def __init__(self, inner: httpx.BaseTransport, mutation: Mutation) -> None:
        super().__init__(inner)
        self.mutation = mutation

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        response = super().handle_request(request)
        found = match(request.method, request.url.path)
        if found is None or found[0].id != self.mutation.operation or response.status_code >= 300:
            return response
        body = json.dumps(self.mutation.apply(json.loads(response.read()))).encode()
        headers = [
            (name, value)
            for name, value in response.headers.multi_items()
            if name.lower() != "content-length"
        ]
        return httpx.Response(response.status_code, headers=headers, content=body)


# ---------------------------------------------------------------------- the test

#: Checks of answers, those most likely to catch a mutation first.
FIRST = (
    "test_resources",
    "test_beneficiaries",
    "test_updates",
    "test_destinations",
    "test_payouts",
    "test_wallets",
    "test_lists",
)

#: Mutations that the specification leaves open, as patterns of operation, path and kind.
OPEN = [
    re.compile(pattern)
    for pattern in (
        # Values of the server's own choice.
        r"createPayoutDestination /(payout_method|iban_masked|wallet_address_masked) another value",
        r"createWallet /addresses(/\*/(address|tag))? another value",
        r"getAccountBalances /balances/\*/currency(_type)? another value",
        # A job may verify a beneficiary at any time.
        r"getBeneficiary /verified another value",
        # Payouts and payins cannot be read again.
        r"(createPayout|createPayin) /id another value",
        # Members that do not apply may be absent, and the country of a CLABE is unknown.
        r"\w+ (/payout_destinations/\*)?/clabe_last4 (absent|another value)",
        # Masks of embedded destinations, and the effect of a second default on the first.
        r"\w+Beneficiary /payout_destinations/\*/(iban_masked|wallet_address_masked) (null|another value)",
        r"\w+Beneficiary /payout_destinations/\*/is_default another value",
        # Members of list items and embedded destinations beyond the documented ones.
        r"listAccounts /items/\*/object absent",
        r"listPayoutDestinations /items/\*/(label|network|account_number_last4) absent",
        r"\w+Beneficiary "
        r"/payout_destinations/\*/(beneficiary_id|label|network|account_number_last4|routing_number|account_type"
        r"|iban_masked|swift_code|wallet_address_masked|updated) absent",
    )
]

#: Operation -> operation whose answers are compared with its own.
READ_BY = {"createVirtualAccount": "getVirtualAccount", "createBeneficiary": "getBeneficiary"}


def valid_answers(operation: str) -> Iterator[Exchange]:
    """Yields answers of an operation that together have all its members."""
    run = run_on()
    for shape in (SAMPLE, *SHAPES.get(operation, ())):
        fixture = run.account(purpose_of(operation), fresh=True)
        if OPERATIONS[operation].is_list or "beneficiary_id" in OPERATIONS[operation].path_parameters:
            for kind in ("bank account", "IBAN", "wallet"):
                fixture.create(
                    "createPayoutDestination", accepted_body(fixture, "createPayoutDestination", kind)
                )
            fixture.create("createVirtualAccount")
            fixture.create("createWallet")
        if operation == "getAccountBalances":
            fixture = run.account("payouts")
        body = accepted_body(fixture, operation, shape) if OPERATIONS[operation].request_schema else None
        yield run.send(run.client(), fixture.call(operation, body), f"a valid {operation}")


def planned(operation: str) -> list[Mutation]:
    """Returns the mutations of an operation's answers that the specification does not leave open."""
    found: dict[str, Mutation] = {}
    for exchange in valid_answers(operation):
        assert exchange.succeeded, exchange.described()
        for mutation in mutations(operation, exchange.document):
            found[str(mutation)] = mutation
    return [
        mutation for name, mutation in found.items() if not any(pattern.fullmatch(name) for pattern in OPEN)
    ]


def checks_of(operation: str) -> list[Check]:
    """Returns the checks of an operation, most likely to fail first."""
    checks = [check for check in load_checks().values() if operation in check.operations and not check.deep]
    return sorted(
        checks,
        key=lambda check: FIRST.index(module) if (module := check.name.partition(".")[0]) in FIRST else 99,
    )


def caught(mutation: Mutation, checks: list[Check]) -> bool:
    """Returns True if some rule is violated on the server with this mutation."""
    run = run_on(transport=lambda server: Mutating(InProcessTransport(server), mutation))
    runs = [(check, mutation.operation) for check in checks]
    if reader := READ_BY.get(mutation.operation):
        runs[1:1] = [(check, reader) for check in checks_of(reader) if "read.equals-create" in check.rules]
    for check, operation in runs:
        findings, _ = run_check(check, operation, run)
        if any(finding.verdict in (Verdict.FAILED, Verdict.WARNING) for finding in findings):
            return True
        if any(tally.broken for tally in run.invariants.tallies.values()):
            return True
    return False


@pytest.mark.slow
@pytest.mark.usefixtures("no_waiting")
@pytest.mark.parametrize("operation", OPERATIONS)
def test_mutated_members_are_caught(operation: str) -> None:
    checks = checks_of(operation)
    assert [str(mutation) for mutation in planned(operation) if not caught(mutation, checks)] == []
