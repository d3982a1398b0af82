"""Correct clients break no rule, faulty ones exactly theirs."""

from __future__ import annotations

import contextlib
import re

import pytest

from conformance.clients.provocations import PROVOCATIONS, parse
from conformance.contract.rules import CLIENT_RULES, Level
from conformance.reference.core_messages import Request
from tests.clients.changes import header, with_header
from tests.clients.client import Client, Refused, Rig
from tests.clients.wrong import CLIENTS, Mistaken, NewKeyOnRetry, WrongClient
from tests.proofs import parametrize, selected


@pytest.mark.parametrize(
    "provoked", [(), *((name,) for name in PROVOCATIONS), tuple(PROVOCATIONS)], ids="+".join
)
def test_a_correct_client_breaks_no_rule_under_any_provocation(provoked: tuple[str, ...]) -> None:
    rig = Rig(*provoked)
    client = Client(rig)
    client.work()
    assert all(found >= made for found, made in zip(client.listed, (6, 5, 2), strict=True))
    assert rig.broken() == {}
    met = {name for seen in rig.sandbox.judge.recent for name in seen.provoked}
    assert met == set(provoked)


@pytest.mark.parametrize("seed", range(3))
def test_a_correct_client_breaks_no_rule_under_random_provocations(seed: int) -> None:
    rig = Rig()
    rig.provocations.__dict__.update(parse(f"random:{seed}").__dict__)
    Client(rig).work()
    assert rig.broken() == {}


class _OtherCase(Client):
    """Repeats a request with the key in upper case, which is open."""

    last: str | None = None

    def changed(self, request: Request) -> Request:
        key = header(request, "Idempotency-Key")
        again, self.last = key is not None and key == self.last, key
        return with_header(request, "Idempotency-Key", str(key).upper()) if again else request


class _Twins(Client):
    """Creates two equal accounts at once, each with its own key, and repeats both."""

    names = ("One",) * 4

    def work(self) -> None:
        path = f"/v1/customers/{self.tenant.customer_id}/accounts"
        keys = [self.key("POST"), self.key("POST")] * 2
        for key, name in zip(keys, self.names, strict=True):
            self.rig.clock.wait(3)
            self.send(self.request("POST", path, f'{{"name": "{name}"}}'.encode(), key))


class _NewBodyOnRetry(_Twins):
    """Repeats the first, which was refused with 429, with another body."""

    names = ("One", "One", "Other", "One")


@pytest.mark.parametrize(
    ("client", "provoked"),
    [
        (_OtherCase, ("rate-limit", "unavailable")),
        *((_Twins, (name,)) for name in ("lost-answer", "unavailable", "rate-limit")),
        (_NewBodyOnRetry, ("rate-limit",)),
        (NewKeyOnRetry, ("rate-limit",)),
    ],
)
def test_an_unusual_client_breaks_no_rule(client: type[Client], provoked: tuple[str, ...]) -> None:
    rig = Rig(*provoked)
    client(rig).work()
    assert rig.broken() == {}


WALKS = {
    "the size that the first answer shows": ["", "page=2&size=10", "size=10&page=3"],
    "pages in any order": ["page=2", "page=1", "page=3"],
    "the same again in another order": ["", "page=2", "page=3", "page=2", "", "page=3"],
    "the last page, then the first": ["page=3", ""],
}


@pytest.mark.parametrize("queries", WALKS.values(), ids=WALKS.keys())
def test_a_list_may_be_read_in_any_order(queries: list[str]) -> None:
    rig = Rig()
    client = Client(rig)
    path = f"/v1/customers/{client.tenant.customer_id}/accounts"
    for number in range(25):
        client.call("POST", path, {"name": f"Account {number}"})
    for query in queries:
        client.call("GET", f"{path}?{query}")
    assert rig.broken() == {}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "program" in metafunc.fixturenames:
        parametrize(metafunc, selected(metafunc.config, CLIENTS))


def test_a_wrong_client_is_caught_by_its_rule_and_no_other(program: WrongClient) -> None:
    """What it does where its rule is open is observed."""
    rig = Rig(*program.provoked)
    with contextlib.suppress(Refused):
        program.make(rig).work()
    if not program.answer:
        assert set(rig.broken()) == {*program.rules}
        return
    cells = [cell for cell in rig.sandbox.judge.ledger().cells if cell.rule in program.rules]
    answers = [text for cell in cells for text in cell.observations.values()]
    assert any(program.answer in text for text in answers), answers
    assert set(rig.broken()) <= {"fields.max-length"}


def test_every_rule_that_binds_clients_has_a_wrong_one() -> None:
    signed = {rule for rule in CLIENT_RULES if re.fullmatch(r"auth\.(signed-.*|no-separators)", rule)}
    assert set(CLIENT_RULES) == {rule for program in CLIENTS for rule in program.rules} | signed
    levels = {CLIENT_RULES[rule].level for program in CLIENTS if program.answer for rule in program.rules}
    assert levels == {Level.OPEN}


def test_a_correct_client_gives_occasion_to_each_rule_that_binds_clients() -> None:
    cells = []
    for provoked in ((), *((name,) for name in PROVOCATIONS)):
        rig = Rig(*provoked)
        Client(rig).work()
        cells += rig.sandbox.judge.ledger().cells
    judged = {cell.rule for cell in cells if cell.judged}
    assert {name for name, rule in CLIENT_RULES.items() if rule.level is not Level.OPEN} <= judged


def test_each_mistake_in_signing_any_request_is_named() -> None:
    client = Mistaken(Rig())
    client.work()
    for rule, broken in client.mistakes:
        assert len(broken) == 1 and re.fullmatch(rule, broken[0]), (rule, broken)
    signed = {rule for rule in CLIENT_RULES if rule.startswith("auth.signed-")} | {"auth.no-separators"}
    assert signed <= {broken for _, [broken] in client.mistakes}
