"""The outcome of a run as typed values: cases, causes, known failures, the results document.

It knows findings; it sends nothing, and knows no format but its own JSON."""
