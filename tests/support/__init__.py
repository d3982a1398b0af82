"""Servers, callers, runs and made-up results that several tests share."""
