"""Names and docstrings of the package: unique names, no questions, few comparisons with an operationId."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from conformance.contract.operations import OPERATIONS
from tests.support.sources import trees

#: First words that make a headline a question.
QUESTIONS = {"how", "what", "when", "where", "whether", "which", "who", "whose", "why"}

Documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def nodes() -> Iterator[tuple[Path, ast.AST]]:
    """Yields all nodes of the package's modules with their files."""
    return ((path, node) for path, tree in trees().items() for node in ast.walk(tree))


def headline(node: ast.AST) -> str:
    """Returns the first word of a node's docstring in lower case, or an empty string."""
    words = (ast.get_docstring(node) or "").split(maxsplit=1) if isinstance(node, Documented) else []
    return words[0].strip(".,:`").lower() if words else ""


def test_headlines_are_found() -> None:
    assert headline(ast.parse('"""Whether it is."""')) in QUESTIONS


def test_no_class_name_stands_for_two_classes() -> None:
    names = Counter(node.name for _, node in nodes() if isinstance(node, ast.ClassDef))
    assert not {name for name, times in names.items() if times > 1}


def test_no_module_name_stands_for_two_modules() -> None:
    # Modules of commands have the names of the commands.
    paths = [path for path in trees() if path.parent.name != "cli"]
    names = Counter(path.name for path in paths if path.name != "__init__.py")
    assert not {name for name, times in names.items() if times > 1}


def test_no_docstring_begins_with_a_question() -> None:
    assert not [
        f"{path}:{getattr(node, 'lineno', 1)}" for path, node in nodes() if headline(node) in QUESTIONS
    ]


# ---------------------------------------------------------------------- operation names


#: Maximum number of comparisons with an operationId in the package, without the reference server.
MOST = 20


def compared(tree: ast.Module) -> Iterator[int]:
    """Yields the lines that compare or match a value with a literal operationId."""
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


def test_comparisons_with_operation_ids_are_few() -> None:
    found = [
        f"{path}:{line}"
        for path, tree in trees().items()
        if "reference" not in path.parts
        for line in compared(tree)
    ]
    assert len(found) <= MOST, "\n".join(found)
