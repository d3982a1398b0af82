"""A conformance suite for the Financial Accounts API."""

__version__ = "1.0.0"
