"""The corpora of odd and hostile values: each value once, with a reason, and drawn by somebody."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from decimal import Decimal

import pytest

from conformance.judge import effects
from conformance.wire.messages import Call, to_json
from conformance.world import corpora
from conformance.world.corpora import Value, amounts, values
from conformance.world.corpora import wrong_values as corpus

MODULES = [
    importlib.import_module(f"{corpora.__name__}.{module.name}")
    for module in pkgutil.iter_modules(corpora.__path__)
]


def _corpora() -> Iterator[tuple[str, tuple[Value, ...]]]:
    for module in MODULES:
        for name, value in vars(module).items():
            tables = value.items() if isinstance(value, dict) else [("", value)]
            for key, table in tables:
                if isinstance(table, tuple) and table and isinstance(table[0], Value):
                    yield f"{module.__name__.rpartition('.')[2]}.{name}{key and f'[{key}]'}", table


CORPORA = dict(_corpora())
each_corpus = pytest.mark.parametrize("corpus", CORPORA.values(), ids=list(CORPORA))


def test_the_corpora_are_found() -> None:
    assert {"amounts.REFUSED", "dates.DATES", "headers.NONCES", "texts.SERVER_OWNED[id]"} <= CORPORA.keys()


@each_corpus
def test_each_value_stands_once(corpus: tuple[Value, ...]) -> None:
    sent = [repr(value) for value in values(corpus)]
    assert sorted(sent) == sorted(set(sent))


def test_groups_of_one_corpus_are_disjoint() -> None:
    sent = [repr(value) for value in values((*amounts.REFUSED, *amounts.REFUSED_TOO, *amounts.OPEN))]
    assert sorted(sent) == sorted(set(sent))


@each_corpus
def test_each_reason_is_a_phrase(corpus: tuple[Value, ...]) -> None:
    for entry in corpus:
        assert len(entry.reason) > 2 and not entry.reason.endswith("."), entry


def test_checked_values_are_selected() -> None:
    corpus = (Value(1, "drawn"), Value(2, "checked", checked=True))
    assert (values(corpus), values(corpus, checked=True)) == ((1, 2), (2,))


def test_amounts_are_respelled_with_their_defects() -> None:
    respelled = {
        value: made
        for value in values(amounts.REFUSED)
        if (made := amounts.respelled(value, "1.37")) is not None
    }
    assert len(respelled) == 10
    for made in respelled.values():
        call = Call("createPayout", "POST", "/", to_json({"amount": made}))
        assert effects.sent_amount(call) is None
        assert effects.asked_amount(call) == Decimal("1.37")


@pytest.mark.parametrize("count", [80, 143, 144, 145, 254, 255, 256, 1255])
def test_emails_keep_the_limits_of_their_parts(count: int) -> None:
    address = corpus.email(count)
    local, _, domain = address.partition("@")
    assert len(address) == count
    assert len(local) == 64
    assert all(1 <= len(label) <= 63 for label in domain.split("."))


def test_an_email_with_a_long_name_breaks_one_limit_only() -> None:
    local, _, domain = corpus.email_with_long_name().partition("@")
    assert len(local) == 65
    assert domain == "example.com"


def test_long_ibans_have_valid_check_digits() -> None:
    iban = corpus.iban(35)
    digits = "".join(str(int(character, 36)) for character in iban[4:] + iban[:4])
    assert len(iban) == 35
    assert int(digits) % 97 == 1
