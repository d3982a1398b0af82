"""Every way in which a request can be refused: its status, error type, error code and message.

Statuses, types and codes that section 5.4, 5.5 or 7 of the specification states stand first; the
others are this server's own choice. A message never repeats anything that was sent.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class RefusalKind(NamedTuple):
    """Status, type and code of one kind of refusal."""

    status: int
    type: str
    code: str
    message: str


KINDS: dict[str, RefusalKind] = {
    # stated by the specification
    "missing_headers": RefusalKind(
        401,
        "authentication_error",
        "missing_headers",
        "X-API-Key, X-Timestamp, X-Nonce and X-Signature are all required.",
    ),
    "timestamp_too_old": RefusalKind(
        401,
        "authentication_error",
        "timestamp_too_old",
        "X-Timestamp is more than 300 seconds off server time.",
    ),
    "nonce_replay": RefusalKind(
        401,
        "authentication_error",
        "nonce_replay",
        "X-Nonce was already used; send a new one with every request.",
    ),
    "invalid_signature": RefusalKind(
        401,
        "authentication_error",
        "invalid_signature",
        "X-Signature does not match the request as received.",
    ),
    "invalid_idempotency_key": RefusalKind(
        400, "validation_error", "invalid_idempotency_key", "Idempotency-Key is not a UUID."
    ),
    "idempotency_key_conflict": RefusalKind(
        409,
        "idempotency_error",
        "idempotency_key_conflict",
        "Idempotency-Key was already used with a different body.",
    ),
    "foreign_parent": RefusalKind(
        403, "permission_error", "forbidden", "The resource belongs to another organization."
    ),
    "unknown_parent": RefusalKind(404, "not_found_error", "resource_not_found", "There is no such resource."),
    "missing_child": RefusalKind(404, "not_found_error", "resource_not_found", "There is no such resource."),
    # chosen here
    "empty_header": RefusalKind(
        401,
        "authentication_error",
        "missing_headers",
        "X-API-Key, X-Timestamp, X-Nonce and X-Signature may not be empty.",
    ),
    "invalid_timestamp": RefusalKind(
        401,
        "authentication_error",
        "invalid_timestamp",
        "X-Timestamp is not an integer of Unix epoch seconds.",
    ),
    "invalid_nonce": RefusalKind(
        401, "authentication_error", "invalid_nonce", "X-Nonce is longer than 255 characters."
    ),
    "unknown_key": RefusalKind(401, "authentication_error", "invalid_api_key", "X-API-Key is unknown."),
    "missing_idempotency_key": RefusalKind(
        400,
        "validation_error",
        "missing_idempotency_key",
        "A POST request must carry Idempotency-Key, a UUID.",
    ),
    "unknown_path": RefusalKind(404, "not_found_error", "unknown_path", "There is no such path."),
    "unknown_method": RefusalKind(
        405, "validation_error", "method_not_allowed", "The path does not support this method."
    ),
    "body_too_large": RefusalKind(
        413, "validation_error", "body_too_large", "The request body is too large."
    ),
    "malformed_body": RefusalKind(
        400, "validation_error", "malformed_json", "The body is not valid JSON in UTF-8."
    ),
    "body_not_object": RefusalKind(
        422, "validation_error", "not_an_object", "The body is not a JSON object."
    ),
    "malformed_query": RefusalKind(
        400, "validation_error", "malformed_query", "The query is not percent-encoded UTF-8."
    ),
    "invalid_field": RefusalKind(422, "validation_error", "invalid_field", "A field is invalid."),
    "invalid_parameter": RefusalKind(
        422, "validation_error", "invalid_parameter", "A query parameter is invalid."
    ),
    "duplicate_wallet": RefusalKind(
        409,
        "conflict_error",
        "wallet_exists",
        "The account already has a wallet of this currency and network.",
    ),
    "payout_beneficiary": RefusalKind(
        404, "not_found_error", "beneficiary_not_found", "The account has no such beneficiary."
    ),
    "payout_destination": RefusalKind(
        404, "not_found_error", "payout_destination_not_found", "The account has no such payout destination."
    ),
    "payout_destination_owner": RefusalKind(
        404,
        "not_found_error",
        "payout_destination_not_found",
        "The beneficiary has no such payout destination.",
    ),
    "insufficient_funds": RefusalKind(
        422,
        "payout_error",
        "insufficient_funds",
        "The account's available balance does not cover the amount.",
    ),
}


class Refusal(Exception):
    """Ends a request with a 4xx answer. `kind` is a key of `KINDS`; `field` names the culprit, if any.

    `code` and `message`, where given, win over those of the kind; `headers` go into the answer.
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
        described = KINDS[kind]
        self.kind = kind
        self.field = field
        self.status = described.status
        self.type = described.type
        self.code = code or described.code
        self.message = message or described.message
        self.headers = headers
