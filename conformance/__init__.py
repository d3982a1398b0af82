"""A conformance suite for the Financial Accounts API."""

__version__ = "2.6.0"
