"""Servers that break, hang, lie or attack, over real sockets: whatever they do, a run bears it.

No traceback, no hang, bounded memory, a verdict that says what happened, and all that was measured until
then reported. `python -m tests.prove hostile` runs pytest against each of them and prints a table.
"""
