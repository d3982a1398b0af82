"""Names and headlines of the package: no class name for two things, no headline that asks a question."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tests.support.sources import trees

#: First words of a headline that the reader would have to answer.
QUESTIONS = {"how", "what", "when", "where", "whether", "which", "who", "whose", "why"}

Documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def nodes() -> Iterator[tuple[Path, ast.AST]]:
    """All nodes of the package's modules, each with its file."""
    return ((path, node) for path, tree in trees().items() for node in ast.walk(tree))


def headline(node: ast.AST) -> str:
    """The first word of a node's docstring in lower case; empty without one."""
    words = (ast.get_docstring(node) or "").split(maxsplit=1) if isinstance(node, Documented) else []
    return words[0].strip(".,:`").lower() if words else ""


def test_headlines_are_found() -> None:
    assert headline(ast.parse('"""Whether it is."""')) in QUESTIONS


def test_no_class_name_stands_for_two_classes() -> None:
    names = Counter(node.name for _, node in nodes() if isinstance(node, ast.ClassDef))
    assert not {name for name, times in names.items() if times > 1}


def test_no_module_name_stands_for_two_modules() -> None:
    # Those of commands have the names of the commands.
    paths = [path for path in trees() if path.parent.name != "cli"]
    names = Counter(path.name for path in paths if path.name != "__init__.py")
    assert not {name for name, times in names.items() if times > 1}


def test_no_docstring_begins_with_a_question() -> None:
    assert not [
        f"{path}:{getattr(node, 'lineno', 1)}" for path, node in nodes() if headline(node) in QUESTIONS
    ]
