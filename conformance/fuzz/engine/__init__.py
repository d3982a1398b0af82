"""Runs Hypothesis within a budget: seeds, example database, shrinking, recorder. Knows no operation."""
