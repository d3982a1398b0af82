"""Tables of cases: single requests, each with its rule, for `conformance.checks.engine` to send and judge.

A table is a generator function of an engine, which draws the valid request that each case changes:

    def header_case(at):
        for how in ("lower", "upper"):
            yield at.case("auth.header-case", f"header names in {how} case", auth=Auth(name_case=how))

The name of a case is that of its probe: quick runs select cases by it, and reports show it.
"""
