"""The results document, and its formats: page, terminal, Markdown.

Independent of HTTP, checks and the server; its input is redacted already.
"""
