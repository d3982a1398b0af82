"""Schema fuzzing: generated requests of one operation, judged by the oracle from the bytes that were sent."""
