"""Load tests: Locust drives many users at once, and the oracle judges every answer.

`conformance load` starts Locust with `locustfile.py`, whose users are a payer, a reader, an administrator and
a client that makes mistakes. A user works in sessions (`user_session.py`), each with its own account and a
model of its contents. A load process (`process.py`) holds what its users share, and sends ledgers; the
controller (`coordinator.py`), in Locust's master or only process, merges them, compares ids across processes,
and writes the report. Only these processes import gevent.
"""
