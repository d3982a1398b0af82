"""Bytes out, bytes in: messages, the signing client, time limits, rate limits, the server's clock, pages.

It must not know rules or verdicts: an answer is recorded, never judged."""
