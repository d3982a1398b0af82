"""The server under test: its target file, the rules that apply to it, and redaction of its secrets.

Sends and judges nothing."""
