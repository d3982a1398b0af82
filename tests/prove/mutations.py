"""Mutates the code that judges, one place at a time, and prints which families of tests notice.

A mutant negates a condition, turns a comparison, swaps `and` and `or`, or adds 1 to a number, in one place of
the modules below conformance/ that --module names. Each family of tests runs on it in its own process and
notices it by failing; a family that is never the only one to notice adds little. Not proven: no family
notices a mutant.
"""

from __future__ import annotations

import argparse
import ast
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

import conformance
from tests.prove import pool, selection
from tests.support.running import ROOT, executed

PACKAGE = Path(conformance.__file__).parent

#: Family -> arguments of `python` for a command that fails if it notices a mutant.
FAMILIES = {
    "faults": ("-m", "tests.prove", "faults", "--each-kind", "--processes", "1"),
    "variants": ("-m", "tests.prove", "variants", "--sample", "6", "--seed", "1", "--processes", "1"),
    **{
        name: ("-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", f"tests/{name}")
        for name in ("unit", "checks", "fuzz", "report")
    },
}

#: Timeout in seconds; exceeding it counts as noticing, since a mutant may loop forever.
LONGEST = 1800.0

TURNED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip


def mutate(node: ast.AST) -> bool:
    """Mutates a node in place; returns False if it has no mutant."""
    match node:
        case ast.Compare(ops=[op]):
            node.ops = [TURNED[type(op)]()]
        case ast.BoolOp():
            node.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        case ast.If() | ast.IfExp():
            node.test = ast.UnaryOp(ast.Not(), node.test)
        case ast.Constant(value=int(value)) if not isinstance(value, bool):
            node.value = value + 1
        case _:
            return False
    return True


@dataclass(frozen=True)
class Mutant:
    """A mutated node of a module, by its number in `ast.walk`."""

    path: Path
    node: int

    def __str__(self) -> str:
        node: Any = list(ast.walk(ast.parse(self.path.read_text("utf-8"))))[self.node]
        return f"{self.path.relative_to(PACKAGE)}:{node.lineno} {ast.unparse(node).splitlines()[0][:50]}"

    def code(self) -> CodeType:
        """Compiles the module with the mutation."""
        tree = ast.parse(self.path.read_text("utf-8"))
        mutate(list(ast.walk(tree))[self.node])
        return compile(ast.fix_missing_locations(tree), self.path, "exec")


def mutants(module: str) -> Iterator[Mutant]:
    """Yields all mutants of the modules whose path below the package has this prefix."""
    for path in sorted(PACKAGE.rglob("*.py")):
        if path.relative_to(PACKAGE).as_posix().startswith(module):
            for number, node in enumerate(ast.walk(ast.parse(path.read_text("utf-8")))):
                if hasattr(node, "lineno") and mutate(node):
                    yield Mutant(path, number)


class Mutating(MetaPathFinder):
    """Import hook that loads a mutant in place of its module."""

    def __init__(self, mutant: Mutant) -> None:
        self._mutant = mutant

    def find_spec(self, name: str, path: Any = None, target: ModuleType | None = None) -> ModuleSpec | None:
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and spec.origin == str(self._mutant.path):
            loader = SourceFileLoader(name, spec.origin)
            loader.get_code = lambda fullname: self._mutant.code()  # type: ignore[method-assign]
            spec.loader = loader
        return spec


#: Program that runs `python ARGUMENTS` with a mutant in place of its module.
PROGRAM = """
import runpy, sys
from pathlib import Path
sys.path.insert(0, "")
from tests.prove.mutations import Mutant, Mutating
_, path, node, _, *sys.argv = sys.argv
for name in [name for name in sys.modules if name.partition(".")[0] in ("conformance", "tests")]:
    del sys.modules[name]
sys.meta_path.insert(0, Mutating(Mutant(Path(path), int(node))))
runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
"""


def notices(mutant: Mutant, family: str) -> bool:
    """Runs a family on a mutant; returns True if it fails."""
    words = [sys.executable, "-c", PROGRAM, str(mutant.path), str(mutant.node), *FAMILIES[family]]
    try:
        return executed(words, ROOT, timeout=LONGEST).returncode != 0
    except subprocess.TimeoutExpired:
        return True


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--module", default="judge/", metavar="PREFIX", help="modules (default: %(default)s)")
    parser.add_argument("--sample", type=int, default=10, metavar="N", help="number of mutants (10)")
    parser.add_argument(
        "--family", action="append", choices=FAMILIES, help="only this family of tests (repeatable)"
    )
    selection.seed(parser)


def prove(options: argparse.Namespace) -> bool:
    """Runs the families on the mutants; returns True if each is noticed."""
    every = selection.some(list(mutants(options.module)), "mutant")
    print(f"{options.sample} of {len(every)} mutants: --seed {options.seed} draws them again")
    drawn = random.Random(options.seed).sample(every, min(options.sample, len(every)))
    families = options.family or list(FAMILIES)
    found, alone, unnoticed = Counter[str](), Counter[str](), 0

    def by(mutant: Mutant) -> list[str]:
        return [family for family in families if notices(mutant, family)]

    for mutant, noticed in pool.mapped(by, drawn, 1, "mutants"):
        print(f"{mutant}: {', '.join(noticed) or 'nothing notices it'}", flush=True)
        found.update(noticed)
        alone.update(noticed if len(noticed) == 1 else ())
        unnoticed += not noticed
    for family in families:
        print(f"{family:<10}{found[family]:>4} noticed, {alone[family]:>4} by it alone")
    return not unnoticed
