"""Pinned npm packages of the tests in this folder."""

from __future__ import annotations

import json
import re
from typing import Any

from tests.ecosystem.tools import HERE

PACKAGE: dict[str, Any] = json.loads((HERE / "package.json").read_bytes())
LOCK: dict[str, Any] = json.loads((HERE / "package-lock.json").read_bytes())


def test_every_tool_is_pinned_to_one_version() -> None:
    pins = {**PACKAGE["devDependencies"], **PACKAGE["overrides"]}
    assert not [
        name for name, version in pins.items() if not re.fullmatch(r"[0-9]+\.[0-9]+\.[0-9]+", version)
    ]
    assert LOCK["packages"][""]["devDependencies"] == PACKAGE["devDependencies"]


def test_lock_names_no_registry() -> None:
    """npm uses the registry that the machine is configured for."""
    packages = LOCK["packages"].values()
    assert len(packages) > 100
    assert not [package for package in packages if "resolved" in package]
