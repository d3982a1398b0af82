"""Scope of the signature (section 5.3): requests signed for something else, and odd but valid ones."""

from __future__ import annotations

from conformance.checks.auth_probes import AuthProbes
from conformance.checks.cases import signature as cases
from conformance.checks.check import check
from conformance.checks.check_context import CheckContext
from conformance.checks.places import defective, sound
from conformance.judge.findings import Inconclusive
from conformance.judge.oracle import ENCODED
from conformance.wire.messages import Auth
from conformance.world.account import parameters

#: Spaces after a body: more than the 64 KiB that some programs hash of one, and as few as any server takes.
_LONG, _SHORT = 66_000, 1


@check("auth.signature")
def test_signatures_of_another_making(ctx: CheckContext) -> None:
    """Signatures made with other secrets, and the right one mutated in many ways."""
    defective(AuthProbes(ctx)).run(cases.other_signatures)


@check("auth.signed-method")
def test_method_is_signed(ctx: CheckContext) -> None:
    """Requests signed for other methods than they are sent with, for their own in lower case, and for
    none."""
    defective(AuthProbes(ctx)).run(cases.methods)


@check("auth.signed-path")
def test_path_is_signed(ctx: CheckContext) -> None:
    """Requests signed without /v1, with a slash more, cut short, for other resources and the decoded path."""
    engine = defective(AuthProbes(ctx))
    other = "listVirtualAccounts" if ctx.operation.id.endswith(("Wallet", "Wallets")) else "listWallets"
    engine.run(cases.paths, ctx.run.account("authentication").call(other).target)
    rule, name = "auth.signed-path", "a request with a percent-encoded path, signed for the decoded one"
    if not ctx.wanted(name):
        return
    last, decoded = parameters(engine.operation)[-1], Auth(signed_target=engine.target())
    case = engine.case(rule, name, whose={last: ENCODED}, auth=decoded)
    answer = engine.send(engine.call(case), name)
    if answer.refused and not answer.refused_authentication:
        # A router may find nothing under such a path.
        ctx.skip_judgement(rule, f"{name} was answered {answer.described()}", answer)
    else:
        engine.judge(case, answer)


@check("auth.path-as-sent")
def test_path_as_sent(ctx: CheckContext) -> None:
    """A path with one character percent-encoded, in both cases, signed just so; it need not be found."""
    sound(AuthProbes(ctx)).run(cases.encoded_paths)


@check("auth.signed-query")
def test_query_is_signed(ctx: CheckContext) -> None:
    """Requests signed without their query, for other values, in another order, decoded, re-encoded or cut,
    and for a query that is not sent. Where an operation has no parameters, unknown ones are sent."""
    probes = AuthProbes(ctx)
    rule = "auth.signed-query"
    first, second = ("size=2", "page=1") if ctx.operation.is_list else ("second=2", "first=1")
    sent, name = f"{first}&{second}&probe=%5F", "a request with a query, signed as sent"
    valid = ctx.send(probes.valid().with_query(sent), name)
    engine = defective(probes)
    try:
        probes.passed(valid)
        engine.run(cases.queries, first, second)
    except Inconclusive:
        # A server that leaves the query out refuses the valid request, and accepts others.
        for case in cases.queries(engine, first, second):
            answer = engine.send(engine.call(case), case.name)
            if not ctx.usable(rule, answer) or answer.refused_authentication:
                told = f"{name} was answered {valid.described()}"
                ctx.skip_judgement(rule, told, valid, cause="auth.query-as-sent")
            else:
                engine.judge(case, answer)
    unsent = Auth(signed_target=f"{engine.target()}?{sent}")
    engine.run(lambda at: [at.case(rule, "a request signed for a query that is not sent", auth=unsent)])


@check("auth.query-as-sent")
def test_query_as_sent(ctx: CheckContext) -> None:
    """Parameters in several orders and encodings, signed just so; they need not be understood."""
    sound(AuthProbes(ctx)).run(cases.queries_as_sent)


@check("auth.signed-timestamp", "auth.signed-nonce")
def test_timestamp_and_nonce_are_signed(ctx: CheckContext) -> None:
    """Requests signed for another timestamp or nonce, without it, and for the nonce in upper case."""
    probes = AuthProbes(ctx)
    engine = defective(probes)
    engine.run(cases.timestamps_and_nonces)
    first = probes.passed(ctx.send(probes.valid(), "a valid request, which comes again with another nonce"))
    name = "an accepted request again, with another nonce but its signature"
    again = Auth(timestamp=first.timestamp, signed_nonce=first.nonce)
    sound(probes).run(lambda at: [at.case("auth.signed-nonce", name, body=first.call.body, auth=again)])


@check("auth.no-separators")
def test_no_separators(ctx: CheckContext) -> None:
    """Requests signed with separators between the parts of the signature string."""
    defective(AuthProbes(ctx)).run(cases.separators)


@check("auth.signed-body")
def test_body_is_signed(ctx: CheckContext) -> None:
    """Bodies that differ from what was signed by a value, their end, white space, order or escapes only, and
    one that is declared as text and signed as empty."""
    defective(AuthProbes(ctx)).run(cases.bodies)


@check("auth.signed-empty-body")
def test_absent_body_is_signed_as_empty(ctx: CheckContext) -> None:
    """Requests without a body, signed over one; on POST also a body that is sent but not signed."""
    defective(AuthProbes(ctx)).run(cases.empty_bodies)


@check("auth.body-as-sent")
def test_body_as_sent(ctx: CheckContext) -> None:
    """Bodies with white space, another order, letters outside ASCII and escapes, and a long one, signed just
    so."""
    engine = sound(AuthProbes(ctx))
    engine.run(cases.bodies_as_sent)
    case = cases.spaced_body(engine, _LONG)
    if ctx.wanted(case.name):
        answer = engine.send(engine.call(case), case.name)
        if answer.status == 413:
            # How long a body may be is for the server to say.
            case = cases.spaced_body(engine, _SHORT)
            answer = engine.send(engine.call(case), case.name)
        engine.judge(case, answer)
