"""Conforming servers that choose otherwise than the reference server where the specification is open."""
