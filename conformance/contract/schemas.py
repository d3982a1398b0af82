"""JSON Schema validation that reports each violation as a rule, a JSON pointer and a sentence."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import jsonschema_rs

from conformance._text import brief, listed, plain

if TYPE_CHECKING:
    from jsonschema import ValidationError
    from jsonschema.protocols import Validator

#: Keyword that reports a missing member whose type allows null.
_MISSING_NULLABLE = "required-nullable"


@dataclass(frozen=True)
class Problem:
    """A violation of a rule; `pointer` is a JSON pointer, empty for the whole document.

    `message` is a predicate, such as "is missing", and shows at most SHOWN characters of a value.
    """

    rule: str
    pointer: str
    message: str


class Schema:
    """A schema without references, in the contract's dialect.

    jsonschema-rs validates a hundred times as fast; jsonschema describes the errors of invalid documents.
    `formats`: texts have the `format` that is stated, such as that of a regular expression.
    """

    def __init__(self, schema: Mapping[str, Any], *, formats: bool = False) -> None:
        self._schema, self._formats = dict(schema), formats

    def errors(self, document: Any) -> Iterator[ValidationError]:
        """The errors of a document."""
        return iter(()) if self.allows(document) else self._thorough.iter_errors(document)

    def allows(self, document: Any) -> bool:
        """True if a document is valid; False also if jsonschema-rs cannot tell."""
        try:
            return self._quick.is_valid(document)
        except (ValueError, OverflowError, RecursionError):
            # Such as an unpaired surrogate.
            return False

    @functools.cached_property
    def _quick(self) -> jsonschema_rs.Draft202012Validator:
        return jsonschema_rs.Draft202012Validator(self._schema, validate_formats=self._formats)

    @functools.cached_property
    def _thorough(self) -> Validator:
        dialect = _dialect()
        built: Validator = dialect(
            self._schema, format_checker=dialect.FORMAT_CHECKER if self._formats else None
        )
        return built


def problems(judge: Schema, document: Any, default: Callable[[str], str]) -> list[Problem]:
    """Violations in a document, one for each rule and pointer; never raises because of the document.

    The rule is the `x-rule` beside the failing keyword, format.nullable for a missing member whose type
    allows null, else `default(pointer)`.
    """
    broken: dict[tuple[str, str], Problem] = {}
    try:
        for error in judge.errors(document):
            for leaf in _leaves(error):
                steps = (str(step).replace("~", "~0").replace("/", "~1") for step in leaf.absolute_path)
                pointer = "".join(f"/{step}" for step in steps)
                rule = _rule(leaf) or default(pointer)
                broken.setdefault((rule, pointer), Problem(rule, pointer, _message(leaf)))
    except RecursionError:
        return [Problem(default(""), "", "is nested too deeply")]
    return list(broken.values())


def places(schema: Mapping[str, Any], document: Any) -> Iterator[tuple[Mapping[str, Any], Any, str]]:
    """Yields each schema that describes a part of a document, with that part and its JSON pointer, in which
    `*` stands for the places of an array."""
    waiting: list[tuple[Mapping[str, Any], Any, str]] = [(schema, document, "")]
    while waiting:
        described, value, pointer = waiting.pop()
        yield described, value, pointer
        parts = (*described.get("allOf", ()), *described.get("anyOf", ()))
        waiting += [(part, value, pointer) for part in parts]
        if isinstance(value, dict):
            members = described.get("properties", {}).items()
            waiting += [(part, value[name], f"{pointer}/{name}") for name, part in members if name in value]
        elif isinstance(value, list) and "items" in described:
            waiting += [(described["items"], member, f"{pointer}/*") for member in value]


def rules_shown(schema: Mapping[str, Any], document: Any, default: Callable[[str], str]) -> set[str]:
    """Rules that a document exercises, assigned as in `problems`: an empty array exercises no rule of its
    items, null none of its value, and only null for a required member exercises format.nullable."""
    rules: set[str] = set()
    for described, value, pointer in places(schema, document):
        text = isinstance(value, str)
        states = (
            "type" in described or "const" in described or (text and described.keys() & {"pattern", "enum"})
        )
        if states and value is not None:
            rules.add(str(described.get("x-rule") or default(pointer)))
        for name, member in described.get("properties", {}).items() if isinstance(value, dict) else ():
            if "not" in member:
                # The absence of a forbidden member is always judged.
                rules.add(str(member.get("x-rule")))
            elif value.get(name, "") is None and name in described.get("required", ()) and nullable(member):
                rules.add("format.nullable")
    return rules


def nullable(schema: Mapping[str, Any]) -> bool:
    """True if a schema allows null (section 2: "or null")."""
    return "null" in schema.get("type", ()) or any(map(nullable, schema.get("anyOf", ())))


# ---------------------------------------------------------------------- the dialect


@functools.cache
def _dialect() -> Any:
    """JSON Schema 2020-12, stricter in four ways: a missing member that allows null has its own keyword, `$`
    does not match before a trailing newline (as in ECMA-262), nor behind an unpaired surrogate, and numbers
    are finite (TOML has nan and inf)."""
    # Imported late: jsonschema takes 0.1 s.
    from jsonschema import Draft202012Validator, ValidationError, validators

    def required(
        validator: Any, names: list[str], instance: Any, schema: Mapping[str, Any]
    ) -> Iterator[ValidationError]:
        if not validator.is_type(instance, "object"):
            return
        for name in names:
            if name not in instance:
                member = schema.get("properties", {}).get(name, True)
                allows_null = next(iter(validator.descend(None, member)), None) is None
                keyword = _MISSING_NULLABLE if allows_null else "required"
                yield ValidationError(name, validator=keyword, path=[name])

    def pattern(
        validator: Any, text: str, instance: Any, schema: Mapping[str, Any]
    ) -> Iterator[ValidationError]:
        if not validator.is_type(instance, "string"):
            return
        # What ends with `$` describes the whole text, which must have a form in UTF-8.
        whole = text.endswith("$") and any("\ud800" <= letter <= "\udfff" for letter in instance)
        if whole or not _compiled(text).search(instance):
            yield ValidationError(text)

    def is_number(checker: Any, instance: Any) -> bool:
        number = isinstance(instance, int | float) and not isinstance(instance, bool)
        # No float holds each integer.
        return number and (isinstance(instance, int) or math.isfinite(instance))

    # types-jsonschema does not annotate `extend`.
    return validators.extend(  # type: ignore[no-untyped-call]
        Draft202012Validator,
        {"required": required, "pattern": pattern},
        type_checker=Draft202012Validator.TYPE_CHECKER.redefine("number", is_number),
    )


@functools.cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(re.sub(r"(?<!\\)\$$", r"\\Z", pattern))


# ---------------------------------------------------------------------- rule and place


def _leaves(error: ValidationError) -> Iterator[ValidationError]:
    """Innermost errors; of a choice between a value and null, those of the value."""
    if error.validator != "anyOf":
        yield error
        return
    for inner in error.context or ():
        if inner.schema_path[0] == 0:
            yield from _leaves(inner)


def _rule(error: ValidationError) -> str:
    if error.validator == _MISSING_NULLABLE:
        return "format.nullable"
    rule = error.schema.get("x-rule", "") if isinstance(error.schema, Mapping) else ""
    return str(rule)


# ---------------------------------------------------------------------- messages

#: Maximum length of a pattern that a message shows beside its description.
_SHORT_PATTERN = 30

_NAMES = {"integer": "an integer", "object": "an object", "array": "an array", "null": "null"}


def _named(types: str | list[str]) -> str:
    return " or ".join(
        _NAMES.get(kind, f"a {kind}") for kind in ([types] if isinstance(types, str) else types)
    )


def _message(error: ValidationError) -> str:
    wanted: Any = error.validator_value
    value: Any = error.instance
    schema = error.schema if isinstance(error.schema, Mapping) else {}
    match error.validator:
        case "required" | "required-nullable":
            return "is missing"
        case "not":
            return "is there, which it should not be"
        case "type":
            or_null = " or null" if error.parent is not None and error.parent.validator == "anyOf" else ""
            return f"is {brief(value)}, not {_named(wanted)}{or_null}"
        case "enum":
            return f"is {brief(value)}, not one of {', '.join(map(str, wanted))}"
        case "const":
            return f"is {brief(value)}, not {brief(wanted)}"
        case "format":
            return f"is {brief(value)}, which is no {wanted}"
        case "pattern":
            described = str(schema.get("description", "")).rstrip(".")
            # A long pattern is no help.
            form = wanted if len(wanted) <= _SHORT_PATTERN or not described else ""
            return f"is {brief(value)}, not of the form {': '.join(filter(None, (form, described)))}"
        case "maxLength" | "minLength" | "minItems":
            unit = "elements" if error.validator == "minItems" else "characters"
            return f"has {len(value)} {unit}, {'more' if len(value) > wanted else 'fewer'} than {wanted}"
        case "additionalProperties":
            names = [name for name in value if name not in schema.get("properties", {})]
            return f"has {listed(map(plain, names))}, which is unknown"
        case "minimum" | "maximum":
            return f"is {brief(value)}, {'below' if value < wanted else 'above'} {wanted}"
    return f"is {brief(value)}, which breaks {error.validator}"
