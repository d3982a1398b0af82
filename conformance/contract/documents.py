"""The folder of the contract's data, and its files as documents."""

from __future__ import annotations

import functools
import json
import os
from pathlib import Path
from typing import Any

import yaml

from conformance._files import InputError
from conformance.contract.schemas import Schema, problems

_PACKAGE = Path(__file__).resolve().parents[1]

#: Environment variable that names another folder of the contract's data, for trying a change of it.
VARIABLE = "FINANCIAL_ACCOUNTS_SPEC"

#: Folder of the contract's data: inside an installed package, beside it in a checkout.
_OWN = _PACKAGE / "spec" if (_PACKAGE / "spec").is_dir() else _PACKAGE.parent / "spec"
SPEC = Path(os.environ.get(VARIABLE) or _OWN)

#: libyaml's loader, ten times as fast, if PyYAML was built with it.
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


#: File of the contract -> the JSON Schema of its form, in the suite's own folder. All others are schemas.
_FORMS = {
    "rules.yaml": "rules.schema.json",
    "operations.yaml": "operations.schema.json",
    "openapi.yaml": "openapi.schema.json",
}
_SCHEMA = "openapi.schema.json#/$defs/schema"


def load(name: str) -> Any:
    """Loads a YAML or JSON file by its path relative to SPEC, in the form that the suite reads. Raises
    InputError."""
    path, form = SPEC / name, "YAML" if name.endswith(".yaml") else "JSON"
    try:
        text = path.read_bytes()
        document = yaml.load(text, Loader=_LOADER) if form == "YAML" else json.loads(text)
    except OSError as error:
        problem = f"{name} cannot be read ({error.strerror})" if SPEC.is_dir() else "there is no such folder"
        raise unusable(problem) from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise unusable(f"{name} is no {form} ({' '.join(str(error).split())})") from None
    return checked(document, name, _FORMS.get(name, _SCHEMA))


def checked(document: Any, name: str, form: str | Schema, place: str = "") -> Any:
    """Returns a part of the contract that has a form: a file of JSON Schema with a pointer in it, or a
    schema. `name` is what it is called, `place` the pointer to it there. Raises InputError."""
    broken = problems(_form(form) if isinstance(form, str) else form, document, str)
    if broken:
        at = place + broken[0].pointer
        raise unusable(f"{name}{f' at {at}' if at else ''} {broken[0].message}")
    return document


@functools.cache
def _form(form: str) -> Schema:
    file, _, pointer = form.partition("#")
    whole = json.loads((_OWN / file).read_bytes())
    schema = {"$ref": f"#{pointer}", "$defs": whole["$defs"]} if pointer else whole
    return Schema(schema, formats=True)


def unusable(problem: str) -> InputError:
    """The error of a contract with a problem, which names the folder and the cure."""
    if not os.environ.get(VARIABLE):
        return InputError(f"{SPEC}: this folder holds the contract, but {problem}; install the suite again.")
    return InputError(
        f"{SPEC}: {VARIABLE} names this folder as the contract's, but {problem}; mend that, start from a "
        f"whole copy of spec/, or unset {VARIABLE} to use the suite's own."
    )
