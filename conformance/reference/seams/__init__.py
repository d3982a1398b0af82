"""Decisions of the reference server, one method a rule, so that a faulty server can override just that."""
