"""Generated code has all operations, typed lists, and no names with a number appended."""

from __future__ import annotations

import ast
import json
import re
import sys
from pathlib import Path

import pytest

from conformance.contract.operations import OPERATIONS
from tests.ecosystem.bundle import BUNDLED
from tests.ecosystem.tools import HERE, credentials, npm, python, run, with_modules
from tests.support.running import sandbox

#: List -> type of its elements.
LISTS = {
    "AccountList": "AccountItem",
    "PayoutDestinationList": "PayoutDestinationItem",
    "VirtualAccountList": "VirtualAccountItem",
    "WalletList": "WalletItem",
}

#: Names that end in a number because the field or an HTTP status does.
NUMBERED = re.compile(r"\w+Last4$|\w+Response[1-5][0-9]{2}$|HTTPStatusCode[1-5]$")

#: Options of the strictest compilation.
TSC = ("--strict", "--noEmit", "--target", "es2022", "--lib", "es2022,dom,dom.iterable")
BUNDLER = ("--module", "esnext", "--moduleResolution", "bundler")

#: Uses every list and its elements, which compiles only if no type is `unknown`.
USES = """
import type { AccountList, PayoutDestinationList, VirtualAccountList, WalletList } from '%s';
export const account = (page: AccountList): string => page.items[0].name;
export const destination = (page: PayoutDestinationList): boolean => page.items[0].is_default;
export const virtual = (page: VirtualAccountList): string => page.items[0].label;
export const wallet = (page: WalletList): string => page.items[0].network;
export const total = (page: WalletList): number => page.total;
"""

#: Types of createAccount's answers by generator: an account on success, an error otherwise.
ANSWERS = {
    "openapi-typescript": """
import type { components, operations } from './schema';
type Answers = operations['createAccount']['responses'];
type Body<Status extends keyof Answers> = Answers[Status]['content']['application/json'];
export const made = (body: Body<201>): components['schemas']['Account'] => body;
export const refused = (body: Body<401 | 403 | 404>): components['schemas']['Error'] => body;
// @ts-expect-error
export const mistaken = (body: Body<401>): components['schemas']['Account'] => body;
""",
    "openapi-ts": """
import type { Account, CreateAccountErrors, CreateAccountResponse, Error } from './client/types.gen';
export const made = (body: CreateAccountResponse): Account => body;
export const refused = (bodies: CreateAccountErrors): Error[] => [bodies[401], bodies[403], bodies[404]];
// @ts-expect-error
export const mistaken = (bodies: CreateAccountErrors): Account => bodies[401];
""",
    "orval": """
import type { createAccountResponse } from './client';
export function said(answer: createAccountResponse): string {
  if (answer.status === 201) return answer.data.name;
  if (answer.status === 401) return answer.data.error.code;
  // @ts-expect-error
  return answer.data.name;
}
""",
}


def numbered(names: list[str]) -> list[str]:
    return [name for name in names if re.search("[0-9]$", name) and not NUMBERED.match(name)]


def exported(text: str) -> list[str]:
    return re.findall(r"^export (?:type|interface|const|enum|function|class) (\w+)", text, re.MULTILINE)


def snake(name: str) -> str:
    return re.sub("([A-Z])", r"_\1", name).lower()


def test_numbers_behind_names_are_seen() -> None:
    assert numbered(["Object4", "Note2", "ClabeLast4", "createWalletResponse201", "Account"]) == [
        "Object4",
        "Note2",
    ]


def test_openapi_typescript(tmp_path: Path) -> None:
    npm("openapi-typescript", BUNDLED, "-o", tmp_path / "schema.ts", folder=tmp_path)
    text = (tmp_path / "schema.ts").read_text("utf-8")
    for list_name, item in LISTS.items():
        assert f'items: components["schemas"]["{item}"][];' in text, list_name
    assert [name for name in OPERATIONS if f'operations["{name}"]' not in text] == []
    text = text.replace("error?: unknown;", "").replace("[name: string]: unknown;", "")
    assert not re.search("[:<|&] *unknown", text)
    (tmp_path / "named.ts").write_text(
        "import type { components } from './schema';\n"
        + "".join(f"export type {name} = components['schemas']['{name}'];\n" for name in LISTS)
    )
    (tmp_path / "uses.ts").write_text(USES % "./named" + REQUEST)
    (tmp_path / "answers.ts").write_text(ANSWERS["openapi-typescript"])
    npm("tsc", *TSC, *BUNDLER, "uses.ts", "answers.ts", folder=tmp_path)


#: A destination without is_default: a member with a default is optional.
REQUEST = """
import type { components } from './schema';
export const body: components['schemas']['PayoutDestinationCreate'] =
  { country: 'US', type: 'bank_account', currency: 'USD' };
"""


def test_hey_api(tmp_path: Path) -> None:
    npm("openapi-ts", "-i", BUNDLED, "-o", tmp_path / "client", "--silent", folder=tmp_path)
    types = (tmp_path / "client" / "types.gen.ts").read_text("utf-8")
    calls = (tmp_path / "client" / "sdk.gen.ts").read_text("utf-8")
    assert set(exported(calls)) >= set(OPERATIONS)
    assert numbered(exported(types)) == []
    for list_name, item in LISTS.items():
        assert f"items: Array<{item}>;" in types, list_name
    with_modules(tmp_path)
    (tmp_path / "uses.ts").write_text(USES % "./client/types.gen")
    (tmp_path / "answers.ts").write_text(ANSWERS["openapi-ts"])
    programs = ("uses.ts", "answers.ts", "client/sdk.gen.ts")
    npm("tsc", *TSC, *BUNDLER, "--skipLibCheck", *programs, folder=tmp_path)


def test_orval(tmp_path: Path) -> None:
    target = tmp_path / "client.ts"
    config = {
        "api": {"input": {"target": str(BUNDLED)}, "output": {"target": str(target), "client": "fetch"}}
    }
    (tmp_path / "orval.config.cjs").write_text(f"module.exports = {json.dumps(config)};")
    npm("orval", "--config", "orval.config.cjs", folder=tmp_path)
    text = target.read_text("utf-8")
    assert set(exported(text)) >= set(OPERATIONS)
    assert numbered(exported(text)) == []
    for list_name, item in LISTS.items():
        assert f"items: {item}[];" in text, list_name
    (tmp_path / "uses.ts").write_text(USES % "./client")
    (tmp_path / "answers.ts").write_text(ANSWERS["orval"])
    npm("tsc", *TSC, *BUNDLER, "uses.ts", "answers.ts", folder=tmp_path)


@pytest.fixture(scope="module")
def python_client(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder in which openapi-python-client generated accounts_client."""
    folder = tmp_path_factory.mktemp("python")
    arguments = ("generate", "--path", BUNDLED, "--meta", "none", "--output-path", folder / "accounts_client")
    done = python("openapi_python_client", *arguments, folder=folder)
    # Without ruff it prints that it cannot format; any other output is an error.
    complaints = re.sub(r"Skipping Integration\s+ruff is not in PATH", "", done.stdout + done.stderr)
    assert not re.search("(?i)could ?n.t|unsupported|unable|cannot|skipping|error parsing", complaints), (
        complaints
    )
    return folder


def test_openapi_python_client(python_client: Path) -> None:
    package = python_client / "accounts_client"
    modules = {path.stem for path in package.glob("api/*/*.py")}
    assert modules >= {snake(name) for name in OPERATIONS}
    for list_name, item in LISTS.items():
        assert f"    items: list[{item}]\n" in (package / "models" / f"{snake(list_name)[1:]}.py").read_text(
            "utf-8"
        )
    classes = [
        node.name
        for path in package.glob("models/*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.ClassDef)
    ]
    assert numbered(classes) == []
    call = (package / "api" / "accounts" / "create_account.py").read_text("utf-8")
    assert "-> Account | Error | Refusal:" in call and "response_201 = Account.from_dict" in call
    assert "response_401 = Error.from_dict" in call


def test_datamodel_code_generator(tmp_path: Path) -> None:
    models = tmp_path / "models.py"
    python(
        "datamodel_code_generator", "--input", BUNDLED, "--input-file-type", "openapi", "--output", models,
        "--output-model-type", "pydantic_v2.BaseModel", "--target-python-version", "3.11", folder=tmp_path,
    )  # fmt: skip
    tree = ast.parse(models.read_text("utf-8"))
    classes = {node.name: ast.unparse(node) for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}
    assert set(classes) == set(json.loads(BUNDLED.read_bytes())["components"]["schemas"])
    for list_name, item in LISTS.items():
        assert f"items: list[{item}]" in classes[list_name]
    example = {"items": [], "total": 0, "page": 1, "size": 10, "pages": 0}
    program = f"import models; print(models.WalletList.model_validate({example}).total)"
    assert run([sys.executable, "-c", program], tmp_path).stdout.strip() == "0"


# ---------------------------------------------------------------------- generated clients that sign


def test_a_generated_python_client_makes_signed_calls(python_client: Path) -> None:
    with sandbox() as (_, target):
        program = HERE / "clients" / "python_client.py"
        variables = {**credentials(target), "PYTHONPATH": str(python_client)}
        done = run([sys.executable, str(program)], python_client, variables)
    assert done.stdout.split("\n")[0] == "Generated in Python True invalid_signature"


def test_a_generated_typescript_client_makes_signed_calls(tmp_path: Path) -> None:
    npm("openapi-typescript", BUNDLED, "-o", tmp_path / "schema.ts", folder=tmp_path)
    (tmp_path / "package.json").write_text('{"type": "module"}')
    (tmp_path / "client.ts").write_text((HERE / "clients" / "typescript_client.ts").read_text("utf-8"))
    with_modules(tmp_path)
    npm(
        "tsc", "--strict", "--target", "es2022", "--lib", "es2022,dom,dom.iterable", "--module", "nodenext",
        "--moduleResolution", "nodenext", "--types", "node", "client.ts", folder=tmp_path,
    )  # fmt: skip
    with sandbox() as (_, target):
        done = run(["node", "client.js"], tmp_path, credentials(target))
    assert done.stdout.split("\n")[0] == "Generated in TypeScript true 401"
