"""All refusals: status, error type, error code and message.

Statuses, types and codes that section 5.4, 5.5 or 7 of the specification does not state are this server's
choice. Messages contain nothing that was sent.
"""

from __future__ import annotations

from collections.abc import Sequence

#: Status and type -> kind of refusal -> message.
_MESSAGES: dict[tuple[int, str], dict[str, str]] = {
    (401, "authentication_error"): {
        # Stated by the specification.
        "missing_headers": "X-API-Key, X-Timestamp, X-Nonce and X-Signature are all required.",
        "timestamp_too_old": "X-Timestamp is more than 300 seconds off server time.",
        "nonce_replay": "X-Nonce was already used; send a new one with every request.",
        "invalid_signature": "X-Signature does not match the request as received.",
        # Chosen here.
        "empty_header": "X-API-Key, X-Timestamp, X-Nonce and X-Signature may not be empty.",
        "invalid_timestamp": "X-Timestamp is not an integer of Unix epoch seconds.",
        "invalid_nonce": "X-Nonce is longer than 255 characters.",
        "unknown_key": "X-API-Key is unknown.",
    },
    # Stated by the specification.
    (403, "permission_error"): {"foreign_parent": "The resource belongs to another organization."},
    (409, "idempotency_error"): {
        "idempotency_key_conflict": "Idempotency-Key was already used with a different body.",
    },
    (404, "not_found_error"): {
        "unknown_parent": "There is no such resource.",
        "missing_child": "There is no such resource.",
        # Chosen here.
        "unknown_path": "There is no such path.",
        "payout_beneficiary": "The account has no such beneficiary.",
        "payout_destination": "The account has no such payout destination.",
        "payout_destination_owner": "The beneficiary has no such payout destination.",
    },
    (400, "validation_error"): {
        # Stated by the specification.
        "invalid_idempotency_key": "Idempotency-Key is not a UUID.",
        # Chosen here.
        "missing_idempotency_key": "A POST request must carry Idempotency-Key, a UUID.",
        "malformed_body": "The body is not valid JSON in UTF-8.",
        "broken_off": "The request broke off within its body.",
        "malformed_query": "The query is not percent-encoded UTF-8.",
    },
    # Chosen here.
    (405, "validation_error"): {"unknown_method": "The path does not support this method."},
    (413, "validation_error"): {"body_too_large": "The request body is too large."},
    (422, "validation_error"): {
        "body_not_object": "The body is not a JSON object.",
        "invalid_field": "A field is invalid.",
        "invalid_parameter": "A query parameter is invalid.",
    },
    (409, "conflict_error"): {
        "duplicate_wallet": "The account already has a wallet of this currency and network.",
    },
    (422, "payout_error"): {
        "insufficient_funds": "The account's available balance does not cover the amount.",
    },
}

#: Kind of refusal -> error code, if different.
_CODES = {
    "foreign_parent": "forbidden",
    "unknown_parent": "resource_not_found",
    "missing_child": "resource_not_found",
    "empty_header": "missing_headers",
    "unknown_key": "invalid_api_key",
    "unknown_method": "method_not_allowed",
    "malformed_body": "malformed_json",
    "body_not_object": "not_an_object",
    "duplicate_wallet": "wallet_exists",
    "payout_beneficiary": "beneficiary_not_found",
    "payout_destination": "payout_destination_not_found",
    "payout_destination_owner": "payout_destination_not_found",
}

#: Kind of refusal -> status, type and message.
REFUSALS = {
    kind: (status, type, message)
    for (status, type), kinds in _MESSAGES.items()
    for kind, message in kinds.items()
}


class Refusal(Exception):
    """Ends a request with a 4xx answer. `kind` is a key of `KINDS`; `field` is the invalid field, if any.

    `code` and `message` override those of the kind; `headers` are added to the answer.
    """

    def __init__(
        self,
        kind: str,
        message: str = "",
        field: str | None = None,
        code: str = "",
        headers: Sequence[tuple[bytes, bytes]] = (),
    ) -> None:
        super().__init__(kind)
        self.status, self.type, usual = REFUSALS[kind]
        self.kind = kind
        self.field = field
        self.code = code or _CODES.get(kind, kind)
        self.message = message or usual
        self.headers = headers
