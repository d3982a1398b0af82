"""The reference server and `conformance serve`."""
