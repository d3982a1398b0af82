"""Redaction of secrets in everything that the suite shows or writes."""

from __future__ import annotations

from collections.abc import Iterable

from conformance._text import clean
from conformance.contract import signing
from conformance.target.file import Target

REDACTED = "[redacted]"


class Redactor:
    """Replaces the secrets of a target wherever they stand, and abbreviates keys and signatures."""

    def __init__(self, target: Target | None = None) -> None:
        self._secrets = sorted(filter(_telling, target.secrets), key=len, reverse=True) if target else []
        self._keys = sorted(filter(_telling, target.api_keys), key=len, reverse=True) if target else []

    def text(self, text: str) -> str:
        """The text without secrets; API keys keep their first characters only."""
        for secret in self._secrets:
            text = text.replace(secret, REDACTED)
        for key in self._keys:
            text = text.replace(key, abbreviated(key))
        return text

    def clean(self, text: str) -> str:
        """The text without secrets, as every format can show it."""
        return clean(self.text(text))

    def headers(self, headers: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
        """Headers as they may be shown: credentials abbreviated, all else free of secrets."""
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
    """True for a credential that is long enough to be redacted: single letters occur everywhere."""
    return len(credential) >= 4


def abbreviated(value: str) -> str:
    """The start of a credential, enough to tell two apart."""
    keep = min(8, len(value) // 4)
    return f"{value[:keep]}…" if value else ""
