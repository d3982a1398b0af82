"""Generated requests."""
