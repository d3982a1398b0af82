"""The tests of the suite itself."""

import gc

# Each judges whole servers and keeps what they answered: with Python's own numbers the search for garbage
# takes a tenth of the time.
gc.set_threshold(10_000, 10, 10)
