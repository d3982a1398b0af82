"""Syntax trees of the package's modules, each parsed once in a process."""

from __future__ import annotations

import ast
import functools
from pathlib import Path

import conformance

PACKAGE = Path(conformance.__file__).parent


@functools.cache
def trees() -> dict[Path, ast.Module]:
    """Maps the path of each module below the package to its tree, sorted by path."""
    paths = sorted(PACKAGE.rglob("*.py"))
    return {path.relative_to(PACKAGE): ast.parse(path.read_text("utf-8")) for path in paths}
