"""The checks: what they send, and which rules they report."""
