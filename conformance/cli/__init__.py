"""The `conformance` command: one module per subcommand, with argparse and messages only."""
