"""Reading and writing replay files, and the calls of their steps."""

from __future__ import annotations

import functools
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from conformance._files import InputError, read_json, written
from conformance._text import writable
from conformance.contract.operations import OPERATIONS
from conformance.contract.rules import RULES, SPEC
from conformance.judge import invariants, pages  # noqa: F401 - files hold their expectations, too
from conformance.judge.expectations import ExpectationError, current, from_plain
from conformance.replay.symbols import SECRET, filled
from conformance.target.file import Target
from conformance.wire import json_text
from conformance.wire.messages import Call, call_from_plain

#: The number of the files' form; it grows when an older suite could not read them.
FORMAT = 3

SCHEMA = SPEC / "replay.schema.json"

#: Bytes of a file, steps that are sent at one moment, seconds that one step waits, and that all wait: what
#: runs write stays below.
LARGEST = 64 * 1024 * 1024
MOST_TOGETHER = 100
LONGEST_PAUSE = 300.0
LONGEST_WAIT = 3600

Document = dict[str, Any]
Step = dict[str, Any]


class ReplayError(InputError):
    """A replay file cannot be used; the text is one paragraph with the remedy."""


@functools.cache
def _validator() -> Any:
    import jsonschema
    from jsonschema.validators import extend

    kind = jsonschema.Draft202012Validator
    # Python's $ also stands before a last line feed, and its JSON has whole numbers that are no int.
    whole = kind.TYPE_CHECKER.redefine("integer", lambda checker, value: type(value) is int)
    strict: Any = extend(  # type: ignore[no-untyped-call]
        kind, {"pattern": _pattern}, type_checker=whole
    )
    return strict(json.loads(SCHEMA.read_bytes()))


def _pattern(validator: Any, pattern: str, text: Any, schema: Any) -> Iterator[Any]:
    """The keyword `pattern`, as ECMA 262 has it."""
    import jsonschema

    if isinstance(text, str) and not re.search(re.sub(r"\$$", r"\\Z", pattern), text):
        yield jsonschema.ValidationError(f"{text[:60]!r} does not match {pattern!r}")


def load(path: Path) -> Document:
    """A replay file, checked against replay.schema.json. Raises ReplayError."""
    source = "a run writes them into reports/replays"
    document = read_json(path, "replay file", source, ReplayError, most=LARGEST, parse=json_text.parse)
    try:
        json.dumps(document, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise ReplayError(
            f"{path}: no replay file: one of its texts has half a character (a surrogate)."
        ) from None
    check(document, str(path))
    return {**document, "expectation": current(document["expectation"])}


def check(document: Any, name: str) -> None:
    """Raises ReplayError for a document that does not fit the schema or names a rule that is not in the
    catalogue."""
    if isinstance(document, dict) and isinstance(document.get("format"), int) and document["format"] > FORMAT:
        raise ReplayError(
            f"{name}: written by a newer version of the suite "
            f"(format {document['format']}); update the suite."
        )
    error = next(iter(_validator().iter_errors(document)), None)
    if error is not None:
        place = "/".join(map(str, error.absolute_path)) or "the document"
        raise ReplayError(f"{name}: no replay file: {place}: {error.message[:200]}.")
    if document["rule"] not in RULES:
        raise ReplayError(
            f"{name}: the rule {document['rule']} is not in the catalogue of this version of the suite."
        )
    called = {step.get("operation") for step in document["steps"]} - {None, *OPERATIONS}
    if called:
        raise ReplayError(f"{name}: no replay file: there is no operation {min(called)[:60]!r}.")
    together = Counter(step["together"] for step in document["steps"] if "together" in step)
    if max(together.values(), default=0) > MOST_TOGETHER:
        raise ReplayError(
            f"{name}: no replay file: more than {MOST_TOGETHER} steps are sent at the same moment."
        )
    if sum(step.get("wait", 0) for step in document["steps"]) > LONGEST_WAIT:
        raise ReplayError(f"{name}: no replay file: its steps wait more than {LONGEST_WAIT} s together.")
    identifiers = [step["id"] for step in document["steps"]]
    if len(set(identifiers)) != len(identifiers):
        raise ReplayError(f"{name}: no replay file: two steps have the same id.")
    if unknown := set(document["judged"]) - set(identifiers):
        raise ReplayError(f"{name}: no replay file: there is no step {min(unknown)[:20]}, which is judged.")
    try:
        from_plain(document["expectation"])
    except ExpectationError as error:
        raise ReplayError(f"{name}: no replay file: expectation: {error}.") from None


def write(document: Document, path: Path) -> Path:
    """Writes a replay file, its folder if need be; two processes may write the same one."""
    # What a server sends may hold half a character.
    return written(path, writable(json.dumps(document, indent=1, ensure_ascii=False)) + "\n")


def file_name(rule: str, operation: str, check_name: str) -> str:
    """A name that says what is inside, the same for the same failure."""
    short = check_name.rpartition(".")[2].removeprefix("test_")
    return re.sub(r"[^\w.-]+", "-", f"{rule}.{operation}.{short}")[:150] + ".json"


def call_of(step: Step, value: Callable[[str], str | None], target: Target) -> Call:
    """The call of a step, symbols replaced. Raises ReplayError for a step that makes no call."""
    try:
        plain: dict[str, Any] = {
            name: filled(step[name], value)
            for name in ("target", "body", "idempotency_key", "headers", "auth")
            if name in step
        }
        auth = plain.get("auth", {})
        if found := SECRET.fullmatch(auth.get("secret", "")):
            organization = getattr(target, found[1])
            if organization is None:
                raise ReplayError(f"step {step['id']} is signed with a secret that the target does not have.")
            auth["secret"] = organization.secret
        # Bytes in base64 hold no symbols, and what is not said has its default.
        kept: dict[str, Any] = {
            name: step[name]
            for name in ("operation", "method", "body_base64", "content_type")
            if name in step
        }
        return call_from_plain({**kept, **plain})
    except (KeyError, TypeError, ValueError, ArithmeticError) as error:
        raise ReplayError(f"step {step['id']} cannot be sent: {error}.") from None
