"""The package's modules as syntax trees, each parsed once in a process."""

from __future__ import annotations

import ast
import functools
from pathlib import Path

import conformance

PACKAGE = Path(conformance.__file__).parent


@functools.cache
def trees() -> dict[Path, ast.Module]:
    """The tree of each module, by its path below the package, in the order of the paths."""
    paths = sorted(PACKAGE.rglob("*.py"))
    return {path.relative_to(PACKAGE): ast.parse(path.read_text("utf-8")) for path in paths}
