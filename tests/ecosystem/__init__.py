"""The contract in other people's tools: one file for them, and tests that they read it well."""
