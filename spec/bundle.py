"""Bundles spec/openapi.yaml and spec/schemas/ into one file: `python spec/bundle.py`.

There are two editions, in OpenAPI 3.1 and, for tools that know no other, in 3.0.3.

Both editions decide alike what the source requires. They differ from it in form:

- each titled object or enumeration is a component, every other schema is inlined;
- explicit statuses: the range of successes becomes the commonest one, the range of refusals the default;
- without annotations of this project, and parts of implied rules, which a conforming server may break.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from conformance.contract.documents import SPEC, load
from conformance.contract.rules import RULES, Level

Schema = dict[str, Any]

#: Keywords that only this project uses, or that a single file does not need.
_LEFT_OUT = ("$schema", "$defs", "x-rule", "x-code", "x-form", "x-shape")

_CONDITIONS = ("if", "then", "else")


class Bundler:
    """Replaces references to other files by references to components, which it collects."""

    def __init__(self) -> None:
        self._documents: dict[str, Any] = {}
        self.components: dict[str, Schema] = {}
        #: Component -> location of its source, to detect name clashes.
        self._origins: dict[str, str] = {}

    def document(self, name: str) -> Any:
        """Loads a file of spec/, once."""
        if name not in self._documents:
            self._documents[name] = load(name)
        return self._documents[name]

    def _find(self, reference: str, file: str) -> tuple[str, str, Schema]:
        """Resolves a reference in a file; returns file, pointer and schema."""
        other, _, pointer = reference.partition("#")
        name = (f"schemas/{other.rpartition('/')[2]}" if other.endswith(".json") else other) or file
        found = self.document(name)
        for step in pointer.split("/")[1:]:
            found = found[step.replace("~1", "/").replace("~0", "~")]
        if "$ref" in found and "title" in found:
            # It extends another schema of its file.
            *_, extended = self._find(found["$ref"], name)
            found = {**extended, **{key: member for key, member in found.items() if key != "$ref"}}
        return name, pointer, found

    def schema(self, value: Schema, file: str, pointer: str, *, conditional: bool = False) -> Schema:
        """Bundles a schema of a file; `conditional` is True within a condition, which is inlined. Raises
        ValueError if two components would get the same name."""
        if "$ref" in value:
            place, inner, target = self._find(value["$ref"], file)
            own = {key: member for key, member in value.items() if key not in ("$ref", *_LEFT_OUT)}
            return {**self.schema(target, place, inner, conditional=conditional), **own}
        if "x-rule" in value and RULES[value["x-rule"]].level is Level.IMPLIED:
            return {}
        name = None if conditional else _component(value, file, pointer)
        if name is None:
            made = self._parts(value, file, pointer, conditional)
            return made if conditional else {key: member for key, member in made.items() if key != "title"}
        if name not in self._origins:
            self._origins[name] = f"{file}#{pointer}"
            self.components[name] = {}
            # Some tools name a schema by its title, others by its key: keep only the key.
            untitled = {key: member for key, member in value.items() if key != "title"}
            self.components[name].update(self._parts(untitled, file, pointer, conditional))
        if self._origins[name] != f"{file}#{pointer}":
            raise ValueError(f"{name} is {self._origins[name]} and {file}#{pointer}: give one another title")
        return {"$ref": f"#/components/schemas/{name}"}

    def _parts(self, value: Schema, file: str, pointer: str, conditional: bool) -> Schema:
        """Bundles the parts of a schema without a reference."""

        def part(member: Schema, *steps: object, inlined: bool = conditional) -> Schema:
            return self.schema(member, file, "/".join(map(str, (pointer, *steps))), conditional=inlined)

        made: Schema = {}
        for key, member in value.items():
            if key in _CONDITIONS:
                made[key] = part(member, key, inlined=True)
            elif key == "properties":
                banned = [name for name, described in member.items() if described.get("not") == {}]
                made[key] = {
                    name: part(described, key, name)
                    for name, described in member.items()
                    if name not in banned
                }
                # Of a member that is never there, generators would make one.
                if banned:
                    made["not"] = {"anyOf": [{"required": [name]} for name in banned]}
            elif key in ("allOf", "anyOf"):
                made[key] = list(filter(None, (part(each, key, at) for at, each in enumerate(member))))
            elif key == "items":
                made[key] = part(member, key)
            elif key not in _LEFT_OUT:
                made[key] = member
        return _simplified({key: member for key, member in made.items() if member != [] or key != "allOf"})


def _component(value: Schema, file: str, pointer: str) -> str | None:
    """Returns the name of a schema that becomes a component: an object or an enumeration with a title."""
    if "title" not in value or not ({"properties", "enum", "allOf"} & value.keys()):
        return None
    if file == "openapi.yaml" and pointer.startswith("/components/schemas/") and pointer.count("/") == 3:
        return pointer.rpartition("/")[2]
    words = Path(file).stem.split("_") if not pointer else value["title"].split()
    return "".join(word[:1].upper() + word[1:] for word in words)


def _simplified(schema: Schema) -> Schema:
    """Writes alternatives as generators understand them: null among the types, else each with its type."""
    alternatives = schema.get("anyOf", ())
    if len(alternatives) == 2 and alternatives[1] == {"type": "null"} and "$ref" not in alternatives[0]:
        rest = {key: member for key, member in schema.items() if key != "anyOf"}
        return {**alternatives[0], "type": [alternatives[0]["type"], "null"], **rest}
    if alternatives and "type" in schema:
        return {**schema, "anyOf": [{"type": schema["type"], **each} for each in alternatives]}
    return schema


# ---------------------------------------------------------------------- the document around the schemas


def bundled() -> dict[str, Any]:
    """Returns the document in OpenAPI 3.1. Raises ValueError if two schemas would get the same name."""
    bundler = Bundler()
    source = bundler.document("openapi.yaml")

    def schema(value: Schema) -> Schema:
        return bundler.schema(value, "openapi.yaml", "")

    document = {key: value for key, value in source.items() if key not in ("paths", "components")}
    document["paths"] = {
        path: {
            key: _with_statuses(_walked(value, schema)) if "operationId" in value else _walked(value, schema)
            for key, value in item.items()
        }
        for path, item in source["paths"].items()
    }
    components = {
        key: _walked(part, schema) for key, part in source["components"].items() if key != "schemas"
    }
    document["components"] = {**components, "schemas": dict(sorted(bundler.components.items()))}
    return document


def _walked(value: Any, change: Callable[[Schema], Schema]) -> Any:
    """Changes the schemas in a part of the document."""
    if isinstance(value, list):
        return [_walked(member, change) for member in value]
    if not isinstance(value, dict):
        return value
    return {
        key: change(member) if key == "schema" else _walked(member, change) for key, member in value.items()
    }


def _with_statuses(operation: dict[str, Any]) -> dict[str, Any]:
    """Replaces the ranges of statuses, which many tools do not know."""
    status = "201" if operation["operationId"].startswith("create") else "200"
    responses: dict[str, Any] = {}
    for code, response in operation["responses"].items():
        if code == "2XX":
            text = f"{response['description']} Any 2xx status is a success; {status} is the commonest."
            responses[status] = {**response, "description": text}
        else:
            responses["default" if code == "4XX" else code] = response
    return {**operation, "responses": dict(sorted(responses.items()))}


# ---------------------------------------------------------------------- OpenAPI 3.0


def older(document: dict[str, Any]) -> dict[str, Any]:
    """Returns a bundled document in OpenAPI 3.0.3."""
    components = document["components"]
    schemas = components["schemas"]
    rest = {key: value for key, value in document.items() if key != "components"}
    made: dict[str, Any] = _walked({**rest, "components": {**components, "schemas": {}}}, _older(schemas))
    made["components"]["schemas"] = {name: _older(schemas)(schema) for name, schema in schemas.items()}
    made["openapi"] = "3.0.3"
    made["info"] = {
        **{key: value for key, value in made["info"].items() if key != "summary"},
        "license": {"name": made["info"]["license"]["name"]},
    }
    return made


def _older(components: dict[str, Schema]) -> Callable[[Schema], Schema]:
    """Returns the function that writes a schema in the keywords of OpenAPI 3.0."""

    def older(schema: Schema) -> Schema:
        if "$ref" in schema:
            described = {key: member for key, member in schema.items() if key != "$ref"}
            # Members beside a reference are ignored.
            return {"allOf": [{"$ref": schema["$ref"]}], **described} if described else schema
        made: Schema = {}
        for key, member in schema.items():
            if key == "properties":
                made[key] = {name: older(described) for name, described in member.items()}
            elif key in ("items", "not"):
                made[key] = older(member)
            elif key in ("allOf", "anyOf"):
                made[key] = [older(part) for part in member]
            elif key == "const":
                made["enum"] = [member]
            elif key == "type" and isinstance(member, list):
                made |= {"type": member[0], "nullable": True}
            elif key not in (*_CONDITIONS, "unevaluatedProperties"):
                made[key] = member
        if {"type": "null"} in schema.get("anyOf", ()):
            # Null has to be one of the values, too.
            values = older(components[schema["anyOf"][0]["$ref"].rpartition("/")[2]])
            del made["anyOf"]
            made |= {**values, "nullable": True, "enum": [*values["enum"], None]}
        if "if" in schema:
            condition, chosen, other = (older(schema.get(key, {})) for key in _CONDITIONS)
            cases = [[{"not": condition}, chosen], [condition, other]]
            constraining = [case for case in cases if case[1].keys() - {"title", "description"}]
            made["allOf"] = [*made.get("allOf", ()), *({"anyOf": case} for case in constraining)]
        return made

    return older


# ---------------------------------------------------------------------- files


def editions() -> dict[str, str]:
    """Returns the text of each edition by its file in spec/."""
    document = bundled()
    return {
        name: json.dumps(edition, indent=2, ensure_ascii=False) + "\n"
        for name, edition in (("openapi.bundled.json", document), ("openapi-3.0.json", older(document)))
    }


if __name__ == "__main__":
    for name, text in editions().items():
        (SPEC / name).write_text(text, "utf-8")
        print(f"{name}: {len(text.splitlines())} lines", file=sys.stderr)
