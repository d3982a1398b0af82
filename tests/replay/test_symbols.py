"""Symbols of replay files: how they stand for ids, moments and new values."""

from __future__ import annotations

import pytest

from conformance.replay import ReplayError
from conformance.replay.document import call_of
from conformance.replay.forms import changed, moved
from conformance.replay.names import Names, fresh_like
from conformance.replay.symbols import new_value, rendered
from conformance.wire.messages import Call
from tests.support.runs import run_on


def test_symbols() -> None:
    values = {
        "account_1.id": "acc_1 x",
        "wallet_1.created": "2025-01-01T00:00:00.5Z",
        "now": "1000",
        "nonce_1": "ab",
    }
    assert (
        rendered("/v1/{{account_1.id}}?d={{account_1.id|encoded.20}}", values.get)
        == "/v1/acc_1 x?d=acc_1%20x"
    )
    assert rendered("{{now+310}} {{now-5}}", values.get) == "1310 995"
    assert rendered("{{wallet_1.created+0.000001}}", values.get) == "2025-01-01T00:00:00.500001Z"
    assert rendered("{{nonce_1|upper}}", values.get) == "AB"
    assert rendered("{{unknown}} {{}} {{7*7}}", values.get) == "{{unknown}} {{}} {{7*7}}", (
        "others stay as they are"
    )
    assert moved("2025-01-01T00:00:00Z", "-1") == "2024-12-31T23:59:59Z"


@pytest.mark.parametrize(
    "text",
    ["f47ac10b-58cc-4372-a567-0e02b2c3d479", "F47AC10B-58CC-1372-9567-0E02B2C3D479", "0123456789abcdef" * 2],
)
def test_fresh_values_keep_their_form(text: str) -> None:
    form = fresh_like(text)
    assert form is not None
    made = new_value(form)
    assert (
        made != text
        and len(made) == len(text)
        and made.isupper() == text.isupper()
        and fresh_like(made) == form
    )
    assert fresh_like("not-a-uuid") is None


def test_computed_timestamps_become_relative() -> None:
    names = Names()
    names.known["2025-01-01T10:00:00.250Z"] = "wallet_1.created"
    for text, symbol in (
        ("2025-01-01T10%3A00%3A00.250Z", "{{wallet_1.created|encoded.3A}}"),
        ("2025-01-01T10%3A00%3A00Z", "{{wallet_1.created|second|encoded.3A}}"),
        ("2025-01-01T00:00:00Z", "{{wallet_1.created|day}}"),
        ("2025-01-01T10%3A00%3A00.250001Z", "{{wallet_1.created+0.000001|encoded.3A}}"),
        ("2025-01-01T12:00:00.250+02:00", "{{wallet_1.created|offset.120}}"),
        ("2025-01-01T05%3A00%3A00.250-05%3A00", "{{wallet_1.created|offset.-300|encoded.3A}}"),
        ("2025-01-01T12%3a00%3a00.250001%2b02%3a00", "{{wallet_1.created+0.000001|offset.120|encoded.3a2b}}"),
        ("2020-01-01T10%3A00%3A00Z", "2020-01-01T10%3A00%3A00Z"),
    ):
        assert names.symbolized(f"?end_date={text}", target=True) == f"?end_date={symbol}"
        assert rendered(symbol, {"wallet_1.created": "2025-01-01T10:00:00.250Z"}.get) == text


@pytest.mark.parametrize(
    ("text", "symbol"),
    [
        ("acc_04e673dcb73f64af", "{{account_1.id}}"),
        ("acc%5F04e673dcb73f64af", "{{account_1.id|encoded.5F}}"),
        ("acc%5f04e673dcb73f64af", "{{account_1.id|encoded.5f}}"),
        ("%61cc_04e673dcb73f64af", "{{account_1.id|at.0}}"),
        ("acc_04e673dcb73f64a%66", "{{account_1.id|at.-1}}"),
        ("ACC_04E673DCB73F64AF", "{{account_1.id|upper}}"),
        ("acc_04E673DCB73F64AF", "{{account_1.id|cased.ffff8}}"),
        ("acc_04e673dcb73f64a", "{{account_1.id|but.1}}"),
        ("acc_04e673dcb73f64af0", "{{account_1.id}}0"),
        ("acc_04e673dcb73f64ae", "acc_04e673dcb73f64ae"),
    ],
)
def test_other_forms_of_ids_are_forms_of_their_symbols(text: str, symbol: str) -> None:
    names = Names()
    names.known["acc_04e673dcb73f64af"] = "account_1.id"
    assert names.symbolized(f"/v1/accounts/{text}/wallets", target=True) == f"/v1/accounts/{symbol}/wallets"
    assert rendered(symbol, {"account_1.id": "acc_04e673dcb73f64af"}.get) == text


def test_a_value_that_is_cut_lacks_its_end() -> None:
    names = Names()
    names.known["cf0123456789abcdef"] = "marker_1"
    whole = '{"name":"x cf0123456789abcdef y"}'
    for text, written in (
        (whole[:14], '{"name":"x {{marker_1|but.15}}'),
        (whole[:11], '{"name":"x '),
        (whole[:30], '{"name":"x {{marker_1}} '),
        ('{"name":"other', '{"name":"other'),
    ):
        assert names.part(text, whole) == written
        assert rendered(written, {"marker_1": "cf0123456789abcdef"}.get) == text


def test_odd_nonces_end_in_new_digits() -> None:
    names = Names()
    odd = names.fresh_value("nonce", "%00 '\u0436f4dbab30e49a")
    assert odd == "%00 '\u0436{{nonce_1}}" and names.fresh["nonce_1"] == {"kind": "hex", "length": 12}
    assert names.fresh_value("nonce", "not a nonce") == "not a nonce"


@pytest.mark.parametrize(
    ("value", "form", "made"),
    [
        ("acc_0a1b", "cased.a0", "acc_0A1B"),
        ("2025-01-01T01:30:00.250Z", "offset.-300", "2024-12-31T20:30:00.250-05:00"),
        ("2025-12-31T23:59:59Z", "offset.120", "2026-01-01T01:59:59+02:00"),
    ],
)
def test_forms(value: str, form: str, made: str) -> None:
    assert changed(value, form) == made


def test_calls_of_steps() -> None:
    step = {
        "id": "1",
        "organization": "primary",
        "method": "POST",
        "target": "/x/{{a.id}}",
        "body_base64": "//4=",
        "content_type": None,
        "idempotency_key": "{{key_1}}",
        "auth": {"omit": ["X-Nonce"], "nonce": "{{n}}"},
        "answered": {"status": 200},
    }
    target = run_on().target
    made = call_of(step, lambda name: {"a.id": "1", "key_1": "k"}.get(name), target)
    assert made == Call(None, "POST", "/x/1", b"\xff\xfe", "k", None).signed(omit=("X-Nonce",), nonce="{{n}}")
    with pytest.raises(ReplayError, match="step 1 cannot be sent"):
        call_of({**step, "auth": {"unknown": 1}}, lambda name: None, target)


@pytest.mark.parametrize(
    ("value", "other"),
    [
        ("0f3c6f0e-8d5b-4c55-9d3f-1c2b3a4d5e6f", "1f3c6f0e-8d5b-4c55-9d3f-1c2b3a4d5e6f"),
        ("0F3C6F0E-8D5B-4C55-9D3F-1C2B3A4D5E6F", "0F3C6F0E-8D5B-4C55-9C3F-1C2B3A4D5E60"),
        ("a3" * 16, "a3" * 8 + "0123456789abcdef"),
    ],
    ids=["first character", "some places, upper case", "last half"],
)
def test_values_that_share_a_part_share_it_in_a_replay(value: str, other: str) -> None:
    names = Names()
    names.fresh_value("key", value)
    symbol = names.fresh_value("key", other)
    assert symbol is not None and names.fresh_value("key", other) == symbol
    fresh = new_value(names.fresh["key_1"])
    made = rendered(symbol, {"key_1": fresh}.get)
    same = [at for at, letter in enumerate(value) if letter == other[at]]
    assert [at for at, letter in enumerate(fresh) if letter == made[at]] == same
    assert fresh_like(made) == fresh_like(fresh)


def test_two_values_that_share_a_part_with_a_third_differ() -> None:
    names = Names()
    value = "0f3c6f0e-8d5b-4c55-9d3f-1c2b3a4d5e6f"
    symbols = {names.fresh_value("key", letter + value[1:]) for letter in "0123"}
    assert len({rendered(symbol or "", {"key_1": value}.get) for symbol in symbols}) == 4
