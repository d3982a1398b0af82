"""Proofs of the suite that take minutes: `python -m tests.prove NAME`, from the root of a checkout."""
