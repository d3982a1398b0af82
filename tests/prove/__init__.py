"""Proofs of the suite that take minutes or hours: `python -m tests.prove NAME`, from the root of a
checkout."""
