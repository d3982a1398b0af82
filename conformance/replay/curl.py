"""A replay file as a bash script of curl and openssl that signs by itself."""

from __future__ import annotations

import base64
import contextlib
import shlex
from typing import Any

from conformance.contract import signing
from conformance.replay.document import SECRET, TARGET_VALUES, Document, Step, check
from conformance.replay.symbols import SYMBOL
from conformance.wire.messages import NAME_CASES
from conformance.wire.mutations import MUTATIONS

#: Where a server listens of which nobody says where.
BASE_URL = "http://127.0.0.1:8000"

_HEAD = r"""#!/usr/bin/env bash
# {title}
# expected  {expected}
# got       {got}
# Needs bash, curl and openssl, and in the environment {variables}.
[ -n "${{BASH_VERSION-}}" ] || {{ echo "This script needs bash: run it with bash." >&2; exit 2; }}
set -u
BASE_URL=${{CONFORMANCE_BASE_URL:-}}
[ -n "$BASE_URL" ] || BASE_URL={base_url}
for name in {credentials}; do
  [ -n "${{!name-}}" ] && continue
  echo "$name is not set in the environment; the requests are signed with it." >&2
  exit 2
done
BASE_URL=${{BASE_URL%/}}
HOST=${{BASE_URL#*://}}
PREFIX=
case $HOST in */*) PREFIX=/${{HOST#*/}} ;; esac
ORIGIN=${{BASE_URL%"$PREFIX"}}
WORK=$(mktemp -d); trap 'rm -rf "$WORK"' EXIT

hexadecimal() {{ openssl rand -hex "$1"; }}
uuid() {{ # VERSION VARIANT
  local h; h=$(openssl rand -hex 16)
  printf '%s-%s-%s%s-%s%s-%s' "${{h:0:8}}" "${{h:8:4}}" "$1" "${{h:13:3}}" "$2" "${{h:17:3}}" "${{h:20:12}}"
}}
encoded() {{ # TEXT FORMAT LETTERS: these letters percent-encoded
  local LC_ALL=C text=$1 at c
  for ((at = 0; at < ${{#text}}; at++)); do
    c=${{text:at:1}}
    case $3 in *"$c"*) printf "$2" "'$c" ;; *) printf %s "$c" ;; esac
  done
}}
encoded_at() {{ # TEXT POSITION: the letter there percent-encoded
  local LC_ALL=C text=$1 at=$2
  ((at >= 0)) || at=$((at + ${{#text}}))
  printf '%s%%%02X%s' "${{text:0:at}}" "'${{text:at:1}}" "${{text:at+1}}"
}}
turned() {{ # TEXT NUMBER POSITION...: the hexadecimal digits there, changed by an exclusive or
  local LC_ALL=C text=$1 turn=$2 form=%x at c
  shift 2
  case $text in *[a-f]*) ;; *[A-F]*) form=%X ;; esac
  for at in "$@"; do
    c=${{text:at:1}}
    case $c in [0-9a-fA-F]) text=${{text:0:at}}$(printf $form $((16#$c ^ turn)))${{text:at+1}} ;; esac
  done
  printf %s "$text"
}}
cased() {{ # TEXT POSITION...: the letters there in the other letter case
  local LC_ALL=C text=$1 at
  shift
  for at in "$@"; do
    text=${{text:0:at}}$(printf %s "${{text:at:1}}" | tr a-zA-Z A-Za-z)${{text:at+1}}
  done
  printf %s "$text"
}}
offset() {{ # TIMESTAMP MINUTES: the same instant, as clocks show it that are so far ahead
  local fraction=${{1:19}} sign=+ ahead=$2
  ((ahead >= 0)) || {{ sign=-; ahead=$((-ahead)); }}
  printf '%s%s%s%02d:%02d' "$(date -u -d "${{1:0:10}} ${{1:11:8}}Z $2 minutes" +%Y-%m-%dT%H:%M:%S)" \
    "${{fraction%Z}}" "$sign" $((ahead / 60)) $((ahead % 60))
}}
moved() {{ # TIMESTAMP SECONDS (whole ones; finer steps only with the Python script)
  date -u -d "${{1%.*}} ${{2%.*}} seconds" +%Y-%m-%dT%H:%M:%SZ 2>/dev/null || printf %s "$1"
}}
first() {{ # FILE MEMBER: the first member of that name in a JSON answer
  grep -o "\"$2\" *: *\"[^\"]*\"" "$1" | head -n 1 | sed 's/^[^:]*: *"//; s/"$//'
}}
show() {{ # FILE: an answer, without what steers terminals
  head -c 4000 "$1" 2>/dev/null | LC_ALL=C tr -d '\000-\010\013-\037\177'; echo
}}
sign() {{ # SECRET: the signature of standard input
  openssl dgst -sha256 -hmac "$1" | sed 's/^.*= *//'
}}
"""


def _mutated(mutation: str) -> str:
    """What a mutation makes of $signature, as a word of bash."""
    return "".join(_piece(piece) for piece in MUTATIONS[mutation])


def _piece(piece: str) -> str:
    if piece.startswith("="):
        return shlex.quote(piece[1:])
    if piece.startswith("!"):
        at = int(piece[1:])
        return f'"$([ "${{signature:{at}:1}}" = 0 ] && echo 1 || echo 0)"'
    if piece == "upper":
        return '"$(printf %s "$signature" | tr a-f A-F)"'
    if piece == "base64":
        return '"$(printf "$(printf %s "$signature" | sed \'s/../\\\\x&/g\')" | base64 | tr -d \'\\n\')"'
    start, _, end = piece.partition(":")
    return f'"${{signature:{int(start)}:{int(end) - int(start)}}}"'


def as_curl(document: Document, base_url: str = BASE_URL) -> str:
    """The script. It takes credentials from the environment, under the names of the target file, and an
    address, too, that it prefers to the `base_url`. Raises ReplayError for what is not a replay file."""
    check(document, "the replay file")
    organizations = sorted({step["organization"] for step in document["steps"]})
    variables = [
        "CONFORMANCE_BASE_URL",
        *(
            f"CONFORMANCE_{organization.upper()}_{name}"
            for organization in organizations
            for name in ("API_KEY", "SECRET", "CUSTOMER_ID")
        ),
    ]
    title = f"{document['rule']} on {document['operation']}: {document.get('statement', '')}"
    lines = [
        _HEAD.format(
            title=_comment(title),
            expected=_comment(document["expected"]),
            got=_comment(document["got"]),
            variables=", ".join(variables),
            base_url=shlex.quote(base_url),
            credentials=" ".join(name for name in variables if name.endswith(("_API_KEY", "_SECRET"))),
        )
    ]
    for name, form in document.get("fresh", {}).items():
        made = (
            f"$(uuid {form['version']:x} {form.get('variant', 8):x})"
            if form["kind"] == "uuid"
            else "cf$(hexadecimal 8)"
            if form["kind"] == "marker"
            else f"$(hexadecimal {(form['length'] + 1) // 2})"
        )
        lines.append(f"{_variable(name)}={made}")
        if form.get("upper"):
            lines.append(f'{_variable(name)}=$(printf %s "${_variable(name)}" | tr a-f A-F)')
    script = _Script(document)
    previous: int | None = None
    for step in document["steps"]:
        together = step.get("together")
        if previous is not None and together != previous:
            lines.append("wait")
        previous = together
        lines += script.step(step)
    if previous is not None:
        lines.append("wait")
    lines.append(f"echo; echo {shlex.quote('expected: ' + _comment(document['expected']))}")
    return "\n".join(lines) + "\n"


def _comment(text: str) -> str:
    return "".join(letter if letter.isprintable() else " " for letter in text)[:400]


def _variable(symbol: str) -> str:
    """A name that no variable of the script, and none of the environment, has."""
    return "symbol_" + symbol.replace(".", "__")


def _formed(value: str, form: str) -> str:
    """A word of bash after one form of a symbol (see conformance.replay.symbols)."""
    name, _, argument = form.partition(".")
    cases = {"upper": ("a-z", "A-Z"), "lower": ("A-Z", "a-z"), "swapped": ("a-zA-Z", "A-Za-z")}
    match name:
        case "upper" | "lower" | "swapped":
            return f'"$(printf %s {value} | tr {cases[name][0]} {cases[name][1]})"'
        case "but":
            return f'"$(printf %s {value} | head -c -{int(argument)})"'
        case "first":
            return f'{shlex.quote(argument)}"$(printf %s {value} | cut -c 2-)"'
        case "last":
            return f'"$(printf %s {value} | head -c -1)"{shlex.quote(argument)}'
        case "turned":
            return f'"$(turned {value} {int(argument[0], 16)} {_places(argument[1:])})"'
        case "cased":
            return f'"$(cased {value} {_places(argument)})"'
        case "offset":
            return f'"$(offset {value} {int(argument)})"'
        case "id":
            return f'"$(printf %s {value} | grep -oE "[a-z]{{2,8}}_[A-Za-z0-9]{{8,}}" | head -n 1)"'
        case "second":
            return f'"$(printf %s {value} | cut -c 1-19)Z"'
        case "day":
            return f'"$(printf %s {value} | cut -c 1-10)T00:00:00Z"'
        case "encoded":
            code = "'%%%02x'" if argument != argument.upper() else "'%%%02X'"
            return f'"$(encoded {value} {code} {shlex.quote(bytes.fromhex(argument).decode("latin-1"))})"'
        case "at":
            return f'"$(encoded_at {value} {int(argument)})"'
    return value


def _places(mask: str) -> str:
    """The positions of a mask, as arguments."""
    number = int(mask, 16)
    return " ".join(str(at) for at in range(number.bit_length()) if number >> at & 1)


class _Script:
    """The commands of one script. Variables stand for the symbols that the file defines and for no others:
    whatever else the environment holds is nothing that a file may name."""

    def __init__(self, document: Document) -> None:
        steps = document["steps"]
        self._known = {
            *document.get("fresh", {}),
            *(name for step in steps for name in step.get("captures", {})),
        }
        self._known |= {
            f"sent_{step['id']}.{name}" for step in steps for name in ("signature", "timestamp", "nonce")
        }

    def words(self, text: str) -> str:
        """A text as one word of bash: literal pieces in single quotes, symbols as variables."""
        pieces, at = [], 0
        for found in SYMBOL.finditer(text):
            if found.start() > at:
                pieces.append(shlex.quote(text[at : found.start()]))
            name, shift, forms = found.groups()
            at = found.end()
            if name in ("now", "now_ms"):
                pieces.append(f"$(( ($(date +%s) {'' if name == 'now' else '* 1000 '}) {shift or ''} ))")
                continue
            variable = self._of_target(name) or (_variable(name) if name in self._known else "")
            if not variable:
                pieces.append(shlex.quote(found[0]))
                continue
            variable = f"${{{variable}}}"
            value = f'"{variable}"' if not shift else f'"$(moved "{variable}" {shift})"'
            for form in filter(None, forms.split("|")):
                with contextlib.suppress(ValueError):
                    value = _formed(value, form)
            pieces.append(value)
        if at < len(text):
            pieces.append(shlex.quote(text[at:]))
        return "".join(pieces) or "''"

    def _of_target(self, symbol: str) -> str:
        """The environment's variable for a value of the target file; empty for all else, secrets too."""
        organization, _, member = symbol.partition(".")
        named = organization in ("primary", "secondary") and member in TARGET_VALUES
        return f"CONFORMANCE_{organization}_{member}".upper() if named else ""

    def bytes_to(self, file: str, source: dict[str, Any], name: str) -> list[str]:
        """Commands that write a body into a file byte for byte."""
        if f"{name}_base64" in source:
            return [f"printf %s {shlex.quote(source[f'{name}_base64'])} | base64 -d > {file}"]
        text = source.get(name, "")
        if "\x00" in text:
            return [f"printf %s {shlex.quote(base64.b64encode(text.encode()).decode())} | base64 -d > {file}"]
        return [f"printf %s {self.words(text)} > {file}"]

    def step(self, step: Step) -> list[str]:
        auth, at, body = step.get("auth", {}), step["id"], f'"$WORK/body_{step["id"]}"'
        owner = f"CONFORMANCE_{step['organization'].upper()}"
        has_body = "body" in step or "body_base64" in step
        lines = ["", f"# step {at}: {_comment(step.get('purpose', ''))} (then {step['answered']['status']})"]
        if wait := step.get("wait"):
            lines.append(f"sleep {wait}")
        lines += self.bytes_to(body, step, "body")
        lines += self.signed(step, owner, body)
        values = {
            signing.API_KEY: self.words(auth["api_key"]) if "api_key" in auth else f'"${{{owner}_API_KEY}}"',
            signing.TIMESTAMP: '"$timestamp"',
            signing.NONCE: '"$nonce"',
            signing.SIGNATURE: self.signature(auth),
        }
        lines += [f"{_variable(f'sent_{at}.{name}')}=${name}" for name in ("signature", "timestamp", "nonce")]
        lines += self.curl(step, values, has_body)
        for symbol, place in step.get("captures", {}).items():
            lines.append(f'{_variable(symbol)}=$(first "$WORK/answer_{at}" {shlex.quote(str(place[-1]))})')
        return lines

    def signed(self, step: Step, owner: str, body: str) -> list[str]:
        """The lines that set target, timestamp, nonce and the signature of a step (section 5.3)."""
        auth, at = step.get("auth", {}), step["id"]
        lines = []
        if "signed_body" in auth or "signed_body_base64" in auth:
            body = f'"$WORK/signed_{at}"'
            lines += self.bytes_to(body, auth, "signed_body")
        later = f"$(( $(date +%s) + {auth.get('timestamp_offset', 0)} ))"
        target = f'"$PREFIX"{self.words(auth["signed_target"])}' if "signed_target" in auth else '"$target"'
        parts = [
            shlex.quote(auth.get("signed_method", step["method"])),
            target,
            self.words(auth["signed_timestamp"]) if "signed_timestamp" in auth else '"$timestamp"',
            self.words(auth["signed_nonce"]) if "signed_nonce" in auth else '"$nonce"',
        ]
        separator = shlex.quote(auth.get("separator", ""))
        joined = "".join(part + separator if separator != "''" else part for part in parts)
        return [
            *lines,
            f'target="$PREFIX"{self.words(step["target"])}',
            f"timestamp={self.words(auth['timestamp']) if 'timestamp' in auth else later}",
            f"nonce={self.words(auth['nonce']) if 'nonce' in auth else '$(hexadecimal 16)'}",
            f"signature=$( {{ printf %s {joined}; cat {body}; }} | sign {_secret(auth, owner)})",
        ]

    def signature(self, auth: dict[str, Any]) -> str:
        """The signature as it is sent: the computed one, a mutation of it, or another."""
        if "signature" in auth:
            return self.words(auth["signature"])
        return _mutated(auth["mangle"]) if auth.get("mangle") else '"$signature"'

    def curl(self, step: Step, values: dict[str, str], has_body: bool) -> list[str]:
        auth, at = step.get("auth", {}), step["id"]
        rename = NAME_CASES[auth.get("name_case", "")]
        arguments = [
            "curl -sS --path-as-is --globoff --max-redirs 0 --max-time 30",
            f"-X {step['method']}",
            "-H 'Accept: application/json'",
        ]
        for name, value in values.items():
            if name in auth.get("omit", ()):
                continue
            # curl sends a header with an empty value only if it ends in a semicolon.
            arguments.append(
                f"-H {shlex.quote(rename(name) + ';')}"
                if name in auth.get("empty", ())
                else f"-H '{rename(name)}: '{value}"
            )
        if has_body:
            content_type = step.get("content_type", "application/json")
            arguments.append(
                f"-H {shlex.quote('Content-Type:' + (f' {content_type}' if content_type else ''))}"
            )
            arguments.append(f'--data-binary @"$WORK/body_{at}"')
        elif step["method"] != "GET":
            arguments.append("-H 'Content-Length: 0'")
        if "idempotency_key" in step:
            key = step["idempotency_key"]
            arguments.append(f"-H 'Idempotency-Key: '{self.words(key)}" if key else "-H 'Idempotency-Key;'")
        arguments += [f"-H {self.words(f'{name}: {value}')}" for name, value in step.get("headers", [])]
        arguments += [f'-o "$WORK/answer_{at}"', r"-w '%{http_code}\n'", '"$ORIGIN$target"']
        command = " \\\n  ".join(arguments)
        shown = f'show "$WORK/answer_{at}"'
        opening = shlex.quote(f"{at}  {step['method']} ")
        intro = f'printf %s {opening}"$target  -> "'
        if "together" in step:
            return [f'( {command} > "$WORK/status_{at}"; {intro}; cat "$WORK/status_{at}"; {shown} ) &']
        return [intro, command, shown]


def _secret(auth: dict[str, Any], owner: str) -> str:
    """What a step is signed with: its organization's secret unless it names another."""
    if "secret" not in auth:
        return f'"${{{owner}_SECRET}}"'
    found = SECRET.fullmatch(auth["secret"])
    return f'"${{CONFORMANCE_{found[1].upper()}_SECRET}}"' if found else shlex.quote(auth["secret"])
