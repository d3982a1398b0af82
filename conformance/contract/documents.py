"""The folder of the contract's data, and its files as documents."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import yaml

from conformance._files import InputError

_PACKAGE = Path(__file__).resolve().parents[1]

#: Environment variable that names another folder of the contract's data, for trying a change of it.
VARIABLE = "FINANCIAL_ACCOUNTS_SPEC"

#: Folder of the contract's data: inside an installed package, beside it in a checkout.
_OWN = _PACKAGE / "spec" if (_PACKAGE / "spec").is_dir() else _PACKAGE.parent / "spec"
SPEC = Path(os.environ.get(VARIABLE) or _OWN)

#: libyaml's loader, ten times as fast, if PyYAML was built with it.
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def load(name: str, *members: str) -> Any:
    """Loads a YAML or JSON file by its path relative to SPEC, an object with these members. Raises
    InputError, which names the folder and the cure."""
    path, form = SPEC / name, "YAML" if name.endswith(".yaml") else "JSON"
    try:
        text = path.read_bytes()
        document = yaml.load(text, Loader=_LOADER) if form == "YAML" else json.loads(text)
    except OSError as error:
        problem = f"{name} cannot be read ({error.strerror})" if SPEC.is_dir() else "there is no such folder"
    except (yaml.YAMLError, ValueError) as error:
        problem = f"{name} is no {form} ({' '.join(str(error).split())})"
    else:
        missing = [member for member in members if not isinstance(document, dict) or member not in document]
        if not missing:
            return document
        problem = f"{name} has no {', '.join(missing)}"
    if not os.environ.get(VARIABLE):
        raise InputError(f"{SPEC}: this folder holds the contract, but {problem}; install the suite again.")
    raise InputError(
        f"{SPEC}: {VARIABLE} names this folder as the contract's, but {problem}; name a whole copy of spec/, "
        f"or unset {VARIABLE} to use the suite's own."
    )
