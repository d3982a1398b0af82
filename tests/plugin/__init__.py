"""The pytest plugin: options, distribution over workers, and whole runs as users start them."""
