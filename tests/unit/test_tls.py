"""Servers that require a client certificate, or whose certificate is issued by a private CA."""

from __future__ import annotations

import socket
import ssl
from pathlib import Path
from typing import Any

import pytest
import trustme
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    load_pem_private_key,
)

from conformance._files import InputError
from conformance.reference.seed import new_server, target_tables
from conformance.target.file import load
from tests.support.running import Outcome, cells, run, write_target
from tests.support.wire import as_request, rendered, wire

TARGET = """
base_url = "https://127.0.0.1:1"
[primary]
api_key = "key_1"
secret = "s3cret"
customer_id = "cus_1"
[tls]
"""


class Files:
    """A folder with a CA, a client certificate with its key, and a server that requires it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        authority = trustme.CA()
        authority.cert_pem.write_to_path(folder / "ca.pem")
        client = authority.issue_cert("client@example.com")
        client.cert_chain_pems[0].write_to_path(folder / "client.pem")
        client.private_key_pem.write_to_path(folder / "client.key")
        key: Any = load_pem_private_key(client.private_key_pem.bytes(), None)
        encrypted = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"secret"))
        (folder / "encrypted.key").write_bytes(encrypted)
        other = trustme.CA().issue_cert("client@example.com")
        other.cert_chain_pems[0].write_to_path(folder / "other.pem")
        other.private_key_pem.write_to_path(folder / "other.key")
        self.server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        authority.issue_cert("127.0.0.1").configure_cert(self.server)
        authority.configure_trust(self.server)
        self.server.verify_mode = ssl.CERT_REQUIRED

    def target(self, **keys: str) -> Path:
        path = self.folder / "target.toml"
        path.write_text(TARGET + "".join(f'{key} = "{name}"\n' for key, name in keys.items()))
        return path


#: A client certificate that another CA has issued.
OTHER = {"client_certificate": "other.pem", "client_key": "other.key"}

ALL = {"client_certificate": "client.pem", "client_key": "client.key", "ca": "ca.pem"}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    return Files(tmp_path_factory.mktemp("tls"))


def judged(files: Files, folder: Path, **keys: str) -> Outcome:
    """Runs one rule on the reference server, which requires a client certificate of its CA."""
    reference, seeded = new_server()

    def reply(connection: socket.socket, index: int) -> None:
        connection.sendall(rendered(reference.handle(as_request(server.requests[index]))))

    with wire(reply, tls=files.server) as server:
        tables = target_tables(seeded, server.url.replace("http://", "https://"))
        tables["tls"] = {key: str(files.folder / name) for key, name in keys.items()}
        target = write_target(folder / "target.toml", tables)
        return run("--target", str(target), "--rule", "auth.signature", folder=folder / "reports")


def test_run_with_the_certificate_passes(files: Files, tmp_path: Path) -> None:
    outcome = judged(files, tmp_path, **ALL)
    assert outcome.status == 0, outcome.output
    assert cells(outcome, "passed") >= {
        ("auth.signature", "createPayout"),
        ("auth.signature", "listAccounts"),
    }


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"ca": "ca.pem"}, "asks for a client certificate; none is named"),
        ({**OTHER, "ca": "ca.pem"}, "asks for a client certificate; it does not accept "),
        ({**ALL, "ca": "other.pem"}, "name its authority: ca in [tls] of the target file"),
    ],
)
def test_run_with_a_wrong_certificate_or_none_says_what_to_name(
    files: Files, tmp_path: Path, keys: dict[str, str], said: str
) -> None:
    outcome = judged(files, tmp_path, **keys)
    assert outcome.status == 4
    assert said in " ".join(outcome.output.split())
    assert "Traceback" not in outcome.output


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"ca": "nowhere.pem"}, r"tls\.ca: .*nowhere\.pem cannot be read \(No such file or directory\)"),
        ({"ca": "target.toml"}, r"tls\.ca: .*target\.toml should hold certificates of authorities"),
        ({**ALL, "client_key": "ca.pem"}, r"tls\.client_certificate: .*should hold a certificate and its"),
        ({**ALL, "client_key": "encrypted.key"}, r"tls\.client_key: .*is encrypted; name a key without a"),
    ],
)
def test_wrong_files_are_named_before_any_request(files: Files, keys: dict[str, str], said: str) -> None:
    with pytest.raises(InputError, match=said) as caught:
        load(files.target(**keys), {})
    assert "\n" not in str(caught.value)
