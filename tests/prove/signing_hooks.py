"""Hooks of `st run` that sign, send fresh idempotency keys, and log answers.

Loaded by schemathesis through SCHEMATHESIS_HOOKS; the Unix time of each answer is a line of SPEED_LOG.
"""

from __future__ import annotations

import json
import os
import time
import uuid
from typing import Any

import schemathesis

from conformance.wire.signers import RequestsSigner

# The type of `auth` in schemathesis is too narrow.
schemathesis.auth.set_from_requests(  # type: ignore[attr-defined]
    RequestsSigner(os.environ["SPEED_API_KEY"], os.environ["SPEED_SECRET"])
)
_IDS: dict[str, str] = json.loads(os.environ["SPEED_IDS"])
_LOG = open(os.environ["SPEED_LOG"], "a", buffering=1, encoding="utf-8")  # noqa: SIM115 - open until the process ends


@schemathesis.hook
def before_call(ctx: Any, case: Any, kwargs: dict[str, Any]) -> None:
    """Puts ids of existing resources into the path unless the case tests it, and a new key into each POST."""
    from schemathesis.core.parameters import ParameterLocation

    mutated = bool(case.meta and case.meta.is_negative_at(ParameterLocation.PATH))
    for name in case.path_parameters or {}:
        if not mutated and name in _IDS:
            case.path_parameters[name] = _IDS[name]
    if (
        case.method.upper() == "POST"
        and case.headers
        and "Idempotency-Key" in case.headers
        and not (case.meta and case.meta.is_negative_at(ParameterLocation.HEADER))
    ):
        case.headers["Idempotency-Key"] = str(uuid.uuid4())


@schemathesis.hook
def after_call(ctx: Any, case: Any, response: Any) -> None:
    _LOG.write(f"{time.time()}\n")
