"""The `conformance` command: one module a subcommand, argparse and messages only."""
