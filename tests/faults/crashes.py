"""Servers that answer some requests with 5xx, or not at all."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Mapping
from typing import Any

from conformance.contract.fields import Field
from conformance.contract.operation_sets import OPERATION_SETS
from conformance.contract.operations import OPERATIONS
from conformance.reference.context import Context, Record
from conformance.reference.core_messages import Response
from conformance.reference.routes import match
from conformance.reference.seams.validation import FIELDS, TYPES
from conformance.world.corpora.headers import UNUSUAL
from conformance.world.corpora.ids import INHERITED, SHORT
from tests.support.overrides import with_header

from .authentication import KEYED_BY_MEMBERS
from .bodies import fields
from .catalogue import Call, Only, Row, faults, refuse, seam
from .harness import NO_ANSWER
from .rows import MISSING, each_of, refusing, says, succeeded, together, where

BODIES, LISTS, POSTS = (OPERATION_SETS[name] for name in ("body", "list", "post"))
SECOND, CREDENTIALS = {*list(OPERATIONS)[1::2]}, ("api-key", "nonce", "signature")

#: A test of a request: a pattern of one of its parts, after its name, or a function.
Test = tuple[str, str] | Callable[[Context], Any]


def part(ctx: Context, name: str) -> str:
    """Returns a part of a request as a text: its path, ids, query or body, or a header."""
    match name:
        case "path" | "query":
            return getattr(ctx, name).decode("latin-1")
        case "body":
            return ctx.request.body.decode("utf-8", "replace")
        case "ids":
            return " ".join(ctx.params.values())
    return ctx.header(name.encode()) or ""


def crashing(**options: Any) -> Row:
    """Makes a row that answers 500 to the requests of a kind."""
    return where(
        "finish",
        lambda self, ctx, *_: (
            self.value(ctx) if callable(self.value) else re.search(self.value[1], part(ctx, self.value[0]))
        ),
        lambda *_: Response.of(
            500, {"error": {"type": "server_error", "code": "internal_error", "message": "An error."}}
        ),
        **options,
    )


def _among(operations: Collection[str], tests: Mapping[str, Any]) -> dict[str, Only]:
    return {kind: Only(test, operations) for kind, test in tests.items()}


def _patterns(name: str, **patterns: str) -> dict[str, Test]:
    return {kind.replace("_", " "): (name, pattern) for kind, pattern in patterns.items()}


def json_of(ctx: Context) -> Any:
    """Returns the JSON value of a body; MISSING if it is none."""
    try:
        return json.loads(ctx.request.body)
    except (ValueError, RecursionError):
        return MISSING


def _utf8(raw: bytes) -> bool:
    return raw.decode("utf-8", "ignore").encode() == raw


def times(ctx: Context, name: bytes) -> int:
    """Returns the number of headers of a name."""
    return sum(key.lower() == name for key, _ in ctx.request.headers)


#: Kind -> field values that crash.
VALUES: dict[str, Callable[[Any], bool]] = {
    "null": lambda value: value is None,
    "number": lambda value: type(value) in (int, float),
    "boolean": lambda value: isinstance(value, bool),
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
    "empty": lambda value: value == "",
}


def _of_a_field(test: Callable[[Any], bool]) -> Test:
    """Returns the test of bodies that holds for one of their fields."""

    def holds(ctx: Context) -> bool:
        body = json_of(ctx)
        return isinstance(body, dict) and any(test(body[name]) for name in body if name != "address")

    return holds


#: Headers that an operation does not need.
HEADERS = """cookie x-forwarded-for forwarded origin traceparent accept-charset accept-language range expect
    if-none-match if-modified-since if-match prefer content-language x-forwarded-host x-forwarded-proto
    content-encoding"""


def in_address(operation: str) -> list[str]:
    """Returns the paths of the members of an address."""
    return [f"{field.name}.{name}" for field in FIELDS[operation] for name in field.members]


def _texts(operation: str) -> list[str]:
    return [*fields(lambda field: TYPES.get(field.kind, str) is str)(operation), *in_address(operation)]


def _at(ctx: Context, path: str) -> Any:
    """Returns the value at a path of a body; MISSING if it is left out, ... if nothing could hold it."""
    document = json_of(ctx)
    *above, name = path.split(".")
    for each in above:
        document = document.get(each) if isinstance(document, dict) else ...
    return document.get(name, MISSING) if isinstance(document, dict) else ...


def _text(test: Callable[[str], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, str) and test(value)


def _unlike(field: Field) -> dict[str, Any]:
    """Returns the tests of values that are none of a field's type."""
    own = {dict: "object", bool: "boolean"}.get(TYPES.get(field.kind, str))
    return {kind: test for kind, test in VALUES.items() if kind != own}


def unknown(test: Call, **options: Any) -> Row:
    """Makes a row that answers 500 to an unknown path or method for which a test holds."""
    return where("render_refusal", test, lambda *_: Response(500), everywhere=True, **options)


def paid_to(ctx: Context) -> Record:
    """Returns a payout's destination."""
    return ctx.store.get("payout_destination", str(ctx.values["payout_destination_id"])) or {}


INTERNAL = "500 server_error internal_error"

faults["http.no-server-error"] |= {
    "Some requests are answered with 500.": crashing(
        each={
            "always": lambda ctx: True,
            "unsigned": lambda ctx: b"x-signature" not in ctx.headers,
            "unknown key": lambda ctx: (
                ctx.header(b"x-api-key") and not ctx.store.organization(ctx.header(b"x-api-key") or "")
            ),
            **_patterns("x-timestamp", timestamp_no_integer=r"^(?!-?\d*$)", negative_timestamp="^-"),
            "a sign for a timestamp": Only(("x-timestamp", "^-$"), SECOND),
            **_among(SECOND, {f"x-{name} not in UTF-8": (f"x-{name}", "\ufffd") for name in CREDENTIALS}),
            "a key not in UTF-8": Only(("idempotency-key", "\ufffd"), SECOND & {*POSTS}),
            **_patterns("x-signature", signature_not_hexadecimal="[^0-9a-fA-F]"),
            **_patterns("ids", semicolon_in_an_id=";", percent_sign_in_an_id="%", brace_in_an_id="{"),
            **_patterns(
                "path",
                escape_in_the_path="%",
                NUL_in_the_path="%00",
                invalid_UTF8_in_the_path="%[89A-Fa-f][0-9A-Fa-f]",
                a_member_of_all_objects_in_the_path=f"/({'|'.join(map(re.escape, INHERITED))})(/|$)",
            ),
            **_patterns(
                "query",
                unknown_parameter=r"(^|&)(?!page|size|status|start_date|end_date|currency)\w",
                broken_escape_in_the_query="%(?![0-9A-Fa-f]{2})",
                invalid_UTF8_in_the_query="(?i)%ff",
                NUL_in_the_query="%00",
            ),
            **{name: (name, ".") for name in HEADERS.split()},
            "signature twice": lambda ctx: times(ctx, b"x-signature") > 1,
            "nonce twice": lambda ctx: times(ctx, b"x-nonce") > 1,
            "key twice": lambda ctx: times(ctx, b"x-api-key") > 1,
            **_patterns("accept", media_types="image/"),
            **_patterns("accept-encoding", compression="br"),
            **_patterns("authorization", a_token_that_is_missing="^Bearer$"),
            # Bodies.
            **_among(
                BODIES,
                {
                    "empty body": lambda ctx: not ctx.request.body,
                    "empty body declared as JSON": lambda ctx: (
                        not ctx.request.body and b"content-type" in ctx.headers
                    ),
                    "malformed JSON": lambda ctx: (
                        ctx.request.body and _utf8(ctx.request.body) and json_of(ctx) is MISSING
                    ),
                    "invalid UTF-8": lambda ctx: not _utf8(ctx.request.body),
                    "array": lambda ctx: isinstance(json_of(ctx), list),
                    "text": lambda ctx: isinstance(json_of(ctx), str),
                    "no field": lambda ctx: json_of(ctx) == {},
                    **{f"a field that is {kind}": _of_a_field(test) for kind, test in VALUES.items()},
                    **_patterns(
                        "body",
                        thousands_of_arrays=r"^\[{5000}",
                        NUL=r"\\u0000",
                        surrogate=r"\\u[dD][89a-fA-F]",
                        deep_nesting=r"(?:[\[{][^\[\]{}]*){50}",
                        null=r"^\s*null\s*$",
                        number=r"^\s*-?[0-9.eE+]+\s*$",
                        # Outside texts, whose random parts may look like an exponent.
                        huge_number=r'^(?:[^"]|"[^"]*")*?(?:\d{60}|[0-9][eE]\+?\d{3})',
                        long_text=r"(?s)^.{60001}",
                        double_key=r'"(\w+)":[^{]*"\1":',
                    ),
                    "no content type": lambda ctx: b"content-type" not in ctx.headers,
                    **_patterns(
                        "content-type",
                        unknown_charset="(?i)charset=(?!utf-?8)",
                        other_content_type="^(?!application/json|$)",
                    ),
                },
            ),
            **_among(
                LISTS,
                _patterns(
                    "query",
                    page_no_integer="page=[^&]*[a-z]",
                    page_0="page=0(&|$)",
                    negative_page="page=-",
                    far_page=r"page=\d{10}",
                    page_beyond_64_bits=r"page=\d{20}",
                    size_beyond_64_bits=r"size=\d{20}",
                    size_0="size=0(&|$)",
                    negative_size="size=-",
                    large_size=r"size=(\d{4,}|10[1-9])",
                    size_infinite="size=Infinity",
                    page_beyond_a_double="page=1e309",
                    size_no_integer="size=[^&]*[a-z]",
                    empty_page="(page|size)=(&|$)",
                    size_twice="size=.*size=",
                    size_of_5_twice="size=5&size=5",
                    order="sort=",
                    array_of_statuses=r"statuses\[\]=",
                    array_of_sizes=r"size\[\]=",
                    map_of_pages=r"page\[a\]=",
                ),
            ),
            **_among(
                OPERATION_SETS["filtered-list"],
                _patterns(
                    "query",
                    malformed_date="_date=[a-z]",
                    impossible_date=r"_date=\d{4}-(1[3-9]|\d\d-3[2-9]|02-3)",
                    empty_date="_date=(&|$)",
                    date_twice=r"(start|end)_date=.*\1_date=",
                    seconds_since_1970=r"_date=\d{10}(&|$)",
                    hour_24="_date=[^&]*T24",
                    month_13=r"_date=\d{4}-13-",
                    no_regular_expression=r"(status|statuses|currency)=(\(|%28)",
                    unknown_status="status(?!.*=(active|suspended|disabled|inactive))",
                ),
            ),
            # What not every operation is sent.
            "an API key that is a member of all objects": Only(
                lambda ctx: ctx.header(b"x-api-key") in INHERITED, KEYED_BY_MEMBERS
            ),
            **_among(
                list(OPERATIONS)[::2],
                _patterns("x-timestamp", a_timestamp_of_digits_outside_ASCII=r"^(?![0-9]+$)\d+$"),
            ),
            **_among(
                list(OPERATIONS)[1::2],
                _patterns("x-timestamp", a_timestamp_with_a_superscript_digit="\N{SUPERSCRIPT TWO}"),
            ),
            "an account number of three digits": Only(
                ("body", '"account_number":"[0-9]{3}"'), ["createPayoutDestination"]
            ),
            **_among(
                POSTS,
                {
                    "no idempotency key": lambda ctx: b"idempotency-key" not in ctx.headers,
                    "an idempotency key that is no UUID": ("idempotency-key", "^(?!.{36}$)."),
                    "two idempotency keys": lambda ctx: times(ctx, b"idempotency-key") > 1,
                },
            ),
            "an id of more than 64 bits": Only(
                ("ids", r"\b\d{20,}\b"),
                [
                    name
                    for at, name in enumerate(OPERATIONS)
                    if at % len(SHORT) == 1 or name in OPERATION_SETS["child"]
                ],
            ),
            "a GET with a body": Only(lambda ctx: ctx.request.body, OPERATION_SETS["read"]),
        }
    ),
    "A value of this field is answered with 500.": crashing(
        by_field=True,
        operations=BODIES,
        each=lambda operation: {
            kind: lambda ctx, path=path, test=test: test(_at(ctx, path))
            for kind, (path, test) in together(
                *(each_of(field.name, _unlike(field)) for field in FIELDS[operation]),
                each_of(
                    _texts,
                    {
                        "with NUL": _text(lambda text: "\0" in text),
                        "beyond ASCII": _text(lambda text: not text.isascii()),
                    },
                ),
                each_of(fields(lambda field: field.free), {"of spaces": _text(str.isspace)}),
                each_of(in_address, {"null": VALUES["null"], "left out": lambda value: value is MISSING}),
            )(operation).items()
        },
    ),
    "A PATCH in which this field alone is null, and nothing else wrong, is answered with 500.": crashing(
        operations=["updateBeneficiary"],
        each={
            name: lambda ctx, name=name: (
                isinstance(body := json_of(ctx), dict)
                and [key for key in body if body[key] is None] == [name]
            )
            for name in ("beneficiary_type", *fields(lambda field: field.required)("createBeneficiary"))
        },
    ),
    "An unusual type of body is answered with 500.": crashing(
        operations=BODIES,
        each=lambda operation: {
            kind: ("content-type", f"^{re.escape(kind)}$")
            for kind in UNUSUAL[list(OPERATIONS).index(operation) % len(UNUSUAL) :][:1]
        },
    ),
    "A PATCH to what another beneficiary of the account has in this field is answered with 500.": refusing(
        "patched",
        INTERNAL,
        lambda self, ctx, record: any(
            one.get(self.value) == ctx.values.get(self.value, "") and one["id"] != record["id"]
            for one in ctx.store.select("beneficiary", record["parent"])
        ),
        operations=("updateBeneficiary",),
        each=("email", "phone", "tax_id"),
    ),
    "An id with two underscores crashes.": refusing(
        "resolve", INTERNAL, lambda self, ctx: any(name.count("_") == 2 for name in ctx.params.values())
    ),
    "An offset beyond 32 bits is answered with 500.": seam(
        "offset",
        lambda self, usual, *_: usual() if usual() % 2**32 < 2**31 else refuse(INTERNAL),
        operations=LISTS,
    ),
    "A payout to a wallet is answered with 500.": refusing(
        "check_funds",
        INTERNAL,
        lambda self, ctx: says(paid_to(ctx), "type=wallet"),
        operations=("createPayout",),
    ),
    "A method that the path does not have is answered with 500.": unknown(
        lambda self, ctx, refusal: (
            refusal.kind == "unknown_method"
            and self.operation in getattr(match(ctx.path), "methods", {}).values()
        )
    ),
    "A path that is not documented, but looks like that of a payout, is answered with 500.": unknown(
        lambda self, ctx, refusal: refusal.kind == "unknown_path" and b"payouts" in ctx.path,
        operations=("createPayout",),
    ),
    "Some refusals are answered with 500.": where(
        "refusal_status",
        lambda self, ctx, refusal: refusal.kind == self.value,
        lambda *_: 500,
        each={
            "unknown parent": "unknown_parent",
            "foreign parent": "foreign_parent",
            "used nonce": "nonce_replay",
            "missing child": Only("missing_child", OPERATION_SETS["child"]),
        },
    ),
    "A repeated POST is answered with 500.": where(
        "finish", lambda self, ctx, *_: ctx.replayed, lambda *_: Response(500), operations=POSTS
    ),
    "The connection is closed without an answer.": where(
        "finish",
        lambda self, ctx, response: response.status in self.value,
        lambda self, usual, ctx, response: with_header(response, NO_ANSWER, b"1"),
        each={"success": range(200, 300), "401": (401,), "404": (404,)},
    ),
    "A valid request is answered with another status of 5xx.": where(
        "finish",
        succeeded,
        lambda self, *_: Response(self.value),
        each={
            "501": Only(501, {*OPERATIONS} - {"createPayin"}),
            "502": 502,
            "503": 503,
            "504": 504,
            "599": 599,
        },
    ),
}
