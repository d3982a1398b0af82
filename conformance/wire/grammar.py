"""Requests that a front end may refuse itself, with any 4xx status and any body.

Three kinds: a target or header outside the grammars of URIs (RFC 3986) and HTTP fields (RFC 9110, 5.5); an
oversized request; a target or body that resembles an attack.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Container
from urllib.parse import unquote

from conformance.contract import json_text
from conformance.wire.messages import Exchange

#: Maximum bytes of a target, header field and body that every front end forwards.
LONGEST_TARGET, LONGEST_FIELD, LONGEST_BODY = 2000, 4096, 4096

#: Path and query, or a query. An encoded control or percent sign is grammatical, but front ends refuse it.
_TARGET = re.compile(r"(?:[A-Za-z0-9._~!$&'()*+,;=:@/?-]|%(?![01][0-9A-Fa-f]|7[Ff]|25)[0-9A-Fa-f]{2})*")

#: A path segment that every front end and router reads alike: no encoded slash, backslash, dot or control
#: character.
_SEGMENT = re.compile(
    r"(?!\.{1,2}$)(?:[A-Za-z0-9._~!$&()*+,=:@-]"
    r"|%(?!2[EFef]|5[Cc]|[01][0-9A-Fa-f]|7[Ff])[0-9A-Fa-f]{2}){1,200}"
)

#: What no value of a header has.
_NO_VALUE = re.compile(r"[^\t\x20-\x7e\x80-\xff]")

#: What web application firewalls look for: SQL, markup, path traversal, templates, shell commands.
_ATTACK = re.compile(r"""['"<>`;|$\\{}\x00-\x08]|--|\.\./|/\*|&&|javascript:""", re.IGNORECASE)

#: JSON, or another text, in whose strings and between them is none of these signs; and the words among them.
_HARMLESS = re.compile(r"""(?:[^"'<>`;|$\\\x00-\x08]++|"[^"'<>`;|$\\{}\x00-\x08]*+")*+""")
_WORDS = re.compile(r"--|\.\./|/\*|&&|javascript:", re.IGNORECASE)

#: The same without JSON's own characters.
_ATTACK_IN_RAW_TEXT = re.compile(r"""['<>`;|$]|--|\.\./|/\*|&&""")


def forwarded(exchange: Exchange, ids: Container[str] = ()) -> bool:
    """True if every front end forwards the request to the server; `ids` are those that the server has shown,
    which its front end lets through."""
    target = _plain(exchange.target, ids)
    values = [value for _, value in exchange.request_headers]
    return (
        _TARGET.fullmatch(target) is not None
        and _NO_VALUE.search("".join(values)) is None
        and len(target) <= LONGEST_TARGET
        and len(exchange.request_body) <= LONGEST_BODY
        and max(map(len, values), default=0) <= LONGEST_FIELD
        and not _resembles_attack(exchange, target, ids)
    )


def _plain(target: str, ids: Container[str]) -> str:
    """A target with `id` in the place of known ids in its path."""
    path, mark, query = target.partition("?")
    segments = ["id" if unquote(segment) in ids else segment for segment in path.split("/")]
    return "/".join(segments) + mark + query


def _resembles_attack(exchange: Exchange, target: str, ids: Container[str]) -> bool:
    if _ATTACK.search(unquote(target)):
        return True
    raw = exchange.request_body.decode("utf-8", "replace")
    if _HARMLESS.fullmatch(raw) and not _WORDS.search(raw):
        return False
    try:
        document = json_text.load(exchange.request_body or b"null")
    except ValueError:
        return bool(_ATTACK_IN_RAW_TEXT.search(raw))
    names = itertools.chain.from_iterable(json_text.all_objects(document))
    texts = (text for text in json_text.all_texts(document) if text not in ids)
    # One search, as no attack spans lines.
    return bool(_ATTACK.search("\n".join(itertools.chain(texts, names))))


def is_odd(target: str) -> bool:
    """True if a front end may refuse a target itself, or a router read it as another path: it breaks the
    grammar of URIs, or has segments such as `..`."""
    path, _, query = target.partition("?")
    segments = path.split("/")[1:]
    return not all(_SEGMENT.fullmatch(segment) for segment in segments) or not _TARGET.fullmatch(query)
