"""Load tests: many users at once run the checks of the suite, for as long as you like.

`conformance load` starts Locust with `locustfile.py`: each user draws checks of its rules and runs them in
sessions, each of which has accounts of its own. `long_checks.py` has checks of what only a long run shows. A
load process (`process.py`) holds what its users share, and sends ledgers; the controller (`coordinator.py`),
in Locust's master or only process, merges them, compares ids across sessions, and writes the report. Only
these processes import gevent.
"""
