"""Redaction of secrets in all output of the suite."""

from __future__ import annotations

from collections.abc import Iterable

from conformance._text import clean
from conformance.contract import signing
from conformance.target.file import Target

REDACTED = "[redacted]"


class Redactor:
    """Replaces a target's secrets, and abbreviates keys and signatures."""

    def __init__(self, target: Target | None = None) -> None:
        self._secrets = sorted(filter(_telling, target.secrets), key=len, reverse=True) if target else []
        self._keys = sorted(filter(_telling, target.api_keys), key=len, reverse=True) if target else []

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
        shown = []
        for name, value in headers:
            if name.lower() in (
                signing.API_KEY.lower(),
                signing.SIGNATURE.lower(),
                "authorization",
                "set-cookie",
                "cookie",
            ):
                value = abbreviated(value)
            shown.append((name, self.text(value)))
        return shown


def _telling(credential: str) -> bool:
    """True if a credential is long enough to redact: shorter ones occur in ordinary words."""
    return len(credential) >= 4


def abbreviated(value: str) -> str:
    """The first characters of a credential, a quarter or eight at most."""
    keep = min(8, len(value) // 4)
    return f"{value[:keep]}…" if value else ""
