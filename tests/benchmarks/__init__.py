"""Benchmarks: `python -m tests.prove benchmarks`. No timed tests: they print, they do not judge."""
