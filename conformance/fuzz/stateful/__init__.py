"""Sequences of requests compared with a model of the resources.

The model knows the contract, not the server; it must not know the fixed checks."""
