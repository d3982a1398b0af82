"""Concurrent requests recorded as histories, and whether a legal order explains them.

It must not know the fixed checks."""
