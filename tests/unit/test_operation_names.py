"""Code switches on traits of operations, not on their names."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from conformance.contract.operations import OPERATIONS
from tests.support.sources import trees

#: Comparisons with an operationId that the whole package may have, the reference server aside.
MOST = 20


def compared(tree: ast.Module) -> Iterator[int]:
    """The lines that compare a value, or match it, with a literal operationId."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            sides: list[ast.expr] = [node.left, *node.comparators]
            inner = [
                each
                for side in sides
                if isinstance(side, ast.Tuple | ast.List | ast.Set)
                for each in side.elts
            ]
            literals: list[ast.AST] = [*sides, *inner]
        elif isinstance(node, ast.match_case):
            literals = list(ast.walk(node.pattern))
        else:
            continue
        named = [each for each in literals if isinstance(each, ast.Constant) and each.value in OPERATIONS]
        if named:
            yield named[0].lineno


def test_comparisons_are_found() -> None:
    code = """
a == "createWallet"
b in ("x", "createPayin")
match c:
    case "listAccounts" | "y":
        d = {"createWallet": 1}["createWallet"]
"""
    assert list(compared(ast.parse(code))) == [2, 3, 5]


def test_few_comparisons_name_an_operation() -> None:
    found = [
        f"{path}:{line}"
        for path, tree in trees().items()
        if "reference" not in path.parts
        for line in compared(tree)
    ]
    assert len(found) <= MOST, "\n".join(found)
