"""Results of a run, and the report formats and commands."""
