"""Benchmarks: `python -m tests.prove benchmarks`. They print measurements and assert nothing."""
