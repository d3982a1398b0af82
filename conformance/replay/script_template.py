#!/usr/bin/env python3
"""Sends the requests of a failure again, signed afresh, and shows the answers.

Needs only the standard library, and these variables in the environment: CONFORMANCE_BASE_URL,
CONFORMANCE_PRIMARY_API_KEY, CONFORMANCE_PRIMARY_SECRET and CONFORMANCE_PRIMARY_CUSTOMER_ID; the same with
SECONDARY where a step is sent by the other organization. Exit status: 1 the failure came again, 0 it did not,
2 not judged here.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import http.client
import json
import os
import re
import secrets
import string
import sys
import threading
import time
import urllib.parse
import uuid
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from typing import Any

#: The replay file, the table of mutations of signatures, and the address of the server where the environment
#: names none: put in where the script is made.
DOCUMENT: dict[str, Any] = json.loads("{}")
MUTATIONS: dict[str, list[str]] = json.loads("{}")
DEFAULTS: dict[str, str] = json.loads("{}")

BASE = urllib.parse.urlsplit((os.environ.get("CONFORMANCE_BASE_URL") or DEFAULTS["base_url"]).rstrip("/"))
SYMBOL = re.compile(
    r"\{\{([a-z][a-z0-9_]*(?:\.[a-z0-9_]+)?)([+-][0-9]{1,12}(?:\.[0-9]{1,12})?)?"
    r"((?:\|[a-z]+(?:\.-?[0-9A-Fa-f]{1,512})?)*)\}\}"
)
TARGET_VALUES = ("customer_id", "other_customer_id", "funded_account_id", "api_key")
HEADERS = ("X-API-Key", "X-Timestamp", "X-Nonce", "X-Signature")
CASES: dict[str, Callable[[str], str]] = {
    "": str,
    "lower": str.lower,
    "upper": str.upper,
    "swapped": str.swapcase,
}
KNOWN: dict[str, str] = {}
Answer = tuple[str, bytes, "int | None", bytes]


def fresh(form: dict[str, Any]) -> str:
    if form["kind"] == "marker":
        return "cf" + secrets.token_hex(8)
    if form["kind"] == "hex":
        return secrets.token_hex(form["length"])[: form["length"]]
    text = str(uuid.uuid4())
    variant = format(form.get("variant", 8), "x")
    text = text[:14] + format(form["version"], "x") + text[15:19] + variant + text[20:]
    return text.upper() if form.get("upper") else text


def moved(text: str, shift: str) -> str:
    if text.isdigit():
        return str(int(text) + int(float(shift)))
    fraction = float("0" + text[19:].rstrip("Z") or 0)
    instant = datetime.fromisoformat(text[:19] + "+00:00") + timedelta(seconds=float(shift) + fraction)
    digits = max(len(text[20:].rstrip("Z")), min(6, len(shift.partition(".")[2])))
    text = instant.astimezone(timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%f")  # noqa: UP017 (Python 3.9)
    return (text[: 20 + digits] if digits else text[:19]) + "Z"


def code(letter: str, lower: bool = False) -> str:
    codes = "".join(f"%{byte:02X}" for byte in letter.encode())
    return codes.lower() if lower else codes


def formed(text: str, form: str) -> str:
    name, _, argument = form.partition(".")
    if name == "but":
        return text[: -int(argument)]
    if name == "first":
        return argument + text[1:]
    if name == "last":
        return text[:-1] + argument
    if name == "turned":
        turn, mask = int(argument[0], 16), int(argument[1:], 16)
        made = "".join(
            format(int(letter, 16) ^ turn, "x") if mask >> at & 1 and letter in string.hexdigits else letter
            for at, letter in enumerate(text)
        )
        return made.upper() if text.upper() == text != text.lower() else made
    if name == "cased":
        mask = int(argument, 16)
        return "".join(letter.swapcase() if mask >> at & 1 else letter for at, letter in enumerate(text))
    if name == "id":
        found = re.search("[a-z]{2,8}_[A-Za-z0-9]{8,}", text)
        return found[0] if found else text
    if name == "second":
        return text[:19] + "Z"
    if name == "day":
        return text[:10] + "T00:00:00Z"
    if name == "offset":
        local = datetime.fromisoformat(text[:19]) + timedelta(minutes=int(argument))
        hours, rest = divmod(abs(int(argument)), 60)
        sign = "-" if int(argument) < 0 else "+"
        return f"{local.isoformat()}{text[19:-1]}{sign}{hours:02d}:{rest:02d}"
    if name == "encoded":
        letters = bytes.fromhex(argument).decode("latin-1")
        lower = argument != argument.upper()
        return "".join(code(letter, lower) if letter in letters else letter for letter in text)
    if name == "at":
        at = int(argument) % len(text)
        return text[:at] + code(text[at]) + text[at + 1 :]
    changes = {"upper": str.upper, "lower": str.lower, "swapped": str.swapcase}
    return changes[name](text) if name in changes else text


def filled(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: filled(member) for name, member in value.items()}
    if isinstance(value, list):
        return [filled(member) for member in value]
    return SYMBOL.sub(replaced, value) if isinstance(value, str) else value


def replaced(found: re.Match[str]) -> str:
    name, shift, forms = found.groups()
    organization, _, member = name.partition(".")
    text: str | None
    if name in ("now", "now_ms"):
        text = str(int(time.time()) * (1000 if name == "now_ms" else 1))
    elif organization in ("primary", "secondary"):
        # Secrets sign, and stand nowhere else.
        variable = "CONFORMANCE_" + name.replace(".", "_").upper()
        text = os.environ.get(variable) if member in TARGET_VALUES else None
    else:
        text = KNOWN.get(name)
    if text is None:
        return found[0]
    try:
        text = moved(text, shift) if shift else text
        for form in filter(None, forms.split("|")):
            text = formed(text, form)
    except (ValueError, IndexError, OverflowError, ZeroDivisionError):
        pass  # What has no such form stays as it is.
    return text


def shown(text: str) -> str:
    """A text for a terminal: all that is invisible or steers it is spelled out."""
    kept = (letter if letter.isprintable() or letter in "\n\t" else ascii(letter)[1:-1] for letter in text)
    return "".join(kept)


def mutated(signature: str, mutation: str) -> str:
    pieces = []
    for piece in MUTATIONS[mutation]:
        if piece.startswith("="):
            pieces.append(piece[1:])
        elif piece.startswith("!"):
            pieces.append("1" if signature[int(piece[1:])] == "0" else "0")
        elif piece == "upper":
            pieces.append(signature.upper())
        elif piece == "base64":
            pieces.append(base64.b64encode(bytes.fromhex(signature)).decode())
        else:
            start, end = piece.split(":")
            pieces.append(signature[int(start) : int(end)])
    return "".join(pieces)


def secret_of(step: dict[str, Any], auth: dict[str, Any]) -> str:
    given = auth.get("secret", "{{" + step["organization"] + ".secret}}")
    found = re.fullmatch(r"\{\{(primary|secondary)\.secret\}\}", given)
    return os.environ.get(f"CONFORMANCE_{found[1].upper()}_SECRET", "") if found else given


def headers_of(step: dict[str, Any], auth: dict[str, Any], target: str, body: bytes) -> list[tuple[str, str]]:
    timestamp = auth.get("timestamp", str(int(time.time()) + auth.get("timestamp_offset", 0)))
    nonce = auth.get("nonce", secrets.token_hex(16))
    signed_body = body
    if "signed_body_base64" in auth:
        signed_body = base64.b64decode(auth["signed_body_base64"])
    elif "signed_body" in auth:
        signed_body = auth["signed_body"].encode()
    parts = [
        auth.get("signed_method", step["method"]).upper().encode(),
        (BASE.path + auth["signed_target"] if "signed_target" in auth else target).encode(),
        auth.get("signed_timestamp", timestamp).encode(),
        auth.get("signed_nonce", nonce).encode(),
        signed_body,
    ]
    message = auth.get("separator", "").encode().join(parts)
    signature = hmac.new(secret_of(step, auth).encode(), message, hashlib.sha256).hexdigest()
    key = os.environ.get(f"CONFORMANCE_{step['organization'].upper()}_API_KEY", "")
    signature = auth.get("signature", mutated(signature, auth.get("mangle", "")))
    values = (auth.get("api_key", key), timestamp, nonce, signature)
    rename = CASES[auth.get("name_case", "")]
    return [
        (rename(name), "" if name in auth.get("empty", []) else value)
        for name, value in zip(HEADERS, values)  # noqa: B905 (Python 3.9 has no strict)
        if name not in auth.get("omit", [])
    ]


def send(step: dict[str, Any], answers: dict[str, Answer]) -> None:
    names = ("target", "body", "idempotency_key", "headers", "auth")
    secret = step.get("auth", {}).get("secret")
    plain = {name: filled(step[name]) for name in names if name in step}
    if secret is not None:
        plain["auth"]["secret"] = secret
    has_body = "body" in step or "body_base64" in step
    body = base64.b64decode(step["body_base64"]) if "body_base64" in step else plain.get("body", "").encode()
    target = BASE.path + plain["target"]
    headers = headers_of(step, plain.get("auth", {}), target, body)
    for name, value in headers:
        KNOWN["sent_" + step["id"] + "." + name.lower().replace("x-", "", 1)] = value
    if has_body and step.get("content_type", "application/json") is not None:
        headers.append(("Content-Type", step.get("content_type", "application/json")))
    if has_body or step["method"] != "GET":
        headers.append(("Content-Length", str(len(body))))
    if "idempotency_key" in plain:
        headers.append(("Idempotency-Key", plain["idempotency_key"]))
    headers += [(name, value) for name, value in plain.get("headers", [])]
    kind = http.client.HTTPSConnection if BASE.scheme == "https" else http.client.HTTPConnection
    connection = kind(BASE.hostname or "127.0.0.1", BASE.port, timeout=30)
    setattr(connection, "_validate_path", lambda path: None)  # noqa: B010 (what is sent may be no URL)
    try:
        if not re.fullmatch("/[!-~]*", target):
            raise ValueError("what the target holds cannot stand in a request line")
        connection.putrequest(step["method"], target.encode().decode("latin-1"), skip_accept_encoding=True)
        for name, value in headers:
            connection.putheader(name, value.encode())
        connection.endheaders(body)
        answer = connection.getresponse()
        answers[step["id"]] = (target, body, answer.status, answer.read(4 << 20))
    except (OSError, ValueError, http.client.HTTPException) as error:
        answers[step["id"]] = (target, body, None, str(error).encode())
    finally:
        connection.close()


def judged(answers: dict[str, Answer]) -> bool | None:
    """Whether the judged answer is as expected; None where that takes more than its status and error, or
    where chance says which of the requests of one moment shows it."""
    expectation = DOCUMENT["expectation"]
    if any("together" in step for step in DOCUMENT["steps"] if step["id"] in DOCUMENT["judged"]):
        return None
    _, _, status, content = answers[DOCUMENT["judged"][0]]
    if status is None or status >= 500:
        return None
    try:
        error = json.loads(content)["error"]
        named = {"type": error["type"], "code": error["code"]}
    except (ValueError, KeyError, TypeError, RecursionError):
        named = {"type": None, "code": None}
    name, parameters = expectation["predicate"], expectation["parameters"]
    if name == "accepted":
        return 200 <= status < 300
    if name == "authenticated":
        return status != 401 and not (status >= 400 and named["type"] == "authentication_error")
    if name == "status":
        return status in parameters["statuses"]
    if name == "refused":
        good = status == parameters["status"] if parameters.get("status") else status >= 400
        return good and all(not parameters.get(part) or named[part] == parameters[part] for part in named)
    return None


def show(step: dict[str, Any], answer: Answer) -> None:
    target, body, status, content = answer
    print(shown(f"{step['id']}  {step['method']} {target}  ({step.get('purpose', '')})"))
    print(shown(f"   > {body.decode('utf-8', 'backslashreplace')[:2000]}"))
    print(shown(f"   < {status} {content.decode('utf-8', 'backslashreplace')[:2000]}"))


def captured(step: dict[str, Any], content: bytes) -> bool:
    for symbol, place in step.get("captures", {}).items():
        try:
            value = json.loads(content)
            for name in place:
                value = value[name]
        except (ValueError, LookupError, TypeError, RecursionError):
            return False
        KNOWN[symbol] = str(value)
    return True


def perform(group: list[dict[str, Any]], answers: dict[str, Answer]) -> bool:
    time.sleep(max(step.get("wait", 0) for step in group))
    threads = [threading.Thread(target=send, args=(step, answers)) for step in group]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for step in group:
        show(step, answers[step["id"]])
        if not captured(step, answers[step["id"]][3]):
            print(f"step {step['id']} was not answered as when it was recorded: nothing can be said")
            return False
    return True


def unset() -> list[str]:
    """The credentials that the environment lacks."""
    organizations = sorted({step["organization"].upper() for step in DOCUMENT["steps"]})
    names = [f"CONFORMANCE_{name}_{kind}" for name in organizations for kind in ("API_KEY", "SECRET")]
    return [name for name in names if not os.environ.get(name)]


def main() -> int:
    if missing := unset():
        print(
            f"{missing[0]} is not set in the environment; the requests are signed with it.", file=sys.stderr
        )
        return 2
    answers: dict[str, Answer] = {}
    steps = list(DOCUMENT["steps"])
    KNOWN.update({name: fresh(form) for name, form in DOCUMENT.get("fresh", {}).items()})
    while steps:
        group = [steps.pop(0)]
        together = group[0].get("together")
        while together is not None and steps and steps[0].get("together") == together:
            group.append(steps.pop(0))
        if not perform(group, answers):
            return 2
    print(shown(f"{DOCUMENT['rule']} on {DOCUMENT['operation']}"))
    print(shown(f"expected  {DOCUMENT['expected']}\nthen got  {DOCUMENT['got']}"))
    good = judged(answers)
    if good is None:
        print("judge by the answers above, or with: conformance replay FILE")
        return 2
    print("not reproduced" if good else "reproduced")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
