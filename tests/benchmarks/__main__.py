"""`python -m tests.benchmarks`: throughput and detection of the property-based part, beside plain `st
run`."""

from __future__ import annotations

import argparse

from . import detection, throughput


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__)
    parser.add_argument("--examples", type=int, default=25, help="generated cases for each part (25)")
    parser.add_argument("--seed", type=int, default=1, help="the seed of everything that is drawn (1)")
    parser.add_argument(
        "--faults",
        type=int,
        default=12,
        help="faulty servers to look at, one of each required rule first (12)",
    )
    parser.add_argument("--only", choices=("throughput", "detection"), help="one of the two")
    options = parser.parse_args()
    if options.only != "detection":
        throughput.report(options.examples, options.seed)
    if options.only != "throughput":
        print("\nfaults found:")
        detection.report(options.faults, options.examples, options.seed)


if __name__ == "__main__":
    main()
