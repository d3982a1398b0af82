"""Unit tests of the contract, the target file, the client, comparison and the tools of the suite."""
