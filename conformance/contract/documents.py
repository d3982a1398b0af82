"""The folder of the contract's data, and its files as documents."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import yaml

_PACKAGE = Path(__file__).resolve().parents[1]

#: Environment variable that names another folder of the contract's data, for trying a change of it.
VARIABLE = "FINANCIAL_ACCOUNTS_SPEC"

#: Folder of the contract's data: inside an installed package, beside it in a checkout.
_OWN = _PACKAGE / "spec" if (_PACKAGE / "spec").is_dir() else _PACKAGE.parent / "spec"
SPEC = Path(os.environ.get(VARIABLE) or _OWN)

#: libyaml's loader, ten times as fast, if PyYAML was built with it.
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def load_yaml(path: Path) -> Any:
    """Loads a YAML file. Raises OSError or yaml.YAMLError."""
    return yaml.load(path.read_bytes(), Loader=_LOADER)
