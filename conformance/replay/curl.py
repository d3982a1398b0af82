"""A replay file as a bash script of curl and openssl that signs by itself."""

from __future__ import annotations

import base64
import shlex
from typing import Any

from conformance.contract import signing
from conformance.replay.document import Document, Step
from conformance.replay.symbols import SYMBOL
from conformance.wire.messages import NAME_CASES

_HEAD = r"""#!/usr/bin/env bash
# {title}
# expected  {expected}
# got       {got}
# Needs bash, curl and openssl, and in the environment {variables}.
set -u
BASE_URL=${{CONFORMANCE_BASE_URL:-http://127.0.0.1:8000}}
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
quoted() {{ # TEXT: percent-encoded
  local LC_ALL=C text=$1 at c
  for ((at = 0; at < ${{#text}}; at++)); do
    c=${{text:at:1}}
    case $c in [A-Za-z0-9._~-]) printf %s "$c" ;; *) printf '%%%02X' "'$c" ;; esac
  done
}}
moved() {{ # TIMESTAMP SECONDS (whole ones; finer steps only with the Python script)
  date -u -d "${{1%.*}} ${{2%.*}} seconds" +%Y-%m-%dT%H:%M:%SZ 2>/dev/null || printf %s "$1"
}}
first() {{ # FILE MEMBER: the first member of that name in a JSON answer
  grep -o "\"$2\" *: *\"[^\"]*\"" "$1" | head -n 1 | sed 's/^[^:]*: *"//; s/"$//'
}}
sign() {{ # SECRET: the signature of standard input
  openssl dgst -sha256 -hmac "$1" | sed 's/^.*= *//'
}}
"""

_MANGLED = {
    "upper": '$(printf %s "$signature" | tr a-f A-F)',
    "first-half": "${signature:0:32}",
    "one-short": "${signature:0:63}",
    "one-more": "${signature}0",
    "zeros": "0" * 64,
    "not-hexadecimal": "z" * 64,
    "flip": '${signature:0:32}$( [ "${signature:32:1}" = 0 ] && echo 1 || echo 0 )${signature:33}',
    "flip-last": '${signature:0:63}$( [ "${signature:63:1}" = 0 ] && echo 1 || echo 0 )',
    "flip-first": '$( [ "${signature:0:1}" = 0 ] && echo 1 || echo 0 )${signature:1}',
    "base64": "$(printf %s \"$signature\" | tr -d '\\n' | sed 's/../\\\\x&/g' | xargs -0 printf %b | base64 -w0)",
}


def as_curl(document: Document) -> str:
    """The script. It takes base URL and credentials from the environment, under the names of the target
    file."""
    organizations = sorted({step["organization"] for step in document["steps"]})
    variables = [
        "CONFORMANCE_BASE_URL",
        *(
            f"CONFORMANCE_{one.upper()}_{name}"
            for one in organizations
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
        )
    ]
    for name, form in document.get("fresh", {}).items():
        made = (
            f"$(uuid {form['version']:x} {form.get('variant', 8):x})"
            if form["kind"] == "uuid"
            else f"$(hexadecimal {(form['length'] + 1) // 2})"
        )
        lines.append(f"{_variable(name)}={made}")
        if form.get("upper"):
            lines.append(f'{_variable(name)}=$(printf %s "${_variable(name)}" | tr a-f A-F)')
    previous: int | None = None
    for step in document["steps"]:
        together = step.get("together")
        if previous is not None and together != previous:
            lines.append("wait")
        previous = together
        lines += _step(step)
    if previous is not None:
        lines.append("wait")
    lines.append(f"echo; echo {shlex.quote('expected: ' + document['expected'])}")
    return "\n".join(lines) + "\n"


def _comment(text: str) -> str:
    return "".join(one if one.isprintable() else " " for one in text)[:400]


def _variable(symbol: str) -> str:
    return symbol.replace(".", "_").upper()


def _words(text: str) -> str:
    """A text as one word of bash: literal pieces in single quotes, symbols as variables in double quotes."""
    pieces, at = [], 0
    for found in SYMBOL.finditer(text):
        if found.start() > at:
            pieces.append(shlex.quote(text[at : found.start()]))
        name, shift, form = found.groups()
        at = found.end()
        if name in ("now", "now_ms"):
            pieces.append(f"$(( ($(date +%s) {'' if name == 'now' else '* 1000 '}) {shift or ''} ))")
            continue
        organization = name.partition(".")[0]
        variable = (
            f"${{{'CONFORMANCE_' if organization in ('primary', 'secondary') else ''}{_variable(name)}}}"
        )
        value = f'"{variable}"' if not shift else f'"$(moved "{variable}" {shift})"'
        filters = {"|quoted": f'"$(quoted {value})"', "|upper": f'"$(printf %s {value} | tr a-f A-F)"'}
        pieces.append(filters.get(form, value))
    if at < len(text):
        pieces.append(shlex.quote(text[at:]))
    return "".join(pieces) or "''"


def _bytes_to(file: str, source: dict[str, Any], name: str) -> list[str]:
    """Commands that write a body into a file byte for byte."""
    if f"{name}_base64" in source:
        return [f"printf %s {shlex.quote(source[f'{name}_base64'])} | base64 -d > {file}"]
    text = source.get(name, "")
    if "\x00" in text:
        return [f"printf %s {shlex.quote(base64.b64encode(text.encode()).decode())} | base64 -d > {file}"]
    return [f"printf %s {_words(text)} > {file}"]


def _step(step: Step) -> list[str]:
    auth = step.get("auth", {})
    owner = f"CONFORMANCE_{step['organization'].upper()}"
    at, body = step["id"], f'"$WORK/body_{step["id"]}"'
    has_body = "body" in step or "body_base64" in step
    lines = ["", f"# step {at}: {_comment(step.get('purpose', ''))} (then {step['answered']['status']})"]
    if wait := step.get("wait"):
        lines.append(f"sleep {wait}")
    lines += _bytes_to(body, step, "body")
    signed_body = body
    if "signed_body" in auth or "signed_body_base64" in auth:
        signed_body = f'"$WORK/signed_{at}"'
        lines += _bytes_to(signed_body, auth, "signed_body")
    timestamp = (
        _words(auth["timestamp"])
        if "timestamp" in auth
        else f"$(( $(date +%s) + {auth.get('timestamp_offset', 0)} ))"
    )
    nonce = _words(auth["nonce"]) if "nonce" in auth else "$(hexadecimal 16)"
    signed_target = f'"$PREFIX"{_words(auth["signed_target"])}' if "signed_target" in auth else '"$target"'
    separator = shlex.quote(auth.get("separator", ""))
    secret = _words(auth["secret"]) if "secret" in auth else f'"${{{owner}_SECRET}}"'
    parts = [
        shlex.quote(auth.get("signed_method", step["method"])),
        signed_target,
        _words(auth["signed_timestamp"]) if "signed_timestamp" in auth else '"$timestamp"',
        _words(auth["signed_nonce"]) if "signed_nonce" in auth else '"$nonce"',
    ]
    joined = "".join(part + separator if separator != "''" else part for part in parts)
    lines += [
        f'target="$PREFIX"{_words(step["target"])}',
        f"timestamp={timestamp}",
        f"nonce={nonce}",
        f"signature=$( {{ printf %s {joined}; cat {signed_body}; }} | sign {secret})",
    ]
    signature = '"$signature"'
    if auth.get("mangle"):
        signature = f'"{_MANGLED[auth["mangle"]]}"'
    if "signature" in auth:
        signature = _words(auth["signature"])
    values = {
        signing.API_KEY: _words(auth["api_key"]) if "api_key" in auth else f'"${{{owner}_API_KEY}}"',
        signing.TIMESTAMP: '"$timestamp"',
        signing.NONCE: '"$nonce"',
        signing.SIGNATURE: signature,
    }
    lines += [f"SENT_{at}_SIGNATURE=$signature SENT_{at}_TIMESTAMP=$timestamp SENT_{at}_NONCE=$nonce"]
    lines += _curl(step, values, has_body)
    for symbol, place in step.get("captures", {}).items():
        lines.append(f'{_variable(symbol)}=$(first "$WORK/answer_{at}" {shlex.quote(str(place[-1]))})')
    return lines


def _curl(step: Step, values: dict[str, str], has_body: bool) -> list[str]:
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
        arguments.append(f"-H {shlex.quote('Content-Type:' + (f' {content_type}' if content_type else ''))}")
        arguments.append(f'--data-binary @"$WORK/body_{at}"')
    elif step["method"] != "GET":
        arguments.append("-H 'Content-Length: 0'")
    if "idempotency_key" in step:
        key = step["idempotency_key"]
        arguments.append(f"-H 'Idempotency-Key: '{_words(key)}" if key else "-H 'Idempotency-Key;'")
    arguments += [f"-H {_words(f'{name}: {value}')}" for name, value in step.get("headers", [])]
    arguments += [f'-o "$WORK/answer_{at}"', r"-w '%{http_code}\n'", '"$ORIGIN$target"']
    command = " \\\n  ".join(arguments)
    shown = f'cat "$WORK/answer_{at}" 2>/dev/null; echo'
    opening = shlex.quote(f"{at}  {step['method']} ")
    intro = f'printf %s {opening}"$target  -> "'
    if "together" in step:
        return [f'( {command} > "$WORK/status_{at}"; {intro}; cat "$WORK/status_{at}"; {shown} ) &']
    return [intro, command, shown]
