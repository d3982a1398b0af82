"""Whole runs as users start them."""
