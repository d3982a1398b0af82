"""The clients in spec/signing.md: a server accepts what they sign.

Each is extracted from the page and gets a main program that makes a POST and a GET, and prints two statuses.
"""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

import pytest

from conformance.contract.documents import SPEC
from tests.ecosystem.tools import credentials, run
from tests.support.running import sandbox

PAGE = (SPEC / "signing.md").read_text("utf-8")
BLOCKS: dict[str, str] = dict(re.findall(r"^```(\w+)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL))

PYTHON = """
import os
from client import call

made = call("POST", os.environ["ACCOUNTS"], os.environb[b"BODY"])
print(made[0], call("GET", os.environ["ACCOUNTS"] + "?" + os.environ["QUERY"])[0])
"""

JAVASCRIPT = """
import { call } from './client.mjs';

const { ACCOUNTS, BODY, QUERY } = process.env;
const [made] = await call('POST', ACCOUNTS, BODY);
console.log(made, (await call('GET', `${ACCOUNTS}?${QUERY}`))[0]);
"""

GO = """
package main

import (
	"fmt"
	"os"
)

func main() {
	made, _ := call("POST", os.Getenv("ACCOUNTS"), []byte(os.Getenv("BODY")))
	listed, _ := call("GET", os.Getenv("ACCOUNTS")+"?"+os.Getenv("QUERY"), nil)
	fmt.Println(made.StatusCode, listed.StatusCode)
}
"""

SHELL = r"""
. ./client.sh
status() { sed 's/.*"items".*/200/; s/.*"object": *"account".*/201/'; }
echo "$(call POST "$ACCOUNTS" "$BODY" | status) $(call GET "$ACCOUNTS?$QUERY" | status)"
"""

#: Language -> the commands it needs, the files of client and main program with the latter's text, and the
#: commands that build and run it.
LANGUAGES: dict[str, tuple[list[str], str, str, str, list[list[str]]]] = {
    "python": ([sys.executable], "client.py", "main.py", PYTHON, [[sys.executable, "main.py"]]),
    "javascript": (["node"], "client.mjs", "main.mjs", JAVASCRIPT, [["node", "main.mjs"]]),
    "go": (["go"], "client.go", "main.go", GO, [["go", "build", "-o", "main"], ["./main"]]),
    "sh": (["sh", "openssl", "curl"], "client.sh", "main.sh", SHELL, [["sh", "main.sh"]]),
}

#: Bodies and queries that are easily signed in another form than they are sent.
BODIES = ('{"name": "Signed"}', ' {"name":\t"Signé \\u00e9 東京 🏦"}\r\n')
QUERIES = ("size=1&page=1", "page=1&x=%C3%A9%3a+b&size=1&x=")


def test_the_page_has_a_client_in_each_language() -> None:
    assert set(BLOCKS) == set(LANGUAGES)


@pytest.mark.parametrize("language", LANGUAGES)
def test_client_is_accepted(language: str, tmp_path: Path) -> None:
    commands, client, main_file, main, steps = LANGUAGES[language]
    if missing := [command for command in commands if shutil.which(command) is None]:
        pytest.skip(f"not installed: {', '.join(missing)}")
    (tmp_path / client).write_text(BLOCKS[language], "utf-8")
    (tmp_path / main_file).write_text(main, "utf-8")
    (tmp_path / "go.mod").write_text("module client\n")
    for build in steps[:-1]:
        run(build, tmp_path, {"GOCACHE": str(tmp_path / "cache"), "GOFLAGS": "-mod=mod"})
    for prefix, body, query in zip(("", "/api"), BODIES, QUERIES, strict=True):
        with sandbox("--prefix", prefix) as (_, target):
            accounts = f"/v1/customers/{target['primary']['customer_id']}/accounts"
            variables = {"ACCOUNTS": accounts, "BODY": body, "QUERY": query}
            done = run(steps[-1], tmp_path, {**credentials(target), **variables})
        assert done.stdout.split() == ["201", "200"], done.stdout + done.stderr
