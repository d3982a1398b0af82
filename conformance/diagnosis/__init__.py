"""Preflight: a few requests that tell a wrong configuration from a wrong server.

It names what is wrong with the target and the remedy; it judges no rule, and what it names is never a
verdict.
"""
