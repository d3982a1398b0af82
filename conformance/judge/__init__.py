"""Verdicts and what they rest on: expectations, comparison, findings, the rules of every response.

It reads exchanges and sends none; it must not know checks, pytest or reports."""
