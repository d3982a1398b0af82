"""The folder of the contract's data, and its files as documents."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

_PACKAGE = Path(__file__).resolve().parents[1]

#: Folder of the contract's data: inside an installed package, beside it in a checkout.
SPEC = _PACKAGE / "spec" if (_PACKAGE / "spec").is_dir() else _PACKAGE.parent / "spec"

#: libyaml's loader, ten times as fast, if PyYAML was built with it.
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def load_yaml(path: Path) -> Any:
    """Loads a YAML file. Raises OSError or yaml.YAMLError."""
    return yaml.load(path.read_bytes(), Loader=_LOADER)
