"""Generated requests on several hosts with pytest-xdist's --tx."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from pathlib import Path

from conformance.reference.behaviour import Behaviour
from conformance.reference.context import Context
from conformance.reference.serving.listener import served
from tests.support.running import PATIENCE, Outcome, cells, environment, executed, faulty, write_target
from tests.support.wire import reserved


class LabelsCut(Behaviour):
    """Truncates wallet labels to 20 characters, which breaks create.echo."""

    def kept_fields(self, ctx: Context) -> dict[str, object]:
        fields = super().kept_fields(ctx)
        if ctx.operation == "createWallet" and isinstance(fields.get("label"), str):
            fields["label"] = fields["label"][:20]
        return fields


def test_hosts_share_tests(tmp_path: Path) -> None:
    server, tables = faulty(LabelsCut())
    with served(server) as url, reserved() as port:
        host = [sys.executable, "-m", "execnet.script.socketserver", f":{port}"]
        write_target(tmp_path / "target.toml", tables(url))
        words = [
            "-m",
            "fuzz",
            "--operation=createWallet",
            "--fuzz-examples=25",
            "--seed=1",
        ]
        process = subprocess.Popen(
            host, cwd=tmp_path, env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        try:
            _listens(port)
            # xdist would copy a word that is the name of a folder.
            suite = [sys.executable, "-m", "pytest", "--pyargs", "conformance", "-p", "no:cacheprovider"]
            hosts = ["-d", "--tx", "popen", "--tx", f"socket=127.0.0.1:{port}"]
            done = executed([*suite, "--target=target.toml", *words, *hosts], tmp_path, together=True)
        finally:
            process.kill()
            process.wait()
    assert done.returncode == 1, done.stdout
    outcome = Outcome(done.returncode, done.stdout, tmp_path / "reports")
    assert outcome.results["run"]["workers"] == 2
    assert ("create.echo", "createWallet") in cells(outcome, "failed")


def _listens(port: int) -> None:
    """Waits until a server listens on the port."""
    end = time.monotonic() + PATIENCE
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            assert time.monotonic() < end
            time.sleep(0.05)
