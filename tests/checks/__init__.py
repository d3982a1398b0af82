"""The checks and what they are written in: what they send, what they blame."""
