"""Generated requests of one operation, and what the contract says of their answers.

It judges from the bytes that were sent alone, and must not know the fixed checks."""
