"""`conformance new-rule`: begins a rule in a checkout of the suite: its entry, a check, a faulty server."""

from __future__ import annotations

import argparse
import re
import textwrap
from collections.abc import Mapping
from pathlib import Path

from conformance.cli.main import UsageError
from conformance.contract.operations import OPERATIONS
from conformance.contract.rules import OPERATION_SETS, RULES, SECTIONS, Level
from conformance.contract.sections import order

#: Where a fault goes whose area has none yet.
_OTHER_FAULTS = "details"

_CHECK = '''"""{title} (section {sections})."""

from __future__ import annotations

from conformance.harness.check import check
from conformance.harness.context import CheckContext
from conformance.judge.findings import Inconclusive

RULE = "{id}"


@check(RULE)
def test_{slug}(ctx: CheckContext) -> None:
    """Say here what is sent, and what its answers have to show."""
    ctx.send(ctx.valid(), "a valid request")
    raise Inconclusive(f"{{RULE}} is not judged yet", "Judge an answer with ctx.judge(RULE, ...).")
'''

_FAULT = """

faults["{id}"] |= {{
    "Say here what a server does that breaks {id}.": seam("render", lambda self, *_: self.usual()),
}}
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the subcommand."""
    parser.description = (
        "Begins a rule in a checkout of the suite: an entry in spec/rules.yaml, a check, a faulty server. "
        "The self-tests then say what is missing; .github/CONTRIBUTING.md goes through the steps."
    )
    parser.add_argument(
        "id", metavar="ID", help="area and name, such as auth.header-case; never changed later"
    )
    parser.add_argument("--level", required=True, choices=[str(level) for level in Level])
    parser.add_argument(
        "--section", required=True, metavar="SECTIONS", help="sections of the specification: 5.4.2 or 4.0,4.4"
    )
    parser.add_argument(
        "--operations",
        required=True,
        metavar="OPERATIONS",
        help=f"a set ({', '.join(OPERATION_SETS)}) or operationIds with commas between them",
    )
    parser.add_argument("--statement", required=True, help="the rule in one sentence")
    parser.add_argument("--quote", help="the words of the specification that it rests on, letter by letter")
    parser.add_argument(
        "--root", type=Path, default=Path(), metavar="DIR", help="the checkout (default: the current folder)"
    )


def run(options: argparse.Namespace) -> int:
    """Writes the three parts and prints where they are. Raises UsageError for what cannot be a rule."""
    _acceptable(options)
    area, _, name = options.id.partition(".")
    catalogue = options.root / "spec" / "rules.yaml"
    check = options.root / "conformance" / "checks" / f"test_{area}_{name.replace('-', '_')}.py"
    if not catalogue.is_file() or not check.parent.is_dir():
        raise UsageError(f"{options.root}: this is not a checkout of the suite; name one with --root.")
    if check.exists():
        raise UsageError(f"{check}: there is such a file; move it, or give the rule another name.")
    catalogue.write_text(with_entry(catalogue.read_text("utf-8"), options.id, entry(options)), "utf-8")
    title = options.statement.rstrip(".")
    parts = {"id": options.id, "sections": options.section.replace(",", ", ")}
    slug = name.replace("-", "_")
    check.write_text(_CHECK.format(title=_wrapped(title, parts["sections"]), slug=slug, **parts), "utf-8")
    print(f"{catalogue}: the rule {options.id}")
    print(f"{check}: a check that judges nothing yet")
    if options.level != Level.OPEN:
        faults = _faults_of(area, options.root / "tests" / "faults")
        faults.write_text(
            faults.read_text("utf-8").rstrip("\n") + "\n" + _FAULT.format(id=options.id), "utf-8"
        )
        print(f"{faults}: a faulty server that breaks nothing yet; each row is a test")
    print("What is missing: pytest tests/test_spec.py tests/test_meta.py tests/test_faults.py")
    return 0


def _acceptable(options: argparse.Namespace) -> None:
    if not re.fullmatch(r"[a-z]+\.[a-z0-9]+(?:-[a-z0-9]+)*", options.id):
        raise UsageError(f"{options.id}: an id is an area and a name, such as auth.header-case.")
    if options.id in RULES:
        raise UsageError(f"{options.id}: there is such a rule; ids are never used again.")
    for section in options.section.split(","):
        if not re.fullmatch(r"[1-9](?:\.[0-9]+){0,2}", section) or section.split(".")[0] not in SECTIONS:
            raise UsageError(f"{section}: the specification has no such section.")
    if options.operations not in OPERATION_SETS:
        for operation in options.operations.split(","):
            if operation not in OPERATIONS:
                raise UsageError(f"{operation}: neither a set of operations nor an operationId.")
    if not options.statement.endswith(".") or "\n" in options.statement:
        raise UsageError("--statement: it should be one sentence with a full stop.")


def entry(options: argparse.Namespace) -> str:
    """The rule as it stands in spec/rules.yaml."""
    sections = ", ".join(f'"{section}"' for section in sorted(options.section.split(","), key=order))
    names = options.operations
    listed = f"[{names.replace(',', ', ')}]"
    lines = [
        f"  - id: {options.id}",
        f"    section: [{sections}]",
        f"    level: {options.level}",
        f"    operations: {names if names in OPERATION_SETS else listed}",
        "    statement: >-",
        *textwrap.wrap(options.statement, 105, initial_indent=" " * 6, subsequent_indent=" " * 6),
    ]
    if options.quote:
        lines.append("    quote: '" + options.quote.replace("'", "''") + "'")
    return "\n".join(lines) + "\n"


def with_entry(catalogue: str, rule: str, text: str) -> str:
    """The catalogue with an entry behind the last one of its area, or at the end."""
    area = rule.partition(".")[0]
    entries = list(re.finditer(r"^  - id: ([a-z]+)\.\S+\n(?:    .*\n|\n(?=    ))*", catalogue, re.MULTILINE))
    end = max((found.end() for found in entries if found[1] == area), default=len(catalogue))
    return catalogue[:end] + text + catalogue[end:]


def _faults_of(area: str, folder: Path) -> Path:
    """The module that has the most faults of an area."""
    counts: Mapping[Path, int] = {
        path: len(re.findall(rf'(?:faults\[|fault\(\s*)"{area}\.', path.read_text("utf-8")))
        for path in sorted(folder.glob("*.py"))
        if "faults[" in (text := path.read_text("utf-8")) and "seam" in text and path.stem != "catalogue"
    }
    if not counts:
        raise UsageError(f"{folder}: there are no faulty servers; name a checkout of the suite with --root.")
    best = max(counts, key=lambda path: counts[path])
    return best if counts[best] else folder / f"{_OTHER_FAULTS}.py"


def _wrapped(title: str, sections: str) -> str:
    """The title of a check's module, short enough for its first line."""
    room = 100 - len(sections) - len(" (section ).")
    return title if len(title) <= room else textwrap.shorten(title, room, placeholder=" …")
