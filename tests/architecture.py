"""Draws the package diagram in conformance/docs/architecture.md from the imports.

`python -m tests.architecture --write` updates it; tests/unit/test_docs.py fails while it is out of date.
"""

from __future__ import annotations

import ast
import sys
from pathlib import Path

from tests.support.sources import trees

ROOT = Path(__file__).parents[1]
DOCUMENT = ROOT / "conformance" / "docs" / "architecture.md"
BEGIN, END = "<!-- diagram: python -m tests.architecture --write -->\n", "<!-- end of the diagram -->\n"


def edges() -> dict[str, set[str]]:
    """Maps each package to the packages that it imports."""
    found: dict[str, set[str]] = {}
    for path, tree in trees().items():
        if len(path.parts) == 1:
            continue
        imported = found.setdefault(path.parts[0], set())
        for node in ast.walk(tree):
            modules = []
            if isinstance(node, ast.Import):
                modules = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module:
                modules = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
            for module in modules:
                parts = module.split(".")
                if (
                    parts[0] == "conformance"
                    and len(parts) > 1
                    and (ROOT / "conformance" / parts[1]).is_dir()
                ):
                    imported.add(parts[1])
    return {package: imported - {package} for package, imported in found.items()}


def reduced(graph: dict[str, set[str]]) -> dict[str, set[str]]:
    """Returns the transitive reduction: no arrow that a longer path implies."""

    def reachable(package: str) -> set[str]:
        seen: set[str] = set()
        waiting = list(graph.get(package, ()))
        while waiting:
            package = waiting.pop()
            if package not in seen:
                seen.add(package)
                waiting += graph.get(package, ())
        return seen

    return {
        package: {
            target
            for target in targets
            if not any(target in reachable(other) for other in targets - {target})
        }
        for package, targets in graph.items()
    }


def diagram() -> str:
    """Renders the packages as a Mermaid flowchart."""
    lines = ["```mermaid", "flowchart TD"]
    for package, targets in sorted(reduced(edges()).items()):
        lines += [f"    {package} --> {target}" for target in sorted(targets)]
    return "\n".join([*lines, "```", ""])


def drawn() -> str:
    """Returns the text of the document with the diagram drawn anew."""
    text = DOCUMENT.read_text("utf-8")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}{diagram()}{END}{after}"


if __name__ == "__main__":
    if "--write" in sys.argv:
        DOCUMENT.write_text(drawn(), "utf-8")
    else:
        print(diagram(), end="")
