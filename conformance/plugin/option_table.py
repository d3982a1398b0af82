"""The table of the suite's options, as pytest is told of them."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping
from typing import Any

from conformance.plugin.effort import Effort

#: Lanes that a process can have.
MOST_LANES = 60


def _positive(text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"it should be a whole number from 1, not {text[:40]!r}")
    return int(text)


def _number(text: str, unit: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < 1_000_000:
        raise argparse.ArgumentTypeError(f"it should be a number of {unit}, not {text[:40]!r}")
    return value


def _seconds(text: str) -> float:
    return _number(text, "seconds")


def _duration(text: str) -> float:
    value = _seconds(text)
    if not value:
        raise argparse.ArgumentTypeError("it should be a number of seconds above 0")
    return value


def _rate(text: str) -> float:
    return _number(text, "requests a second")


#: Name -> what pytest is told of the option.
OPTIONS: Mapping[str, dict[str, Any]] = {
    "target": {
        "metavar": "FILE",
        "default": os.environ.get("CONFORMANCE_TARGET") or None,
        "help": "the target file of the server to judge, or the word embedded for the suite's own reference "
        "server; --base-url beats the file's address (default: the embedded server)",
    },
    "wait": {
        "metavar": "SECONDS",
        "type": _seconds,
        "default": 0.0,
        "help": "wait at most so long for the server to start",
    },
    "lanes": {
        "metavar": "N",
        "type": _positive,
        "help": "run so many tests at once in each process, while answers are on their way (default: 4 to "
        "16 by the server's latency, 1 on the embedded server)",
    },
    "rate": {
        "metavar": "N",
        "type": _rate,
        "help": "send at most so many requests a second, all processes and lanes together; 0 is no limit "
        "([limits] requests_per_second)",
    },
    "max-requests": {
        "metavar": "N",
        "type": _positive,
        "help": "send at most so many requests in all; what they do not suffice for is inconclusive "
        "([limits] max_requests)",
    },
    "read-only": {
        "action": "store_true",
        "default": False,
        "help": "send only reads, and requests that every conforming server refuses",
    },
    "dry-run": {
        "action": "store_true",
        "default": False,
        "help": "send nothing; list what the run would send, by rule and, with -v, by operation",
    },
    "request-timeout": {
        "metavar": "SECONDS",
        "type": _duration,
        "help": "wait at most so long for one answer (default: 30; [limits] request_timeout)",
    },
    "run-timeout": {
        "metavar": "SECONDS",
        "type": _duration,
        "help": "end the run after so long and report what it has found; the rest is inconclusive "
        "([limits] run_timeout)",
    },
    "effort": {
        "choices": [str(effort) for effort in Effort],
        "default": str(Effort.FULL),
        "help": "how much to do: quick (what catches most in at most 1,000 requests), full, or deep (waits "
        "of minutes, long lists, more generated requests) (default: full)",
    },
    "fail-on": {
        "choices": ("required", "implied"),
        "default": "required",
        "help": "the lowest level of rules whose violation fails the run (default: required)",
    },
    "report-dir": {"metavar": "DIR", "help": "where the run writes its report (default: reports/)"},
    "rule": {
        "metavar": "RULE[@OPERATION]",
        "action": "append",
        "help": "judge only this rule, on this operation if given; patterns such as 'auth.*' (repeatable)",
    },
    "operation": {
        "metavar": "OPERATION",
        "action": "append",
        "help": "judge only this operation; patterns such as 'list*' (repeatable)",
    },
    "section": {
        "metavar": "SECTION",
        "action": "append",
        "help": "judge only the rules of this section of the specification, such as 4.1 (repeatable)",
    },
    "rules": {
        "metavar": "FILE",
        "action": "append",
        "help": "add the rules of a file of your own, in the form of spec/rules.yaml (repeatable; also "
        "conformance_rules in pytest's configuration)",
    },
    "shard": {"metavar": "PART/PARTS", "help": "run one of several parts of the suite, such as 2/5"},
    "seed": {
        "metavar": "N",
        "type": int,
        "help": "the seed of all generated cases (default: another one each run, printed)",
    },
    "fuzz-examples": {
        "metavar": "N",
        "type": _positive,
        "help": "generated cases for each part of the property-based tests",
    },
    "fuzz-time": {
        "metavar": "SECONDS",
        "type": _seconds,
        "help": "keep generating cases for so many seconds in all, beside what the checks take",
    },
    "fuzz-database": {
        "metavar": "WHERE",
        "help": "Hypothesis's examples: a folder, redis://HOST/, github:OWNER/REPOSITORY, or none "
        "(default: in the report's folder)",
    },
    "known-failures": {"metavar": "FILE", "help": "a TOML file of failures that do not fail the run"},
    "write-known-failures": {"metavar": "FILE", "help": "write the failures of this run as such a file"},
    "pinned-choices": {
        "metavar": "FILE",
        "help": "warn where the server no longer does what this file says of open questions",
    },
    "write-pinned-choices": {
        "metavar": "FILE",
        "help": "write what the server does where the specification is open",
    },
}
