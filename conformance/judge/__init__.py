"""Judging of exchanges: outcomes, comparison, cells, the rules of every response.

Sends nothing; checks, pytest and reports are unknown here."""
