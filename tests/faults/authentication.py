"""Servers that break a rule of authentication: section 5 of the specification."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import re
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any
from urllib.parse import parse_qsl, quote, quote_plus, unquote, unquote_to_bytes, urlencode

from conformance import signing
from conformance.contract import OPERATIONS
from conformance.reference.context import Context, Record
from conformance.reference.fields import FIELDS
from conformance.reference.idempotency import Idempotency
from conformance.reference.messages import JSON_TYPE, Response
from conformance.reference.refusals import Refusal
from conformance.reference.routes import ROUTES
from conformance.reference.store import Organization
from conformance.rules import OPERATION_SETS

from .catalogue import Faulty, fault, refusal

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")


def first_organization(ctx: Context) -> Organization:
    """An organization for a request that says nothing of its own: the one of the key if it is known."""
    named = ctx.store.organization(ctx.header(b"x-api-key") or "")
    rows = ctx.store.query("SELECT id, api_key, secret FROM organizations")
    return named or next(Organization(*row) for row in rows)


class LetsThrough(Faulty):
    """Lets requests through that need no authentication by its `waives`."""

    def waives(self, ctx: Context) -> bool:
        raise NotImplementedError

    def authenticate(self, ctx: Context) -> None:
        if self.here(ctx) and self.waives(ctx):
            ctx.organization = first_organization(ctx)
        else:
            super().authenticate(ctx)


class AlsoSigned(Faulty):
    """Accepts, beside the right signature, one over any of its `alternatives`."""

    def alternatives(self, ctx: Context) -> Iterable[bytes]:
        raise NotImplementedError

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
            parts.get("method", self.signed_method(ctx)), parts.get("target", self.signed_target(ctx)),
            parts.get("timestamp", self.signed_timestamp(ctx)), parts.get("nonce", self.signed_nonce(ctx)),
            parts.get("body", self.signed_body(ctx)))


# --------------------------------------------------------------------------- auth.accepts-valid


@fault("auth.accepts-valid")
class RefusesAll(Faulty):
    """No signature is right."""

    def signatures_equal(self, ctx: Context, expected: str, presented: str) -> bool:
        return False


@fault("auth.accepts-valid")
class WantsUuidNonces(Faulty):
    """A nonce must be a UUID with hyphens."""

    def nonce_well_formed(self, ctx: Context, nonce: str) -> bool:
        return "-" in nonce


@fault("auth.accepts-valid")
class WantsLongNonces(Faulty):
    """A nonce must be longer than 32 characters."""

    def nonce_well_formed(self, ctx: Context, nonce: str) -> bool:
        return len(nonce) > 32


@fault("auth.accepts-valid")
class WantsMilliseconds(Faulty):
    """A timestamp is read as milliseconds."""

    def parse_timestamp(self, ctx: Context, text: str) -> int:
        return super().parse_timestamp(ctx, text) // 1000


@fault("auth.accepts-valid")
class SignsWithoutVersion(Faulty):
    """The signature is computed over the path without /v1."""

    def signed_target(self, ctx: Context) -> bytes:
        return ctx.request.target.removeprefix(b"/v1")


@fault("auth.accepts-valid")
class SignsWithNewlines(Faulty):
    """The signature is computed over parts that newlines separate."""

    def signature_string(self, ctx: Context) -> bytes:
        return b"\n".join((self.signed_method(ctx).encode(), self.signed_target(ctx),
                           self.signed_timestamp(ctx).encode(), self.signed_nonce(ctx).encode(),
                           self.signed_body(ctx)))


@fault("auth.accepts-valid")
class WantsBase64(Faulty):
    """The signature must be in base64."""

    def signatures_equal(self, ctx: Context, expected: str, presented: str) -> bool:
        return base64.b64encode(bytes.fromhex(expected)).decode() == presented


@fault("auth.accepts-valid")
class WantsUpperCase(Faulty):
    """The signature must be in upper-case hexadecimal."""

    def signatures_equal(self, ctx: Context, expected: str, presented: str) -> bool:
        return expected.upper() == presented


# --------------------------------------------------------------------------- headers


@fault("auth.missing-header", each=signing.HEADERS)
class AcceptsWithout(LetsThrough):
    """A request without this header needs no authentication."""

    def waives(self, ctx: Context) -> bool:
        return ctx.header(self.value.lower().encode()) is None


@fault("auth.missing-header", also=("auth.bearer-only",))
class AcceptsAnonymous(LetsThrough):
    """A request with none of the four headers needs no authentication."""

    def waives(self, ctx: Context) -> bool:
        return all(ctx.header(name.lower().encode()) is None for name in signing.HEADERS)


class MissesOtherwise(Faulty):
    """Answers for a missing header by its `answer`."""

    def check_headers_present(self, ctx: Context) -> None:
        missing = [name for name in signing.HEADERS if self.authentication_header(ctx, name) is None]
        if self.here(ctx) and missing and missing[0] == self.value[0]:
            raise refusal(*self.value[1:])
        super().check_headers_present(ctx)


def _misses(**answers: tuple[int, str, str]) -> dict[str, tuple[Any, ...]]:
    return {f"{header} {name}": (header, *answer) for name, answer in answers.items() for header in signing.HEADERS}


@fault("auth.missing-header", each=_misses(
    code=(401, "authentication_error", "invalid_signature"), type=(401, "validation_error", "missing_headers"),
    singular=(401, "authentication_error", "missing_header"), body=(400, "validation_error", "invalid_request")))
class MissingAnsweredOtherwise(MissesOtherwise):
    """A missing header is answered with another type or code."""


@fault("auth.missing-header-status", each=_misses(
    forbidden=(403, "authentication_error", "missing_headers"),
    bad=(400, "authentication_error", "missing_headers")))
class MissingWithOtherStatus(MissesOtherwise):
    """A missing header is answered with another status than 401."""


@fault("auth.empty-header", each=signing.HEADERS)
class EmptyIsFine(LetsThrough):
    """A request in which this header is empty needs no authentication."""

    def waives(self, ctx: Context) -> bool:
        return ctx.header(self.value.lower().encode()) == ""


@fault("auth.header-case", each=[f"{how} {name}" for how in ("documented", "upper", "lower") for name in signing.HEADERS])
class ReadsNamesExactly(Faulty):
    """A header is found under the documented spelling of its name and under no, or one, other."""

    def authentication_header(self, ctx: Context, name: str) -> str | None:
        how, which = self.value.split()
        known = {name, name.upper() if how == "upper" else name.lower() if how == "lower" else name}
        if name == which and not any(key.decode() in known for key, _ in ctx.request.headers):
            return None
        return super().authentication_header(ctx, name)


# --------------------------------------------------------------------------- timestamp


#: Kind -> whether a timestamp so many seconds old is accepted, beside those that have to be.
WINDOWS = {
    "any past": lambda age: age > 0,
    "any future": lambda age: age < 0,
    "six minutes ago": lambda age: 0 < age < 361,
    "six minutes ahead": lambda age: -361 < age < 0,
    "an hour ago": lambda age: 0 < age < 3700,
    "an hour ahead": lambda age: -3700 < age < 0,
    "the epoch itself": lambda age: age > 1_000_000_000,
    "milliseconds": lambda age: age < -1_000_000_000_000,
}


@fault("auth.timestamp-window", each=WINDOWS)
class WiderWindow(Faulty):
    """A timestamp is accepted that is too far off."""

    def timestamp_in_window(self, ctx: Context, age: int) -> bool:
        return self.value(age) or super().timestamp_in_window(ctx, age)


@fault("auth.timestamp-window")
class ReadsMilliseconds(Faulty):
    """A timestamp in milliseconds is read as such."""

    def parse_timestamp(self, ctx: Context, text: str) -> int:
        number = super().parse_timestamp(ctx, text)
        return number // 1000 if number > 100_000_000_000 else number


@fault("auth.timestamp-window", each={
    f"{when} {name}": (when, *answer) for when in ("past", "future") for name, answer in {
        "status 403": (403, "authentication_error", "timestamp_too_old"),
        "status 400": (400, "authentication_error", "timestamp_too_old"),
        "type": (401, "validation_error", "timestamp_too_old"),
        "code": (401, "authentication_error", "invalid_timestamp"),
        "signature": (401, "authentication_error", "invalid_signature")}.items()})
class WindowAnsweredOtherwise(Faulty):
    """A timestamp that is too far off is refused with another status, type or code."""

    def check_timestamp(self, ctx: Context) -> None:
        try:
            super().check_timestamp(ctx)
        except Refusal as found:
            text = self.authentication_header(ctx, signing.TIMESTAMP) or ""
            if found.kind == "timestamp_too_old" and (int(text) < time.time()) == (self.value[0] == "past"):
                raise refusal(*self.value[1:]) from None
            raise


#: Kind -> whether a timestamp so many seconds old is refused.
NARROW = {
    "past over 30": lambda age: age > 30, "future over 30": lambda age: age < -30,
    "past over 200": lambda age: age > 200, "future over 200": lambda age: age < -200,
    "past over 250": lambda age: age > 250, "future over 250": lambda age: age < -250,
    "any future": lambda age: age < -2,
}


@fault("auth.timestamp-accepted", each=NARROW)
class NarrowerWindow(Faulty):
    """A timestamp is refused that is not too far off."""

    def timestamp_in_window(self, ctx: Context, age: int) -> bool:
        return not self.value(age) and super().timestamp_in_window(ctx, age)


#: Kind -> pattern of further texts that are read as a timestamp: the first group, or now if it has none.
TIMESTAMP_TEXTS = {
    "decimals": r"(\d+)\.\d+", "letters behind": r"(\d+)[a-zA-Z].*", "a date": r"(?=\d{4}-\d\d-\d\d)().*",
    "words": r"(?=[a-zA-Z])().*", "anything": r"(?!-?\d+$)().*",
}


@fault("auth.timestamp-integer", each=TIMESTAMP_TEXTS)
class ReadsOtherTexts(Faulty):
    """A timestamp that is no integer is accepted."""

    def parse_timestamp(self, ctx: Context, text: str) -> int:
        found = re.fullmatch(self.value, text)
        if found:
            return int(found[1] or self.server_seconds(ctx))
        return super().parse_timestamp(ctx, text)


@fault("auth.timestamp-integer", each=("hexadecimal", "exponent"))
class ReadsOtherNotations(Faulty):
    """A timestamp in hexadecimal, or with an exponent, is read as such."""

    def parse_timestamp(self, ctx: Context, text: str) -> int:
        try:
            return int(text, 16) if self.value == "hexadecimal" and text.startswith("0x") else int(float(text))
        except (ValueError, OverflowError):
            return super().parse_timestamp(ctx, text)


# --------------------------------------------------------------------------- nonce


@fault("auth.nonce-replay", also=("auth.nonce-replay-idempotent", "auth.nonce-race"))
class NeverChecked(Faulty):
    """A nonce may be used here, whatever it was used for before."""

    def claim_nonce(self, ctx: Context, nonce: str) -> bool:
        super().claim_nonce(ctx, nonce)
        return True


@fault("auth.nonce-replay", also=("auth.nonce-replay-idempotent", "auth.nonce-race"))
class NeverRecorded(Faulty):
    """A nonce that was used here is not remembered."""

    def claim_nonce(self, ctx: Context, nonce: str) -> bool:
        return not ctx.store.nonce_claimed(self.nonce_scope(ctx), nonce, ctx.now)


#: Kind -> what a nonce is unique within, beside the organization.
NONCE_SCOPES = {
    "operation": lambda ctx: ctx.operation,
    "method": lambda ctx: ctx.request.method,
    "path": lambda ctx: ctx.path.decode(),
    "timestamp": lambda ctx: ctx.header(b"x-timestamp"),
    "signature": lambda ctx: ctx.header(b"x-signature"),
    "body": lambda ctx: ctx.operation in FIELDS and hashlib.sha256(ctx.request.body).hexdigest() or "",
    "key": lambda ctx: ctx.header(b"idempotency-key") or "",
}


def _scopes(operation: str) -> dict[str, Any]:
    # A scope that is the same for all requests of the operation and of others is none.
    unlike = {"body": operation in FIELDS, "key": OPERATIONS[operation].is_post}
    return {name: scope for name, scope in NONCE_SCOPES.items() if unlike.get(name, True)}


@fault("auth.nonce-replay", each=_scopes, also=("auth.nonce-replay-idempotent", "auth.nonce-race"))
class ScopedNonces(Faulty):
    """A nonce is remembered together with something else of the request, here only."""

    def nonce_scope(self, ctx: Context) -> str:
        return f"{super().nonce_scope(ctx)} {self.value(ctx)}"


@fault("auth.nonce-replay")
class RecordedPrivately(Faulty):
    """A nonce that was used here may be used for other operations."""

    def claim_nonce(self, ctx: Context, nonce: str) -> bool:
        if ctx.store.nonce_claimed(self.nonce_scope(ctx), nonce, ctx.now):
            return False
        return ctx.store.claim_nonce(self.operation, nonce, ctx.now, self.nonce_expiry(ctx))


@fault("auth.nonce-replay")
class ChecksOwnOnly(Faulty):
    """A nonce that was used for another operation may be used here once."""

    def claim_nonce(self, ctx: Context, nonce: str) -> bool:
        super().claim_nonce(ctx, nonce)
        return ctx.store.claim_nonce(self.operation, nonce, ctx.now, self.nonce_expiry(ctx))


@fault("auth.nonce-replay", each=lambda operation: ["POST" if OPERATIONS[operation].method == "GET" else "GET"])
class ForgetsMethod(Faulty):
    """A nonce that was used with this method, in another operation, may be used here."""

    everywhere = True

    def claim_nonce(self, ctx: Context, nonce: str) -> bool:
        seen = self.__dict__.setdefault("seen", {})
        known = seen.setdefault(nonce, (ctx.operation, ctx.request.method))
        claimed = super().claim_nonce(ctx, nonce)
        return claimed or (self.here(ctx) and known[0] != ctx.operation and known[1] == self.value)


@fault("auth.nonce-replay")
class RemembersTheLast(Faulty):
    """Of the nonces used here only the last one is remembered."""

    def claim_nonce(self, ctx: Context, nonce: str) -> bool:
        known = self.__dict__.get("last")
        self.last = nonce
        return nonce != known


@fault("auth.nonce-replay")
class ForgottenWhenRefused(Faulty):
    """The nonce of a request that was refused after authentication, as for an unknown id, may be used again."""

    def refused(self, ctx: Context, refusal: Refusal) -> None:
        if refusal.type != "authentication_error":
            nonce = self.authentication_header(ctx, signing.NONCE)
            ctx.store.change("DELETE FROM nonces WHERE nonce = ?", nonce)


@fault("auth.nonce-replay", each={
    "status 403": (403, "authentication_error", "nonce_replay"),
    "status 409": (409, "authentication_error", "nonce_replay"),
    "type": (401, "validation_error", "nonce_replay"),
    "code": (401, "authentication_error", "invalid_nonce"),
    "signature": (401, "authentication_error", "invalid_signature"),
}, also=("auth.nonce-replay-idempotent",))
class ReplayAnsweredOtherwise(Faulty):
    """A used nonce is refused with another status, type or code."""

    def claim_nonce(self, ctx: Context, nonce: str) -> bool:
        if not super().claim_nonce(ctx, nonce):
            raise refusal(*self.value)
        return True


def answered_key(behaviour: Idempotency, ctx: Context) -> Any:
    """The stored answer to the idempotency key of a request, if there is one."""
    key = ctx.header(b"idempotency-key")
    return key and ctx.store.answer(behaviour.answer_scope(ctx), key.lower())


@fault("auth.nonce-replay-idempotent")
class StoredAnswerFirst(Faulty):
    """A repeated POST is answered with the stored response although its nonce was used."""

    def claim_nonce(self, ctx: Context, nonce: str) -> bool:
        return super().claim_nonce(ctx, nonce) or bool(answered_key(self, ctx))


@fault("auth.nonce-replay-idempotent", each={
    "conflict": (409, "idempotency_error", "idempotency_key_conflict"),
    "status": (409, "authentication_error", "nonce_replay"),
    "code": (401, "authentication_error", "duplicate_request"),
})
class RepeatAnsweredOtherwise(Faulty):
    """A repeated POST with the same key and nonce is refused, but not as a used nonce."""

    def claim_nonce(self, ctx: Context, nonce: str) -> bool:
        if super().claim_nonce(ctx, nonce):
            return True
        if answered_key(self, ctx):
            raise refusal(*self.value)
        return False


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


@fault("auth.signature", each=COMPARISONS)
class ComparesLess(Faulty):
    """A signature is accepted that is not the right one."""

    def signatures_equal(self, ctx: Context, expected: str, presented: str) -> bool:
        return self.value(expected, presented) or super().signatures_equal(ctx, expected, presented)


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


@fault("auth.signature", each={
    "status 403": (403, "authentication_error", "invalid_signature"),
    "status 400": (400, "authentication_error", "invalid_signature"),
    "type": (401, "permission_error", "invalid_signature"),
    "code": (401, "authentication_error", "signature_mismatch"),
}, also=tuple(f"auth.{name}" for name in (
    "signed-method", "signed-path", "signed-query", "signed-timestamp", "signed-nonce", "signed-body",
    "signed-empty-body", "no-separators")))
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


@fault("auth.signature")
class LengthAnsweredOtherwise(Faulty):
    """A signature of another length is refused as a malformed header."""

    def check_signature(self, ctx: Context) -> None:
        if len(self.authentication_header(ctx, signing.SIGNATURE) or "") != 64:
            raise refusal(400, "validation_error", "malformed_signature")
        super().check_signature(ctx)


# --------------------------------------------------------------------------- what the signature covers


@fault("auth.signed-method")
class AnyMethod(AlsoSigned):
    """A signature made for any method is accepted."""

    def alternatives(self, ctx: Context) -> Iterator[bytes]:
        return (self.string(ctx, method=method) for method in METHODS)


def _other_methods(operation: str) -> list[str]:
    return [method for method in METHODS[:2] if method != OPERATIONS[operation].method]


@fault("auth.signed-method", each=_other_methods)
class OneOtherMethod(AlsoSigned):
    """A signature made for this method is accepted."""

    def alternatives(self, ctx: Context) -> list[bytes]:
        return [self.string(ctx, method=self.value)]


@fault("auth.signed-method")
class NoMethod(AlsoSigned):
    """A signature made without a method is accepted."""

    def alternatives(self, ctx: Context) -> list[bytes]:
        return [self.string(ctx, method="")]


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


@fault("auth.signed-path", each=PATHS)
class OtherPaths(AlsoSigned):
    """A signature made for another path is accepted."""

    def alternatives(self, ctx: Context) -> Iterator[bytes]:
        return (self.string(ctx, target=target) for target in self.value(ctx) if target != ctx.request.target)


def _pairs(ctx: Context) -> list[bytes]:
    return ctx.query.split(b"&") if ctx.query else []


def _other_values(ctx: Context) -> Iterator[bytes]:
    """The query with each numeric value replaced by other numbers."""
    for found in re.finditer(rb"(?<==)\d+", ctx.query):
        for number in range(200):
            yield ctx.query[:found.start()] + b"%d" % number + ctx.query[found.end():]


#: Kind -> queries over which a signature is accepted, beside the one that was sent.
QUERIES = {
    "left out": lambda ctx: [b""],
    "sorted": lambda ctx: [b"&".join(sorted(_pairs(ctx)))],
    "reversed": lambda ctx: [b"&".join(reversed(_pairs(ctx)))],
    "decoded": lambda ctx: [unquote_to_bytes(ctx.query)],
    "encoded": lambda ctx: [
        quote(unquote(ctx.query.decode("latin-1"), "latin-1"), safe="=&", encoding="latin-1").encode(),
        urlencode(parse_qsl(ctx.query.decode("latin-1"), True)).encode(),
        urlencode(parse_qsl(ctx.query.decode("latin-1"), True), quote_via=quote).encode()],
    "other values": _other_values,
    "first parameter only": lambda ctx: _pairs(ctx)[:1],
}


@fault("auth.signed-query", each=lambda operation: QUERIES if OPERATIONS[operation].is_list else {
    name: QUERIES[name] for name in ("left out", "sorted", "reversed", "encoded", "decoded", "other values")})
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


def _bodies(ctx: Context) -> dict[str, bytes]:
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
        for name, body in _bodies(ctx).items():
            if name == self.value and body != ctx.request.body:
                yield self.string(ctx, body=body)


@fault("auth.signed-empty-body", each=("{}", "null"))
class BodyThatIsNotSent(AlsoSigned):
    """A signature made over an empty JSON value is accepted although no body is sent."""

    def alternatives(self, ctx: Context) -> list[bytes]:
        return [] if ctx.request.body else [self.string(ctx, body=self.value.encode())]


@fault("auth.no-separators", each={"newline": "\n", "|": "|", ":": ":", ".": ".", "space": " "})
class Separated(AlsoSigned):
    """A signature made over separated parts is accepted."""

    def alternatives(self, ctx: Context) -> list[bytes]:
        parts = (self.signed_method(ctx).encode(), self.signed_target(ctx), self.signed_timestamp(ctx).encode(),
                 self.signed_nonce(ctx).encode(), self.signed_body(ctx))
        return [self.value.encode().join(parts)]


# --------------------------------------------------------------------------- exactly as sent


def _split(ctx: Context, path: bytes) -> bytes:
    return path + (b"?" + ctx.query if b"?" in ctx.request.target else b"")


#: Kind -> what a server signs instead of the path that was sent.
PATH_FORMS = {
    "decoded": lambda path: unquote_to_bytes(path),
    "capital escapes": lambda path: re.sub(rb"%[0-9a-fA-F]{2}", lambda found: found[0].upper(), path),
    "small escapes": lambda path: re.sub(rb"%[0-9a-fA-F]{2}", lambda found: found[0].lower(), path),
    "normal form": lambda path: quote(unquote_to_bytes(path), safe="/").encode(),
}


@fault("auth.path-as-sent", each=("decoded", "normal form"))
class SignsOtherPaths(Faulty):
    """The signature is computed over another form of the path than the one that was sent."""

    def signed_target(self, ctx: Context) -> bytes:
        return _split(ctx, PATH_FORMS[self.value](ctx.path))


#: Kind -> what a server signs instead of the query that was sent.
QUERY_FORMS = {
    "left out": lambda query: b"",
    "sorted": lambda query: b"&".join(sorted(query.split(b"&"))),
    "decoded": lambda query: unquote_to_bytes(query),
    "plus for space": lambda query: urlencode(parse_qsl(query.decode("latin-1"), True, encoding="latin-1"),
                                              quote_via=quote_plus, encoding="latin-1").encode(),
    "normal form": lambda query: urlencode(parse_qsl(query.decode("latin-1"), True, encoding="latin-1"),
                                           quote_via=quote, encoding="latin-1").encode(),
    "without repeats": lambda query: b"&".join({pair.partition(b"=")[0]: pair for pair in query.split(b"&")}.values()),
    "known parameters only": lambda query: b"&".join(
        pair for pair in query.split(b"&") if pair.partition(b"=")[0] in (b"page", b"size")),
    "small escapes": PATH_FORMS["small escapes"],
    "capital escapes": PATH_FORMS["capital escapes"],
}


@fault("auth.query-as-sent", each=("left out", "sorted", "decoded", "plus for space", "normal form"))
class SignsOtherQueries(Faulty):
    """The signature is computed over another form of the query than the one that was sent."""

    def signed_target(self, ctx: Context) -> bytes:
        query = QUERY_FORMS[self.value](ctx.query)
        return ctx.path + (b"?" + query if query else b"")


@fault("auth.body-as-sent", each=("compact", "spaced", "sorted", "escaped", "stripped"))
class SignsOtherBodies(Faulty):
    """The signature is computed over another form of the body than the one that was sent, where it is odd.

    The compact form without escapes that most clients send is taken as it is.
    """

    def signed_body(self, ctx: Context) -> bytes:
        bodies = _bodies(ctx)
        if ctx.request.body == bodies.get("compact") and ctx.request.body.isascii():
            return super().signed_body(ctx)
        return bodies.get(self.value, super().signed_body(ctx))


@fault("auth.body-as-sent")
class SignsLatin1(Faulty):
    """The signature is computed over the body in ISO 8859-1 where that can be done, else over question marks."""

    def signed_body(self, ctx: Context) -> bytes:
        return super().signed_body(ctx).decode("utf-8", "replace").encode("latin-1", "replace")


# --------------------------------------------------------------------------- key and bearer


@fault("auth.unknown-key")
class FallsBack(Faulty):
    """An unknown key counts as that of the organization whose secret the request is signed with."""

    def on_unknown_key(self, ctx: Context) -> Organization:
        presented = self.authentication_header(ctx, signing.SIGNATURE)
        for row in ctx.store.query("SELECT id, api_key, secret FROM organizations"):
            if signing.signature(row[2], self.signature_string(ctx)) == presented:
                return Organization(*row)
        return super().on_unknown_key(ctx)


@fault("auth.unknown-key")
class UnknownIsUnsigned(LetsThrough):
    """A request with an unknown key needs no signature."""

    def waives(self, ctx: Context) -> bool:
        key = ctx.header(b"x-api-key")
        return bool(key) and ctx.store.organization(key or "") is None


@fault("auth.unknown-key", each=("prefix", "longer"))
class LenientKeys(Faulty):
    """A key that resembles a known one is taken for it."""

    def find_organization(self, ctx: Context, api_key: str) -> Organization | None:
        for row in ctx.store.query("SELECT id, api_key, secret FROM organizations"):
            known = row[1]
            if {"prefix": len(api_key) > 8 and known.startswith(api_key), "longer": api_key.startswith(known)}[self.value]:
                return Organization(*row)
        return super().find_organization(ctx, api_key)


@fault("auth.unknown-key-status", each=(400, 403, 404))
class UnknownKeyStatus(Faulty):
    """An unknown key is refused with another status."""

    def on_unknown_key(self, ctx: Context) -> Organization:
        raise refusal(self.value, "authentication_error", "invalid_api_key")


def _bearer(ctx: Context) -> str | None:
    kind, _, token = (ctx.header(b"authorization") or "").partition(" ")
    return token if kind.lower() == "bearer" and ctx.header(b"x-signature") is None else None


@fault("auth.bearer-only")
class TakesBearer(LetsThrough):
    """A bearer token, whatever it is, does instead of the four headers."""

    def waives(self, ctx: Context) -> bool:
        return _bearer(ctx) is not None


@fault("auth.bearer-only")
class TakesKeyAsBearer(LetsThrough):
    """The API key as bearer token does instead of the four headers."""

    def waives(self, ctx: Context) -> bool:
        return ctx.store.organization(_bearer(ctx) or "") is not None


@fault("auth.bearer-only", each={
    "code": (401, "authentication_error", "invalid_token"), "type": (401, "permission_error", "missing_headers"),
    "bad": (400, "validation_error", "bearer_not_supported")})
class BearerAnsweredOtherwise(Faulty):
    """A bearer token is refused, but not as missing headers."""

    def check_headers_present(self, ctx: Context) -> None:
        if _bearer(ctx) is not None:
            raise refusal(*self.value)
        super().check_headers_present(ctx)


# --------------------------------------------------------------------------- auth.comes-first

STEPS = {"headers": "check_headers_present", "timestamp": "check_timestamp", "key": "check_key",
         "signature": "check_signature", "nonce": "check_nonce"}


class LooksBefore(Faulty):
    """Does something of its own, `peek`, before one of the steps of authentication."""

    def peek(self, ctx: Context) -> None:
        raise NotImplementedError

    def authentication_steps(self, ctx: Context) -> Sequence[Any]:
        steps = list(super().authentication_steps(ctx))
        if self.here(ctx):
            before = [step.__name__ for step in steps].index(STEPS[self.value])
            steps.insert(before, self.peek)
        return steps

    def caller(self, ctx: Context) -> Organization:
        """Whose the request is, by its key alone."""
        return first_organization(ctx)


@fault("auth.comes-first", each=("headers", "key", "signature", "nonce"))
class ResolvesFirst(LooksBefore):
    """An unknown or foreign resource of the path is refused as such before this step."""

    def peek(self, ctx: Context) -> None:
        mine, ctx.organization = ctx.organization, self.caller(ctx)
        self.resolve(ctx)
        ctx.organization = mine


@fault("auth.comes-first", each=("headers", "signature"))
class UnknownFirst(LooksBefore):
    """An unknown id of the path is refused as such before this step; a foreign one is not."""

    def peek(self, ctx: Context) -> None:
        mine, ctx.organization = ctx.organization, self.caller(ctx)
        self.resolve(ctx)
        ctx.organization = mine

    def on_foreign_parent(self, ctx: Context, kind: str, record: Record) -> Record:
        return record if ctx.organization is not None else super().on_foreign_parent(ctx, kind, record)


@fault("auth.comes-first", each=("headers", "signature", "nonce"))
class ForeignFirst(LooksBefore):
    """A foreign top-level resource is refused as such before this step; an unknown one is not."""

    def peek(self, ctx: Context) -> None:
        mine, ctx.organization = ctx.organization, self.caller(ctx)
        try:
            self.resolve(ctx)
        except Refusal as found:
            if found.kind == "foreign_parent":
                raise
        ctx.organization = mine


@fault("auth.comes-first", operations=OPERATION_SETS["body"], each=("headers", "signature", "nonce"))
class ValidatesFirst(LooksBefore):
    """An invalid body is refused as such before this step."""

    def peek(self, ctx: Context) -> None:
        self.validate(ctx)
        ctx.values, ctx.body = {}, {}


@fault("auth.comes-first", operations=OPERATION_SETS["body"], each=("headers", "signature"))
class ParsesFirst(LooksBefore):
    """A body that is no JSON object is refused as such before this step."""

    def peek(self, ctx: Context) -> None:
        self.parse_body(ctx)


@fault("auth.comes-first", operations=OPERATION_SETS["post"], each=("headers", "signature", "nonce"))
class KeyFirst(LooksBefore):
    """An Idempotency-Key that is no UUID is refused as such before this step."""

    def peek(self, ctx: Context) -> None:
        key = ctx.header(b"idempotency-key")
        if key is not None:
            self.parse_key(ctx, key)


@fault("auth.comes-first", operations=OPERATION_SETS["post"], each=("headers", "timestamp", "key", "signature", "nonce"))
class StoredFirst(LooksBefore):
    """A used Idempotency-Key is answered with the stored response before this step."""

    def peek(self, ctx: Context) -> None:
        mine, ctx.organization = ctx.organization, self.caller(ctx)
        ctx.notes["stored"] = answered_key(self, ctx)
        ctx.organization = mine
        if ctx.notes["stored"]:
            raise Refusal("idempotency_key_conflict")

    def render_refusal(self, ctx: Context, refusal: Refusal) -> Response:
        stored = ctx.notes.get("stored")
        if stored:
            return Response(stored.status, [JSON_TYPE], stored.body)
        return super().render_refusal(ctx, refusal)
