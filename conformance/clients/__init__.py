"""Judges clients: the sandbox of `conformance serve --judge` asks the oracle of each request that comes in.

A request that a server has to refuse is a mistake of whoever sent it. `received` reads one as the `Call`
that the oracle knows and judges it alone; `earlier` judges it by those before it (nonces, keys, repetitions,
walks through lists); `provocations` makes the sandbox do what a conforming server may do and few tests of a
client meet; `judging` keeps the ledger, `sandbox` is the server with its page. Rules that bind clients have
`side: client` or `both` in spec/rules.yaml.
"""
