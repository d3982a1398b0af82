"""The sixteen operations as routes: which operation a method and path mean (specification, section 4)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import unquote_to_bytes

#: operationId -> method and path template.
ROUTES: dict[str, tuple[str, str]] = {
    "createAccount": ("POST", "/v1/customers/{customer_id}/accounts"),
    "listAccounts": ("GET", "/v1/customers/{customer_id}/accounts"),
    "getAccountBalances": ("GET", "/v1/customers/{customer_id}/accounts/{account_id}/balances"),
    "createBeneficiary": ("POST", "/v1/accounts/{account_id}/beneficiaries"),
    "getBeneficiary": ("GET", "/v1/accounts/{account_id}/beneficiaries/{beneficiary_id}"),
    "updateBeneficiary": ("PATCH", "/v1/accounts/{account_id}/beneficiaries/{beneficiary_id}"),
    "disableBeneficiary": ("POST", "/v1/accounts/{account_id}/beneficiaries/{beneficiary_id}/disable"),
    "createPayoutDestination": (
        "POST", "/v1/accounts/{account_id}/beneficiaries/{beneficiary_id}/payout-destinations"),
    "listPayoutDestinations": (
        "GET", "/v1/accounts/{account_id}/beneficiaries/{beneficiary_id}/payout-destinations"),
    "createPayout": ("POST", "/v1/accounts/{account_id}/payouts"),
    "createVirtualAccount": ("POST", "/v1/accounts/{account_id}/virtual-accounts"),
    "listVirtualAccounts": ("GET", "/v1/accounts/{account_id}/virtual-accounts"),
    "getVirtualAccount": ("GET", "/v1/accounts/{account_id}/virtual-accounts/{virtual_account_id}"),
    "createWallet": ("POST", "/v1/accounts/{account_id}/wallets"),
    "listWallets": ("GET", "/v1/accounts/{account_id}/wallets"),
    "createPayin": ("POST", "/v1/accounts/{account_id}/payins"),
}


class Match(NamedTuple):
    """A documented path: its operations by method, and the path parameters, percent-decoded."""

    methods: Mapping[str, str]
    params: dict[str, str]


def _by_length() -> dict[int, list[tuple[list[str], dict[str, str]]]]:
    templates: dict[str, dict[str, str]] = {}
    for operation, (method, path) in ROUTES.items():
        templates.setdefault(path, {})[method] = operation
    table: dict[int, list[tuple[list[str], dict[str, str]]]] = {}
    for path, methods in templates.items():
        segments = path.split("/")[1:]
        table.setdefault(len(segments), []).append((segments, methods))
    return table


_TABLE = _by_length()


def match(path: bytes) -> Match | None:
    """The documented path that a raw request path stands for; None when there is none.

    A parameter that is no UTF-8 text is kept with replacement characters: no id looks like that.
    """
    if not path.startswith(b"/"):
        return None
    raw = path[1:].split(b"/")
    candidates = _TABLE.get(len(raw))
    if not candidates:
        return None
    segments = [(unquote_to_bytes(part) if b"%" in part else part).decode("utf-8", "replace") for part in raw]
    for template, methods in candidates:
        params = {}
        for expected, segment in zip(template, segments, strict=True):
            if expected.startswith("{"):
                params[expected[1:-1]] = segment
            elif expected != segment:
                break
        else:
            return Match(methods, params)
    return None
