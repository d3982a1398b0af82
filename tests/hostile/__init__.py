"""Servers that break, hang, lie or attack, over real sockets.

A run must end without traceback or hang, in bounded memory, with a verdict that says what happened, and
report everything judged until then. `python -m tests.prove hostile` runs pytest against each of them and
prints a table.
"""
