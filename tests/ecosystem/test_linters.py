"""OpenAPI linters and validators report nothing for either document."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.ecosystem.bundle import BUNDLED, SPEC
from tests.ecosystem.tools import javascript, npm

DOCUMENTS = [SPEC / "openapi.yaml", BUNDLED]
each_document = pytest.mark.parametrize("document", DOCUMENTS, ids=lambda document: document.name)


@each_document
def test_spectral_finds_nothing(document: Path, tmp_path: Path) -> None:
    rules = SPEC / ".spectral.yaml"
    done = npm(
        "spectral", "lint", "--fail-severity=hint", "-f", "json", "-r", rules, document, folder=tmp_path
    )
    assert json.loads(done.stdout.partition("No results")[0] or "[]") == []


@each_document
def test_redocly_finds_nothing(document: Path, tmp_path: Path) -> None:
    """With the recommended rules, unmodified."""
    assert (SPEC / ".redocly.yaml").read_text("utf-8").split() == ["extends:", "-", "recommended"]
    config = SPEC / ".redocly.yaml"
    done = npm("redocly", "lint", "--config", config, "--format", "json", document, folder=tmp_path)
    assert json.loads(done.stdout)["problems"] == []


def test_a_misspelt_member_of_an_example_is_found(tmp_path: Path) -> None:
    """Proves that the linters check examples."""
    mutated = tmp_path / "mutated.json"
    mutated.write_text(BUNDLED.read_text("utf-8").replace('"name": "Operating account"', '"nmae": "typo"', 1))
    config = SPEC / ".redocly.yaml"
    done = npm(
        "redocly", "lint", "--config", config, "--format", "json", mutated, folder=tmp_path, check=False
    )
    assert any("nmae" in problem["message"] for problem in json.loads(done.stdout)["problems"])


def test_scalar_accepts_the_bundled_document(tmp_path: Path) -> None:
    done = npm("scalar", "document", "validate", BUNDLED, folder=tmp_path)
    assert "Matches the OpenAPI specification (OpenAPI 3.1)" in done.stdout + done.stderr


SERIOUSME = """
import { Validator } from '@seriousme/openapi-schema-validator';
const result = await new Validator().validate(process.argv[2]);
console.log(JSON.stringify([result.valid, result.errors ?? null]));
"""


def test_seriousme_accepts_the_bundled_document(tmp_path: Path) -> None:
    assert json.loads(javascript(SERIOUSME, BUNDLED, folder=tmp_path)) == [True, None]


AJV = """
import { readFileSync } from 'node:fs';
import Ajv2020 from 'ajv/dist/2020.js';
const schemas = JSON.parse(readFileSync(process.argv[2], 'utf-8')).components.schemas;
const options = { strict: true, strictTypes: false, strictRequired: false, validateFormats: false };
const ajv = new Ajv2020.default(options);
const local = (schema) => JSON.stringify(schema).replaceAll('#/components/schemas/', 'urn:schema:');
for (const [name, schema] of Object.entries(schemas)) {
  ajv.addSchema({ $id: `urn:schema:${name}`, ...JSON.parse(local(schema)) });
}
for (const name of Object.keys(schemas)) ajv.compile({ $ref: `urn:schema:${name}` });
console.log(Object.keys(schemas).length);
"""


def test_ajv_compiles_every_schema_in_strict_mode(tmp_path: Path) -> None:
    schemas = json.loads(BUNDLED.read_bytes())["components"]["schemas"]
    assert int(javascript(AJV, BUNDLED, folder=tmp_path)) == len(schemas)
