"""Changes of the contract, as a user makes them: data, and for a rule its row in FIELD_RULES."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from conformance.contract.documents import SPEC
from conformance.contract.field_rules import FIELD_RULES, FieldRule, of
from conformance.contract.rules import ALL_RULES

#: An operation and a pattern of rules.
Place = tuple[str, str]


@dataclass(frozen=True)
class Extension:
    """A change of the contract.

    `changes`: file -> text that it has once -> text in its place; `files`: new file -> its document.
    Checks of `rules` (patterns) are run on `operations`. New fields match `member`, a pattern. `idle` are
    sentences of servers, some behind an operation and a colon, that have no effect there, or none on what is
    judged."""

    changes: Mapping[str, Mapping[str, str]]
    rules: tuple[str, ...]
    operations: tuple[str, ...]
    files: Mapping[str, object] = field(default_factory=dict)
    member: str = ""
    idle: tuple[str, ...] = ()

    def shows(self, operation: str, sentence: str) -> bool:
        """True if a server of a sentence has an effect on an operation."""
        return {sentence, f"{operation}: {sentence}"}.isdisjoint(self.idle)

    def written(self, folder: Path) -> Path:
        """Writes the extended contract to a folder, and returns that."""
        shutil.copytree(SPEC, folder)
        for name, changes in self.changes.items():
            text = (folder / name).read_text("utf-8")
            for old, new in changes.items():
                assert text.count(old) == 1, f"{name}: not one place for {new}"
                text = text.replace(old, new)
            (folder / name).write_text(text, "utf-8")
        for name, document in self.files.items():
            (folder / name).write_text(json.dumps(document), "utf-8")
        return folder


# ---------------------------------------------------------------------- a field

_NOTE = "        note:\n          $ref: schemas/beneficiary.json#/$defs/note\n"

#: An optional text of a beneficiary, of at most 35 characters.
_FIELD = Extension(
    {
        "schemas/beneficiary.json": {
            '"note", "status"': '"note", "nickname", "status"',
            '"note": { "anyOf"': '"nickname": { "anyOf": [{ "$ref": "#/$defs/nickname" },'
            ' { "type": "null" }] },'
            ' "note": { "anyOf"',
            '"note": { "description"': '"nickname": { "type": "string", "maxLength": 35 },'
            ' "note": { "description"',
        },
        "openapi.yaml": {_NOTE: _NOTE + _NOTE.replace("note", "nickname")},
    },
    (
        "create.echo",
        "read.equals-create",
        "beneficiary.update",
        "beneficiary.disable",
        "fields.max-length*",
        "fields.optional-type",
    ),
    ("createBeneficiary", "getBeneficiary", "updateBeneficiary", "disableBeneficiary"),
    member="nickname",
)

# ---------------------------------------------------------------------- a rule of one field

_BLANK = "fields.blank-note"

#: A note of white space alone is refused.
_RULE = Extension(
    {
        "rules.yaml": {
            "  - id: fields.enum\n": f"  - id: {_BLANK}\n"
            '    section: ["4.2"]\n'
            "    level: required\n"
            "    operations: [createBeneficiary, updateBeneficiary, createPayout]\n"
            "    statement: A note of white space alone is refused.\n"
            "  - id: fields.enum\n"
        }
    },
    (_BLANK,),
    ("createBeneficiary", "updateBeneficiary", "createPayout"),
)

if _BLANK in ALL_RULES:
    FIELD_RULES.append(
        FieldRule(_BLANK, of("note"), lambda at: bool(at.value) and at.value.isspace(), ["  "])
    )

# ---------------------------------------------------------------------- lists


def _list(path: str, name: str, item: str, *filters: str) -> str:
    """The part of openapi.yaml that describes a list."""
    ids, parameters = (
        "".join(f'        - $ref: "#/components/parameters/{each}"\n' for each in names)
        for names in (re.findall(r"{(\w+)}", path), (*filters, "page", "size"))
    )
    return (
        f"  {path}:\n    parameters:\n{ids}"
        f"    get:\n      operationId: {name}\n      parameters:\n{parameters}"
        "      responses:\n        2XX:\n          content:\n            application/json:\n"
        f"              schema:\n                $ref: schemas/{item}_list.json\n"
    )


def _schemas(item: str, members: Mapping[str, object]) -> dict[str, object]:
    """The schemas of a list and its items."""
    page = json.loads((SPEC / "schemas/wallet_list.json").read_bytes())
    page["properties"]["items"]["items"] = {"$ref": f"{item}_item.json"}
    schema = {"type": "object", "required": [*members], "properties": members}
    names = (f"{item}_item", item) if item == "notice" else (f"{item}_item",)
    return {f"schemas/{item}_list.json": page, **{f"schemas/{name}.json": schema for name in names}}


_PAYOUTS = "  /v1/accounts/{account_id}/payouts:\n    parameters:\n"
_KEY = "    Idempotency-Key:\n      name:"
_TIME = {"$ref": "common.json#/$defs/timestamp"}
_ADDED = {
    "id": {"type": "string", "x-rule": "format.id"},
    "text": {"type": "string"},
    "created": _TIME,
}
_PAYOUT_ITEM = ("id", "object", "amount", "currency", "note", "created")

#: Two lists that may be filtered by a status that their items do not show: one that no create fills, and one
#: of payouts, to which others add; and one below a payout.
_LISTS = Extension(
    {
        "openapi.yaml": {
            _PAYOUTS: _list(
                "/v1/accounts/{account_id}/notices", "listNotices", "notice", "status", "start_date"
            )
            + _list("/v1/accounts/{account_id}/payouts/{payout_id}/events", "listEvents", "event")
            + _PAYOUTS,
            "    post:\n      operationId: createPayout\n": _list(
                "/", "listPayouts", "payout", "status", "start_date", "end_date"
            ).partition("parameters:\n")[2]
            + "    post:\n      operationId: createPayout\n",
            _KEY: "    payout_id:\n      name: payout_id\n      in: path\n      required: true\n"
            "      schema: { type: string }\n      example: po_1\n" + _KEY,
        },
        "operations.yaml": {
            "  createVirtualAccount:\n": "  listNotices: {}\n  listEvents: {}\n"
            "  listPayouts: { others_add: true }\n  createVirtualAccount:\n",
            "    draws_on_funds: true\n": "    draws_on_funds: true\n    listed_by: listPayouts\n",
        },
    },
    ("list.*", "format.*", "tenancy.*", "http.no-server-error"),
    ("listNotices", "listPayouts", "listEvents"),
    {
        **_schemas("payout", {name: {"$ref": f"payout.json#/properties/{name}"} for name in _PAYOUT_ITEM}),
        **_schemas("notice", _ADDED | {"object": {"const": "notice", "x-rule": "format.object"}}),
        **_schemas("event", _ADDED | {"object": {"const": "event", "x-rule": "format.object"}}),
    },
    idle=(
        "The last item of a page lacks its name or currency.",
        # Nothing is added to what no create fills, and nothing is paid to a payout.
        "listNotices: The total of a list is what it held when it was read first.",
        "listPayouts: The total of a list counts its elements once for each payout.",
        # Lists of which filters are not judged: no create fills them, or others add to them.
        "Beside a filter size is ignored where page is not named.",
        "A filtered list shows an element once for each payout.",
    ),
)

# ---------------------------------------------------------------------- a create

_CREATE_NOTICE = """\
    post:
      operationId: createNotice
      requestBody:
        content:
          application/json:
            schema:
              type: object
              required: [title]
              properties:
                title: { type: string, maxLength: 80 }
                kind: { type: string, enum: [email, letter] }
                remark: { type: string, maxLength: 200 }
      responses:
        2XX:
          content:
            application/json:
              schema:
                $ref: schemas/notice.json
"""

#: A create, and the list that it fills.
_CREATE = Extension(
    {
        "openapi.yaml": {
            _PAYOUTS: _list("/v1/accounts/{account_id}/notices", "listNotices", "notice")
            + _CREATE_NOTICE
            + _PAYOUTS
        },
        "operations.yaml": {
            "  createVirtualAccount:\n": "  createNotice:\n    creates: notice\n"
            "    initial: { status: active }\n    listed_by: listNotices\n    free_text: title\n"
            "    samples: [notice]\n  listNotices: {}\n  createVirtualAccount:\n",
        },
    },
    ("create.*", "auth.*", "fields.*", "format.*", "idempotency.*", "list.*", "tenancy.*"),
    ("createNotice", "listNotices"),
    _schemas(
        "notice",
        {
            "id": {"type": "string", "x-rule": "format.id"},
            "object": {"const": "notice", "x-rule": "format.object"},
            "account_id": {"$ref": "common.json#/$defs/account_id"},
            "title": {"type": "string"},
            "kind": {"enum": ["email", "letter", None]},
            "remark": {"type": ["string", "null"]},
            "status": {"enum": ["active", "closed"]},
            "created": _TIME,
            "updated": _TIME,
        },
    ),
    member="*",
)

EXTENSIONS = {"field": _FIELD, "rule": _RULE, "lists": _LISTS, "create": _CREATE}
