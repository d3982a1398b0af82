"""Hypothesis within a budget: seeds, the example database, shrinking, the recorder of what was found.

It knows no operation of the API."""
