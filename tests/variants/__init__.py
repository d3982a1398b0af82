"""Conforming servers that choose otherwise than the reference server wherever the specification is open."""
