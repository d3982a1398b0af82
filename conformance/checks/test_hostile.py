"""Malformed and unusual input (section 4): malformed bodies are refused, and nothing is answered with 5xx."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from conformance.checks.check import CheckContext, check
from conformance.checks.engine import Engine, table
from conformance.contract import signing
from conformance.contract.fields import FREE_TEXT, Field, request_fields
from conformance.contract.operations import undocumented_fields
from conformance.contract.rules import OPERATION_SETS
from conformance.contract.traits import TRAITS
from conformance.judge import outcomes
from conformance.judge.oracle import RAW
from conformance.wire.forms import hexadecimal
from conformance.wire.messages import Auth, Call, Exchange, Failure, to_json
from conformance.world import samples
from conformance.world.bodies import SAMPLE
from conformance.world.calls import call, parameters, unknown_like
from conformance.world.case import Case
from conformance.world.corpora import headers, ids, query_strings, values
from conformance.world.corpora.odd_bodies import Derived
from conformance.world.sender import refusal_of_valid
from conformance.world.shapes import accepted_body, accepts, shape_of, with_all_texts

SURVIVES = "http.no-server-error"


def _probe(
    ctx: CheckContext, probe: Call, what: str, *, may_hang_up: bool = False, documented: bool = True
) -> Exchange:
    """Judges that the answer is below 500, or 501 (RFC 9110, 15.6.2) where method or path are not
    `documented`. `may_hang_up`: a front end may close the connection instead."""
    exchange = ctx.send(probe, what)
    hung_up = exchange.status is None and exchange.failure not in (Failure.TIMED_OUT, Failure.NOT_CONNECTED)
    if exchange.throttled or exchange.unsent or (may_hang_up and hung_up):
        ctx.unclear(SURVIVES, f"{what} was answered {exchange.described()}", exchange)
        return exchange
    also = [501] if ctx.operation.traits.under_development or not documented else []
    ctx.expect(SURVIVES, *outcomes.answered(what, exchange, also=also))
    return exchange


def hostile(ctx: CheckContext) -> Engine:
    """Returns the engine, in an account of its own, of requests that a server may accept or refuse."""
    if ctx.operation.traits.once:
        fresh = ctx.account(fresh=True)
        return Engine(ctx, lambda: fresh)
    return Engine(ctx, lambda: ctx.account("hostile"))


def common(ctx: CheckContext) -> Engine:
    """Returns the engine of requests that no server accepts, and of reads."""
    return Engine(ctx, lambda: ctx.account("authentication"))


# ---------------------------------------------------------------------- bodies


@check("body.malformed", "body.legal-oddities", "body.content-type", "refusal.changes-nothing", SURVIVES)
def test_hostile_bodies(ctx: CheckContext) -> None:
    """Bodies that are not JSON, not UTF-8 or not an object are refused and have no effect. What the server
    does with legal but unusual bodies and with other content types is recorded."""
    engine, operation = hostile(ctx), ctx.operation.id
    fixture = engine.fixture
    valid = ctx.send(
        ctx.valid() if ctx.operation.traits.unique_pair else fixture.call(operation),
        "a valid request, to derive defective ones from",
    )
    if not valid.succeeded and (not valid.refused or valid.refused_authentication or valid.throttled):
        raise refusal_of_valid(valid)
    engine.beside = valid
    bodies = Derived(engine.document(), ctx.operation.traits.free_text, _with_more_texts(engine))
    malformed = [
        engine.case("body.malformed", f"a body {wrong.reason}", body=wrong.value)
        for wrong in (*bodies.malformed(), *bodies.not_objects())
        if wrong.value or operation != "updateBeneficiary"  # open: beneficiary.update-no-body
    ]
    engine.batch(malformed, [engine], what="malformed bodies")
    for odd in bodies.odd():
        name = f"a body with {odd.reason}"
        (answer,) = engine.batch([engine.case(SURVIVES, name, body=odd.value)])
        ctx.record("body.legal-oddities", name, answer)
        if answer.succeeded and operation == "createWallet":
            engine = hostile(ctx)
    for long in bodies.long():
        # A front end may close the connection on a long body, or refuse it with a body of its own.
        probe = engine.fixture.call(operation).but(body=long.value, operation=None)
        _probe(ctx, probe, f"a body with {long.reason}", may_hang_up=True)
    if operation == "createWallet":
        engine = Engine(ctx, lambda: ctx.account(fresh=True))
    for content_type in (*values(headers.CONTENT_TYPES, checked=True), engine.turn(headers.UNUSUAL)):
        name = f"Content-Type: {content_type}" if content_type else "no Content-Type"
        case = engine.case(SURVIVES, name, content_type=content_type)
        ctx.record("body.content-type", name, *engine.batch([case]))


def _with_more_texts(at: Engine) -> dict[str, Any] | None:
    """Builds a valid body that has each free text of a beneficiary, or the address of a virtual account; None
    for others."""
    of_beneficiary = at.traits.subset_of or at.operation
    if TRAITS[of_beneficiary].creates == "beneficiary":
        return with_all_texts(at.fixture, of_beneficiary)
    if at.operation == "createVirtualAccount" and accepts(at.ctx.run, at.operation, "an address"):
        return accepted_body(at.fixture, at.operation, "an address")
    return None


@check("beneficiary.update-no-body", SURVIVES)
def test_update_without_a_body(ctx: CheckContext) -> None:
    """Records whether a PATCH without a body is accepted or refused; so is an empty one that is declared as
    JSON."""
    fixture, name = ctx.account(fresh=True), "a PATCH without a body"
    engine = Engine(ctx, lambda: fixture)
    for what, body in ((name, None), (f"{name}, declared as application/json", b"")):
        answers = engine.batch([engine.case(SURVIVES, what, body=body)])
        ctx.record("beneficiary.update-no-body", what, *answers)


@table(SURVIVES, operations=("disableBeneficiary", *OPERATION_SETS["read"]), at=hostile)
def test_body_where_none_is_taken(at: Engine) -> Iterator[Case]:
    """A body on an operation that has none, a JSON object on GET, else malformed too: answered below 500."""
    reads = not at.ctx.operation.is_post
    yield at.case(SURVIVES, "a body that is a JSON object", body=b"{}", front_end=reads)
    for what, body in (("malformed JSON", b'{"'), ("invalid UTF-8", b"\xff\xfe"), ("null", b"null")):
        if not reads:
            yield at.case(SURVIVES, f"a body that is {what}", body=body)


# ---------------------------------------------------------------------- headers, ids, queries


def _short(text: str, most: int = 40) -> str:
    return text if len(text) <= most else f"{text[:10]}… ({len(text)} characters)"


@table(SURVIVES, at=common)
def test_hostile_headers(at: Engine) -> Iterator[Case]:
    """Authentication headers and idempotency keys that are very long, not ASCII, SQL or duplicated, and
    unusual further headers; each is answered below 500."""

    def header(name: str, value: str, **changes: Any) -> Case:
        return at.case(SURVIVES, f"{name}: {_short(value)}", front_end=True, **changes)

    for value in (*values(headers.TIMESTAMPS), at.turn(values(headers.DIGITS))):
        yield header(signing.TIMESTAMP, value, auth=Auth(timestamp=value))
    for value in values(headers.SIGNATURES):
        yield header(signing.SIGNATURE, value, auth=Auth(signature=value))
    for value in values(headers.API_KEYS):
        yield header(signing.API_KEY, value, auth=Auth(api_key=value))
    for value in values(headers.NONCES):
        yield header(signing.NONCE, value, auth=Auth(nonce=value + hexadecimal(12)))
    keys = values(headers.KEYS)
    query = "" if at.ctx.operation.is_list else query_strings.UNASKED
    for value in keys if at.ctx.operation.is_post else keys[:1]:
        alone = header("Idempotency-Key", value, key=value)
        both = f"the query {query}, beside {alone.name}"
        # Where that is no good answer, the key is sent alone: one of the two is to blame.
        together = at.case(SURVIVES, both, key=value, query=query, front_end=True, control=alone)
        yield together if query else alone
    for beside in headers.FURTHER:
        what = f"{', '.join(name for name, _ in beside.value)} with {beside.reason}"
        yield at.case(SURVIVES, what, headers=beside.value, front_end=True)


@table(SURVIVES, at=common)
def test_hostile_ids(at: Engine) -> Iterator[Case]:
    """Path parameters that are not UTF-8, encode a slash or NUL, or are very long: answered below 500."""
    for number, name in enumerate(parameters(at.operation)):
        for value in (*values(ids.IDS), at.turn(ids.SHORT, number)):
            yield at.case(SURVIVES, f"{name} {_short(value)}", whose={name: RAW + value}, front_end=True)


@table(SURVIVES, operations=OPERATION_SETS["list"], at=common)
def test_hostile_queries(at: Engine) -> Iterator[Case]:
    """List parameters that are huge, repeated, malformed or out of the calendar: answered below 500."""
    own = at.ctx.operation.query_parameters
    for query in query_strings.of_list(own, OPERATION_SETS["list"].index(at.operation)):
        yield at.case(SURVIVES, f"the query {_short(query, 80)}", query=query)
    filters = [name for name in own if name not in ("page", "size")]
    for query in (*values(query_strings.BROKEN), *(f"{name}=a%00b" for name in filters)):
        yield at.case(SURVIVES, f"the query {query}", query=query, front_end=True)


# ---------------------------------------------------------------------- what is left open


@check("http.success-json", "http.success-status", "http.extra-fields")
def test_sound_answers(ctx: CheckContext) -> None:
    """A valid request is not answered with a redirect; the status of a successful answer and its undocumented
    members are recorded."""
    answer = ctx.shown(ctx.valid(), "a valid request")
    if answer.status is not None and answer.status < 400:
        ctx.accepted("http.success-json", "a valid request", answer)
    if not answer.succeeded or not isinstance(answer.document, dict):
        raise refusal_of_valid(answer)
    ctx.observe("http.success-status", "the status of a successful answer", str(answer.status), answer)
    extra = undocumented_fields(ctx.operation.id, answer.document)
    ctx.observe(
        "http.extra-fields", "members beyond the documented ones", ", ".join(extra)[:500] or "none", answer
    )


@check("http.undocumented-method", SURVIVES)
def test_undocumented_methods(ctx: CheckContext) -> None:
    """PUT and DELETE on the operation's path, with unknown ids: answered below 500, or 501."""
    fixture = ctx.account("authentication")
    ids = {name: unknown_like(value) for name, value in fixture.ids(ctx.operation.id).items()}
    for method in ("PUT", "DELETE"):
        rule, what = "http.undocumented-method", f"{method} on the path of the operation"
        answer = _probe(ctx, Call(None, method, call(ctx.operation.id, ids).target), what, documented=False)
        if answer.status == 501 or ctx.usable(rule, answer):
            ctx.observe(rule, what, answer.described(), answer)


@check("http.undocumented-path", SURVIVES)
def test_undocumented_paths(ctx: CheckContext) -> None:
    """The payout path of section 4.0.6 and paths of no operation: answered below 500, or 501."""
    fixture = ctx.run.account("payouts")
    body = {
        "account_id": unknown_like(fixture.account_id),
        "beneficiary_id": "bene_none",
        "amount": "1.00",
        "currency": "USD",
    }
    old = fixture.call("createPayout", body).but(operation=None, target="/v1/transfers/payouts")
    for probe in (
        old,
        Call(None, "GET", "/v1/nothing"),
        Call(None, "GET", "/"),
        Call(None, "GET", "/v1/accounts"),
    ):
        what = f"{probe.method} {probe.target}"
        answer = _probe(ctx, probe, what, documented=False)
        if answer.status == 501 or ctx.usable("http.undocumented-path", answer):
            ctx.observe("http.undocumented-path", what, answer.described(), answer)


# ---------------------------------------------------------------------- values of fields


#: A text longer than a VARCHAR(255) column.
LONG = "x" * 300

#: Texts that encodings and databases lack characters of, by what is in them.
_SIGNS = {"NUL": "con\x00formance", "signs": "\u00e9\U0001f600'%\\<{\n"}


@table(SURVIVES, operations=OPERATION_SETS["body"], at=hostile)
def test_odd_values_of_every_field(at: Engine) -> Iterator[Case]:
    """Each field is empty, what may be left out null, and so are the members of addresses, one at a time in a
    valid body; texts without a maximum are longer than 255 characters, those with a form have signs in them,
    and codes and amounts a line feed behind them. Each request is answered below 500."""
    for field in request_fields(at.operation):
        shape = shape_of(at.operation, field.name)
        known = shape != SAMPLE and accepts(at.ctx.run, at.operation, shape)
        for kind, value in (*_odd_values(at, field), *_odd_texts(at, field)):
            valid = accepted_body(at.fixture, at.operation, shape) if known else at.document()
            yield at.case(SURVIVES, f"{field.name} {kind}", body=to_json({**valid, field.name: value}))


def _odd_values(at: Engine, field: Field) -> Iterator[tuple[str, Any]]:
    """Yields empty values, and those with a line feed behind them; other checks send what is left out."""
    # test_amount_that_is_no_positive_decimal sends an empty amount.
    if not field.members and field.kind != "amount":
        yield "as an empty text", ""
    elif field.members:
        yield "as an object of nulls", dict.fromkeys(field.members)
        yield "as an empty object", {}
    if field.name == "account_number":
        # Masks of the last four digits take slices.
        yield "as a number of three digits", "123"
    # fields.required-null sends the required fields of creates so.
    if at.traits.subset_of or not field.required:
        yield "as null", None
    if field.kind == "amount" or (field.code and not at.traits.unique_pair):
        # The end of a pattern may match before it: formats judge what is shown then.
        good = at.fixture.body(at.traits.subset_of or at.operation)[field.name]
        yield "with a line feed behind it", f"{good}\n"


def _odd_texts(at: Engine, field: Field) -> Iterator[tuple[str, Any]]:
    """Yields long texts of what has no maximum, and texts with signs of what has a form: of free texts and of
    codes, other checks send them."""
    if field.members or (field.kind == "text" and field.max_length is None):
        yield f"of {len(LONG)} letters", dict.fromkeys(field.members, LONG) if field.members else LONG
    formed = field.kind in ("text", "enum") and field.name not in FREE_TEXT
    if field.members or formed or (field.code and at.traits.unique_pair):
        for what, text in _SIGNS.items():
            good = samples.address("state" if "state" in field.members else "region")
            yield f"with {what}", {**good, "country": text} if field.members else text


@table(SURVIVES, operations=OPERATION_SETS["body"], at=hostile)
def test_odd_values_of_all_fields(at: Engine) -> Iterator[Case]:
    """All fields at once are an empty text, null, a number, true, an array or an object; each request is
    answered below 500."""
    names = [field.name for field in request_fields(at.operation)]
    wrong: dict[str, Any] = {
        "an empty text": "",
        "null": None,
        "a number": 12345,
        "true": True,
        "an array": [],
        "an object": {},
    }
    for kind, value in wrong.items():
        body = to_json({**at.document(), **dict.fromkeys(names, value)})
        yield at.case(SURVIVES, f"every field as {kind}", body=body)
