"""Locust's process of `conformance load`: ends with exit status 4 where no run can begin."""

import os
import sys
import traceback

# Applies gevent's monkey patches, so it precedes other imports.
from locust.main import main as locust

from conformance.load.settings import VARIABLE


def main() -> None:
    """Runs Locust with the arguments of this process."""
    sys.argv[0] = "conformance load"
    try:
        locust()
    except SystemExit as stop:
        # The locustfile takes the settings once a run can begin.
        sys.exit(4 if stop.code and VARIABLE in os.environ else stop.code)
    except Exception:
        traceback.print_exc()
        sys.exit(4 if VARIABLE in os.environ else 3)


if __name__ == "__main__":
    main()
