"""The contract in tools of others, and the wheel."""
