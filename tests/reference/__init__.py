"""The reference server and its command."""
