"""The results document, and formats made from it: page, terminal, Markdown, JUnit, SARIF, badge.

It knows nothing of HTTP, of checks or of the server; what it shows was redacted before."""
