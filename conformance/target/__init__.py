"""The server under test as its user describes it: the target file, which rules apply to it, and what may
be shown of it.

It sends nothing and judges nothing."""
