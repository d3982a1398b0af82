"""The folder of the contract that a user names."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from conformance._files import InputError
from conformance.contract.documents import SPEC, VARIABLE
from conformance.contract.operations import fit
from conformance.contract.traits import TRAITS
from tests.support.running import ROOT, executed


def _replaced(name: str, old: str, new: str) -> Callable[[Path], object]:
    """Changes the first of some words in a file."""

    def change(folder: Path) -> None:
        shutil.copytree(SPEC, folder)
        text = (folder / name).read_text("utf-8")
        assert old in text
        (folder / name).write_text(text.replace(old, new, 1), "utf-8")

    return change


def _changed(name: str, text: str) -> Callable[[Path], object]:
    def change(folder: Path) -> None:
        shutil.copytree(SPEC, folder)
        (folder / name).write_text(text, "utf-8")

    return change


#: What is wrong with a folder -> what makes it, and the words that say so.
_WRONG: dict[str, tuple[Callable[[Path], object], str]] = {
    "absent": (lambda folder: None, "there is no such folder"),
    "a file": (Path.touch, "there is no such folder"),
    "empty": (Path.mkdir, "operations.yaml cannot be read (No such file or directory)"),
    "without rules": (
        lambda folder: shutil.copytree(SPEC, folder, ignore=lambda *_: ["rules.yaml"]),
        "rules.yaml cannot be read (No such file or directory)",
    ),
    "of broken rules": (_changed("rules.yaml", "rules: [\n"), "rules.yaml is no YAML (while parsing"),
    "of no rules": (_changed("rules.yaml", ""), "rules.yaml is null, not an object"),
    "of a broken schema": (_changed("schemas/payout.json", "{"), "schemas/payout.json is no JSON (Expecting"),
    "of a list of rules": (_changed("rules.yaml", "- rule"), "rules.yaml is an array of 1 element, not an"),
    "of a rule of no statement": (
        _replaced("rules.yaml", "    statement:", "    words:"),
        "rules.yaml at /rules/0/statement is missing",
    ),
    "of an unknown operation": (
        _replaced("rules.yaml", "[createPayout]", "[createPayot]"),
        "rules.yaml names createPayot (http.undocumented-path), which is not there",
    ),
    "of an unknown set": (
        _replaced("rules.yaml", "operations: all", "operations: al"),
        "rules.yaml names al (http.no-server-error), which is no set of operations",
    ),
    "of an unknown cause": (
        _replaced("rules.yaml", "follows: [", "follows: [no.such, "),
        "rules.yaml names no.such (",
    ),
    "of traits in a list": (
        _replaced("operations.yaml", "  getBeneficiary: {}", "  getBeneficiary: []"),
        "operations.yaml at /operations/getBeneficiary is an array of 0 elements, not an object",
    ),
    "of an unknown trait": (
        _replaced("operations.yaml", "  getBeneficiary: {}", "  getBeneficiary: {owns: all}"),
        "operations.yaml at /operations/getBeneficiary has owns, which is unknown",
    ),
    "of traits of no operation": (
        _replaced("operations.yaml", "  getBeneficiary: {}", "  getBeneficiary: {}\n  getMoney: {}"),
        "operations.yaml has the operation getMoney, which openapi.yaml has not",
    ),
    "of an operation without traits": (
        _replaced("operations.yaml", "  getBeneficiary: {}\n", ""),
        "openapi.yaml has the operation getBeneficiary, of which operations.yaml has no traits",
    ),
    "of a list of paths": (_changed("openapi.yaml", "paths: [1]"), "openapi.yaml at /paths is an array of 1"),
    "of an unknown kind of code": (
        _replaced("openapi.yaml", "x-code: country", "x-code: planet"),
        "openapi.yaml names planet as the x-code of country_code, which is no kind of code",
    ),
    "of an operation without an answer": (
        _replaced("openapi.yaml", "        2XX:", "        3XX:"),
        "openapi.yaml at /paths/~1v1~1customers~1{customer_id}~1accounts/post/responses/2XX is missing",
    ),
    "of an answer in its place": (
        _replaced("openapi.yaml", "$ref: schemas/account.json", "type: object"),
        "/post/responses/2XX/content/application~1json/schema/$ref is missing",
    ),
    "of a reference to nothing": (
        _replaced("openapi.yaml", "#/components/parameters/customer_id", "#/components/parameters/customer"),
        "openapi.yaml refers to #/components/parameters/customer, which is not there",
    ),
    "of a reference to itself": (
        _replaced("schemas/wallet.json", '"common.json#/$defs/label"', '"#/properties/label"'),
        "schemas/wallet.json refers to #/properties/label, which refers to itself",
    ),
    "of a reference to no file": (
        _replaced("schemas/wallet.json", '"common.json#/$defs/label"', '"no.json"'),
        "schemas/no.json cannot be read",
    ),
    "of a schema of no members": (
        _replaced("schemas/wallet.json", '"properties"', '"members"'),
        "schemas/wallet.json, the answer of createWallet, at /properties is missing",
    ),
    "of a list of no items": (
        _replaced("schemas/wallet_item.json", '"properties"', '"members"'),
        "schemas/wallet_list.json, the answer of listWallets, at /properties/items/items/properties is",
    ),
    "of a schema in a list": (
        _changed("schemas/wallet.json", "[]"),
        "schemas/wallet.json is an array of 0 elements, not",
    ),
    "of a wrong schema": (
        _replaced("schemas/wallet.json", '"type": "object"', '"type": "thing"'),
        "schemas/wallet.json at /type ",
    ),
    "of an unknown rule in a schema": (
        _replaced("schemas/wallet.json", '"wallet.addresses"', '"wallet.address"'),
        "schemas/wallet.json names the rule wallet.address, which is not there",
    ),
}

_WRONG |= {
    "of a regular expression that is none": (
        _replaced("schemas/common.json", '"pattern": "^-?[0-9]+', '"pattern": "(^-?[0-9]+'),
        "schemas/common.json at /$defs/money/pattern is",
    ),
    "of a required member that is not described": (
        _replaced("schemas/wallet.json", '"required": [', '"required": ["purse", '),
        "schemas/wallet.json requires purse, which it does not describe",
    ),
    "of a parameter that is nowhere": (
        _replaced("openapi.yaml", "in: path\n", "in: road\n"),
        'openapi.yaml at /components/parameters/customer_id/in is "road", not one of path, query, header',
    ),
    "of a path without its parameters": (
        _replaced("openapi.yaml", "/v1/customers/{customer_id}/", "/v1/customers/{payer_id}/"),
        "openapi.yaml has the path /v1/customers/{payer_id}/accounts, whose parameters are customer_id",
    ),
    "of an unknown shape": (
        _replaced("openapi.yaml", "x-shape: business", "x-shape: firm"),
        "openapi.yaml names firm as the x-shape of company_name, which is no row of createBeneficiary in",
    ),
}

_RULES, _PYTEST = "conformance.cli rules", "pytest --pyargs conformance -p no:cacheprovider"


@pytest.mark.parametrize(
    ("wrong", "command", "status"),
    [
        *((wrong, _RULES, 2) for wrong in _WRONG if "shape" not in wrong),
        ("of an unknown shape", _PYTEST, 4),
        ("of an unknown shape", f"{_PYTEST} --collect-only", 4),
        ("absent", "conformance.cli load", 4),
        ("absent", _PYTEST, 4),
        ("absent", f"{_PYTEST} --collect-only", 4),
    ],
)
def test_a_folder_that_holds_no_contract_is_named_with_the_cure(
    wrong: str, command: str, status: int, tmp_path: Path
) -> None:
    make, words = _WRONG[wrong]
    make(folder := tmp_path / "spec")
    variables: dict[str, Any] = {VARIABLE: str(folder)}
    done = executed([sys.executable, "-m", *command.split()], ROOT, together=True, **variables)
    assert done.returncode == status, done.stdout
    assert f"{folder}: {VARIABLE} names this folder as the contract's, but" in done.stdout
    assert words in done.stdout
    assert f"start from a whole copy of spec/, or unset {VARIABLE} to use the suite's own." in done.stdout
    assert "Traceback" not in done.stdout and len(done.stdout.strip().splitlines()) <= 2


@pytest.mark.parametrize(
    ("operation", "trait", "value", "words"),
    [
        ("createBeneficiary", "creates", "payee", " names payee, which has no such meaning"),
        ("createWallet", "creates", "payin", " names payin"),
        ("updateBeneficiary", "changes", "payee", " names payee"),
        ("createWallet", "once_per", "purse", " names purse"),
        ("createBeneficiary", "read_by", "getVirtualAccount", " names getVirtualAccount"),
        ("createWallet", "listed_by", "listAccounts", " names listAccounts"),
        ("updateBeneficiary", "subset_of", "createWallet", " names createWallet"),
        ("createWallet", "free_text", "labels", " names labels"),
        ("createWallet", "unique_pair", ("currency", "net"), " names net"),
        ("createPayout", "moves_money", {"balance": -1}, " names balance"),
        ("listWallets", "statuses", ("active", "lost"), " names lost"),
        ("createPayin", "samples", ("payout",), " names payout"),
        ("createPayin", "initial", {"state": "pending"}, " has state, which is unknown"),
        ("createPayin", "initial", {"status": "late"}, '/status is "late", not one of pending'),
        ("disableBeneficiary", "sets", {"status": "gone"}, '/status is "gone", not one of active'),
        ("createPayoutDestination", "defaults", {"is_default": 0}, "/is_default is 0, not a boolean"),
    ],
)
def test_a_trait_that_does_not_fit_its_operation_is_named(
    operation: str, trait: str, value: object, words: str
) -> None:
    with pytest.raises(InputError) as caught:
        fit(operation, replace(TRAITS[operation], **{trait: value}))  # type: ignore[arg-type]
    said = str(caught.value)
    assert f"operations.yaml at /operations/{operation}/{trait}{words}" in said, said
