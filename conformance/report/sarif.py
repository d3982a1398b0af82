"""The violations as SARIF 2.1.0, for code scanning.

Each cause is one result, so one alert, with its operations and consequences inside. Inconclusive cases are
omitted, since GitHub would make alerts of them. Each missing operation is a result. As there is no source
code, a result is located at the path of its first operation; the others are related locations.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import quote

from conformance._text import listed
from conformance.contract.rules import Level
from conformance.judge.ledger import Result, grouped
from conformance.report import view
from conformance.report.causes import CaseKey
from conformance.report.document import Document, RuleRecord
from conformance.report.known_failures import MISSING
from conformance.report.markdown import plain

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"

#: The fingerprint that identifies an alert on GitHub, which by default is derived from file and line: all
#: results of a path would be one alert. It covers rule and operations, so that dismissing an alert on some
#: operations does not dismiss it on others that break later.
FINGERPRINT = "primaryLocationLineHash"

#: Maximum number of names listed in a result.
SHOWN = 20


def sarif(document: Document) -> str:
    """The violations and warnings as SARIF text."""
    rules = list(view.rules(document).values())
    run, verdict = document.run, document.verdict
    log = {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": document.suite.name,
                        "semanticVersion": document.suite.version,
                        "rules": [*map(_rule, rules), _MISSING_RULE],
                    }
                },
                "automationDetails": {"id": "financial-accounts-conformance/"},
                "invocations": [
                    {
                        "executionSuccessful": verdict.name not in ("error", "interrupted"),
                        "exitCode": verdict.exit_status,
                        "exitCodeDescription": verdict.sentence,
                        "startTimeUtc": run.started,
                        "endTimeUtc": run.ended,
                        "toolExecutionNotifications": [
                            {"level": "error", "message": {"text": text}} for text in document.errors
                        ],
                    }
                ],
                "columnKind": "unicodeCodePoints",
                "results": [*_results(document, rules), *_missing(document, len(rules))],
                "properties": {"verdict": verdict.name, "requests": run.requests},
            }
        ],
    }
    return json.dumps(log, indent=1) + "\n"


def _rule(rule: RuleRecord) -> dict[str, Any]:
    source = f"Section {', '.join(rule.section)} of the Financial Accounts API specification"
    where = listed(rule.operations, SHOWN)
    level = {Level.REQUIRED: "error", Level.IMPLIED: "warning"}.get(rule.level, "note")
    more = f"conformance explain {rule.id}"
    follows = f"\n\nUsually broken along with: {', '.join(rule.follows)}." if rule.follows else ""
    return {
        "id": rule.id,
        "name": "".join(part.capitalize() for part in rule.id.replace(".", "-").split("-")),
        "shortDescription": {"text": rule.statement},
        "fullDescription": {"text": f"{rule.statement} ({source}; {rule.level}; on {where}.)"},
        "help": {
            "text": f"{rule.statement} {source}; {rule.level}. `{more}` shows the words that it rests on.",
            "markdown": f"**{rule.id}** ({rule.level})\n\n{plain(rule.statement)}\n\n{source}, on {where}."
            f"{follows}\n\n`{more}` shows the words that it rests on.",
        },
        "defaultConfiguration": {"level": level},
        "properties": {
            "level": str(rule.level),
            "section": list(rule.section),
            "tags": [rule.id.partition(".")[0], str(rule.level)],
            "precision": "very-high" if rule.level is Level.REQUIRED else "high",
            "problem.severity": {"error": "error", "warning": "warning"}.get(level, "recommendation"),
        },
    }


_MISSING_RULE: dict[str, Any] = {
    "id": MISSING,
    "name": "OperationMissing",
    "shortDescription": {"text": "Every operation of the contract exists."},
    "fullDescription": {
        "text": "Every operation of the contract exists. A valid request to this one was answered as an "
        "undocumented path is; nothing else is blamed for it."
    },
    "help": {"text": "Implement the operation, or judge the others with --operation."},
    "defaultConfiguration": {"level": "error"},
    "properties": {"tags": ["operation"], "precision": "very-high", "problem.severity": "error"},
}


def _results(document: Document, catalogue: Sequence[RuleRecord]) -> list[dict[str, Any]]:
    index = {rule.id: number for number, rule in enumerate(catalogue)}
    found = []
    for cause in view.causes(document):
        for known in (False, True):
            cases = [case for case in cause.cases if bool(case.known) is known]
            if cases:
                # Consequences are listed with the new failure, if there is one.
                taken = cause.consequences if cases[0] is cause.first else ()
                found.append(_result(document, cause.rule, cases, taken))
        if cause.known or found[-1]["level"] != "error":
            found += _own(document, cause)
    return [{**result, "ruleIndex": index[result["ruleId"]]} for result in found]


def _own(document: Document, cause: view.Cause) -> Iterator[dict[str, Any]]:
    """Results for consequences that fail the run although their cause does not, one per rule."""
    failing = grouped((case.rule, case) for case in cause.failing if case.rule != cause.rule.id)
    for rule, cases in failing.items():
        yield _result(document, view.rules(document)[rule], cases, ())


def _result(
    document: Document, rule: RuleRecord, cases: Sequence[Result], taken: Sequence[CaseKey]
) -> dict[str, Any]:
    first = cases[0]
    finding, operations = first.decisive, [case.operation for case in cases]
    error = rule.level is Level.REQUIRED or view.fails(document, first, rule.level)
    result: dict[str, Any] = {
        "ruleId": rule.id,
        "kind": "fail",
        "level": "error" if error else "warning",
        "message": {"text": _message(rule, first, operations, taken)},
        "locations": [_location(document, first.operation)],
        "partialFingerprints": _fingerprints(rule.id, operations),
        "properties": {
            "operations": operations,
            "expected": finding.expected,
            "got": finding.got,
            "alsoFailed": [f"{key.rule}@{key.operation}" for key in taken],
            "reproduce": view.reproduction(document, first),
        },
    }
    if others := [
        {**_location(document, operation), "id": number, "message": {"text": f"also broken on {operation}"}}
        for number, operation in enumerate(operations[1:], 1)
    ]:
        result["relatedLocations"] = others
    if first.known:
        result["suppressions"] = _suppressed(first.known)
    return result


def _suppressed(reason: str) -> list[dict[str, str]]:
    """The suppression of a known failure."""
    return [{"kind": "external", "status": "accepted", "justification": reason}]


def _message(rule: RuleRecord, first: Result, operations: Sequence[str], taken: Sequence[CaseKey]) -> str:
    finding = first.decisive
    parts = [
        f"{rule.statement.rstrip('.')}. On {first.operation}: expected {finding.expected}; got {finding.got}."
    ]
    if len(operations) > 1:
        links = [f"[{operation}]({number})" for number, operation in enumerate(operations[1:], 1)]
        parts.append(f"Also broken on {', '.join(links)}.")
    if taken:
        names = listed([f"{key.rule} on {key.operation}" for key in taken], SHOWN)
        parts.append(f"It seems to be also why this failed, or was not judged: {names}.")
    # Text of the server must not become a link.
    head, *links = parts
    return " ".join([re.sub(r"([\\\[\]])", r"\\\1", head), *links])


def _missing(document: Document, index: int) -> list[dict[str, Any]]:
    return [
        {
            "ruleId": MISSING,
            "ruleIndex": index,
            "kind": "fail",
            "level": "error",
            "message": {
                "text": f"{record.operation} is not implemented: {record.answered}{view.wait(record)}."
            },
            "locations": [_location(document, record.operation)],
            "partialFingerprints": _fingerprints(MISSING, [record.operation]),
            "properties": {"operations": [record.operation]},
            **({"suppressions": _suppressed(record.known)} if record.known else {}),
        }
        for record in document.missing
    ]


def _location(document: Document, operation: str) -> dict[str, Any]:
    path = next((known.path for known in document.operations if known.id == operation), "/")
    return {
        "physicalLocation": {
            "artifactLocation": {"uri": quote(path.lstrip("/"))},
            "region": {"startLine": 1},
        },
        "logicalLocations": [{"fullyQualifiedName": operation, "kind": "function"}],
    }


def _fingerprints(rule: str, operations: Sequence[str]) -> dict[str, str]:
    digest = hashlib.sha256(f"{rule}@{','.join(sorted(operations))}".encode()).hexdigest()
    return {FINGERPRINT: f"{digest[:16]}:1", "ruleAndOperations/v1": digest}
