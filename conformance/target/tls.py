"""Client certificates and additional certificate authorities, from PEM files."""

from __future__ import annotations

import ssl
from pathlib import Path

from conformance.target.model import Tls


def mistake(files: Tls) -> str:
    """A mistake in the PEM files, as `tls.key: sentence`; empty if there is none."""
    for key, other in (("client_certificate", "client_key"), ("client_key", "client_certificate")):
        if getattr(files, key) is not None and getattr(files, other) is None:
            return f"tls.{other}: missing; a client certificate and its key are named together."
    for key in ("ca", "client_certificate", "client_key"):
        if (path := getattr(files, key)) is not None:
            try:
                Path(path).read_bytes()
            except OSError as error:
                return f"tls.{key}: {path} cannot be read ({error.strerror})."
    try:
        _trust(_empty(), files)
    except (ssl.SSLError, ValueError):
        return f"tls.ca: {files.ca} should hold certificates of authorities in PEM form."
    try:
        _certify(_empty(), files)
    except _EncryptedKey:
        return f"tls.client_key: {files.client_key} is encrypted; name a key without a passphrase."
    except (ssl.SSLError, ValueError):
        return (
            f"tls.client_certificate: {files.client_certificate} and {files.client_key} (client_key) should "
            "hold a certificate and its private key in PEM form."
        )
    return ""


def _empty() -> ssl.SSLContext:
    """A context without the system's authorities, which take 30 ms to load."""
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def apply(context: ssl.SSLContext, files: Tls) -> None:
    """Loads the authority and the client certificate into a context. Raises OSError, ssl.SSLError."""
    _trust(context, files)
    _certify(context, files)


class _EncryptedKey(ValueError):
    """The private key needs a passphrase."""


def _trust(context: ssl.SSLContext, files: Tls) -> None:
    if files.ca is not None:
        context.load_verify_locations(files.ca)


def _certify(context: ssl.SSLContext, files: Tls) -> None:
    def passphrase() -> str:
        raise _EncryptedKey

    if files.client_certificate is not None:
        context.load_cert_chain(files.client_certificate, files.client_key, passphrase)
