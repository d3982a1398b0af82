"""Property-based testing: what no hand-written check foresaw, with the smallest requests that show it.

Three tests share the package; each runs in parts that workers share out, and imports nothing before a part runs:

    schema fuzzing   fuzzing drives one operation: cases from generation (schemathesis, through views),
                     mutations and essentials meet the resources of scenery; oracle, bodies and queries say
                     from the bytes alone what the answer must be
    stateful model   machines draws sequences of requests, driver sends them and compares with model
    histories        histories records concurrent clients, linearizability looks for a legal order

All of them judge into a ledger, which engine keeps Hypothesis to, and whose failures replay writes into files
that anybody can send again.
"""
