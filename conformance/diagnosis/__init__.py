"""Preflight: a few requests that detect a wrong configuration of the target, and its remedy.

Judges no rule: a diagnosis is never a verdict on the server.
"""
