"""Serves a load fault or a variant in its own process.

`python -m tests.load.serve NAME FILE` writes its target file to FILE once it listens, and serves until its
parent process ends.
"""

from __future__ import annotations

import logging
import os
import random
import sys
import time
from contextlib import AbstractContextManager
from pathlib import Path

from conformance.reference.behaviour import Behaviour
from conformance.reference.context import Context
from conformance.reference.core_messages import Response
from tests.load.faults import fault
from tests.support.running import server_of, write_target
from tests.variants.catalogue import VARIANTS
from tests.variants.serving import serving
from tests.variants.variant import Variant


class Slow(Behaviour):
    """Delays answers by up to a second."""

    def finish(self, ctx: Context, response: Response) -> Response:
        time.sleep(random.random())
        return super().finish(ctx, response)


def main(name: str, file: Path) -> None:
    """Serves a fault by its class name, or a variant by its name."""
    logging.disable(logging.CRITICAL)
    choices = (fault[name].base,) if name in fault else (Slow,) if name == "slow" else ()
    variant = next((one for one in VARIANTS if one.name == name), Variant(name, choices))
    parent = os.getppid()
    with serving(variant) as tables:
        write_target(file.with_suffix(".part"), tables).rename(file)
        while os.getppid() == parent:
            time.sleep(0.5)


def server(name: str, folder: Path) -> AbstractContextManager[Path]:
    """Starts a server in a subprocess; yields its target file."""
    return server_of("tests.load.serve", folder / "target.toml", name)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
