"""Redaction of secrets in all output of the suite."""

from __future__ import annotations

from collections.abc import Iterable

from conformance._text import clean
from conformance.contract import signing
from conformance.target.file import Target

REDACTED = "[redacted]"

#: Headers whose values are abbreviated, in lower case.
_CREDENTIALS = (signing.API_KEY.lower(), signing.SIGNATURE.lower(), "authorization", "cookie", "set-cookie")


class Redactor:
    """Replaces a target's secrets, and abbreviates keys and signatures."""

    def __init__(self, target: Target | None = None) -> None:
        self._secrets = _redactable(target.secrets) if target else []
        self._keys = _redactable(target.api_keys) if target else []

    def text(self, text: str) -> str:
        """Redacts secrets, and abbreviates API keys."""
        for secret in self._secrets:
            text = text.replace(secret, REDACTED)
        for key in self._keys:
            text = text.replace(key, abbreviated(key))
        return text

    def clean(self, text: str) -> str:
        """Redacts a text and removes what some report format cannot show."""
        return clean(self.text(text))

    def headers(self, headers: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
        """Abbreviates credentials in headers, and redacts all others."""
        return [
            (name, self.text(abbreviated(value) if name.lower() in _CREDENTIALS else value))
            for name, value in headers
        ]


def _redactable(credentials: Iterable[str]) -> list[str]:
    """The credentials long enough not to occur in ordinary words, longest first."""
    return sorted((each for each in credentials if len(each) >= 4), key=len, reverse=True)


def abbreviated(value: str) -> str:
    """The first characters of a credential, a quarter or eight at most."""
    keep = min(8, len(value) // 4)
    return f"{value[:keep]}…" if value else ""
