"""Servers that run in several processes, behind caches and front ends, or in other people's frameworks."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from conformance.contract.rules import OPERATION_SETS
from conformance.reference.context import Context
from conformance.reference.messages import Request, Response

from .catalogue import Faulty, fault, faults, of, seam
from .crashes import BODIES, Crashes, Finishes, crashing, succeeded

# --------------------------------------------------------------------------- several processes


class Processes(Faulty):
    """Two processes of which each answers every other request."""

    def process(self, ctx: Context) -> int:
        """Which process a request meets."""
        if "process" not in ctx.notes:
            self.__dict__["requests"] = self.__dict__.get("requests", 0) + 1
            ctx.notes["process"] = self.__dict__["requests"] % 2
        return int(ctx.notes["process"])


@fault("auth.nonce-replay", also=("auth.nonce-replay-idempotent", "auth.nonce-race"))
class NoncesOfEachProcess(Processes):
    """Each of two processes remembers the nonces of its own requests only."""

    def nonce_scope(self, ctx: Context) -> str:
        return f"{super().nonce_scope(ctx)} {self.process(ctx)}"


@fault(
    "idempotency.replay",
    also=("idempotency.replay-after-change", "idempotency.race", "idempotency.conflict"),
)
class AnswersOfEachProcess(Processes):
    """Each of two processes remembers the idempotency keys of its own requests only."""

    def answer_scope(self, ctx: Context) -> str:
        return f"{super().answer_scope(ctx)} {self.process(ctx)}"


# --------------------------------------------------------------------------- caches


@fault("beneficiary.update", "beneficiary.disable")
class ReadsStayAsTheyWere(Faulty):
    """What was read once is read the same ever after, whatever is changed."""

    everywhere = True

    def finish(self, ctx: Context, response: Response) -> Response:
        response = super().finish(ctx, response)
        if ctx.operation != "getBeneficiary" or not succeeded(response):
            return response
        kept = self.__dict__.setdefault("kept", {}).setdefault(ctx.path, response.document)
        return response.with_document(kept)


@fault("list.complete")
class ListsStayAsTheyWere(Finishes):
    """A list is answered as it was when it was first read, whatever is created."""

    def finished(self, ctx: Context, response: Response) -> Response:
        if not succeeded(response):
            return response
        kept = self.__dict__.setdefault("kept", {}).setdefault(ctx.request.target, response.document)
        return response.with_document(kept)


@fault("read.equals-create")
class ReadsTheLast(Finishes):
    """A read answers what the last read of another resource answered."""

    def finished(self, ctx: Context, response: Response) -> Response:
        if not succeeded(response):
            return response
        last = self.__dict__.get("last", response.document)
        self.__dict__["last"] = response.document
        return response.with_document(last)


# --------------------------------------------------------------------------- front ends and frameworks

#: Kind -> which requests of any operation end in a server error.
HEADERS: dict[str, Callable[[Context], bool]] = {
    "signature twice": lambda ctx: _times(ctx.request, b"x-signature") > 1,
    "nonce twice": lambda ctx: _times(ctx.request, b"x-nonce") > 1,
    "key twice": lambda ctx: _times(ctx.request, b"x-api-key") > 1,
    "cookie": lambda ctx: b"cookie" in ctx.headers,
    "forwarded": lambda ctx: b"x-forwarded-for" in ctx.headers,
    "language": lambda ctx: b"accept-language" in ctx.headers,
}


def _times(request: Request, name: bytes) -> int:
    return sum(key.lower() == name for key, _ in request.headers)


faults["http.no-server-error"] |= {
    "A header that the operation does not need is answered with 500.": of(Crashes, each=HEADERS),
    "Two idempotency keys are answered with 500.": crashing(
        lambda self, ctx: _times(ctx.request, b"idempotency-key") > 1, operations=OPERATION_SETS["post"]
    ),
}

#: Kind -> what a parser makes of a body that is not JSON.
PARSERS: dict[str, Callable[[bytes], Any]] = {
    "UTF-16": lambda body: json.loads(body.decode("utf-16") if body[:1] in b"\xff\xfe" else body),
    "NaN": lambda body: json.loads(body),
    "comments": lambda body: json.loads(re.sub(rb"/\*.*?\*/", b"", body)),
    "raw control characters": lambda body: json.loads(body, strict=False),
    "names without quotes": lambda body: json.loads(re.sub(rb"([{,])(\w+):", rb'\1"\2":', body)),
}


@fault("body.malformed", operations=BODIES, each=PARSERS)
class ParsesMore(Faulty):
    """The parser takes more than JSON."""

    def parse_body(self, ctx: Context) -> dict[str, Any]:
        try:
            document = self.value(ctx.request.body)
        except (ValueError, RecursionError):
            document = None
        return document if isinstance(document, dict) else super().parse_body(ctx)


faults["auth.timestamp-integer"] |= {
    "A timestamp with underscores between its digits is read without them, as Python does.": seam(
        "parse_timestamp", lambda self, ctx, text: int(text) if "_" in text else self.usual()
    ),
}
