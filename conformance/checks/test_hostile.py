"""Malformed and unusual input (section 4): malformed bodies are refused, and nothing is answered with 5xx."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from typing import Any

from conformance.checks.check import Check, check
from conformance.checks.engine import Engine, table
from conformance.contract import signing
from conformance.contract.fields import Field, request_fields
from conformance.contract.operation_sets import OPERATION_SETS
from conformance.contract.operations import undocumented_fields
from conformance.contract.traits import TRAITS
from conformance.judge import outcomes
from conformance.judge.oracle import RAW
from conformance.judge.verdicts import Inconclusive
from conformance.wire.forms import hexadecimal
from conformance.wire.messages import Auth, Call, Exchange, Failure, to_json
from conformance.world import samples
from conformance.world.bodies import SAMPLE
from conformance.world.calls import call, parameters, unknown_like
from conformance.world.case import Case
from conformance.world.corpora import Value, headers, ids, query_strings, values
from conformance.world.corpora.odd_bodies import Derived
from conformance.world.creations import creations
from conformance.world.purposes import AUTHENTICATION, HOSTILE, PAYOUTS
from conformance.world.refused_samples import refusal_of_valid
from conformance.world.shapes import accepted_body, accepts, with_all_texts

SURVIVES = "http.no-server-error"


def _probe(
    at: Check, probe: Call, what: str, *, may_hang_up: bool = False, documented: bool = True
) -> Exchange:
    """Judges that the answer is below 500, or 501 (RFC 9110, 15.6.2) where method or path are not
    `documented`. `may_hang_up`: a front end may close the connection instead."""
    exchange = at.send(probe, what)
    hung_up = exchange.status is None and exchange.failure not in (Failure.TIMED_OUT, Failure.NOT_CONNECTED)
    if exchange.throttled or exchange.unsent or (may_hang_up and hung_up):
        at.unclear(SURVIVES, f"{what} was answered {exchange.described()}", exchange)
        return exchange
    also = [501] if at.operation.traits.under_development or not documented else []
    at.expect(SURVIVES, *outcomes.answered(what, exchange, also=also))
    return exchange


def hostile(at: Check) -> Engine:
    """Returns the engine, in an account of its own, of requests that a server may accept or refuse."""
    if at.operation.traits.once:
        fresh = at.account(fresh=True)
        return Engine(at, lambda: fresh)
    return Engine(at, lambda: at.account(HOSTILE))


def common(at: Check) -> Engine:
    """Returns the engine of requests that no server accepts, and of reads."""
    return Engine(at, lambda: at.account(AUTHENTICATION))


# ---------------------------------------------------------------------- bodies


@check("body.malformed", "body.legal-oddities", "body.content-type", "refusal.changes-nothing", SURVIVES)
def test_hostile_bodies(at: Check) -> None:
    """Bodies that are not JSON, not UTF-8 or not an object are refused and have no effect. What the server
    does with legal but unusual bodies and with other content types is recorded."""
    engine, operation = hostile(at), at.operation.id
    fixture = engine.fixture
    valid = at.send(
        at.valid() if at.operation.traits.unique_pair else fixture.call(operation),
        "a valid request, to derive defective ones from",
    )
    if not valid.succeeded and (not valid.refused or valid.refused_authentication or valid.throttled):
        raise refusal_of_valid(valid)
    engine.beside = valid
    bodies = Derived(engine.document(), at.operation.traits.free_text, _with_more_texts(engine))
    malformed = [
        engine.case("body.malformed", f"a body {wrong.reason}", body=wrong.value)
        for wrong in (*bodies.malformed(), *bodies.not_objects())
        if wrong.value or not engine.traits.subset_of  # open: beneficiary.update-no-body
    ]
    engine.batch(malformed, [engine], what="malformed bodies")
    for odd in bodies.odd():
        (answer,) = engine.batch([engine.case(SURVIVES, f"a body with {odd.reason}", body=odd.value)])
        at.record("body.legal-oddities", answer)
        if answer.succeeded and engine.traits.unique_pair:
            engine = hostile(at)
    for long in bodies.long():
        # A front end may close the connection on a long body, or refuse it with a body of its own.
        probe = engine.fixture.call(operation).but(body=long.value, operation=None)
        _probe(at, probe, f"a body with {long.reason}", may_hang_up=True)
    if engine.traits.unique_pair:
        engine = Engine(at, lambda: at.account(fresh=True))
    for content_type in (*values(headers.CONTENT_TYPES, checked=True), engine.turn(headers.UNUSUAL)):
        name = f"Content-Type: {content_type}" if content_type else "no Content-Type"
        case = engine.case(SURVIVES, name, content_type=content_type)
        at.record("body.content-type", *engine.batch([case]))


def _with_more_texts(engine: Engine) -> dict[str, Any] | None:
    """Builds a valid body that has each free text of a beneficiary, or the address of a virtual account; None
    for others."""
    of_beneficiary = engine.traits.subset_of or engine.operation
    if TRAITS[of_beneficiary].creates == "beneficiary":
        return with_all_texts(engine.fixture, of_beneficiary)
    if engine.operation == "createVirtualAccount" and accepts(engine.at.lane, engine.operation, "an address"):
        return accepted_body(engine.fixture, engine.operation, "an address")
    return None


@check("beneficiary.update-no-body", SURVIVES)
def test_update_without_a_body(at: Check) -> None:
    """Records whether a PATCH without a body is accepted or refused; so is an empty one that is declared as
    JSON."""
    fixture, name = at.account(fresh=True), "a PATCH without a body"
    engine = Engine(at, lambda: fixture)
    for what, body in ((name, None), (f"{name}, declared as application/json", b"")):
        at.record("beneficiary.update-no-body", *engine.batch([engine.case(SURVIVES, what, body=body)]))


@table(SURVIVES, operations=("disableBeneficiary", *OPERATION_SETS["read"]), engine=hostile)
def test_body_where_none_is_taken(engine: Engine) -> Iterator[Case]:
    """A body on an operation that has none, a JSON object on GET, else malformed too: answered below 500."""
    reads = not engine.at.operation.is_post
    yield engine.case(SURVIVES, "a body that is a JSON object", body=b"{}", front_end=reads)
    for what, body in (("malformed JSON", b'{"'), ("invalid UTF-8", b"\xff\xfe"), ("null", b"null")):
        if not reads:
            yield engine.case(SURVIVES, f"a body that is {what}", body=body)


# ---------------------------------------------------------------------- headers, ids, queries


def _short(text: str, most: int = 40) -> str:
    return text if len(text) <= most else f"{text[:10]}… ({len(text)} characters)"


@table(SURVIVES, engine=common)
def test_hostile_headers(engine: Engine) -> Iterator[Case]:
    """Authentication headers and idempotency keys that are very long, not ASCII, some not UTF-8, SQL
    or duplicated, and unusual further headers; each is answered below 500."""
    end = engine.turn(("", headers.NOT_UTF8))

    def header(name: str, value: str, **changes: Any) -> Case:
        return engine.case(SURVIVES, f"{name}: {_short(value)}", front_end=True, **changes)

    def texts(corpus: Iterable[Value]) -> list[str]:
        return [value if value.isascii() else value + end for value in values(corpus)]

    for value in (*values(headers.TIMESTAMPS), engine.turn(values(headers.DIGITS))):
        yield header(signing.TIMESTAMP, value, auth=Auth(timestamp=value))
    for value in texts(headers.SIGNATURES):
        yield header(signing.SIGNATURE, value, auth=Auth(signature=value))
    for value in texts(headers.API_KEYS):
        yield header(signing.API_KEY, value, auth=Auth(api_key=value))
    for value in texts(headers.NONCES):
        yield header(signing.NONCE, value, auth=Auth(nonce=hexadecimal(12) + value))
    keys = texts(headers.KEYS)
    query = "" if engine.at.operation.is_list else query_strings.UNASKED
    for value in keys if engine.at.operation.is_post else keys[:1]:
        alone = header("Idempotency-Key", value, key=value)
        both = f"the query {query}, beside {alone.name}"
        # Where that is no good answer, the key is sent alone: one of the two is to blame.
        together = engine.case(SURVIVES, both, key=value, query=query, front_end=True, control=alone)
        yield together if query else alone
    for beside in headers.FURTHER:
        what = f"{', '.join(name for name, _ in beside.value)} with {beside.reason}"
        yield engine.case(SURVIVES, what, headers=beside.value, front_end=True)


@table(SURVIVES, engine=common)
def test_hostile_ids(engine: Engine) -> Iterator[Case]:
    """Path parameters that are not UTF-8, encode a slash or NUL, or are very long: answered below 500."""
    for number, name in enumerate(parameters(engine.operation)):
        for value in (*values(ids.IDS), engine.turn(ids.SHORT, number)):
            yield engine.case(SURVIVES, f"{name} {_short(value)}", whose={name: RAW + value}, front_end=True)


@table(SURVIVES, operations=OPERATION_SETS["list"], engine=common)
def test_hostile_queries(engine: Engine) -> Iterator[Case]:
    """List parameters that are huge, repeated, malformed or out of the calendar: answered below 500."""
    own = engine.at.operation.query_parameters
    for query in query_strings.of_list(own, OPERATION_SETS["list"].index(engine.operation)):
        yield engine.case(SURVIVES, f"the query {_short(query, 80)}", query=query)
    filters = [name for name in own if name not in ("page", "size")]
    for query in (*values(query_strings.BROKEN), *(f"{name}=a%00b" for name in filters)):
        yield engine.case(SURVIVES, f"the query {query}", query=query, front_end=True)


# ---------------------------------------------------------------------- what is left open


@check("http.success-json", "http.success-status", "http.extra-fields")
def test_sound_answers(at: Check) -> None:
    """A valid request is not answered with a redirect; the status of a successful answer and its undocumented
    members are recorded."""
    answer = _sound(at)
    if answer.status is not None and answer.status < 400:
        at.accepted("http.success-json", answer)
    if not answer.succeeded or not isinstance(answer.document, dict):
        raise refusal_of_valid(answer)
    at.observe("http.success-status", "the status of a successful answer", str(answer.status), answer)
    extra = undocumented_fields(at.operation.id, answer.document)
    at.observe(
        "http.extra-fields", "members beyond the documented ones", ", ".join(extra)[:500] or "none", answer
    )


def _sound(at: Check) -> Exchange:
    """The answer to a valid request: to a create of the run, as its place may be full, or to a new one."""
    if at.operation.id in OPERATION_SETS["create"]:
        with contextlib.suppress(Inconclusive):
            return creations(at.lane, at.operation.id)[0].exchange
    return at.find(at.valid(), "a valid request")


@check("http.undocumented-method", SURVIVES)
def test_undocumented_methods(at: Check) -> None:
    """PUT and DELETE on the operation's path, with unknown ids: answered below 500, or 501."""
    fixture = at.account(AUTHENTICATION)
    ids = {name: unknown_like(value) for name, value in fixture.ids(at.operation.id).items()}
    for method in ("PUT", "DELETE"):
        rule, what = "http.undocumented-method", f"{method} on the path of the operation"
        answer = _probe(at, Call(None, method, call(at.operation.id, ids).target), what, documented=False)
        if answer.status == 501 or at.usable(rule, answer):
            at.observe(rule, what, answer.described(), answer)


@check("http.undocumented-path", SURVIVES)
def test_undocumented_paths(at: Check) -> None:
    """The payout path of section 4.0.6 and paths of no operation: answered below 500, or 501."""
    fixture = at.lane.account(PAYOUTS)
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
        answer = _probe(at, probe, what, documented=False)
        if answer.status == 501 or at.usable("http.undocumented-path", answer):
            at.observe("http.undocumented-path", what, answer.described(), answer)


# ---------------------------------------------------------------------- values of fields


#: A text longer than a VARCHAR(255) column.
LONG = "x" * 300

#: Texts that encodings and databases lack characters of, by what is in them.
_SIGNS = {"NUL": "con\x00formance", "signs": "\u00e9\U0001f600'%\\<{\n"}


@table(SURVIVES, operations=OPERATION_SETS["body"], engine=hostile)
def test_odd_values_of_every_field(engine: Engine) -> Iterator[Case]:
    """Each field is empty, what may be left out null, and so are the members of addresses, one at a time in a
    valid body; texts without a maximum are longer than 255 characters, those with a form have signs in them,
    and codes and amounts a line feed behind them. Each request is answered below 500."""
    for field in request_fields(engine.operation):
        shape = field.shape or SAMPLE
        known = shape != SAMPLE and accepts(engine.at.lane, engine.operation, shape)
        for kind, value in (*_odd_values(engine, field), *_odd_texts(engine, field)):
            valid = accepted_body(engine.fixture, engine.operation, shape) if known else engine.document()
            yield engine.case(SURVIVES, f"{field.name} {kind}", body=to_json({**valid, field.name: value}))


def _odd_values(engine: Engine, field: Field) -> Iterator[tuple[str, Any]]:
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
    if engine.traits.subset_of or not field.required:
        yield "as null", None
    if field.kind == "amount" or (field.code and not engine.traits.unique_pair):
        # The end of a pattern may match before it: formats judge what is shown then.
        good = engine.fixture.body(engine.traits.subset_of or engine.operation)[field.name]
        yield "with a line feed behind it", f"{good}\n"


def _odd_texts(engine: Engine, field: Field) -> Iterator[tuple[str, Any]]:
    """Yields long texts of what has no maximum, and texts with signs of what has a form: of free texts and of
    codes, other checks send them."""
    if field.members or (field.kind == "text" and field.max_length is None):
        yield f"of {len(LONG)} letters", dict.fromkeys(field.members, LONG) if field.members else LONG
    formed = field.kind in ("text", "enum") and not field.free
    if field.members or formed or (field.code and engine.traits.unique_pair):
        for what, text in _SIGNS.items():
            good = samples.address("state" if "state" in field.members else "region")
            yield f"with {what}", {**good, "country": text} if field.members else text


@table(SURVIVES, operations=OPERATION_SETS["body"], engine=hostile)
def test_odd_values_of_all_fields(engine: Engine) -> Iterator[Case]:
    """All fields at once are an empty text, null, a number, true, an array or an object; each request is
    answered below 500."""
    names = [field.name for field in request_fields(engine.operation)]
    wrong: dict[str, Any] = {
        "an empty text": "",
        "null": None,
        "a number": 12345,
        "true": True,
        "an array": [],
        "an object": {},
    }
    for kind, value in wrong.items():
        body = to_json({**engine.document(), **dict.fromkeys(names, value)})
        yield engine.case(SURVIVES, f"every field as {kind}", body=body)
