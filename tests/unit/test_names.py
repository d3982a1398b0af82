"""Names of the package: no function in CamelCase, no name for two classes or modules, few participles for
values."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator

import pytest

from tests.support.sources import trees

#: Participles that say nothing of a value.
PARTICIPLES = {"told", "shown", "seen", "kept", "given", "made", "found"}

#: Most values that may be named by one; lower it with each that gets a noun.
MOST = 20


def values(tree: ast.AST) -> Iterator[str]:
    """Yields the names that are assigned, and those of parameters."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.arg):
            yield node.arg


def test_values_are_found() -> None:
    assert list(values(ast.parse("def f(told):\n    seen = told"))) == ["told", "seen"]


def test_few_values_are_named_by_a_participle() -> None:
    named = Counter(name for tree in trees().values() for name in values(tree) if name in PARTICIPLES)
    assert named.total() <= MOST, named


def test_no_function_is_in_camel_case() -> None:
    assert not [
        f"{path}:{node.lineno}"
        for path, tree in trees().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and node.name[0].isupper()
    ]


@pytest.mark.parametrize("kind", ["class", "module"])
def test_no_name_stands_for_two(kind: str) -> None:
    classes = (
        node.name for tree in trees().values() for node in ast.walk(tree) if isinstance(node, ast.ClassDef)
    )
    # Modules of commands have the names of the commands.
    modules = (path.name for path in trees() if path.parent.name != "cli" and path.name != "__init__.py")
    names = Counter(classes if kind == "class" else modules)
    assert not {name for name, times in names.items() if times > 1}
