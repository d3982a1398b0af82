"""One mistake is told as one cause: what other checks see of it is no violation of their rules."""

from __future__ import annotations

import pytest

from conformance.checks.check import CheckDefinition
from tests.faults.catalogue import Fault, load
from tests.faults.harness import checks_of, judge, together

#: A rule, part of the sentence of a fault of it, its operation, and what is not broken beside it.
_Row = tuple[str, str, str, dict[str, str]]

_ROWS: list[_Row] = [
    ("list.envelope", "total text", "listWallets", {"http.negotiation": "listWallets"}),
    (
        "list.envelope",
        "items object",
        "listWallets",
        {
            "http.negotiation": "listWallets",
            "auth.request-line": "listWallets",
            "body.existing-ids": "createWallet",
        },
    ),
    (
        "list.envelope",
        "items object",
        "listPayoutDestinations",
        {"destination.default": "createPayoutDestination", "body.existing-ids": "createPayoutDestination"},
    ),
    ("format.timestamp", "created offset", "createAccount", {"http.negotiation": "createAccount"}),
    (
        "destination.last4",
        "first four",
        "createPayoutDestination",
        {"body.existing-ids": "createPayoutDestination"},
    ),
    (
        "format.fields",
        "display_name too long",
        "getBeneficiary",
        {"body.existing-ids": "createBeneficiary", "http.negotiation": "getBeneficiary"},
    ),
    ("list.page-range", "A page below 1 is obeyed: 0", "listWallets", {}),
    ("list.page-range", "echoed, or counts as 0: as sent", "listVirtualAccounts", {}),
    ("list.envelope", "total decimal", "listVirtualAccounts", {"list.echo": "listVirtualAccounts"}),
    (
        "tenancy.unknown-parent",
        "its end",
        "createPayoutDestination",
        {"list.complete": "listPayoutDestinations"},
    ),
    (
        "fields.max-length",
        "first_name, existing individual",
        "updateBeneficiary",
        {"http.no-server-error": "updateBeneficiary"},
    ),
    ("idempotency.conflict", "not with 4xx: 200", "createPayout", {}),
    ("tenancy.sibling-child", "", "updateBeneficiary", {}),
    ("create.echo", "created if missing: wallet_address", "createPayoutDestination", {}),
    (
        "read.equals-create",
        "shown as null: address.postal_code",
        "getBeneficiary",
        {"beneficiary.update": "updateBeneficiary"},
    ),
    (
        "idempotency.key-accepted",
        "variant a",
        "createPayoutDestination",
        {"fields.accepts-valid": "createPayoutDestination", "idempotency.hang-up": "createPayoutDestination"},
    ),
    (
        "list.walk",
        "pages goes with it: one more",
        "listWallets",
        {"list.echo": "listWallets", "list.empty": "listWallets"},
    ),
    (
        "format.fields",
        "note too long",
        "createPayout",
        {"format.nullable": "createPayout", "create.echo": "createPayout"},
    ),
    (
        "destination.last4",
        "last four but one",
        "createPayoutDestination",
        {"list.complete": "listPayoutDestinations"},
    ),
    (
        "beneficiary.update-empty",
        "this member: address",
        "updateBeneficiary",
        {"body.member-names": "updateBeneficiary"},
    ),
    (
        "fields.accepts-valid",
        "refused: last_name",
        "updateBeneficiary",
        {"beneficiary.update": "updateBeneficiary", "fields.other-scripts": "updateBeneficiary"},
    ),
    ("list.walk", "what it held when it was read first", "listWallets", {"list.pages": "listWallets"}),
    (
        "fields.max-length-accepted",
        "without its last character: name",
        "createAccount",
        {"create.echo": "createAccount"},
    ),
    (
        "beneficiary.destinations",
        "each once: twice",
        "getBeneficiary",
        {"beneficiary.update": "updateBeneficiary"},
    ),
    (
        "format.id-unique",
        "second request",
        "createAccount",
        {
            "refusal.changes-nothing": "createAccount",
            "idempotency.race": "createAccount",
            "idempotency.hang-up": "createAccount",
        },
    ),
    ("format.id-unique", "second request", "createBeneficiary", {}),
    (
        "create.echo",
        "middle_name, ampersands are escaped",
        "createBeneficiary",
        {"format.fields": "createBeneficiary"},
    ),
    (
        "destination.default",
        "though it is none: type",
        "createPayoutDestination",
        {"refusal.changes-nothing": "createPayoutDestination"},
    ),
    (
        "idempotency.race",
        "answered as one, and each",
        "createVirtualAccount",
        {"idempotency.replay": "createVirtualAccount"},
    ),
    ("fields.currency-code", "currency three digits", "createPayout", {}),
    ("fields.max-length", "display_name, beneficiary_type=individual", "createBeneficiary", {}),
    ("format.money", "amount integer", "createPayout", {"http.negotiation": "createPayout"}),
    (
        "http.content-type",
        "text/html; charset=utf-8 of successes",
        "listWallets",
        {"http.negotiation": "listWallets"},
    ),
    ("format.timestamp", "created epoch", "createWallet", {"list.complete": "listWallets"}),
    (
        "format.timestamp",
        "created month 13",
        "createVirtualAccount",
        {"read.equals-create": "getVirtualAccount"},
    ),
    ("tenancy.unknown-parent", "as if it were the caller's", "createAccount", {}),
    ("tenancy.payout-references", "without its prefix", "createPayout", {}),
    ("fields.address-types", "city list", "createBeneficiary", {}),
    ("fields.amount", "amount, no note", "createPayout", {}),
    ("fields.enum", "member of all objects", "updateBeneficiary", {}),
    ("format.id", "customer_id hyphen", "createAccount", {}),
    (
        "idempotency.payout-key-required",
        "X-Idempotency-Key",
        "createPayout",
        {"idempotency.key-required": "createPayout"},
    ),
    (
        "http.content-type",
        "text/html; charset=utf-8 of authentication errors",
        "createAccount",
        {"http.negotiation": "createAccount"},
    ),
    (
        "beneficiary.disable",
        "a later read shows the old status",
        "disableBeneficiary",
        {
            "beneficiary.update": "updateBeneficiary",
            "idempotency.replay-after-change": "createBeneficiary",
            "idempotency.hang-up": "disableBeneficiary",
        },
    ),
]


def _fault(rule: str, kind: str, operation: str) -> Fault:
    return next(
        each for each in load() if (each.rule, each.operation) == (rule, operation) and kind in each.name
    )


def _checks(rule: str, operation: str, beside: dict[str, str]) -> dict[tuple[CheckDefinition, str], None]:
    """Returns the checks of a rule on its operation, and of what is not broken beside it."""
    cells = {**beside, rule: operation}
    return dict.fromkeys((check, name) for each, name in cells.items() for check in checks_of(each, name))


@pytest.mark.usefixtures("quiet")
@pytest.mark.parametrize(("rule", "kind", "operation", "beside"), _ROWS, ids=lambda value: str(value)[:40])
def test_one_mistake_is_one_cause(rule: str, kind: str, operation: str, beside: dict[str, str]) -> None:
    outcome = judge(_fault(rule, kind, operation).make(), _checks(rule, operation, beside))
    assert outcome.causes.keys() == {rule}, outcome.broken


@pytest.mark.usefixtures("quiet")
@pytest.mark.parametrize(
    ("rule", "kind", "operation", "changed"),
    [
        ("list.complete", "shows other dates", "listPayoutDestinations", "createPayoutDestination"),
        ("read.equals-create", "third read shows another text", "getBeneficiary", "updateBeneficiary"),
    ],
)
def test_what_is_shown_by_turns_is_no_effect_of_requests(
    rule: str, kind: str, operation: str, changed: str
) -> None:
    checks = _checks(rule, operation, {"refusal.changes-nothing": changed})
    outcome = judge(_fault(rule, kind, operation).make(), checks)
    assert (rule, operation) in outcome.broken
    assert ("refusal.changes-nothing", changed) not in outcome.broken


#: Faults of rules that are not broken beside those, by rule and operation, each by part of its sentence.
_OTHERS = {
    ("http.negotiation", "listWallets"): "",
    ("auth.request-line", "listWallets"): "",
    ("body.existing-ids", "createWallet"): "",
    ("destination.default", "createPayoutDestination"): "",
    ("http.negotiation", "createAccount"): "",
    ("beneficiary.update", "updateBeneficiary"): "PATCH of a disabled",
    ("idempotency.replay-after-change", "createBeneficiary"): "",
    ("idempotency.hang-up", "disableBeneficiary"): "",
}

#: The rows with another mistake beside them; one server has one on an operation.
_PAIRS = [
    (rule, kind, operation, *other)
    for rule, kind, operation, beside in _ROWS
    for other in beside.items()
    if other in _OTHERS and other[1] != operation and not _fault(rule, kind, operation).base.everywhere
]


@pytest.mark.usefixtures("quiet")
@pytest.mark.parametrize(("rule", "kind", "operation", "other", "elsewhere"), _PAIRS)
def test_two_mistakes_are_two_causes(
    rule: str, kind: str, operation: str, other: str, elsewhere: str
) -> None:
    """Or the one says why the other could not be judged; that never passes."""
    server = together([_fault(rule, kind, operation), _fault(other, _OTHERS[other, elsewhere], elsewhere)])
    outcome = judge(server, _checks(rule, operation, {other: elsewhere}))
    assert rule in outcome.causes
    assert other in outcome.causes or outcome.kept_from[other, elsewhere] == rule, outcome.broken
