"""No list of fields or operations in code says what the contract tells: it is derived from that."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import conformance
from conformance.contract import fields
from conformance.contract.fields import request_fields
from conformance.contract.needs import REFERENCES
from conformance.contract.operation_sets import OPERATION_SETS
from conformance.contract.operations import OPERATIONS
from conformance.contract.traits import TRAITS, Traits

FOLDER = Path(conformance.__file__).parent

#: Packages that state what they judge by in their own words: the reference server, and clients.
OTHERS = ("reference", "clients")

#: Module, and a list in it that is by chance what the contract tells -> what it is.
EXCEPTIONS = {
    ("checks/test_idempotency.py", "createBeneficiary createPayoutDestination updateBeneficiary"): (
        "what may follow when a beneficiary is disabled"
    ),
    ("checks/test_races.py", "createAccount createPayout"): "two creates that servers store apart",
    ("world/corpora/wrong_values.py", "iban swift_code"): "texts whose length follows from their form",
    (
        "world/habits.py",
        "listVirtualAccounts listWallets",
    ): "lists that section 4 does not call empty at first",
}


def _derived() -> Iterator[tuple[str, frozenset[str]]]:
    """What can be derived, and its names."""
    for name, operations in OPERATION_SETS.items():
        yield f"OPERATION_SETS[{name!r}]", frozenset(operations)
    for trait in Traits.__dataclass_fields__:
        yield f"the trait {trait}", frozenset(name for name in TRAITS if getattr(TRAITS[name], trait))
    for operation in OPERATIONS:
        yield f"REFERENCES[{operation!r}]", frozenset(REFERENCES[operation])
        yield f"free_texts({operation!r})", frozenset(fields.free_texts(operation))
        known = request_fields(operation)
        for attribute in ("code", "choices", "form", "shape", "plain", "free", "required", "max_length"):
            names = frozenset(field.name for field in known if getattr(field, attribute))
            yield f"request_fields({operation!r}) by {attribute}", names
        for field in known:
            yield f"{field.name}.members", frozenset(field.members)
    for name in ("INSTANTS", "NAMING", "HOLDING", "HIDDEN", "FREE_TEXT", "PLAIN_TEXT"):
        yield f"fields.{name}", frozenset(getattr(fields, name))


DERIVED = {names: what for what, names in reversed([*_derived()]) if len(names) > 1}


def _lists(path: Path) -> Iterator[tuple[int, frozenset[str]]]:
    """The lists, tuples and sets of texts in a module."""
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.List | ast.Tuple | ast.Set):
            values = [each.value for each in node.elts if isinstance(each, ast.Constant)]
            texts = [value for value in values if isinstance(value, str)]
            if len(texts) == len(node.elts):
                yield node.lineno, frozenset(texts)


MODULES = [path for path in sorted(FOLDER.rglob("*.py")) if path.relative_to(FOLDER).parts[0] not in OTHERS]


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(FOLDER)))
def test_no_list_says_what_the_contract_tells(path: Path) -> None:
    module = str(path.relative_to(FOLDER))
    found = [
        f"{module}:{line}: {DERIVED[names]}"
        for line, names in _lists(path)
        if names in DERIVED and (module, " ".join(sorted(names))) not in EXCEPTIONS
    ]
    assert not found, "derive it, or name it in EXCEPTIONS with the reason"


def test_each_exception_is_needed() -> None:
    lists = {(str(path.relative_to(FOLDER)), names) for path in MODULES for _, names in _lists(path)}
    for module, names in EXCEPTIONS:
        assert (module, frozenset(names.split())) in lists and frozenset(names.split()) in DERIVED, module
