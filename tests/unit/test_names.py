"""Names of the package: no function in CamelCase, no name for two classes or modules."""

from __future__ import annotations

import ast
from collections import Counter

import pytest

from tests.support.sources import trees


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
