"""HTTP: messages, the signing client, transport, timeouts, rate limits, the server's clock, paged lists.

Answers are recorded, never judged: rules and verdicts are unknown here."""

from conformance import _private

_private.import_httpx_without_its_command()
