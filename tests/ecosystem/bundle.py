"""Bundles spec/openapi.yaml and schemas/ into spec/openapi.bundled.json: `python -m tests.ecosystem.bundle`.

The bundled document states the same in terms that tools support:

- one file: each titled object or enumeration becomes a component, every other schema is inlined;
- explicit statuses: the range of successes becomes the most common one, the range of refusals the default;
- without what only judging needs: rule annotations, conditions on answers, patterns of timestamps.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import yaml

SPEC = Path(__file__).parents[2] / "spec"
BUNDLED = SPEC / "openapi.bundled.json"

_CONDITIONS = ("if", "then", "else")

#: Keywords that only this project uses, or that a single file does not need.
_LEFT_OUT = ("$schema", "$defs", "x-rule", "x-code")

#: Keywords whose members have free names, so none of them is a keyword.
_NAMED_MEMBERS = ("properties",)

_UUID = "^[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}$"

Schema = dict[str, Any]


class Bundler:
    """Bundles the schemas of an OpenAPI document: replaces references to other files by references to
    components."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._documents: dict[str, Any] = {}
        self.components: dict[str, Schema] = {}
        #: Component -> location of its source, to detect name clashes.
        self._origins: dict[str, str] = {}

    def document(self, name: str) -> Any:
        if name not in self._documents:
            text = (self._folder / name).read_bytes()
            self._documents[name] = json.loads(text) if name.endswith(".json") else yaml.safe_load(text)
        return self._documents[name]

    def _find(self, reference: str, file: str) -> tuple[str, str, Schema]:
        """Resolves a reference in a file; returns file, pointer and schema."""
        other, _, pointer = reference.partition("#")
        name = (f"schemas/{other.rpartition('/')[2]}" if other.endswith(".json") else other) or file
        found = self.document(name)
        for step in pointer.split("/")[1:]:
            found = found[step.replace("~1", "/").replace("~0", "~")]
        return name, pointer, found

    def schema(self, value: Schema, file: str, pointer: str, *, conditional: bool = False) -> Schema:
        """Bundles a schema of a file; `conditional` is True within a condition."""
        if "$ref" in value:
            place, inner, found = self._find(value["$ref"], file)
            made = self.schema(found, place, inner, conditional=conditional)
            own = {key: member for key, member in value.items() if key not in ("$ref", *_LEFT_OUT)}
            return {**made, **own}
        name = None if conditional else _component(value, file, pointer)
        if name is None:
            made = self._plain(value, file, pointer, conditional)
            return made if conditional else {key: member for key, member in made.items() if key != "title"}
        if name not in self._origins:
            self._origins[name] = f"{file}#{pointer}"
            self.components[name] = {}
            # Some tools name a schema by its title, others by its key: keep only the key.
            untitled = {key: member for key, member in value.items() if key != "title"}
            self.components[name].update(self._plain(untitled, file, pointer, conditional))
        if self._origins[name] != f"{file}#{pointer}":
            raise ValueError(f"{name} is {self._origins[name]} and {file}#{pointer}: give one another title")
        return {"$ref": f"#/components/schemas/{name}"}

    def _plain(self, value: Schema, file: str, pointer: str, conditional: bool) -> Schema:
        """Bundles the parts of a schema without a reference."""
        made: Schema = {}
        for key, member in value.items():
            if key in _LEFT_OUT:
                continue
            place = f"{pointer}/{key}"
            if key in _CONDITIONS:
                if "title" in value["if"]:
                    made[key] = self.schema(member, file, place, conditional=True)
            elif key in _NAMED_MEMBERS:
                made[key] = {
                    name: self.schema(described, file, f"{place}/{name}", conditional=conditional)
                    for name, described in member.items()
                    if described.get("not") != {}
                }
            elif key in ("allOf", "anyOf"):
                made[key] = [
                    self.schema(part, file, f"{place}/{number}", conditional=conditional)
                    for number, part in enumerate(member)
                ]
            elif key == "items":
                made[key] = self.schema(member, file, place, conditional=conditional)
            else:
                made[key] = member
        return _simplified(made)


def _component(value: Schema, file: str, pointer: str) -> str | None:
    """Returns the name of a schema that becomes a component: an object or an enumeration with a title."""
    if "title" not in value or not ({"properties", "enum", "allOf"} & value.keys()):
        return None
    if file == "openapi.yaml" and pointer.startswith("/components/schemas/") and pointer.count("/") == 3:
        return pointer.rpartition("/")[2]
    words = Path(file).stem.split("_") if not pointer else value["title"].split()
    return "".join(word[:1].upper() + word[1:] for word in words)


def _simplified(schema: Schema) -> Schema:
    """Simplifies a schema where generators fail on it."""
    made = dict(schema)
    if made.get("format") == "date-time":
        made.pop("pattern", None)
    if made.get("format") == "uuid":
        # Python generators make an object of it, which no HTTP library accepts as a header value.
        del made["format"]
        made["pattern"] = _UUID
    merged = [part for part in made.get("allOf", ()) if "$ref" not in part and "type" not in part]
    if merged:
        rest = [part for part in made.pop("allOf") if part not in merged]
        for part in merged:
            made = {**part, **made}
        made |= {"allOf": rest} if rest else {}
    alternatives = made.get("anyOf", ())
    if len(alternatives) == 2 and alternatives[1] == {"type": "null"} and "$ref" not in alternatives[0]:
        value = alternatives[0]
        made = {**value, "type": [value["type"], "null"], **{k: v for k, v in made.items() if k != "anyOf"}}
    elif alternatives and "type" in made:
        kind = made.pop("type")
        made["anyOf"] = [{"type": kind, **alternative} for alternative in alternatives]
    if "properties" in made and not made.keys() & {"allOf", "anyOf"}:
        members = made["properties"].items()
        made["properties"] = {name: _without_default(member) for name, member in members}
    return made


def _without_default(schema: Schema) -> Schema:
    """Moves a default into the description: some generators make members with a default required."""
    if "default" not in schema:
        return schema
    described = f"{schema.get('description', '')} Default: {json.dumps(schema['default'])}.".strip()
    return {key: value for key, value in schema.items() if key != "default"} | {"description": described}


# ---------------------------------------------------------------------- the document around the schemas


def bundled(folder: Path = SPEC) -> dict[str, Any]:
    """Returns the bundled document. Raises ValueError if two schemas would get the same name."""
    bundler = Bundler(folder)
    source = bundler.document("openapi.yaml")
    document = {key: value for key, value in source.items() if key not in ("paths", "components")}
    document["paths"] = {
        path: {
            key: _operation(value, key, bundler) if isinstance(value, dict) else _walked(value, bundler)
            for key, value in item.items()
        }
        for path, item in source["paths"].items()
    }
    components = {
        key: _walked(value, bundler) for key, value in source["components"].items() if key != "schemas"
    }
    document["components"] = {**components, "schemas": dict(sorted(bundler.components.items()))}
    return document


def _walked(value: Any, bundler: Bundler) -> Any:
    """Bundles the schemas in a part of the document."""
    if isinstance(value, list):
        return [_walked(member, bundler) for member in value]
    if not isinstance(value, dict):
        return value
    return {
        key: bundler.schema(member, "openapi.yaml", "") if key == "schema" else _walked(member, bundler)
        for key, member in value.items()
    }


def _operation(described: dict[str, Any], method: str, bundler: Bundler) -> dict[str, Any]:
    made: dict[str, Any] = _walked(described, bundler)
    status = "201" if described["operationId"].startswith("create") else "200"
    responses: dict[str, Any] = {}
    for code, response in made["responses"].items():
        if code == "2XX":
            text = f"{response['description']} Any 2xx status is a success; {status} is the commonest."
            responses[status] = {**response, "description": text}
        else:
            responses["default" if code == "4XX" else code] = response
    made["responses"] = dict(sorted(responses.items()))
    return made


def text(folder: Path = SPEC) -> str:
    """Returns the bundled document as JSON text."""
    return json.dumps(bundled(folder), indent=2, ensure_ascii=False) + "\n"


def main() -> int:
    BUNDLED.write_text(text(), "utf-8")
    names = bundled()["components"]["schemas"]
    odd = [name for name in names if not re.fullmatch("(?:[A-Z][a-z]+)+", name)]
    print(f"{BUNDLED.name}: {len(names)} schemas{', oddly named: ' + ', '.join(odd) if odd else ''}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
