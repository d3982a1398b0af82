"""`python -m conformance.reference.serving.child_process PROCESS`: a server that ends with another process.

Listens on a free port, keeps its state in memory, and prints the tables of its target file as a line of JSON
once it listens.
"""

from __future__ import annotations

import json
import sys

from conformance.reference.seed import new_server, target_tables
from conformance.reference.serving.listener import base_url, listen, serve

HOST = "127.0.0.1"


def main(parent: int) -> None:
    """Serves until SIGTERM, SIGINT or the end of the parent process."""
    server, seeded = new_server()
    with listen(HOST, 0) as bound:
        # From now on connections wait to be accepted.
        print(json.dumps(target_tables(seeded, base_url(bound, HOST))), flush=True)
        serve(server, bound, parent=parent)


if __name__ == "__main__":
    main(int(sys.argv[1]))
