"""The contract, the target file, the client and comparison, each by itself."""
