"""Load tests: Locust drives many users at once, and the oracle judges every answer.

`conformance load` starts Locust with `locustfile.py`, whose users are a payer, a reader, an administrator and
a client that makes mistakes. A user works in sessions (`user_session.py`), each with an account and a model
of its content. A load process (`process.py`) has what its users share, and hands on ledgers; the controller
(`coordinator.py`), in Locust's master or its only process, adds them up, compares what several processes saw,
and writes the report. Only that command's processes import gevent.
"""
