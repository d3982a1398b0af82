"""Judges clients by the requests that they send to the sandbox (`conformance serve --judge`).

A request that a server must refuse is a violation by its sender. `received` parses a request into the
oracle's `Call` and judges it alone; `earlier` judges it with those before it (nonces, keys, repetitions,
walks through lists); `provocations` makes the sandbox do what a conforming server may do but few client tests
cover; `judging` keeps the ledger, `sandbox` is the server with its page. Rules that bind clients have `side:
client` or `both` in spec/rules.yaml.
"""
