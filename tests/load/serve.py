"""Serves a faulty server, or a conforming one, in a process of its own.

`python -m tests.load.serve NAME FILE` writes the target file for it to FILE once it listens, and serves until
its parent ends."""

from __future__ import annotations

import contextlib
import logging
import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from conformance.reference.behaviour import Behaviour
from conformance.reference.context import Context
from conformance.reference.core_messages import Response
from tests.load.faults import FAULTS
from tests.support.running import ROOT, environment, write_target
from tests.variants.catalogue import VARIANTS
from tests.variants.serving import serving
from tests.variants.variant import Variant


class Slow(Behaviour):
    """Answers take up to a second."""

    def finish(self, ctx: Context, response: Response) -> Response:
        time.sleep(random.random())
        return super().finish(ctx, response)


#: Seconds that a server may take to listen.
PATIENCE = 30


def main(name: str, file: Path) -> None:
    """Serves a fault by its class, or a variant by its name."""
    logging.disable(logging.CRITICAL)
    own: dict[str, type[Behaviour]] = {**FAULTS, "slow": Slow}
    choices = (own[name],) if name in own else ()
    variant = next((one for one in VARIANTS if one.name == name), Variant(name, choices))
    parent = os.getppid()
    with serving(variant) as tables:
        write_target(file.with_suffix(".part"), tables).rename(file)
        while os.getppid() == parent:
            time.sleep(0.5)


@contextlib.contextmanager
def server(name: str, folder: Path) -> Iterator[Path]:
    """A server in a process of its own while the context lasts; gives its target file."""
    file = folder / "target.toml"
    command = [sys.executable, "-m", "tests.load.serve", name, str(file)]
    process = subprocess.Popen(command, cwd=ROOT, env=environment(), stdin=subprocess.DEVNULL)
    try:
        end = time.monotonic() + PATIENCE
        while not file.exists():
            assert process.poll() is None and time.monotonic() < end, f"{name} does not serve"
            time.sleep(0.05)
        yield file
    finally:
        process.kill()
        process.wait()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
