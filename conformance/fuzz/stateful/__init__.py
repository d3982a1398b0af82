"""Compares sequences of requests with a reference model of the resources.

Does not import the fixed checks."""
