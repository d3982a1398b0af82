"""The options by which commands learn which server is meant: as in a run, the environment says it as well."""

from __future__ import annotations

import argparse
import os
from pathlib import Path


def add_target(parser: argparse.ArgumentParser, purpose: str = "") -> None:
    """`--target`, a path or None; `purpose` says what of the file is used."""
    parser.add_argument(
        "--target",
        type=Path,
        metavar="FILE",
        default=os.environ.get("CONFORMANCE_TARGET") or None,
        help=f"the target file{purpose} (CONFORMANCE_TARGET)",
    )


def add_base_url(parser: argparse.ArgumentParser) -> None:
    """`--base-url`, a text or None."""
    parser.add_argument(
        "--base-url",
        metavar="URL",
        default=os.environ.get("PYTEST_BASE_URL") or None,
        help="the server; wins over the target file (PYTEST_BASE_URL)",
    )
