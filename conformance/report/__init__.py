"""Formats made from the results document: page, terminal, Markdown, JUnit, SARIF, badge.

It knows nothing of HTTP, of checks or of the server; what it shows was redacted before."""
