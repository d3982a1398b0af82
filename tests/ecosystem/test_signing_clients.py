"""The clients in spec/signing.md sign every vector correctly, and a server accepts them.

Each is extracted from the page and gets a main program that signs its input, or makes two calls.
"""

from __future__ import annotations

import re
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from conformance.contract.rules import SPEC
from tests.ecosystem.tools import credentials, run
from tests.support.running import sandbox
from tests.support.vectors import VECTORS, content

PAGE = (SPEC / "signing.md").read_text("utf-8")
BLOCKS: dict[str, str] = dict(re.findall(r"^```(\w+)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL))


@dataclass(frozen=True)
class Language:
    """A client of the page as a program.

    `main` is its main program. With the argument `sign` it reads lines of secret, method, target, timestamp,
    nonce and body (secret and body in hexadecimal, - for an empty body) and prints the signature of each;
    with `call` it makes a POST and a GET and prints their statuses. `commands` must be installed.
    """

    commands: tuple[str, ...]
    client: str
    main_file: str
    main: str
    run: tuple[str, ...]
    build: tuple[str, ...] = ()


PYTHON = """
import sys
from client import call, signature

if sys.argv[1] == "sign":
    for line in sys.stdin:
        secret, *parts, body = line.split()
        print(signature(bytes.fromhex(secret).decode(), *parts, bytes.fromhex(body.strip("-"))))
else:
    import os
    path = f"/v1/customers/{os.environ['CUSTOMER_ID']}/accounts"
    print(call("POST", path, b'{"name": "Signed"}')[0], call("GET", path + "?size=1&page=1")[0])
"""

JAVASCRIPT = """
import { createInterface } from 'node:readline';
import { call, signature } from './client.mjs';

if (process.argv[2] === 'sign') {
  for await (const line of createInterface({ input: process.stdin })) {
    const [secret, ...parts] = line.split(' ');
    const body = Buffer.from(parts.pop().replace('-', ''), 'hex');
    console.log(signature(Buffer.from(secret, 'hex').toString(), ...parts, body));
  }
} else {
  const path = `/v1/customers/${process.env.CUSTOMER_ID}/accounts`;
  const [made] = await call('POST', path, '{"name": "Signed"}');
  console.log(made, (await call('GET', path + '?size=1&page=1'))[0]);
}
"""

GO = """
package main

import (
	"bufio"
	"encoding/hex"
	"fmt"
	"os"
	"strings"
)

func main() {
	if os.Args[1] == "sign" {
		lines := bufio.NewScanner(os.Stdin)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			part := strings.Split(lines.Text(), " ")
			secret, _ := hex.DecodeString(part[0])
			body, _ := hex.DecodeString(strings.Trim(part[5], "-"))
			fmt.Println(signature(string(secret), part[1], part[2], part[3], part[4], body))
		}
		return
	}
	path := "/v1/customers/" + os.Getenv("CUSTOMER_ID") + "/accounts"
	made, err := call("POST", path, []byte(`{"name": "Signed"}`))
	if err != nil {
		panic(err)
	}
	listed, err := call("GET", path+"?size=1&page=1", nil)
	if err != nil {
		panic(err)
	}
	fmt.Println(made.StatusCode, listed.StatusCode)
}
"""

SHELL = r"""
. ./client.sh
# The bytes of hexadecimal digits, with an x behind them: command substitution would drop line feeds.
bytes() { printf '%b' "$(printf %s "$1" | sed 's/-//; s/../\\0&\n/g' | while read -r one; do
    [ -n "$one" ] && printf '\\0%03o' "0x${one#\\0}"; done)"; printf x; }
if [ "$1" = sign ]; then
    while read -r secret method target timestamp nonce body; do
        secret=$(bytes "$secret") body=$(bytes "$body")
        signature "${secret%x}" "$method" "$target" "$timestamp" "$nonce" "${body%x}"
    done
else
    path=/v1/customers/$CUSTOMER_ID/accounts
    status() { sed 's/.*"items".*/200/; s/.*"object": *"account".*/201/'; }
    echo "$(call POST "$path" '{"name": "Signed"}' | status) $(call GET "$path?size=1&page=1" | status)"
fi
"""

LANGUAGES = {
    "python": Language(
        (sys.executable,), "client.py", "main.py", PYTHON, (sys.executable, "main.py")
    ),
    "javascript": Language(("node",), "client.mjs", "main.mjs", JAVASCRIPT, ("node", "main.mjs")),
    "go": Language(("go",), "client.go", "main.go", GO, ("./main",), ("go", "build", "-o", "main")),
    "sh": Language(("sh", "openssl", "curl"), "client.sh", "main.sh", SHELL, ("sh", "main.sh")),
}  # fmt: skip

each_language = pytest.mark.parametrize("name", LANGUAGES)


def test_the_page_has_a_client_in_each_language() -> None:
    assert set(BLOCKS) == set(LANGUAGES)


@pytest.fixture
def program(name: str, tmp_path: Path) -> tuple[Language, Path]:
    """The client of a language with its main program, built in a folder of its own."""
    language = LANGUAGES[name]
    missing = [command for command in language.commands if shutil.which(command) is None]
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)}")
    (tmp_path / language.client).write_text(BLOCKS[name], "utf-8")
    (tmp_path / language.main_file).write_text(language.main, "utf-8")
    if name == "go":
        (tmp_path / "go.mod").write_text("module client\n")
    if language.build:
        cache = {"GOCACHE": str(tmp_path / "cache"), "GOFLAGS": "-mod=mod"}
        run([*language.build], tmp_path, cache)
    return language, tmp_path


@each_language
def test_client_signs_as_the_vectors_do(name: str, program: tuple[Language, Path]) -> None:
    language, folder = program
    lines = [
        " ".join(
            (
                vector["secret"].encode().hex(),
                *(vector[part] for part in ("method", "target", "timestamp", "nonce")),
                content(vector, "body").hex() or "-",
            )
        )
        for vector in VECTORS
    ]
    done = run([*language.run, "sign"], folder, text="\n".join(lines) + "\n")
    signatures = done.stdout.split()
    assert len(signatures) == len(VECTORS)
    wrong = [
        vector["id"]
        for vector, signature in zip(VECTORS, signatures, strict=True)
        if signature != vector["expected_signature"]
    ]
    assert wrong == []


@each_language
@pytest.mark.parametrize("prefix", ["", "/api"])
def test_client_is_accepted(name: str, prefix: str, program: tuple[Language, Path]) -> None:
    language, folder = program
    with sandbox("--prefix", prefix) as (_, target):
        done = run([*language.run, "call"], folder, credentials(target))
    assert done.stdout.split() == ["201", "200"], done.stdout + done.stderr
