"""Failures sent again from their replay files."""
