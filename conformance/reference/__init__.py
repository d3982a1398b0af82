"""A complete, correct Financial Accounts API server: default target, sandbox, and base of all faulty servers.

`app.Server` maps requests to responses without I/O but its store; `behaviour.Behaviour` has one method per
decision; `serving` connects it to sockets or to httpx.
"""
