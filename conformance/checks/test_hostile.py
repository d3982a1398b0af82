"""Malformed and odd input: refused where malformed, and never answered with 5xx or not at all (section 4)."""

from __future__ import annotations

from conformance.contract import signing
from conformance.contract.operations import undocumented_fields
from conformance.fixtures.account import Scene, call, parameters, unknown_like
from conformance.fixtures.corpora.hostile import (
    API_KEYS,
    BROKEN_QUERIES,
    CONTENT_TYPES,
    IDS,
    KEYS,
    NONCES,
    SIGNATURES,
    TIMESTAMPS,
    Bodies,
    list_queries,
)
from conformance.fixtures.run_context import refusal_of_sound
from conformance.harness.authentication import FREE_TEXT, common_scene
from conformance.harness.check import check
from conformance.harness.context import Trial
from conformance.harness.side_effects import Effects
from conformance.wire.messages import Call, Exchange

SURVIVES = "http.no-server-error"


def _scene(trial: Trial) -> Scene:
    """Where hostile requests go: a place of their own, because some may be accepted."""
    if trial.operation.id == "createPayout":
        return trial.suite.payouts()
    if trial.operation.id in ("createWallet", "disableBeneficiary"):
        return trial.suite.fresh()
    return common_scene(trial.suite, "hostile")


def _survived(trial: Trial, exchange: Exchange, what: str, *, may_hang_up: bool = False) -> None:
    """Judges that an answer came, below 500; `may_hang_up` where a front end may break the connection off."""
    hung_up = exchange.status is None and "Timeout" not in (exchange.error or "")
    if exchange.throttled or exchange.unsent or (may_hang_up and hung_up):
        trial.set_aside(SURVIVES, f"{what} was answered {exchange.described()}", exchange)
        return
    status = exchange.status
    good = status is not None and (status < 500 or (status == 501 and trial.operation.id == "createPayin"))
    trial.judge(SURVIVES, good, f"{what}: an answer with a status below 500", exchange.described(), exchange)


def _probe(trial: Trial, probe: Call, what: str, *, may_hang_up: bool = False) -> Exchange:
    exchange = trial.send(probe, what)
    _survived(trial, exchange, what, may_hang_up=may_hang_up)
    return exchange


# ---------------------------------------------------------------------- bodies


@check(
    "body.malformed",
    "body.legal-oddities",
    "body.content-type",
    "refusal.changes-nothing",
    "http.no-server-error",
    operations=tuple(FREE_TEXT),
)
def test_hostile_bodies(trial: Trial) -> None:
    """Bodies that are no JSON, no UTF-8 or no object are refused and have no effect; with what is legal but
    odd, and with other content types, what the server does is recorded."""
    scene = _scene(trial)
    operation = trial.operation.id
    sound = trial.send(
        trial.sound() if operation == "createWallet" else scene.call(operation),
        "a sound request, to derive defective ones from",
    )
    if not sound.succeeded and (not sound.refused or sound.refused_authentication or sound.throttled):
        raise refusal_of_sound(sound)

    def send(body: bytes, what: str) -> Exchange:
        return _probe(trial, scene.call(operation).but(body=body), what)

    bodies = Bodies(scene.body(operation), FREE_TEXT[operation])
    refused = []
    with Effects(trial, scene) as effects:
        for how, body in (*bodies.malformed(), *bodies.not_objects()):
            what = f"a body {how}"
            answer = send(body, what)
            refused.append(answer)
            if answer.refused and not sound.succeeded:
                reason = f"{what} was refused, but so was the sound request: {sound.described()}"
                trial.set_aside("body.malformed", reason, answer, sound)
            else:
                trial.refused("body.malformed", answer, what)
        effects.judge_refused(
            "malformed bodies", refused, "body.malformed", lambda: send(b"{", "a malformed body, again")
        )
    for how, body in bodies.odd():
        answer = send(body, f"a body with {how}")
        _observe(trial, "body.legal-oddities", f"a body with {how}", answer)
        if answer.succeeded and operation == "createWallet":
            scene = _scene(trial)
    for how, body in bodies.long():
        # A front end that finds a body too long may break the connection off, and words its refusal itself.
        _probe(
            trial,
            scene.call(operation).but(body=body, operation=None),
            f"a body with {how}",
            may_hang_up=True,
        )
    for content_type in CONTENT_TYPES:
        what = f"Content-Type: {content_type}" if content_type else "no Content-Type"
        probe = trial.sound(None if operation == "createWallet" else scene).but(content_type=content_type)
        _observe(trial, "body.content-type", what, _probe(trial, probe, f"a sound body with {what}"))


def _observe(trial: Trial, rule: str, question: str, answer: Exchange) -> None:
    """Records whether a body was accepted; not the status, which is another rule's."""
    if trial.usable(rule, answer):
        trial.observe(rule, question, "accepted" if answer.succeeded else answer.described(), answer)


@check("http.no-server-error", operations=("disableBeneficiary",))
def test_body_where_none_is_taken(trial: Trial) -> None:
    """An operation without a body gets one, sound and malformed."""
    scene = _scene(trial)
    for what, body in (
        ("a JSON object", b"{}"),
        ("malformed JSON", b'{"'),
        ("invalid UTF-8", b"\xff\xfe"),
        ("null", b"null"),
    ):
        _probe(trial, trial.sound(scene).but(body=body), f"a body that is {what}")


# ---------------------------------------------------------------------- headers, ids, queries


@check("http.no-server-error")
def test_hostile_headers(trial: Trial) -> None:
    """Authentication headers and idempotency keys that are very long, outside ASCII, or SQL."""
    scene = common_scene(trial.suite) if trial.operation.id != "createPayout" else trial.suite.payouts()

    def send(name: str, value: str, probe: Call) -> None:
        shown = value if len(value) <= 40 else f"{value[:10]}… ({len(value)} characters)"
        # A front end may refuse such a header in its own words.
        _probe(trial, probe.but(operation=None), f"{name}: {shown}")

    sound = scene.call(trial.operation.id)
    for value in TIMESTAMPS:
        send(signing.TIMESTAMP, value, sound.signed(timestamp=value))
    for value in SIGNATURES:
        send(signing.SIGNATURE, value, sound.signed(signature=value))
    for value in API_KEYS:
        send(signing.API_KEY, value, sound.signed(api_key=value))
    for value in NONCES:
        send(
            signing.NONCE,
            value,
            scene.call(trial.operation.id).signed(nonce=value + signing.new_nonce()[:12]),
        )
    for value in KEYS if trial.operation.is_post else KEYS[:1]:
        send("Idempotency-Key", value, scene.call(trial.operation.id).but(idempotency_key=value))


@check("http.no-server-error")
def test_hostile_ids(trial: Trial) -> None:
    """Path parameters, one at a time, that are no UTF-8, encode a slash or a NUL, or are very long."""
    operation = trial.operation.id
    scene = trial.suite.payouts() if operation == "createPayout" else common_scene(trial.suite)
    sound = scene.call(operation)
    for name in parameters(operation):
        for value in IDS:
            target = call(operation, {**scene.ids(operation), name: value}).target
            shown = value if len(value) <= 40 else f"of {len(value)} characters"
            # Which of these paths a router takes for the operation at all is its own affair.
            _probe(
                trial,
                scene.call(operation).but(target=target, body=sound.body, operation=None),
                f"{name} {shown}",
            )


@check(
    "http.no-server-error",
    operations=("listAccounts", "listPayoutDestinations", "listVirtualAccounts", "listWallets"),
)
def test_hostile_queries(trial: Trial) -> None:
    """List parameters that are huge, repeated, malformed or beyond every calendar."""
    sound = common_scene(trial.suite).call(trial.operation.id)
    for query in list_queries(trial.operation.query_parameters):
        shown = query if len(query) <= 80 else f"{query[:30]}… ({len(query)} characters)"
        _probe(trial, sound.with_query(query), f"the query {shown}")
    filters = [name for name in trial.operation.query_parameters if name not in ("page", "size")]
    for query in (*BROKEN_QUERIES, *(f"{name}=a%00b" for name in filters)):
        _probe(trial, sound.with_query(query).but(operation=None), f"the query {query}")


# ---------------------------------------------------------------------- what is left open


@check("http.success-json", "http.success-status", "http.extra-fields")
def test_sound_answers(trial: Trial) -> None:
    """A sound request is not answered with a redirection; the status of a successful answer, and its members
    that the specification does not name, are recorded."""
    answer = trial.send(trial.sound(), "a sound request")
    if answer.status is not None and answer.status < 400:
        trial.judge(
            "http.success-json", answer.succeeded, "a sound request: a 2xx answer", answer.described(), answer
        )
    if not answer.succeeded or not isinstance(answer.document, dict):
        raise refusal_of_sound(answer)
    trial.observe("http.success-status", "the status of a successful answer", str(answer.status), answer)
    extra = undocumented_fields(trial.operation.id, answer.document)
    trial.observe(
        "http.extra-fields", "members beyond the documented ones", ", ".join(extra)[:500] or "none", answer
    )


@check("http.undocumented-method", "http.no-server-error")
def test_undocumented_methods(trial: Trial) -> None:
    """PUT and DELETE on the operation's path, with ids that nothing has, so that nothing can be lost."""
    scene = trial.suite.payouts() if trial.operation.id == "createPayout" else common_scene(trial.suite)
    ids = {name: unknown_like(value) for name, value in scene.ids(trial.operation.id).items()}
    for method in ("PUT", "DELETE"):
        answer = _probe(
            trial,
            Call(None, method, call(trial.operation.id, ids).target),
            f"{method} on the path of the operation",
        )
        if trial.usable("http.undocumented-method", answer):
            trial.observe(
                "http.undocumented-method",
                f"{method} on the path of the operation",
                answer.described(),
                answer,
            )


@check("http.undocumented-path", "http.no-server-error", operations=("createPayout",))
def test_undocumented_paths(trial: Trial) -> None:
    """The payout path of an older example, and paths that nothing is at."""
    scene = trial.suite.payouts()
    body = {
        "account_id": unknown_like(scene.account_id),
        "beneficiary_id": "bene_none",
        "amount": "1.00",
        "currency": "USD",
    }
    old = scene.call("createPayout", body).but(operation=None, target="/v1/transfers/payouts")
    for probe in (
        old,
        Call(None, "GET", "/v1/nothing"),
        Call(None, "GET", "/"),
        Call(None, "GET", "/v1/accounts"),
    ):
        what = f"{probe.method} {probe.target}"
        answer = _probe(trial, probe, what)
        if trial.usable("http.undocumented-path", answer):
            trial.observe("http.undocumented-path", what, answer.described(), answer)
