"""Reads and writes files, atomically, with errors that a user can act on."""

from __future__ import annotations

import json
import os
import tempfile
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

#: The folders of the modules that pytest collects.
TEST_FOLDERS = (Path(__file__).parent / "checks", Path(__file__).parent / "fuzz")


class InputError(Exception):
    """A file, option or address given by the user cannot be used; the text is one paragraph that names it and
    the remedy."""


def _text(path: Path, what: str, form: str) -> str:
    """The text of a file; `what` it holds, in which `form`. Raises InputError."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise InputError(f"{path}: there is no such {what}; it is {form}.") from None
    except IsADirectoryError:
        raise InputError(f"{path}: this is a folder; a {what} is {form}.") from None
    except UnicodeDecodeError:
        raise InputError(f"{path}: the {what} is not UTF-8 text; it is {form}, in UTF-8.") from None
    except OSError as problem:
        raise InputError(f"{path}: the {what} cannot be read ({problem.strerror}).") from None


def read_toml(path: Path, what: str, source: str) -> tuple[str, dict[str, Any]]:
    """Returns the text and the tables of a TOML file; `source` says what writes one. Raises InputError."""
    text = _text(path, what, f"a TOML file: {source}")
    try:
        return text, tomllib.loads(text)
    except tomllib.TOMLDecodeError as problem:
        raise InputError(f"{path}: the {what} is not valid TOML: {problem}.") from None


def toml_string(text: str) -> str:
    """Returns a text as a TOML basic string: JSON's form, but DEL is escaped."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def read_json(path: Path, what: str, source: str) -> Any:
    """Returns the JSON value in a file; `source` says what writes such files. Raises InputError."""
    text = _text(path, what, f"a JSON file: {source}")
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise InputError(f"{path}: this is not JSON, so not a {what}; {source}.") from None


def written(path: Path, text: str | Iterable[str], *, private: bool = False) -> Path:
    """Writes a text, or its pieces, atomically: a reader sees the old file or the new one. Creates the folder
    unless `private`; only the owner can read a private file. Raises OSError."""
    if not private:
        path.parent.mkdir(parents=True, exist_ok=True)
    try:
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:100]}.", suffix=".part")
    except OSError as error:
        error.filename = str(path)
        raise
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            file.writelines([text] if isinstance(text, str) else text)
        if not private:
            # mkstemp creates files with mode 0600, but others may read reports.
            mask = os.umask(0o022)
            os.umask(mask)
            os.chmod(temporary, 0o666 & ~mask)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    return path


def shortest(path: Path) -> str:
    """A path relative to the working directory if it lies below that, else as it is."""
    try:
        relative = os.path.relpath(path)
    except (ValueError, OSError):
        # The path is on another drive, or the working directory was deleted.
        return str(path)
    return str(path) if relative.startswith("..") else relative
