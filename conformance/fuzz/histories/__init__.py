"""Records histories of concurrent requests and checks them for linearizability.

Does not import the fixed checks."""
