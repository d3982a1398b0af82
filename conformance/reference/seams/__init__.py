"""Decisions of the reference server, one method each, so that a faulty server can override exactly one."""
