"""Malformed and odd input: refused where malformed, and never answered with 5xx or not at all (section 4)."""

from __future__ import annotations

from conformance.contract import signing
from conformance.contract.operations import undocumented_fields
from conformance.contract.rules import OPERATION_SETS
from conformance.contract.traits import TRAITS
from conformance.harness.check import check
from conformance.harness.context import CheckContext
from conformance.harness.side_effects import SideEffects
from conformance.judge.expectations import Accepted, Answered
from conformance.wire.messages import Call, Exchange, Failure
from conformance.world.account import call, new_key, parameters, unknown_like
from conformance.world.corpora import bodies as corpus
from conformance.world.corpora import headers, ids, queries
from conformance.world.corpora.value import Use, values
from conformance.world.run_context import refusal_of_valid

SURVIVES = "http.no-server-error"


def _survived(
    ctx: CheckContext, exchange: Exchange, what: str, *, may_hang_up: bool = False, documented: bool = True
) -> None:
    """Judges that an answer came, below 500, or 501 (RFC 9110, 15.6.2) where the method or path is not
    `documented`; `may_hang_up` where a front end may break the connection off."""
    hung_up = exchange.status is None and exchange.failure not in (Failure.TIMED_OUT, Failure.NOT_CONNECTED)
    if exchange.throttled or exchange.unsent or (may_hang_up and hung_up):
        ctx.skip_judgement(SURVIVES, f"{what} was answered {exchange.described()}", exchange)
        return
    also = [501] if ctx.operation.traits.under_development or not documented else []
    ctx.judge(SURVIVES, Answered(what, also=also), exchange)


def _probe(
    ctx: CheckContext, probe: Call, what: str, *, may_hang_up: bool = False, documented: bool = True
) -> Exchange:
    exchange = ctx.send(probe, what)
    _survived(ctx, exchange, what, may_hang_up=may_hang_up, documented=documented)
    return exchange


# ---------------------------------------------------------------------- bodies


@check(
    "body.malformed",
    "body.legal-oddities",
    "body.content-type",
    "refusal.changes-nothing",
    "http.no-server-error",
    operations=OPERATION_SETS["body"],
)
def test_hostile_bodies(ctx: CheckContext) -> None:
    """Bodies that are not JSON, not UTF-8 or not an object are refused and have no effect; what the server
    does with legal but odd ones, and with other content types, is recorded."""
    fixture = ctx.account("hostile", fresh=ctx.operation.traits.once)
    operation = ctx.operation.id
    valid = ctx.send(
        ctx.valid() if TRAITS[operation].unique_pair else fixture.call(operation),
        "a valid request, to derive defective ones from",
    )
    if not valid.succeeded and (not valid.refused or valid.refused_authentication or valid.throttled):
        raise refusal_of_valid(valid)

    def send(body: bytes, what: str) -> Exchange:
        return _probe(ctx, fixture.call(operation).but(body=body), what)

    bodies = corpus.Derived(fixture.body(operation), ctx.operation.traits.free_text)
    refused = []
    with SideEffects(ctx, fixture) as effects:
        for wrong in (*bodies.malformed(), *bodies.not_objects()):
            if TRAITS[operation].subset_of and not wrong.value:
                continue  # open: beneficiary.update-no-body
            what = f"a body {wrong.reason}"
            if not ctx.wanted(what):
                continue
            answer = send(wrong.value, what)
            refused.append(answer)
            if answer.refused and not valid.succeeded:
                reason = f"{what} was refused, but so was the valid request: {valid.described()}"
                ctx.skip_judgement("body.malformed", reason, answer, valid)
            else:
                ctx.refused("body.malformed", answer, what)
        again = fixture.call(operation).but(body=b"{")
        key = again.idempotency_key
        effects.judge_refused(
            "malformed bodies",
            refused,
            "body.malformed",
            lambda: ctx.send(again.but(idempotency_key=key and new_key()), "a malformed body, again"),
        )
    for what, odd in ctx.only_wanted((f"a body with {odd.reason}", odd) for odd in bodies.odd()):
        answer = send(odd.value, what)
        _observe(ctx, "body.legal-oddities", what, answer)
        if answer.succeeded and TRAITS[operation].unique_pair:
            fixture = ctx.account("hostile", fresh=ctx.operation.traits.once)
    for what, long in ctx.only_wanted((f"a body with {long.reason}", long) for long in bodies.long()):
        # A front end that finds a body too long may break the connection off, and words its refusal itself.
        _probe(
            ctx,
            fixture.call(operation).but(body=long.value, operation=None),
            what,
            may_hang_up=True,
        )
    for content_type in values(headers.CONTENT_TYPES, Use.CHECK):
        what = f"Content-Type: {content_type}" if content_type else "no Content-Type"
        if not ctx.wanted(what):
            continue
        probe = ctx.valid(None if TRAITS[operation].unique_pair else fixture).but(content_type=content_type)
        _observe(ctx, "body.content-type", what, _probe(ctx, probe, f"a valid body with {what}"))


def _observe(ctx: CheckContext, rule: str, question: str, answer: Exchange) -> None:
    """Records whether a body was accepted; not the status, which is another rule's."""
    if ctx.usable(rule, answer):
        ctx.observe(rule, question, "accepted" if answer.succeeded else answer.described(), answer)


@check("beneficiary.update-no-body", "http.no-server-error", operations=("updateBeneficiary",))
def test_update_without_a_body(ctx: CheckContext) -> None:
    """Records whether a PATCH without a body counts as one that changes nothing, or is refused."""
    fixture = ctx.account(fresh=True)
    answer = _probe(ctx, fixture.call("updateBeneficiary").but(body=None), "a PATCH without a body")
    _observe(ctx, "beneficiary.update-no-body", "a PATCH without a body", answer)


@check("http.no-server-error", operations=("disableBeneficiary",))
def test_body_where_none_is_taken(ctx: CheckContext) -> None:
    """An operation without a body gets one, valid and malformed."""
    fixture = ctx.account("hostile", fresh=ctx.operation.traits.once)
    for what, body in (
        ("a JSON object", b"{}"),
        ("malformed JSON", b'{"'),
        ("invalid UTF-8", b"\xff\xfe"),
        ("null", b"null"),
    ):
        _probe(ctx, ctx.valid(fixture).but(body=body), f"a body that is {what}")


# ---------------------------------------------------------------------- headers, ids, queries


@check("http.no-server-error")
def test_hostile_headers(ctx: CheckContext) -> None:
    """Authentication headers and idempotency keys that are very long, outside ASCII, SQL, or there twice, and
    odd headers that no operation needs."""
    fixture = ctx.account("authentication")

    def send(name: str, value: str, probe: Call) -> None:
        shown = value if len(value) <= 40 else f"{value[:10]}… ({len(value)} characters)"
        if not ctx.wanted(f"{name}: {shown}"):
            return
        # A front end may refuse such a header in its own words.
        _probe(ctx, probe.but(operation=None), f"{name}: {shown}")

    valid = fixture.call(ctx.operation.id)
    for value in values(headers.TIMESTAMPS):
        send(signing.TIMESTAMP, value, valid.signed(timestamp=value))
    for value in values(headers.SIGNATURES):
        send(signing.SIGNATURE, value, valid.signed(signature=value))
    for value in values(headers.API_KEYS):
        send(signing.API_KEY, value, valid.signed(api_key=value))
    for value in values(headers.NONCES):
        send(
            signing.NONCE,
            value,
            fixture.call(ctx.operation.id).signed(nonce=value + signing.new_nonce()[:12]),
        )
    keys = values(headers.KEYS)
    for value in keys if ctx.operation.is_post else keys[:1]:
        send("Idempotency-Key", value, fixture.call(ctx.operation.id).but(idempotency_key=value))
    for further in headers.FURTHER:
        name, value = further.value
        if not ctx.wanted(f"{name} with {further.reason}"):
            continue
        probe = fixture.call(ctx.operation.id).but(headers=((name, value),), operation=None)
        _probe(ctx, probe, f"{name} with {further.reason}")


@check("http.no-server-error")
def test_hostile_ids(ctx: CheckContext) -> None:
    """Path parameters, one at a time, that are not UTF-8, encode a slash or a NUL, or are very long."""
    operation = ctx.operation.id
    fixture = ctx.account("authentication")
    valid = fixture.call(operation)
    for name in parameters(operation):
        for value in values(ids.IDS):
            target = call(operation, {**fixture.ids(operation), name: value}).target
            shown = value if len(value) <= 40 else f"of {len(value)} characters"
            if not ctx.wanted(f"{name} {shown}"):
                continue
            # Which of these paths a router takes for the operation at all is its own affair.
            _probe(
                ctx,
                fixture.call(operation).but(target=target, body=valid.body, operation=None),
                f"{name} {shown}",
            )


@check(
    "http.no-server-error",
    operations=OPERATION_SETS["list"],
)
def test_hostile_queries(ctx: CheckContext) -> None:
    """List parameters that are huge, repeated, malformed or beyond every calendar."""
    valid = ctx.run.account("authentication").call(ctx.operation.id)
    for query in queries.of_list(ctx.operation.query_parameters):
        shown = query if len(query) <= 80 else f"{query[:30]}… ({len(query)} characters)"
        if ctx.wanted(f"the query {shown}"):
            _probe(ctx, valid.with_query(query), f"the query {shown}")
    filters = [name for name in ctx.operation.query_parameters if name not in ("page", "size")]
    for query in (*values(queries.BROKEN), *(f"{name}=a%00b" for name in filters)):
        if ctx.wanted(f"the query {query}"):
            _probe(ctx, valid.with_query(query).but(operation=None), f"the query {query}")


# ---------------------------------------------------------------------- what is left open


@check("http.success-json", "http.success-status", "http.extra-fields")
def test_sound_answers(ctx: CheckContext) -> None:
    """A valid request is not answered with a redirection; the status of a successful answer, and its members
    that the specification does not name, are recorded."""
    answer = ctx.shown(ctx.valid(), "a valid request")
    if answer.status is not None and answer.status < 400:
        ctx.judge("http.success-json", Accepted("a valid request"), answer)
    if not answer.succeeded or not isinstance(answer.document, dict):
        raise refusal_of_valid(answer)
    ctx.observe("http.success-status", "the status of a successful answer", str(answer.status), answer)
    extra = undocumented_fields(ctx.operation.id, answer.document)
    ctx.observe(
        "http.extra-fields", "members beyond the documented ones", ", ".join(extra)[:500] or "none", answer
    )


@check("http.undocumented-method", "http.no-server-error")
def test_undocumented_methods(ctx: CheckContext) -> None:
    """PUT and DELETE on the operation's path, with ids that nothing has, so that nothing can be lost."""
    fixture = ctx.account("authentication")
    ids = {name: unknown_like(value) for name, value in fixture.ids(ctx.operation.id).items()}
    for method in ("PUT", "DELETE"):
        answer = _probe(
            ctx,
            Call(None, method, call(ctx.operation.id, ids).target),
            f"{method} on the path of the operation",
            documented=False,
        )
        if answer.status == 501 or ctx.usable("http.undocumented-method", answer):
            ctx.observe(
                "http.undocumented-method",
                f"{method} on the path of the operation",
                answer.described(),
                answer,
            )


@check("http.undocumented-path", "http.no-server-error", operations=("createPayout",))
def test_undocumented_paths(ctx: CheckContext) -> None:
    """The payout path of an older example, and paths that nothing is at."""
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
