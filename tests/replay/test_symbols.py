"""Symbols in replay files: forms of texts, values by origin, and the calls of steps."""

from __future__ import annotations

from typing import Any

import pytest

from conformance._files import InputError
from conformance.replay.format import call_of
from conformance.replay.naming import Names
from conformance.replay.symbols import rendered
from conformance.wire import provenance
from conformance.wire.forms import FORMS, SameText, changed, moved, new_value
from conformance.wire.messages import Call, Exchange
from conformance.wire.provenance import derive, fresh, new_key, origin, root
from conformance.world.run_context import RunContext
from tests.support.runs import run_on


def test_symbols() -> None:
    values = {"account_1.id": "acc_1 x", "now": "1000", "nonce_1": "ab"}
    assert rendered("/v1/{{account_1.id}}?d={{account_1.id|query}}", values.get) == "/v1/acc_1 x?d=acc_1%20x"
    assert rendered("{{now+310}} {{now-5}}", values.get) == "1310 995"
    assert rendered("{{nonce_1|upper|set.-1.g}}", values.get) == "Ag"
    assert rendered("{{unknown}} {{}} {{7*7}}", values.get) == "{{unknown}} {{}} {{7*7}}", (
        "others stay as they are"
    )
    assert moved("abc", "-1") == "abc"


KEY = "0f3c6f0e-8d5b-4c55-9d3f-1c2b3a4d5e6f"

#: Value, form, and the value in that form.
MADE = [
    (KEY, "upper", "0F3C6F0E-8D5B-4C55-9D3F-1C2B3A4D5E6F"),
    (KEY, "but.1", KEY[:-1]),
    (KEY, "from.30", "4d5e6f"),
    (KEY, "set.16.g", "0f3c6f0e-8d5b-4cg5-9d3f-1c2b3a4d5e6f"),
    (KEY, "other.0", "1" + KEY[1:]),
    (KEY, "other.-1", KEY[:-1] + "0"),
    (KEY, "bare", KEY.replace("-", "")),
    (KEY, "shifted", "f3c6f0e-08d5b-4c55-9d3f-1c2b3a4d5e6f"),
    ("acc_0a1B", "swapped", "ACC_0A1b"),
    ("acc_0123456789ab", "sparse", "acc_0123456789ab"),
    ("acc_123", "from.1", "cc_123"),
    ("acc_123", "and.0", "acc_1230"),
    ("acc_0a1B", "tailswapped", "acc_0A1b"),
    ("acc_0a1b", "encoded.3", "acc%5F0a1b"),
    ("acc_0a1b", "encodedlower.-5", "acc%5f0a1b"),
    ("abc", "reversed", "cba"),
    ("acc_0a1b", "accented", "acc_0\u00e11b"),
    ("acc_0a1b_", "wide", "acc_0a1\uff42_"),
    ("acc_0a1b", "and.;v=1", "acc_0a1b;v=1"),
    ("acc_0a1b", "and..1", "acc_0a1b.1"),
    ("acc_0a1b", "encoded.0|set.0.%25", "%2561cc_0a1b"),
    ("acc_0123456789ab", "sparse|set.-3._", "acc_012345678_ab"),
    ("a b/c+d", "query", "a%20b%2Fc%2Bd"),
    ("a b+c%20", "segment", "a%20b+c%20"),
    ("2025-01-01T01:30:00.250Z", "offset.-300", "2024-12-31T20:30:00.250-05:00"),
    ("2025-12-31T23:59:59Z", "offset.120", "2026-01-01T01:59:59+02:00"),
    ("2025-01-01T01:30:00.250Z", "second", "2025-01-01T01:30:00Z"),
    ("2025-01-01T01:30:00.250Z", "after", "2025-01-01T01:30:00.26Z"),
    ("2025-01-01T01:30:00.250Z", "day", "2025-01-01T00:00:00Z"),
    ("1000", "iso", "1970-01-01T00:16:40Z"),
    ("1000", "date", "Thu, 01 Jan 1970 00:16:40 GMT"),
]


@pytest.mark.parametrize(("value", "form", "made"), MADE, ids=[form for _, form, _ in MADE])
def test_forms(value: str, form: str, made: str) -> None:
    assert changed(value, form) == made


def test_each_form_is_tried() -> None:
    tried = {each.partition(".")[0] for _, forms, _ in MADE for each in forms.split("|")}
    assert tried == FORMS.keys()


def test_a_text_without_letters_has_no_other_letter_case() -> None:
    with pytest.raises(SameText):
        changed("acc_123", "tailswapped")
    for near in ("acc_0a1b", "1234567890123"):
        with pytest.raises(SameText):
            changed(near, "sparse|but.1")
    assert derive("12345678", "swapped") == "12345678"
    assert derive("12345678", "accented") == "12345678"
    assert changed("abc", "set.9.x|unknown|but.x") == "abc", "other forms that do not fit change nothing"


@pytest.mark.parametrize(
    ("recipe", "length"),
    [
        ({"kind": "uuid", "version": 7, "variant": "a"}, 36),
        ({"kind": "hex", "length": 13}, 13),
        ({"kind": "digits", "length": 30}, 30),
        ({"kind": "marker"}, 18),
    ],
    ids=str,
)
def test_new_values_have_the_form_of_their_recipe(recipe: dict[str, Any], length: int) -> None:
    made = new_value(recipe)
    assert len(made) == length and made != new_value(recipe)
    assert recipe["kind"] != "uuid" or (made[14], made[19]) == ("7", "a")


def test_values_are_registered_where_they_are_made() -> None:
    key = new_key(version=1)
    made = derive(derive(key, "upper"), "but.1")
    known = origin(key)
    assert known is not None and known.recipe == {"kind": "uuid", "variant": key[19], "version": 1}
    assert root(made) == key and origin("nothing of this run") is None


@pytest.mark.parametrize("form", ["set.0.\u00e1", "set.0.|", "and.}", "Upper", "and. ", ""])
def test_no_value_is_derived_by_what_no_file_could_hold(form: str) -> None:
    with pytest.raises(ValueError, match="chain of forms"):
        derive("acc_0a1b", form)


@pytest.mark.parametrize(("value", "form", "made"), MADE, ids=[form for _, form, _ in MADE])
def test_a_symbol_holds_each_form(value: str, form: str, made: str) -> None:
    assert rendered("{{id|" + form + "}}", {"id": value}.get) == made


def test_the_registry_forgets_the_oldest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(provenance, "_origins", {})
    monkeypatch.setattr(provenance, "MOST", 2)
    first, *rest = new_key(), new_key(), new_key()
    assert origin(first) is None and all(map(origin, rest))


# ---------------------------------------------------------------------- names


def named(*answers: Any, sent: bytes = b"") -> tuple[Names, list[dict[str, Any]]]:
    """Returns the names after steps with these answers, and the steps."""
    names, steps = Names(run_on().target, set()), []
    for at, answer in enumerate(answers, 1):
        step: dict[str, Any] = {"id": str(at)}
        exchange = Exchange(
            at, "primary", Call("createWallet", "POST", "/x", sent), "", "", "POST", "/x", [], b""
        )
        exchange.status, exchange._read = 201, (answer,)
        names.learn(step, exchange, "wallet", judged=False)
        steps.append(step)
    return names, steps


def test_a_value_that_the_server_made_is_captured_where_it_came_first() -> None:
    names, steps = named({"id": "wal_00001", "items": [{"id": "17"}]}, {"id": "wal_00001"})
    made = derive(derive("wal_00001", "upper"), "but.1")
    assert names.target(f"/v1/{made}/wal_00001?x=wal_00001&y=17") == (
        "/v1/{{wallet_1.id|upper|but.1}}/{{wallet_1.id}}?x={{wallet_1.id}}&y={{wallet_1.items_0_id}}"
    )
    assert steps == [
        {"id": "1", "captures": {"wallet_1.id": ["id"], "wallet_1.items_0_id": ["items", 0, "id"]}},
        {"id": "2"},
    ]


def test_a_text_that_is_the_whole_answer_has_no_name() -> None:
    text = '{"id": "wal_00000000000000000001"}'
    names, steps = named(text)
    assert names.of(text) is None and steps == [{"id": "1"}]


def test_a_short_id_is_named_where_an_id_stands() -> None:
    names, _ = named({"id": "17"})
    assert names.body('{"amount":"17","payee_id":"17"}') == '{"amount":"17","payee_id":"{{wallet_1.id}}"}'
    assert names.target("/v1/x/17?size=171") == "/v1/x/{{wallet_1.id}}?size=171"


def test_a_value_that_a_request_held_first_stays_literal() -> None:
    names, steps = named({"id": "wal_own01"}, sent=b'{"id":"wal_own01"}')
    assert names.text("wal_own01") == "wal_own01" and "captures" not in steps[0]


def test_timestamps_are_named_by_the_form_that_made_them() -> None:
    names, _ = named({"created": "2025-01-01T10:00:00.250Z"})
    for form in ("second", "day", "after", "offset.120"):
        text = derive("2025-01-01T10:00:00.250Z", form)
        symbol = f"{{{{wallet_1.created|{form}|query}}}}"
        encoded = changed(text, "query")
        assert names.target(f"/x?end_date={encoded}") == f"/x?end_date={symbol}"
        assert rendered(symbol, {"wallet_1.created": "2025-01-01T10:00:00.250Z"}.get) == encoded
    assert names.text("2020-01-01T10:00:00Z") == "2020-01-01T10:00:00Z", "a date that nothing made"


def test_random_values_are_made_anew() -> None:
    key, nonce = new_key(), "%00 '\u0436" + fresh("hex", length=12)
    near = derive(key, "other.-1")
    names, _ = named()
    assert names.text(near) == "{{key_1|other.-1}}"
    assert names.text("{" + key + "}0") == "{{{key_1}}}0"
    assert names.text(nonce) == "%00 '\u0436{{nonce_1}}" and names.text("not a nonce") == "not a nonce"
    assert names.fresh == {
        "key_1": {"kind": "uuid", "variant": key[19]},
        "nonce_1": {"kind": "hex", "length": 12},
    }


def test_a_signed_part_of_a_body_is_a_form_of_the_body() -> None:
    names, body = Names(run_on().target, set()), '{"name":"x"}'
    half, now = derive(body, "but.6"), 1_700_000_000
    auth = {"signed_body": half, "timestamp": f"{now - 5}.5"}
    assert names.signing(auth, body, {}, now) == {"signed_body": "{{body|but.6}}", "timestamp": "{{now-5}}.5"}
    iso = names.signing({"timestamp": derive(str(now), "iso")}, body, {}, now)
    assert iso == {"timestamp": "{{now+0|iso}}"}


# ---------------------------------------------------------------------- calls


def test_calls_of_steps(run: RunContext) -> None:
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
    made = call_of(step, lambda name: {"a.id": "1", "key_1": "k"}.get(name), run.target)
    assert made == Call(None, "POST", "/x/1", b"\xff\xfe", "k", None).signed(omit=("X-Nonce",), nonce="{{n}}")
    with pytest.raises(InputError, match="step 1 cannot be sent"):
        call_of({**step, "auth": {"unknown": 1}}, lambda name: None, run.target)
