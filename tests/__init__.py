"""Self-tests of the suite."""

import gc

# The tests keep the answers of whole servers in memory. With Python's default thresholds, garbage collection
# takes 10% of the time.
gc.set_threshold(10_000, 10, 10)
