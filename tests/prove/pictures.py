"""Makes the pictures of the documents anew.

The suite judges a reference server with three faults; the end of its terminal output becomes an SVG, the
first screen of its report a PNG. Needs rich and playwright (extra `test`) and Chromium.
"""

from __future__ import annotations

import argparse
import io
import re
import shlex
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from conformance.reference.behaviour import Behaviour
from conformance.reference.context import Context, Record
from conformance.reference.serving.listener import served
from conformance.reference.store import Answer
from tests.support.chromium import MISSING, chromium, flags
from tests.support.running import executed, faulty, write_target

if TYPE_CHECKING:
    from playwright.sync_api import Browser, ViewportSize

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "conformance" / "docs" / "pictures"

#: Options of the depicted run.
JUDGED = ("--operation", "createPayout", "-m", "not fuzz")

#: Columns of the terminal, and size of the window in pixels.
COLUMNS = 100
WINDOW: ViewportSize = {"width": 1200, "height": 860}


class Mistaken(Behaviour):
    """Accepts any signature, pays again for a repeated key, and lists another organization's accounts."""

    def signatures_equal(self, ctx: Context, expected: str, presented: str) -> bool:
        return True

    def stored_answer(self, ctx: Context) -> Answer | None:
        return None if ctx.operation == "createPayout" else super().stored_answer(ctx)

    def on_foreign_parent(self, ctx: Context, kind: str, record: Record) -> Record:
        return self.on_unknown_parent(ctx, kind, "")


def judged(folder: Path, options: Sequence[str] = JUDGED) -> str:
    """Runs the suite with reports in a folder; returns its output with colour codes."""
    server, tables = faulty(Mistaken())
    with served(server, threads=True) as url:
        write_target(folder / "target.toml", tables(url))
        command = [sys.executable, "-m", "pytest", "--pyargs", "conformance", "--color=yes"]
        done = executed(
            [*command, "--target", "target.toml", *options],
            folder,
            together=True,
            COLUMNS=str(COLUMNS),
            PYTHONPATH=str(ROOT),
        )
    if done.returncode != 1:
        sys.exit(f"the run ended with {done.returncode}:\n{done.stdout}")
    return done.stdout


def terminal(said: str, options: Sequence[str] = JUDGED) -> str:
    """Renders the end of a run's output, from its counts on, as a self-contained SVG."""
    from rich.console import Console
    from rich.text import Text

    lines = said.splitlines()
    begin = next(index for index, line in enumerate(lines) if "A case is one rule on one operation" in line)
    console = Console(record=True, width=COLUMNS, file=io.StringIO())
    console.print(f"$ pytest --target target.toml {shlex.join(options)}", highlight=False, markup=False)
    console.print(Text.from_ansi("\n".join(lines[begin:])))
    picture = console.export_svg(title="Financial Accounts API conformance", unique_id="terminal")
    picture = re.sub(r"@font-face \{.*?\}", "", picture, flags=re.DOTALL)
    return _steady(picture.replace("Fira Code", "ui-monospace, Menlo, Consolas"))


def report(browser: Browser, page: Path) -> dict[str, bytes]:
    """Returns the first screen of a report and its first pair of exchanges as PNGs, by file name."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "report.html"
        copy.write_text(_steady(page.read_text("utf-8")), "utf-8")
        context = browser.new_context(viewport=WINDOW, color_scheme="light")
        shown = context.new_page()
        shown.goto(copy.as_uri())
        pictures = {
            "report.png": shown.screenshot(),
            "exchanges.png": shown.locator("table.beside").first.screenshot(),
        }
        context.close()
    return pictures


def _steady(text: str) -> str:
    """Replaces the random port by a fixed one."""
    return re.sub(r"127\.0\.0\.1:\d+", "127.0.0.1:8000", text)


def make(browser: Browser, folder: Path, options: Sequence[str] = JUDGED) -> list[Path]:
    """Writes all pictures to a folder; returns their paths."""
    with tempfile.TemporaryDirectory() as run:
        said = judged(Path(run), options)
        pictures = report(browser, Path(run) / "reports" / "report.html")
    pictures["terminal.svg"] = terminal(said, options).encode()
    folder.mkdir(parents=True, exist_ok=True)
    for name, picture in pictures.items():
        (folder / name).write_bytes(picture)
    return [folder / name for name in pictures]


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--folder", type=Path, default=FOLDER, help="folder to write to (default: the documents')"
    )


def prove(options: argparse.Namespace) -> bool:
    """Makes the pictures; returns False without a browser."""
    path = chromium()
    if path is None:
        print(MISSING)
        return False
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=flags())
        for picture in make(browser, options.folder):
            print(f"{picture} ({picture.stat().st_size:,} bytes)")
        browser.close()
    return True
