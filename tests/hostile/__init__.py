"""Servers that break, hang, lie or attack, over real sockets.

A run must end without traceback or hang, in bounded memory, with a verdict that says what happened, and
report everything judged until then. `pytest tests/hostile -m slow` runs pytest against each of them.
"""
