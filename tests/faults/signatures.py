"""Servers that accept wrong signatures, or compute the signature wrongly (section 5.3)."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

from conformance.contract import signing
from conformance.contract.signing_mistakes import BY_NAME, Parts
from conformance.reference.context import Context
from conformance.reference.refusals import Refusal

from .authentication import signed_parts
from .catalogue import Faulty, Only, Row, faults, hook, seam
from .rows import passing, refusing, refusing_otherwise
from .tenancy import caller_is


def telling(self: Any, ctx: Context) -> None:
    """Refuses a wrong signature with a message that reveals the expected one."""
    try:
        self.usual()
    except Refusal as error:
        expected = signing.signature(self.signing_secret(ctx), self.signature_string(ctx))
        error.message = f"Expected {expected}."
        raise


faults["auth.signature-hidden"] |= {
    "The refusal of a signature shows the right one.": seam("check_signature", telling)
}


class AlsoSigned(Faulty):
    """Also accepts a signature over any of its `alternatives`."""

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
        """Returns the signature string with some parts replaced."""
        return signing.signature_string(
            parts.get("method", self.signed_method(ctx)),
            parts.get("target", self.signed_target(ctx)),
            parts.get("timestamp", self.signed_timestamp(ctx)),
            parts.get("nonce", self.signed_nonce(ctx)),
            parts.get("body", self.signed_body(ctx)),
        )


also_signed = hook(AlsoSigned, "alternatives")

#: Kind -> comparison of the expected and the presented signature.
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
    "first of several": lambda expected, presented: presented.split(",")[0].strip() == expected,
    "any of several": lambda expected, presented: expected in presented.replace(" ", "").split(","),
    "any 64 hexadecimal": lambda expected, presented: bool(re.fullmatch("[0-9a-f]{64}", presented)),
    "any 64": lambda expected, presented: len(presented) == 64,
    "any not hexadecimal": lambda expected, presented: not re.fullmatch("[0-9a-fA-F]*", presented),
    "base64": lambda expected, presented: base64.b64encode(bytes.fromhex(expected)).decode() == presented,
    "zeros": lambda expected, presented: presented == "0" * 64,
}


#: Kind -> secrets that are taken for the caller's.
SECRETS: dict[str, Callable[[Context], list[str]]] = {
    "another organization's": lambda ctx: [
        row[0] for row in ctx.store.query("SELECT secret FROM organizations")
    ],
    "the API key": lambda ctx: [ctx.header(b"x-api-key") or ""],
    "an empty": lambda ctx: [""],
}


def _malformed(self: Any, ctx: Context) -> bool:
    return not self.value(self.authentication_header(ctx, signing.SIGNATURE) or "")


def mistaken(ctx: Context, secret: str, name: str) -> str | None:
    """Returns the signature of a request that a usual mistake gives."""
    request = ctx.request
    return BY_NAME[name].sign(
        Parts(
            request.method,
            request.target,
            ctx.header(b"x-timestamp") or "",
            ctx.header(b"x-nonce") or "",
            request.body,
            ctx.header(b"x-api-key") or "",
            b"http://" + (ctx.header(b"host") or "").encode(),
        ),
        secret,
    )


def taking(turns: Mapping[str, Collection[str]]) -> Row:
    """Makes a row that accepts signatures with usual mistakes, each on the operations that are sent it."""
    return passing(
        "signatures_equal",
        lambda self, ctx, expected, presented: (
            presented == mistaken(ctx, self.signing_secret(ctx), self.value)
        ),
        each={mistake: Only(mistake, operations) for mistake, operations in turns.items()},
    )


#: Mistakes -> operations that are sent requests with them.
TURNS = {
    "SHA-1": ("createAccount", "getVirtualAccount"),
    "SHA-512": ("listAccounts", "createWallet"),
    "hashed secret": ("getAccountBalances", "listWallets"),
    "no HMAC": ("createBeneficiary", "createPayin"),
    "no secret": ("getBeneficiary",),
    "arguments swapped": ("updateBeneficiary",),
    "nonce before timestamp": ("disableBeneficiary",),
    "timestamp first": ("createPayoutDestination",),
    "scheme before the signature": ("listPayoutDestinations",),
    "a line feed behind the secret": ("createPayout",),
    "shortened secret": ("createVirtualAccount",),
    # The secrets of the reference server contain lower-case letters.
    "capital secret": ("listVirtualAccounts",),
}


faults["auth.signature"] |= {
    "A signature with this mistake is accepted.": taking(TURNS),
    "A signature is accepted that is not the right one.": passing(
        "signatures_equal", lambda self, ctx, *pair: self.value(*pair), each=COMPARISONS
    ),
    "A signature made with another secret is accepted.": passing(
        "signatures_equal",
        lambda self, ctx, expected, presented: any(
            signing.signature(secret, self.signature_string(ctx)) == presented for secret in self.value(ctx)
        ),
        each=SECRETS,
    ),
    "The signatures of the second of two organizations are not looked at.": passing(
        "signatures_equal", lambda self, ctx, *_: caller_is(ctx, "second")
    ),
    "A request that comes from within, as a header says, needs no signature of its own.": passing(
        "signatures_equal",
        lambda self, ctx, *_: ctx.header(self.value[0]) == self.value[1](ctx),
        each={
            "X-Forwarded-For": (b"x-forwarded-for", lambda ctx: "127.0.0.1"),
            "Authorization": (b"authorization", lambda ctx: f"Bearer {ctx.organization.api_key}"),
        },
    ),
    "A signature of another form is refused as a malformed header.": refusing(
        "check_signature",
        (400, "validation_error", "malformed_signature"),
        _malformed,
        each={
            "not hexadecimal": lambda presented: re.fullmatch("[0-9a-fA-F]*", presented),
            "of another length": lambda presented: len(presented) == 64,
        },
    ),
    "A wrong signature is refused with another status, type or code.": refusing_otherwise(
        "check_signature",
        each={
            "status 403": (403, "authentication_error", "invalid_signature"),
            "status 400": (400, "authentication_error", "invalid_signature"),
            "type": (401, "permission_error", "invalid_signature"),
            "code": (401, "authentication_error", "signature_mismatch"),
        },
        also=(
            *("auth.signed-method", "auth.signed-path", "auth.signed-query", "auth.signed-timestamp"),
            *("auth.signed-nonce", "auth.signed-body", "auth.signed-empty-body", "auth.no-separators"),
        ),
    ),
}


def body_forms(ctx: Context) -> dict[str, bytes]:
    """Returns equivalent forms of the body by name; none if it is not JSON."""
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


faults["auth.no-separators"] |= {
    "A signature made over separated parts is accepted.": also_signed(
        lambda self, ctx: [self.value.join(signed_parts(self, ctx))],
        each={"newline": b"\n", "|": b"|", ":": b":", ".": b".", "space": b" "},
    ),
    "A signature made with a line feed before the body only is accepted.": taking(
        {"a line feed before the body": ("createAccount", "createVirtualAccount")}
    ),
}
