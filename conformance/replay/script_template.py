"""Sends the steps of DOCUMENT, which is written into a copy of this module, and shows the answers.

Needs only Python 3.11 or later, and these environment variables: CONFORMANCE_BASE_URL,
CONFORMANCE_PRIMARY_API_KEY, CONFORMANCE_PRIMARY_SECRET and CONFORMANCE_PRIMARY_CUSTOMER_ID; the same with
SECONDARY where a step is sent by the other organization. Exit status: 1 reproduced, 0 not reproduced, 2 not
judged here.
"""

from __future__ import annotations

import base64
import http.client
import itertools
import json
import os
import re
import secrets
import sys
import threading
import time
import urllib.parse
from typing import Any

from conformance.contract.signing import HEADERS, NAME_CASES, signature
from conformance.contract.signing_mistakes import BY_NAME, Parts
from conformance.replay.symbols import SECRET, TARGET_VALUES, filled
from conformance.wire.forms import changed, new_value

#: The replay file; the number of attempts and the default address. Filled in when the script is made.
DOCUMENT: dict[str, Any] = json.loads("{}")
DEFAULTS: dict[str, Any] = json.loads("{}")

BASE = urllib.parse.urlsplit((os.environ.get("CONFORMANCE_BASE_URL") or DEFAULTS["base_url"]).rstrip("/"))

#: Symbol -> value, random or captured.
KNOWN: dict[str, str] = {}

#: Target and body as sent, status and body of the answer; without an answer, None and the error.
Answer = tuple[str, bytes, "int | None", bytes]


def value_of(symbol: str) -> str | None:
    """The value of a symbol, or None."""
    if symbol in ("now", "now_ms"):
        return str(int(time.time()) * (1000 if symbol == "now_ms" else 1))
    organization, _, member = symbol.partition(".")
    if organization in ("primary", "secondary"):
        variable = f"CONFORMANCE_{organization}_{member}".upper()
        return os.environ.get(variable) if member in TARGET_VALUES else None
    return KNOWN.get(symbol)


def shown(text: str) -> str:
    """Escapes what is not printable in a text, for a terminal."""
    kept = (letter if letter.isprintable() or letter in "\n\t" else ascii(letter)[1:-1] for letter in text)
    return "".join(kept)


def secret_of(step: dict[str, Any], auth: dict[str, Any]) -> str:
    """The secret that signs a step."""
    given: str = auth.get("secret", "{{" + step["organization"] + ".secret}}")
    found = SECRET.fullmatch(given)
    return os.environ.get(f"CONFORMANCE_{found[1].upper()}_SECRET", "") if found else given


def headers_of(step: dict[str, Any], auth: dict[str, Any], target: str, body: bytes) -> list[tuple[str, str]]:
    """The authentication headers of a step."""
    timestamp = auth.get("timestamp", str(int(time.time()) + auth.get("timestamp_offset", 0)))
    nonce = auth.get("nonce", secrets.token_hex(16))
    signed_body = body
    if "signed_body_base64" in auth:
        signed_body = base64.b64decode(auth["signed_body_base64"])
    elif "signed_body" in auth:
        signed_body = auth["signed_body"].encode()
    key = auth.get("api_key", os.environ.get(f"CONFORMANCE_{step['organization'].upper()}_API_KEY", ""))
    parts = Parts(
        step["method"].upper(),
        (BASE.path + auth["signed_target"] if "signed_target" in auth else target).encode(),
        timestamp,
        auth.get("signed_nonce", nonce),
        signed_body,
        key,
        f"{BASE.scheme}://{BASE.netloc}".encode(),
    )
    secret, made = secret_of(step, auth), auth.get("signature")
    if made is None and auth.get("mistake"):
        made = BY_NAME[auth["mistake"]].sign(parts, secret)
    if made is None:
        made = changed(signature(secret, parts.string()), auth.get("signature_forms", ""))
    values = (key, timestamp, nonce, made)
    rename = NAME_CASES[auth.get("name_case", "")]
    return [
        (rename(name), "" if name in auth.get("empty", []) else value)
        for name, value in zip(HEADERS, values, strict=True)
        if name not in auth.get("omit", [])
    ]


def send(step: dict[str, Any], answers: dict[str, Answer]) -> None:
    """Sends a step and stores its answer, or the error."""
    try:
        answers[step["id"]] = answered(step)
    except (OSError, ValueError, http.client.HTTPException) as error:
        answers[step["id"]] = (step["target"], b"", None, str(error).encode())


def answered(step: dict[str, Any]) -> Answer:
    """Sends a step. Raises OSError, ValueError or HTTPException without an answer."""
    names = ("target", "body", "idempotency_key", "headers")
    secret = step.get("auth", {}).get("secret")
    plain = {name: filled(step[name], value_of) for name in names if name in step}
    own = plain.get("body", "")
    plain["auth"] = filled(step.get("auth", {}), lambda name: own if name == "body" else value_of(name))
    if secret is not None:
        plain["auth"]["secret"] = secret
    has_body = "body" in step or "body_base64" in step
    body = base64.b64decode(step["body_base64"]) if "body_base64" in step else plain.get("body", "").encode()
    target = BASE.path + plain["target"]
    headers = headers_of(step, plain["auth"], target, body)
    for name, value in headers:
        KNOWN["sent_" + step["id"] + "." + name.lower().replace("x-", "", 1)] = value
    if has_body and step.get("content_type", "application/json") is not None:
        headers.append(("Content-Type", step.get("content_type", "application/json")))
    if has_body or step["method"] != "GET":
        headers.append(("Content-Length", str(len(body))))
    if "idempotency_key" in plain:
        rename = NAME_CASES[step.get("auth", {}).get("name_case", "")]
        headers.append((rename("Idempotency-Key"), plain["idempotency_key"]))
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
        return target, body, answer.status, answer.read(4 << 20)
    finally:
        connection.close()


def judged(answers: dict[str, Answer]) -> bool | None:
    """True if the judged answer is as expected; None if status and error do not decide that, or for races."""
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
    """Stores the values that later steps need; returns False if the answer lacks one."""
    for symbol, place in step.get("captures", {}).items():
        try:
            value = json.loads(content)
            for name in place:
                value = value[name]
        except (ValueError, LookupError, TypeError, RecursionError):
            return False
        KNOWN[symbol] = str(value)
    return True


def prepared(step: dict[str, Any], answer: Answer) -> bool:
    """True if later steps can be sent: this one was accepted if it was when recorded, or is judged, and has
    the values that they need."""
    then, now = step["answered"]["status"] or 0, answer[2] or 0
    accepted = step["id"] in DOCUMENT["judged"] or not 200 <= then < 300 or 200 <= now < 300
    return accepted and captured(step, answer[3])


def perform(group: list[dict[str, Any]], answers: dict[str, Answer], quiet: bool) -> bool:
    """Sends simultaneous steps and shows their answers, if `quiet` the judged ones only; returns False if
    later steps cannot be sent."""
    time.sleep(max(step.get("wait", 0) for step in group))
    threads = [threading.Thread(target=send, args=(step, answers)) for step in group]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for step in group:
        if not quiet or step["id"] in DOCUMENT["judged"]:
            show(step, answers[step["id"]])
        if not prepared(step, answers[step["id"]]):
            print(f"step {step['id']} was not answered as when it was recorded: nothing can be said")
            return False
    return True


def unset() -> list[str]:
    """The environment variables of credentials that are not set."""
    organizations = sorted({step["organization"].upper() for step in DOCUMENT["steps"]})
    names = [f"CONFORMANCE_{name}_{kind}" for name in organizations for kind in ("API_KEY", "SECRET")]
    return [name for name in names if not os.environ.get(name)]


def attempt(quiet: bool) -> bool | None:
    """Sends all steps with new values; True if the judged answer is as expected, None if undecided."""
    answers: dict[str, Answer] = {}
    KNOWN.clear()
    KNOWN.update({name: new_value(recipe) for name, recipe in DOCUMENT.get("fresh", {}).items()})
    for _, group in itertools.groupby(
        DOCUMENT["steps"], key=lambda step: step.get("together", f"alone {step['id']}")
    ):
        if not perform(list(group), answers, quiet):
            return None
    return judged(answers)


def main() -> int:
    if missing := unset():
        print(
            f"{missing[0]} is not set in the environment; the requests are signed with it.", file=sys.stderr
        )
        return 2
    number, good = 1, attempt(quiet=False)
    while good and number < DEFAULTS["attempts"]:
        number, good = number + 1, attempt(quiet=True)
    print(shown(f"{DOCUMENT['rule']} on {DOCUMENT['operation']}"))
    print(shown(f"expected  {DOCUMENT['expected']}\nthen got  {DOCUMENT['got']}"))
    if good is None:
        print("judge by the answers above, or with: conformance replay FILE")
        return 2
    print(("not reproduced" if good else "reproduced") + (f" in {number} attempts" if number > 1 else ""))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
