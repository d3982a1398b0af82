"""A complete, correct Financial Accounts API server: default target, sandbox, and base of all faulty ones.

`app.Server` is a pure function of its state over requests and responses; `behaviour.Behaviour` holds
every decision in a method of its own; `asgi` and `transport` are thin adapters around it.
"""
