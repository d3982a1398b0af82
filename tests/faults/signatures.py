"""Servers that take wrong signatures, or compute another than that of section 5.3."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import re
from collections.abc import Iterable, Iterator
from typing import Any
from urllib.parse import (
    parse_qsl,
    quote,
    unquote,
    unquote_to_bytes,
    urlencode,
)

from conformance.contract import signing
from conformance.contract.operations import OPERATIONS
from conformance.reference.context import Context
from conformance.reference.refusals import Refusal
from conformance.reference.routes import ROUTES

from .catalogue import Faulty, fault, faults, hook, refusal, refuse, seam


def telling(self: Any, ctx: Context) -> None:
    """Refuses a wrong signature with a message that shows the right one."""
    try:
        self.usual()
    except Refusal as error:
        expected = signing.signature(self.signing_secret(ctx), self.signature_string(ctx))
        error.message = f"Expected {expected}."
        raise


faults["auth.signature-hidden"] |= {
    "The refusal of a signature shows the right one.": seam("check_signature", telling),
}

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")


class AlsoSigned(Faulty):
    """Accepts, beside the right signature, one over any of its `alternatives`."""

    def alternatives(self, ctx: Context) -> Iterable[bytes]:
        return ()

    def check_signature(self, ctx: Context) -> None:
        presented = self.authentication_header(ctx, signing.SIGNATURE) or ""
        if self.here(ctx):
            key = hmac.new(self.signing_secret(ctx).encode(), digestmod=hashlib.sha256)
            for text in self.alternatives(ctx):
                made = key.copy()
                made.update(text)
                if made.hexdigest() == presented:
                    return
        super().check_signature(ctx)

    def string(self, ctx: Context, **parts: Any) -> bytes:
        """The signature string with some of its parts replaced."""
        return signing.signature_string(
            parts.get("method", self.signed_method(ctx)),
            parts.get("target", self.signed_target(ctx)),
            parts.get("timestamp", self.signed_timestamp(ctx)),
            parts.get("nonce", self.signed_nonce(ctx)),
            parts.get("body", self.signed_body(ctx)),
        )


also_signed = hook(AlsoSigned, "alternatives")


# --------------------------------------------------------------------------- signature

#: Kind -> whether a presented signature is taken for the expected one.
COMPARISONS = {
    "not compared": lambda expected, presented: True,
    "first 8": lambda expected, presented: expected[:8] == presented[:8],
    "first 32": lambda expected, presented: expected[:32] == presented[:32],
    "all but the last": lambda expected, presented: len(presented) == 64 and expected[:63] == presented[:63],
    "all but the first": lambda expected, presented: len(presented) == 64 and expected[1:] == presented[1:],
    "last 32": lambda expected, presented: expected[-32:] == presented[-32:],
    "truncated": lambda expected, presented: expected.startswith(presented),
    "one short": lambda expected, presented: presented == expected[:-1],
    "more behind": lambda expected, presented: presented.startswith(expected),
    "any 64 hexadecimal": lambda expected, presented: bool(re.fullmatch("[0-9a-f]{64}", presented)),
    "any 64": lambda expected, presented: len(presented) == 64,
    "any not hexadecimal": lambda expected, presented: not re.fullmatch("[0-9a-fA-F]*", presented),
    "base64": lambda expected, presented: base64.b64encode(bytes.fromhex(expected)).decode() == presented,
    "zeros": lambda expected, presented: presented == "0" * 64,
}


def _secrets(ctx: Context) -> dict[str, list[str]]:
    everybody = [row[0] for row in ctx.store.query("SELECT secret FROM organizations")]
    key = ctx.header(b"x-api-key") or ""
    return {"another organization's": everybody, "the API key": [key], "an empty": [""]}


@fault("auth.signature", each=("another organization's", "the API key", "an empty"))
class OtherSecrets(Faulty):
    """A signature made with another secret is accepted."""

    def check_signature(self, ctx: Context) -> None:
        presented = self.authentication_header(ctx, signing.SIGNATURE)
        for secret in _secrets(ctx)[self.value]:
            if signing.signature(secret, self.signature_string(ctx)) == presented:
                return
        super().check_signature(ctx)


@fault(
    "auth.signature",
    each={
        "status 403": (403, "authentication_error", "invalid_signature"),
        "status 400": (400, "authentication_error", "invalid_signature"),
        "type": (401, "permission_error", "invalid_signature"),
        "code": (401, "authentication_error", "signature_mismatch"),
    },
    also=tuple(
        f"auth.{name}"
        for name in (
            "signed-method",
            "signed-path",
            "signed-query",
            "signed-timestamp",
            "signed-nonce",
            "signed-body",
            "signed-empty-body",
            "no-separators",
        )
    ),
)
class SignatureAnsweredOtherwise(Faulty):
    """A wrong signature is refused with another status, type or code."""

    def check_signature(self, ctx: Context) -> None:
        try:
            super().check_signature(ctx)
        except Refusal:
            raise refusal(*self.value) from None


@fault("auth.signature")
class GarbageAnsweredOtherwise(Faulty):
    """A signature that is not hexadecimal is refused as a malformed header."""

    def check_signature(self, ctx: Context) -> None:
        presented = self.authentication_header(ctx, signing.SIGNATURE) or ""
        if not re.fullmatch("[0-9a-fA-F]*", presented):
            raise refusal(400, "validation_error", "malformed_signature")
        super().check_signature(ctx)


faults["auth.signature"] |= {
    "A signature is accepted that is not the right one.": seam(
        "signatures_equal",
        lambda self, ctx, expected, presented: self.value(expected, presented) or self.usual(),
        each=COMPARISONS,
    ),
    "A signature of another length is refused as a malformed header.": seam(
        "check_signature",
        lambda self, ctx: (
            refuse(refusal(400, "validation_error", "malformed_signature"))
            if len(self.authentication_header(ctx, signing.SIGNATURE) or "") != 64
            else self.usual()
        ),
    ),
}


# --------------------------------------------------------------------------- what the signature covers


def _other_methods(operation: str) -> list[str]:
    return [method for method in METHODS[:2] if method != OPERATIONS[operation].method]


faults["auth.signed-method"] |= {
    "A signature made for any method is accepted.": also_signed(
        lambda self, ctx: (self.string(ctx, method=method) for method in METHODS)
    ),
    "A signature made for this method is accepted.": also_signed(
        lambda self, ctx: [self.string(ctx, method=self.value)], each=_other_methods
    ),
    "A signature made for the method in lower case is accepted.": also_signed(
        lambda self, ctx: [ctx.request.method.lower().encode() + self.string(ctx, method="")]
    ),
    "A signature made without a method is accepted.": also_signed(
        lambda self, ctx: [self.string(ctx, method="")]
    ),
}


def _other_paths(ctx: Context) -> Iterator[bytes]:
    """The paths of the other operations with the same ids."""
    for _, path in ROUTES.values():
        named = {name: ctx.params.get(name, "x") for name in re.findall(r"{(\w+)}", path)}
        yield path.format(**named).encode()


PATHS = {
    "without version": lambda ctx: [ctx.request.target.removeprefix(b"/v1")],
    "of another operation": _other_paths,
    "without its last part": lambda ctx: [ctx.path.rpartition(b"/")[0]],
    "none": lambda ctx: [b"" + (b"?" + ctx.query if ctx.query else b"")],
    "with a slash behind": lambda ctx: [ctx.path + b"/"],
}


faults["auth.signed-path"] |= {
    "A signature made for another path is accepted.": also_signed(
        lambda self, ctx: (
            self.string(ctx, target=target) for target in self.value(ctx) if target != ctx.request.target
        ),
        each=PATHS,
    ),
}


def _pairs(ctx: Context) -> list[bytes]:
    return ctx.query.split(b"&") if ctx.query else []


def _other_values(ctx: Context) -> Iterator[bytes]:
    """The query with each numeric value replaced by other numbers."""
    for found in re.finditer(rb"(?<==)\d+", ctx.query):
        for number in range(200):
            yield ctx.query[: found.start()] + b"%d" % number + ctx.query[found.end() :]


#: Kind -> queries over which a signature is accepted, beside the one that was sent.
QUERIES = {
    "left out": lambda ctx: [b""],
    "sorted": lambda ctx: [b"&".join(sorted(_pairs(ctx)))],
    "reversed": lambda ctx: [b"&".join(reversed(_pairs(ctx)))],
    "decoded": lambda ctx: [unquote_to_bytes(ctx.query)],
    "encoded": lambda ctx: [
        quote(unquote(ctx.query.decode("latin-1"), "latin-1"), safe="=&", encoding="latin-1").encode(),
        urlencode(parse_qsl(ctx.query.decode("latin-1"), True)).encode(),
        urlencode(parse_qsl(ctx.query.decode("latin-1"), True), quote_via=quote).encode(),
    ],
    "other values": _other_values,
    "first parameter only": lambda ctx: _pairs(ctx)[:1],
}


@fault(
    "auth.signed-query",
    each=lambda operation: (
        QUERIES
        if OPERATIONS[operation].is_list
        else {
            name: QUERIES[name]
            for name in ("left out", "sorted", "reversed", "encoded", "decoded", "other values")
        }
    ),
)
class OtherQueries(AlsoSigned):
    """A signature made for another query is accepted."""

    def alternatives(self, ctx: Context) -> Iterator[bytes]:
        for query in self.value(ctx):
            if query != ctx.query:
                yield self.string(ctx, target=ctx.path + (b"?" + query if query else b""))


#: Kind -> the seconds by which the signed timestamp may differ from the one that was sent.
DRIFTS = {"later": range(1, 400), "earlier": range(-400, 0)}


@fault("auth.signed-timestamp", each=("later", "earlier", "none"))
class OtherTimestamps(AlsoSigned):
    """A signature made for another timestamp, or without one, is accepted."""

    def alternatives(self, ctx: Context) -> Iterator[bytes]:
        if self.value == "none":
            yield self.string(ctx, timestamp="")
            return
        try:
            sent = int(self.signed_timestamp(ctx))
        except ValueError:
            return
        for drift in DRIFTS[self.value]:
            yield self.string(ctx, timestamp=str(sent + drift))


@fault("auth.signed-nonce", each=("none", "upper case"))
class OtherNonces(AlsoSigned):
    """A signature made for the nonce in other letters, or without one, is accepted."""

    def alternatives(self, ctx: Context) -> Iterator[bytes]:
        sent = self.signed_nonce(ctx)
        if self.value == "none":
            yield self.string(ctx, nonce="")
        elif sent != sent.upper():
            yield self.string(ctx, nonce=sent.upper())


@fault("auth.signed-nonce")
class RemembersSignatures(Faulty):
    """A signature that was right before is accepted with another nonce."""

    def check_signature(self, ctx: Context) -> None:
        presented = self.authentication_header(ctx, signing.SIGNATURE) or ""
        known = self.__dict__.setdefault("known", set())
        if presented not in known:
            super().check_signature(ctx)
            known.add(presented)


def body_forms(ctx: Context) -> dict[str, bytes]:
    """The body in other forms that mean the same, by their names; none where it is not JSON."""
    body = ctx.request.body
    try:
        document = json.loads(body)
    except ValueError:
        return {}
    return {
        "compact": json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode(),
        "spaced": json.dumps(document, ensure_ascii=False).encode(),
        "sorted": json.dumps(document, ensure_ascii=False, separators=(",", ":"), sort_keys=True).encode(),
        "sorted and spaced": json.dumps(document, ensure_ascii=False, sort_keys=True).encode(),
        "escaped": json.dumps(document, separators=(",", ":")).encode(),
        "indented": json.dumps(document, ensure_ascii=False, indent=2).encode(),
        "stripped": body.strip(),
        "empty": b"",
    }


@fault("auth.signed-body", each=("compact", "spaced", "sorted", "empty"))
class OtherBodies(AlsoSigned):
    """A signature made over the body in another form, or over none, is accepted."""

    def alternatives(self, ctx: Context) -> Iterator[bytes]:
        for name, body in body_forms(ctx).items():
            if name == self.value and body != ctx.request.body:
                yield self.string(ctx, body=body)


faults["auth.signed-empty-body"] |= {
    "A signature made over an empty JSON value is accepted although no body is sent.": also_signed(
        lambda self, ctx: [] if ctx.request.body else [self.string(ctx, body=self.value.encode())],
        each=("{}", "null"),
    ),
    "A body need not be signed where none is taken.": also_signed(
        lambda self, ctx: [self.string(ctx, body=b"")] if ctx.request.body else [],
        operations=["disableBeneficiary"],
    ),
}


@fault("auth.no-separators", each={"newline": "\n", "|": "|", ":": ":", ".": ".", "space": " "})
class Separated(AlsoSigned):
    """A signature made over separated parts is accepted."""

    def alternatives(self, ctx: Context) -> list[bytes]:
        parts = (
            self.signed_method(ctx).encode(),
            self.signed_target(ctx),
            self.signed_timestamp(ctx).encode(),
            self.signed_nonce(ctx).encode(),
            self.signed_body(ctx),
        )
        return [self.value.encode().join(parts)]
