"""Benchmarks: `python -m tests.benchmarks`. No timed tests: they print, they do not judge."""
