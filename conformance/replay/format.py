"""The format of replay files: structures that validate them and generate spec/replay.schema.json.

Files are untrusted input. A validated file is used as plain JSON data, without members that have defaults."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, UnsetType

from conformance._files import InputError, read_json, written
from conformance._records import says
from conformance._records import schema as records_schema
from conformance._text import writable
from conformance.contract import json_text
from conformance.contract.operations import OPERATIONS
from conformance.contract.rules import RULES
from conformance.contract.signing import HEADERS, NAME_CASES
from conformance.contract.signing_mistakes import BY_NAME
from conformance.judge import invariants, paging  # noqa: F401 - files hold their expectations, too
from conformance.judge.expectations import ExpectationError, from_plain
from conformance.replay.symbols import SECRET, filled
from conformance.target.file import Target
from conformance.wire.forms import FORMS, KINDS, SameText
from conformance.wire.messages import Call, call_from_plain

#: Version of the format; raised when an older suite could not read the files.
FORMAT = 5

#: Maxima: bytes of a file, simultaneous steps, seconds that a step waits, seconds that all steps wait.
LARGEST = 64 * 1024 * 1024
MOST_TOGETHER = 100
LONGEST_PAUSE = 300.0
LONGEST_WAIT = 3600

Document = dict[str, Any]
Step = dict[str, Any]


# ---------------------------------------------------------------------- structures


def _whole(pattern: str) -> msgspec.Meta:
    """Constrains a text to a pattern. Python's $ alone also matches before a final line feed."""
    return msgspec.Meta(pattern=rf"^(?:{pattern})$(?!\n)")


def _one_of(values: tuple[str, ...]) -> msgspec.Meta:
    return _whole("|".join(map(re.escape, values)))


_HeaderValue = Annotated[str, _whole(r"[^\r\n\u0000]*")]
_HeaderName = Annotated[str, _whole(r"(?![Hh][Oo][Ss][Tt]$)[!#$%&'*+.^_`|~0-9A-Za-z-]{1,200}")]
_Authentication = Annotated[str, _one_of(HEADERS)]
_Symbol = Annotated[
    str, _whole(r"(?!primary|secondary|sent|now|key|nonce|marker)[a-z][a-z0-9_]*\.[a-z0-9_]+")
]
_FORMS = r"(?:[a-z]{1,20}(?:\.-?[0-9a-z]{1,4})?)?"


class Recipe(msgspec.Struct, forbid_unknown_fields=True):
    """A random value that each replay makes anew."""

    kind: Annotated[str, _one_of(KINDS)]
    version: Annotated[int, msgspec.Meta(ge=0, le=15), says("Of a UUID.")] = 4
    variant: Annotated[str, _whole("[0-9a-f]?"), says("The digit that holds a UUID's variant.")] = ""
    length: Annotated[int, msgspec.Meta(ge=1, le=4096), says("Of decimal or hexadecimal digits.")] = 32


class Signing(msgspec.Struct, forbid_unknown_fields=True):
    """Deviations from the usual signing: fields of conformance.wire.messages.Auth."""

    api_key: _HeaderValue | UnsetType = UNSET
    secret: Annotated[
        str | UnsetType,
        says("{{primary.secret}} and {{secondary.secret}} stand for the target's, here only."),
    ] = UNSET
    timestamp: _HeaderValue | UnsetType = UNSET
    timestamp_offset: Annotated[int, msgspec.Meta(ge=-(10**9), le=10**9)] = 0
    nonce: _HeaderValue | UnsetType = UNSET
    signed_target: str | UnsetType = UNSET
    signed_nonce: str | UnsetType = UNSET
    signed_body: Annotated[str | UnsetType, says("{{body}} is the body as sent.")] = UNSET
    signed_body_base64: str | UnsetType = UNSET
    mistake: Annotated[
        str, _one_of(("", *BY_NAME)), says("A row of conformance/contract/signing_mistakes.py.")
    ] = ""
    signature_forms: Annotated[
        str, _whole(_FORMS), says("Forms of the computed signature (conformance/wire/forms.py).")
    ] = ""
    signature: _HeaderValue | UnsetType = UNSET
    omit: list[_Authentication] = []
    empty: list[_Authentication] = []
    name_case: Annotated[str, _one_of(tuple(NAME_CASES))] = ""


class Recorded(msgspec.Struct, forbid_unknown_fields=True):
    """The answer when the file was recorded."""

    status: int | None
    error: Annotated[str, says("Type and code, with a slash between.")] = ""
    past: Annotated[
        int,
        msgspec.Meta(ge=0, le=10**6),
        says("Pages past the last one of its list: a replay asks for one as far past the last."),
    ] = 0


class ReplayStep(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """One request."""

    id: Annotated[str, _whole("[0-9]{1,6}")]
    purpose: str = ""
    organization: Annotated[Literal["primary", "secondary"], says("Whose credentials sign it.")]
    operation: str | None = None
    method: Annotated[str, _whole("[A-Za-z]{1,16}")]
    target: Annotated[str, _whole("/[!-~]*"), says("Path and query as sent, relative to the base URL.")]
    body: str | UnsetType = UNSET
    body_base64: Annotated[str | UnsetType, says("A body that is no UTF-8 text.")] = UNSET
    content_type: Annotated[_HeaderValue | None, says("null: none.")] = "application/json"
    idempotency_key: _HeaderValue | UnsetType = UNSET
    headers: list[tuple[_HeaderName, _HeaderValue]] = []
    auth: Signing = msgspec.field(default_factory=Signing)
    together: Annotated[int, says("Steps of one number are sent at the same moment.")] = 0
    wait: Annotated[
        float, msgspec.Meta(ge=0, le=LONGEST_PAUSE), says("Seconds to wait before it is sent.")
    ] = 0
    captures: Annotated[
        dict[_Symbol, Annotated[list[str | int], msgspec.Meta(min_length=1)]],
        says("Symbol -> where its value stands in the answer: member names and indexes."),
    ] = {}
    decisive: Annotated[bool, says("True if its answer is judged.")] = False
    answered: Recorded


class PlainExpectation(msgspec.Struct, forbid_unknown_fields=True):
    """The expectation of the finding: a predicate by its name (conformance/judge/expectations) and its
    parameters. In them {"$answer": [N, ...PATH]} is a value in the answer of the exchange judged at position
    N, {"$request": [N, NAME]} a member of its body."""

    predicate: Annotated[str, msgspec.Meta(min_length=1)]
    expected: Annotated[str, says('The sentence that completes "expected" in a report.')]
    parameters: dict[str, Any]


class ReplayFile(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A failure as the requests that show it."""

    format: Literal[5]
    rule: Annotated[str, says("An id of spec/rules.yaml.")]
    section: Annotated[list[str], says("Sections of the specification.")] = []
    statement: str = ""
    operation: Annotated[str, says("An operationId of spec/openapi.yaml.")]
    check: Annotated[str, says("The check that found it.")] = ""
    expected: str
    got: str
    fresh: Annotated[
        dict[Annotated[str, _whole("(?:key|nonce|marker)_[0-9]{1,6}")], Recipe],
        says("Random values that each replay makes anew."),
    ] = {}
    steps: Annotated[list[ReplayStep], msgspec.Meta(min_length=1, max_length=1000)]
    expectation: PlainExpectation
    judged: Annotated[
        list[str],
        msgspec.Meta(min_length=1),
        says("The steps whose answers are judged, in the order in which the expectation knows them."),
    ]


def schema() -> dict[str, Any]:
    """The JSON Schema of replay files."""
    return records_schema(
        ReplayFile,
        "Replay file",
        "A failure as the requests that show it. Texts may hold symbols in double braces: {{account_1.id}} "
        "is what the step that captures it was answered, {{key_1}} a value of `fresh`, "
        "{{primary.customer_id}} a value of the target file, {{sent_2.nonce}} a header of step 2, {{now}} "
        "and {{now_ms}} server time; +N or -N moves a time by seconds. Forms follow, each behind a |, and "
        f"make another text of it: {', '.join(FORMS)} (conformance/wire/forms.py). A symbol that nothing "
        "defines stays as it is.",
    )


# ---------------------------------------------------------------------- files


def load(path: Path) -> Document:
    """Reads and validates a replay file. Raises InputError."""
    source = "a run writes them into reports/replays"
    document: Document = read_json(path, "replay file", source, most=LARGEST, parse=json_text.parse)
    check(document, str(path))
    return document


def check(document: Any, name: str) -> None:
    """Raises InputError for data that are not a replay file of this format, or name an unknown rule."""
    number = document.get("format") if isinstance(document, dict) else None
    if type(number) is int and number != FORMAT:
        age, remedy = ("newer", "update the suite") if number > FORMAT else ("older", "run the check again")
        raise InputError(f"{name}: written by a {age} version of the suite (format {number}); {remedy}.")
    try:
        json.dumps(document, ensure_ascii=False).encode()
        file = msgspec.convert(document, ReplayFile)
        from_plain(document["expectation"])
    except UnicodeEncodeError:
        raise InputError(
            f"{name}: no replay file: one of its texts has half a character (a surrogate)."
        ) from None
    except (msgspec.ValidationError, ExpectationError) as error:
        raise InputError(f"{name}: no replay file: {str(error)[:300]}.") from None
    if file.rule not in RULES:
        raise InputError(
            f"{name}: the rule {file.rule[:60]} is not in the catalogue of this version of the suite."
        )
    if problem := _problem(file):
        raise InputError(f"{name}: no replay file: {problem}.")


def _problem(file: ReplayFile) -> str:
    """The first contradiction between the members of a file; empty where there is none."""
    if called := {step.operation for step in file.steps} - {None, *OPERATIONS}:
        return f"there is no operation {min(map(str, called))[:60]!r}"
    together = Counter(step.together for step in file.steps if step.together)
    if max(together.values(), default=0) > MOST_TOGETHER:
        return f"more than {MOST_TOGETHER} steps are sent at the same moment"
    if sum(step.wait for step in file.steps) > LONGEST_WAIT:
        return f"its steps wait more than {LONGEST_WAIT} s together"
    identifiers = [step.id for step in file.steps]
    if len(set(identifiers)) != len(identifiers):
        return "two steps have the same id"
    if unknown := set(file.judged) - set(identifiers):
        return f"there is no step {min(unknown)[:20]}, which is judged"
    return ""


def write(document: Document, path: Path) -> Path:
    """Writes a replay file, and its folder; safe for concurrent processes."""
    # Answers may hold unpaired surrogates.
    return written(path, writable(json.dumps(document, indent=1, ensure_ascii=False)) + "\n")


def file_name(rule: str, operation: str, check_name: str) -> str:
    """The file name of a failure: the same in each run."""
    short = check_name.rpartition(".")[2].removeprefix("test_")
    return re.sub(r"[^\w.-]+", "-", f"{rule}.{operation}.{short}")[:150] + ".json"


def call_of(step: Step, value: Callable[[str], str | None], target: Target) -> Call:
    """Builds the call of a step, symbols replaced. Raises InputError for an invalid step, SameText where a
    form does not apply to this server's values."""
    try:
        names = ("target", "body", "idempotency_key", "headers")
        plain: dict[str, Any] = {name: filled(step[name], value) for name in names if name in step}
        body = plain.get("body", "")
        plain["auth"] = auth = filled(
            step.get("auth", {}), lambda symbol: body if symbol == "body" else value(symbol)
        )
        if found := SECRET.fullmatch(auth.get("secret", "")):
            organization = getattr(target, found[1])
            if organization is None:
                raise InputError(f"step {step['id']} is signed with a secret that the target does not have.")
            auth["secret"] = organization.secret
        # Bytes in base64 hold no symbols.
        kept: dict[str, Any] = {
            name: step[name]
            for name in ("operation", "method", "body_base64", "content_type")
            if name in step
        }
        return call_from_plain({**kept, **plain})
    except SameText:
        raise
    except (KeyError, TypeError, ValueError, ArithmeticError) as error:
        raise InputError(f"step {step['id']} cannot be sent: {error}.") from None
