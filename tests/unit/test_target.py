"""Errors in a target file: one paragraph that names the key and what it should hold."""

from __future__ import annotations

import copy
import io
import re
import stat
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from conformance._files import InputError
from conformance.cli.main import main
from conformance.contract.operations import OPERATIONS
from conformance.contract.traits import SAMPLE_OPERATIONS
from conformance.reference.seed import new_server, target_tables
from conformance.reference.serving.listener import served
from conformance.target.file import Target, build, load
from conformance.target.schema import keys, schema

PRIMARY = {"api_key": "key_1", "secret": "s3cret", "customer_id": "cus_1"}
VALID: dict[str, Any] = {
    "base_url": "http://127.0.0.1:8000",
    "primary": PRIMARY,
    "secondary": {"api_key": "key_2", "secret": "0ther", "customer_id": "cus_2"},
}

MINIMAL = """
base_url = "http://127.0.0.1:8000/"
[primary]
api_key = "key_1"
secret = "s3cret"
customer_id = "cus_1"
"""


def changed(path: str, value: Any) -> dict[str, Any]:
    """Returns the valid tables with one value replaced."""
    tables = copy.deepcopy(VALID)
    *parents, last = path.split(".")
    place = tables
    for parent in parents:
        place = place.setdefault(parent, {})
    place[last] = value
    return tables


def test_valid_target() -> None:
    target = build(VALID, "target.toml")
    assert target.base_url == "http://127.0.0.1:8000"
    assert target.secondary is not None and target.secondary.customer_id == "cus_2"
    assert (target.features.payins, target.features.payouts, target.features.secondary) == (False, True, None)
    assert Target.from_plain(target.to_plain()) == target
    assert "s3cret" not in repr(target)


@pytest.mark.parametrize(
    "address",
    [
        "http://[::1]:8000",
        "https://api.example.com/tenants/7",
        "http://host:65535/",
        "HTTPS://Host",
        "http://münchen.example",
    ],
)
def test_addresses_that_are_taken(address: str) -> None:
    assert build({**VALID, "base_url": address}, "target.toml").base_url == address.rstrip("/")


def test_schema_is_valid_and_lists_the_fields_of_each_operation() -> None:
    Draft202012Validator.check_schema(schema())
    for kind, operation in SAMPLE_OPERATIONS.items():
        described = dict(keys(f"samples.{kind}"))
        described.pop("pairs", None)
        properties = (OPERATIONS[operation].request_schema or {})["properties"]
        assert {name: schema["type"] for name, schema in described.items()} == {
            name: schema["type"] for name, schema in properties.items()
        }, kind


URL = "it should hold an http:// or https:// URL"
KEY = "it should hold a non-empty string"
RATE = "it should hold a number"
DELAY = "it should hold the seconds within which"
PAIRS = "it should hold a list of different"


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        ("bass_url", "http://x", "unknown key"),
        ("features.payin", True, "unknown key"),
        ("samples.benificiary", {"note": "x"}, "unknown kind"),
        ("samples.beneficiary.nickname", "x", "unknown key"),
        ("samples.beneficiary.note", 5, "it should hold a string"),
        ("samples.wallet.pairs", [["USDC"]], PAIRS),
        ("samples.wallet.pairs", [["a", "b"]] * 2, PAIRS),
        ("samples", "x", "it should hold tables"),
        ("samples.payout_destination.paypal", {}, "unknown kind of sample"),
        ("samples.payout_destination.card", 1, "it should hold a table of request"),
        ("primary", "x", "it should be a table"),
        ("primary", ["s3cret"], "it should be a table, written [primary], not an array of 1 element"),
        ("base_url", 8000, URL),
        ("base_url", "127.0.0.1:8000", URL),
        ("base_url", "http://host:99999999", URL),
        ("base_url", "http://user@host", URL),
        ("base_url", "http://host?x=1", URL),
        ("base_url", "http://127.0.0.1:8000/v1", "it should hold the address before /v1"),
        ("base_url", "http://host/v1/", "it should hold the address before /v1"),
        ("primary.apikey", "x", "unknown key; did you mean api_key?"),
        ("primary.api_key", 5, KEY),
        ("primary.api_key", "key_1\n", KEY),
        ("primary.api_key", "a\nb", f"{KEY} of printable"),
        ("primary.secret", "", f"{KEY}, not an empty string."),
        ("primary.secret", 12, f"{KEY}, not a number without quotation"),
        ("primary.customer_id", "customer", "it should hold a customer id"),
        ("primary.other_customer_id", "cus_1", "it should be another customer"),
        ("secondary.api_key", "key_1", "it should be the key of another organization"),
        ("secondary.customer_id", "cus_1", "it should be a customer of the other"),
        ("features.payins", "yes", "it should hold true or false"),
        ("lists.array_style", "pipes", "it should hold one of repeat, comma, brackets"),
        *(("limits.requests_per_second", rate, RATE) for rate in (-1, float("nan"), float("inf"), True)),
        *(("limits.shows_within", seconds, DELAY) for seconds in (1, 3600)),
        ("tls.certificate", "x.pem", "unknown key; did you mean client_certificate?"),
        ("tls.ca", "", "it should hold the path of a PEM file, relative to the target file"),
        ("tls.ca", "nowhere.pem", ""),
    ],
)
def test_wrong_value_is_named(path: str, value: Any, said: str) -> None:
    with pytest.raises(InputError) as caught:
        build(changed(path, value), "target.toml")
    assert f"target.toml: {path}: {said}" in str(caught.value)
    assert "\n" not in str(caught.value) and "s3cret" not in str(caught.value)


@pytest.mark.parametrize(
    ("path", "named"),
    [
        ("primary.beneficiary_id", "primary.payout_destination_id: missing; a payee of the"),
        ("primary.payout_destination_id", "primary.beneficiary_id: missing; a payee of the"),
        ("tls.client_key", "tls.client_certificate: missing; a client certificate and its key"),
        ("tls.client_certificate", "tls.client_key: missing; a client certificate and its key"),
    ],
)
def test_the_missing_half_of_a_pair_is_named(path: str, named: str) -> None:
    with pytest.raises(InputError, match=re.escape(f"target.toml: {named}")):
        build(changed(path, "x"), "target.toml")


@pytest.mark.parametrize(
    ("content", "named"),
    [
        (None, "no such target file"),
        (b"base_url = ", "not valid TOML"),
        (b"\xff\xfe\x00", "not UTF-8"),
        (b"a = 1\na = 2", "not valid TOML"),
    ],
)
def test_unreadable_file(content: bytes | None, named: str, tmp_path: Path) -> None:
    path = tmp_path / "target.toml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError, match=named):
        load(path, {})
    with pytest.raises(InputError, match="folder"):
        load(tmp_path, {})


def test_environment_beats_the_file_and_base_url_beats_both(tmp_path: Path) -> None:
    path = tmp_path / "target.toml"
    path.write_text("\ufeff" + MINIMAL, "utf-8")
    assert load(path, {}).base_url == "http://127.0.0.1:8000"
    variables = {
        "BASE_URL": "http://environment",
        "PRIMARY_SECRET": "from the environment",
        "FEATURES_PAYINS": "true",
        "LIMITS_REQUESTS_PER_SECOND": "12.5",
        "SAMPLES_PAYOUT_AMOUNT": "5.00",
        "SAMPLES_WALLET_PAIRS": '[["BTC", "bitcoin"]]',
        "SAMPLES_BENEFICIARY_NOTE": "true",
        "SAMPLES_BENEFICIARY_ADDRESS": '{"city": "Paris"}',
        "SAMPLES_PAYOUT_DESTINATION_WALLET_MEMO": "5",
        "SAMPLES_PAYOUT_DESTINATION_WALLET_IS_DEFAULT": "true",
        "LIMITS_SHOWS_WITHIN": "30",
        "PRIMARY_BENEFICIARY_ID": "bene_1",
        "PRIMARY_PAYOUT_DESTINATION_ID": "dest_1",
        "PRIMARY_FUNDED_ACCOUNT_ID": "acc_1",
        "TARGET": "ignored",
        "REPORT_DIR": "ignored",
    }
    environment = {f"CONFORMANCE_{name}": value for name, value in variables.items()}
    target = load(path, environment)
    assert (target.base_url, target.primary.secret) == ("http://environment", "from the environment")
    assert target.features.payins is True and target.limits.requests_per_second == 12.5
    assert (target.limits.shows_within, target.primary.beneficiary_id) == (30, "bene_1")
    assert target.samples["payout"] == {"amount": "5.00"}
    assert target.samples["wallet"] == {"pairs": [["BTC", "bitcoin"]]}
    assert target.samples["beneficiary"] == {"note": "true", "address": {"city": "Paris"}}
    assert target.samples["payout_destination.wallet"] == {"memo": "5", "is_default": True}
    assert load(path, environment, "http://option").base_url == "http://option"


@pytest.mark.parametrize(
    ("variable", "value", "named"),
    [
        ("PRIMARY_APIKEY", "x", "CONFORMANCE_PRIMARY_APIKEY"),
        ("FEATURES_PAYINS", "maybe", "features.payins"),
        ("BASE_URL", "nowhere", "base_url"),
        ("TARGETS", "x", "CONFORMANCE_TARGETS is unknown; did you mean CONFORMANCE_TARGET"),
        ("SECRET", "x", "CONFORMANCE_SECRET is unknown; .* such as CONFORMANCE_PRIMARY_SECRET"),
        ("SAMPLES_BENEFICIARY_NICKNAME", "x", "CONFORMANCE_SAMPLES_BENEFICIARY_NICKNAME is unknown"),
        ("SAMPLES_WALLET_PAIRS", '[["USDC"]]', "samples.wallet.pairs: it should hold a list"),
    ],
)
def test_wrong_variable_is_named(variable: str, value: str, named: str, tmp_path: Path) -> None:
    path = tmp_path / "target.toml"
    path.write_text(MINIMAL)
    with pytest.raises(InputError, match=named):
        load(path, {f"CONFORMANCE_{variable}": value})


def test_declared_lack_of_a_second_organization() -> None:
    assert build({**VALID, "features": {"secondary": False}}, "t").secondary is None
    with pytest.raises(InputError, match="no \\[secondary\\] table"):
        build({"base_url": "http://x", "primary": PRIMARY, "features": {"secondary": True}}, "t")


# ---------------------------------------------------------------------- init


#: Words of `conformance init` that leave only the secret to be asked for.
WORDS = "--base-url http://127.0.0.1:8000 --primary-api-key key_1 --primary-customer-id cus_1"


def test_options_alone_make_a_usable_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "target.toml"
    assert main(["init", str(path), *WORDS.split(), "--primary-secret", 'quoted "secret"']) == 0
    target = load(path, {})
    assert (target.base_url, target.primary.secret) == ("http://127.0.0.1:8000", 'quoted "secret"')
    assert target.secondary is None and "conformance doctor" in capsys.readouterr().out
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


class Terminal(io.StringIO):
    """Answers typed in a terminal, one a line, that end with Ctrl-D; secrets are not echoed."""

    def isatty(self) -> bool:
        return True

    def secret(self, question: str) -> str:
        print(question, end="")
        if line := self.readline():
            return line.rstrip("\n")
        raise EOFError


#: Writes a target file from what is typed; returns it, and what the command prints.
Init = Callable[[Sequence[str]], tuple[Target, str]]


@pytest.fixture
def init(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Init:
    def answer(lines: Sequence[str]) -> tuple[Target, str]:
        terminal = Terminal("".join(f"{line}\n" for line in lines))
        monkeypatch.setattr("sys.stdin", terminal)
        monkeypatch.setattr("getpass.getpass", terminal.secret)
        path = tmp_path / "target.toml"
        if status := main(["init", str(path)]):
            assert not path.exists()
            raise SystemExit(status)
        return load(path, {}), capsys.readouterr().out

    return answer


#: Places of the questions.
BASE_URL, API_KEY, SECRET, CUSTOMER, OTHER, FUNDED, SECOND_KEY, SECOND_SECRET, SECOND_CUSTOMER = range(9)


@pytest.fixture(scope="module")
def answers() -> Iterator[list[str]]:
    """The right answers, by a server that runs."""
    server, seeded = new_server()
    with served(server, threads=True) as url:
        tables = target_tables(seeded, url)
        first, second = (
            [tables[name][key] for key in ("api_key", "secret", "customer_id")]
            for name in ("primary", "secondary")
        )
        yield [url, *first, "", "", *second]


def test_values_are_asked_for(answers: list[str], init: Init) -> None:
    target, output = init(answers)
    assert target.secondary is not None and target.secondary.customer_id == answers[SECOND_CUSTOMER]
    # None was refused.
    assert "\n  " not in output


@pytest.mark.parametrize(
    ("place", "wrong", "said"),
    [
        (BASE_URL, "", "It is needed"),
        (BASE_URL, "http://::1:8000", "http://[::1]:8000"),
        (BASE_URL, "http://h/v1", "the suite adds /v1 itself"),
        (BASE_URL, "http://127.0.0.1:1", "http://127.0.0.1:1 cannot be reached"),
        (BASE_URL, "{url}/elsewhere", "the API refuses unknown keys first"),
        (API_KEY, "k\u00e9y", "api_key"),
        (SECRET, "secret_of_another", "Check primary.secret"),
        (CUSTOMER, "", "It is needed"),
        (CUSTOMER, "customer", "customer_id"),
        (CUSTOMER, "cus_unknown", "the server does not know this customer"),
        (CUSTOMER, "{theirs}", "this customer belongs to another organization"),
        (OTHER, "{customer}", "another customer than primary.customer_id"),
        (OTHER, "cus_unknown", "Name another customer of the same organization"),
        (FUNDED, "acc_unknown", "the server shows no account acc_unknown"),
        (SECOND_KEY, "{key}", "the key of another organization"),
        (SECOND_SECRET, "secret_of_another", "Check secondary.secret"),
        (SECOND_CUSTOMER, "", "It is needed"),
        (SECOND_CUSTOMER, "{customer}", "a customer of the other organization"),
        (SECOND_CUSTOMER, "cus_unknown", "the server does not know this customer"),
    ],
)
def test_an_answer_is_tried_and_asked_again(
    place: int, wrong: str, said: str, answers: list[str], init: Init
) -> None:
    url, key, _, customer, *_, theirs = answers
    wrong = wrong.format(url=url, key=key, customer=customer, theirs=theirs)
    target, output = init([*answers[:place], wrong, *answers[place:]])
    assert said in " ".join(output.split())
    assert target.primary.customer_id == customer


def test_an_unknown_key_is_asked_for_again_with_its_secret(answers: list[str], init: Init) -> None:
    target, _ = init([answers[BASE_URL], "key_unknown", answers[SECRET], *answers[API_KEY:]])
    assert target.primary.api_key == answers[API_KEY]


def test_an_answer_that_is_typed_twice_stays(init: Init) -> None:
    """As for a server that does not run yet."""
    target, _ = init([*["http://127.0.0.1:1"] * 2, "key_1", "s1", "cus_1", "", "", "", "", ""])
    assert target.base_url == "http://127.0.0.1:1"


@pytest.mark.parametrize("number", range(9))
def test_the_end_of_the_input_writes_nothing(
    number: int, answers: list[str], init: Init, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        init(answers[:number])
    assert "the input ended before" in capsys.readouterr().err


def test_init_does_not_overwrite_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "target.toml"
    path.write_text("mine", "utf-8")
    assert main(["init", str(path), *WORDS.split()]) == 2
    assert path.read_text("utf-8") == "mine" and "--force" in capsys.readouterr().err
    assert main(["init", str(path), *WORDS.split(), "--force"]) == 0
