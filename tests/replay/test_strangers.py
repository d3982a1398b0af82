"""Replay files from untrusted sources send nothing to other hosts, reveal no secret and execute nothing."""

from __future__ import annotations

import copy
import json
import random
from pathlib import Path
from typing import Any

import pytest

from conformance._files import InputError
from conformance.checks import load_checks
from conformance.cli.main import main
from conformance.judge.expectations import Refused
from conformance.replay import as_python, load, perform, save
from conformance.replay import format as documents
from conformance.replay.symbols import rendered
from conformance.target.file import Organization
from conformance.wire.forms import moved
from conformance.wire.messages import Failure
from tests.replay.samples import finding, scripted
from tests.support.callers import run_at
from tests.support.random_answers import value
from tests.support.runs import run_on
from tests.support.wire import answering, wire

SECRET = "secret-of-the-user-0123456789"
USER = Organization("primary", "key_1", SECRET, "cus_1")

#: Terminates strings of every kind and tries to execute a command.
EVIL = "'\"`touch OWNED`$(touch OWNED);touch OWNED\n&touch OWNED|{{primary.secret}}\\\x1b[31m\u202e%s'''{0}"


@pytest.fixture(scope="module")
def valid(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """A small replay file: creates an account and lists its wallets."""
    run = run_on()
    fixture = run.account()
    listed = run.send(fixture.client, fixture.call("listWallets"), "first")
    failed = finding("auth.signature", "listWallets", Refused("a list"), listed)
    path = save(failed, list(run.record.values()), run, tmp_path_factory.mktemp("valid"))
    assert path is not None
    return load(path)


@pytest.fixture
def document(valid: dict[str, Any]) -> dict[str, Any]:
    return copy.deepcopy(valid)


def refused(content: bytes, folder: Path) -> str:
    """Returns the error message for a file."""
    path = folder / "crafted.json"
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        load(path)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    "member",
    [
        {"id": "1\n"},
        {"id": "1; id"},
        {"method": "GET\n"},
        {"method": "GET /x HTTP/1.1\r\nHost: elsewhere.test\r\n\r\nGET"},
        {"target": "@elsewhere.test/v1/accounts"},
        {"target": "/\r\nHost: elsewhere.test"},
        {"target": "/a b"},
        {"target": "/\u00e9"},
        {"target": "\\\\elsewhere.test/"},
        {"headers": [["X-A", "b\r\nX-C: d"]]},
        {"headers": [["X-A\n", "b"]]},
        {"headers": [["X-A: b\r\nX-C", "d"]]},
        {"headers": [["hOST", "elsewhere.test"]]},
        {"content_type": "a\r\nX-C: d"},
        {"idempotency_key": "a\nX-C: d"},
        {"auth": {"nonce": "a\rX-C: d"}},
        {"auth": {"timestamp_offset": 1.0}},
        {"auth": {"mistake": "$(id)"}},
        {"auth": {"signature_forms": "$(id)"}},
        {"captures": {"account_1.id\n": ["id"]}},
        {"captures": {"x$(id).y": ["id"]}},
        {"captures": {"primary.secret": ["id"]}},
        {"captures": {"now.id": ["id"]}},
        {"wait": 301},
        {"together": 1.0},
    ],
    ids=lambda member: f"{next(iter(member))} {str(next(iter(member.values())))[:24]!a}",
)
def test_steps_that_no_run_writes_are_refused(
    member: dict[str, Any], document: dict[str, Any], tmp_path: Path
) -> None:
    document["steps"][0] |= member
    assert "no replay file" in refused(json.dumps(document).encode(), tmp_path)


@pytest.mark.parametrize(
    "fresh",
    [{"kind": "word"}, {"length": 3}, {"kind": "uuid", "version": 4.0}, {"kind": "hex", "length": 10**9}],
    ids=str,
)
def test_values_that_cannot_be_made_are_refused(
    fresh: dict[str, Any], document: dict[str, Any], tmp_path: Path
) -> None:
    document["fresh"]["key_9"] = fresh
    assert "no replay file" in refused(json.dumps(document).encode(), tmp_path)


def test_files_out_of_all_bounds_are_refused(
    document: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    step = document["steps"][0]
    crowd = {**document, "steps": [{**step, "id": str(number), "together": 1} for number in range(101)]}
    slow = {**document, "steps": [{**step, "id": str(number), "wait": 30} for number in range(121)]}
    many = {**document, "steps": [{**step, "id": str(number)} for number in range(1001)]}
    for crafted, told in ((crowd, "at the same moment"), (slow, "wait more than"), (many, "steps")):
        assert told in refused(json.dumps(crafted).encode(), tmp_path)
    assert "not JSON" in refused(b"[" * 200_000, tmp_path)
    assert "not JSON" in refused(b'{"expectation":' + b"[" * 500 + b"]" * 500 + b"}", tmp_path)
    assert "not JSON" in refused(
        json.dumps(document).replace('"format": 5', '"format": NaN').encode(), tmp_path
    )
    assert "half a character" in refused(json.dumps({**document, "got": "\ud800"}).encode(), tmp_path)
    monkeypatch.setattr(documents, "LARGEST", 1000)
    assert "more than 1,000 bytes" in refused(json.dumps(document).encode(), tmp_path)


@pytest.mark.parametrize(
    "target", ["//elsewhere.test/x", "/\\@elsewhere.test", "/@elsewhere.test:80/", "/../..//x?//y"]
)
def test_everything_is_sent_to_the_target(target: str, document: dict[str, Any]) -> None:
    with wire(prefix="/api") as server:
        document["steps"][0]["target"] = target
        perform(document, run_at(server.url))
    assert server.requests[0].target == b"/api" + target.encode()
    assert server.requests[0].values(b"host") == [
        server.url.removeprefix("http://").partition("/")[0].encode()
    ]


def answered_with(text: str) -> bytes:
    body = json.dumps({"id": text, "name": text, "created": text}).encode()
    return b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (
        len(body),
        body,
    )


@pytest.mark.parametrize(
    "text", ["x\r\nX-Evil: 1", "x HTTP/1.1\r\nHost: elsewhere.test\r\n\r\n", "\u00e9", "x y"]
)
def test_answers_cannot_inject_headers_or_requests(
    text: str, document: dict[str, Any], tmp_path: Path
) -> None:
    with wire(answering(answered_with(text))) as server:
        replayed = perform(document, run_at(server.url))
        told = [exchange.failure for exchange in replayed.answers.values()]
        assert told[-1] is Failure.UNSENDABLE
        scripted(document, tmp_path, server.url, USER)
    assert not any(request.values(b"x-evil") for request in server.requests)
    assert all(b" HTTP/1.1" in request.line and request.line.count(b" ") == 2 for request in server.requests)


def test_scripts_run_nothing_and_tell_nothing(document: dict[str, Any], tmp_path: Path) -> None:
    line = (
        EVIL.replace("\n", " ")
        + "{{conformance_primary_secret}}{{unrelated}}{{primary.secret}}{{secret|upper}}"
    )
    for name in ("statement", "expected", "got", "operation"):
        document[name] = EVIL
    for step in document["steps"]:
        step |= {"purpose": EVIL, "content_type": line, "idempotency_key": line}
        step["headers"] = [["X-Evil", line]]
        step["auth"] = {"signed_target": EVIL, "signed_nonce": EVIL, "nonce": line}
        step["captures"] = {"account_1.id": [EVIL], "conformance_primary.secret": ["id"], "path.x": ["id"]}
    document["steps"][0] |= {
        "body": EVIL + line,
        "target": "/v1/{{conformance_primary_secret}}/{{unrelated}}$(id)",
    }
    document["steps"] = document["steps"][:1]
    document["judged"] = [document["steps"][0]["id"]]
    documents.check(document, "crafted")
    with wire(answering(answered_with("\x1b[31m"))) as server:
        done = scripted(document, tmp_path, server.url, USER)
        output = done.stdout + done.stderr
    assert not (tmp_path / "OWNED").exists()
    assert server.requests, output
    sent = b"".join(request.head + request.body for request in server.requests)
    assert SECRET.encode() not in sent and SECRET not in output
    assert b"{{conformance_primary_secret}}" in sent
    assert "\x1b" not in output and "\u202e" not in output


def test_the_command_shows_a_file_as_text(
    document: dict[str, Any],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    document |= {"statement": EVIL + "\nreproduced", "expected": EVIL, "got": EVIL, "operation": EVIL}
    document["steps"][0]["purpose"] = EVIL + "\nnot reproduced"
    path = tmp_path / "crafted.json"
    path.write_text(json.dumps(document), "utf-8")
    for name, told in (("API_KEY", "key_1"), ("SECRET", SECRET), ("CUSTOMER_ID", "cus_1")):
        monkeypatch.setenv(f"CONFORMANCE_PRIMARY_{name}", told)
    with wire(answering(answered_with(EVIL))) as server:
        main(["replay", str(path), "--base-url", server.url])
    output = capsys.readouterr().out
    assert "\x1b" not in output and "\u202e" not in output and SECRET not in output
    assert not {"reproduced", "not reproduced"} & set(output.splitlines())


def test_the_expansion_of_symbols_is_bounded() -> None:
    assert moved("1" * 5000, "+1") == "1" * 5000
    assert rendered("{{a.b+" + "9" * 5000 + "}}", {"a.b": "1"}.get).startswith("{{a.b")
    with pytest.raises(ValueError, match="more than"):
        rendered("{{a.b}}" * 400, {"a.b": "x" * 50_000}.get)


def mutated(source: random.Random, document: Any) -> Any:
    """Returns the document with a random value replaced, removed or doubled."""
    places: list[tuple[Any, Any]] = []
    waiting = [document]
    while waiting:
        node = waiting.pop()
        items = list(node.items() if isinstance(node, dict) else enumerate(node))
        places += [(node, key) for key, _ in items]
        waiting += [member for _, member in items if isinstance(member, (dict, list))]
    node, key = source.choice(places)
    odd = (
        *map(str, range(3)),
        "{{account_1.id|at.999999}}",
        "{{now+999999999999}}",
        EVIL,
        None,
        -1,
        2**70,
        1e300,
        True,
    )
    match source.randrange(4):
        case 0:
            node[key] = value(source)
        case 1:
            node[key] = source.choice(odd)
        case 2:
            del node[key]
        case _ if isinstance(node, dict):
            node[
                source.choice(("$answer", "of", "path", "kind", "predicate", "parameters", "ids", "statuses"))
            ] = value(source)
        case _:
            node.append(copy.deepcopy(node[key]))
    return document


@pytest.mark.parametrize("seed", range(40))
def test_files_that_were_changed_at_random_end_in_a_verdict_or_a_paragraph(
    seed: int, valid: dict[str, Any]
) -> None:
    load_checks()
    source = random.Random(seed)
    for _ in range(12):
        document = copy.deepcopy(valid)
        for _ in range(source.randrange(1, 4)):
            document = mutated(source, document)
        try:
            documents.check(document, "crafted")
        except InputError as error:
            assert len(str(error)) < 2000
            continue
        for step in document["steps"]:
            step.pop("wait", None)
        as_python(document)
        try:
            assert perform(document, run_on()).verdict in ("reproduced", "not reproduced", "undecided")
        except InputError as error:
            assert len(str(error)) < 2000
