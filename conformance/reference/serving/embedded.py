"""`python -m conformance.reference.serving.embedded`: a server that ends with the process that wants it.

It listens on a free port, keeps its state in memory, and writes a JSON file when it accepts requests:
`{"base_url": ..., "pid": ..., "target": {tables of the target file}}`.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path

from conformance._files import written
from conformance.reference.seed import new_server, target_tables
from conformance.reference.serving.listener import base_url, listen, serve

HOST = "127.0.0.1"


def main(arguments: list[str] | None = None) -> int:
    """Serves until SIGTERM, SIGINT or the end of the parent process."""
    parser = argparse.ArgumentParser(prog="python -m conformance.reference.serving.embedded")
    parser.add_argument("--state", type=Path, required=True, help="the JSON file to write when ready")
    parser.add_argument("--parent", type=int, required=True, help="the process to end with")
    parser.add_argument("--prefix", default="", help="a path before /v1, such as /api")
    options = parser.parse_args(arguments)

    server, seeded = new_server(prefix=options.prefix)
    with listen(HOST, 0) as bound:
        url = base_url(bound, HOST, options.prefix)
        state = json.dumps({"base_url": url, "pid": os.getpid(), "target": target_tables(seeded, url)})

        def ready() -> None:
            written(options.state, state, private=True)

        serve(server, bound, ready, parent=options.parent)
    return 0


if __name__ == "__main__":
    sys.exit(main())
