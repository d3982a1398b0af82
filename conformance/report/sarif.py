"""The violations as SARIF 2.1.0, for code scanning.

A server has no lines of source here, so each result is located at the path of its operation. There is one
result for each broken rule on each operation; what else was broken because of it stands inside. Its
fingerprint is the rule and the operation, so that a scanner follows it from run to run and no two merge.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any
from urllib.parse import quote

from conformance._text import listed
from conformance.contract.rules import Level
from conformance.results import view
from conformance.results.document import CaseRecord, Document, RuleRecord

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"

#: The fingerprint by which GitHub tells alerts apart. Without it GitHub makes one of the line in a file, and
#: here all results of a path would be one alert.
FINGERPRINT = "primaryLocationLineHash"


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
                        "rules": [_rule(rule) for rule in rules],
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
                "results": _results(document, {rule.id: number for number, rule in enumerate(rules)}),
                "properties": {"verdict": verdict.name, "requests": run.requests},
            }
        ],
    }
    return json.dumps(log, indent=1) + "\n"


def _rule(rule: RuleRecord) -> dict[str, Any]:
    return {
        "id": rule.id,
        "name": "".join(part.capitalize() for part in rule.id.replace(".", "-").split("-")),
        "shortDescription": {"text": rule.statement},
        "fullDescription": {
            "text": f"{rule.statement} (Section {', '.join(rule.section)} of the Financial Accounts API "
            f"specification; {rule.level}; on {listed(rule.operations, 20)}.)"
        },
        "help": {
            "text": f"Section {', '.join(rule.section)} of the Financial Accounts API specification. "
            f"`conformance explain {rule.id}` says more."
        },
        "defaultConfiguration": {
            "level": {Level.REQUIRED: "error", Level.IMPLIED: "warning"}.get(rule.level, "note")
        },
        "properties": {
            "level": str(rule.level),
            "section": list(rule.section),
            "tags": [rule.id.partition(".")[0]],
        },
    }


def _results(document: Document, index: dict[str, int]) -> list[dict[str, Any]]:
    paths = {operation.id: operation.path for operation in document.operations}
    there, rules = view.cells(document), view.rules(document)
    found = []
    for cause in view.causes(document):
        for case in cause.cases:
            # Its consequences on other operations stand with the first.
            taken = [
                other
                for other in cause.consequences
                if other.operation == case.operation
                or (case is cause.cases[0] and other.operation not in cause.record.operations)
            ]
            result = _result(document, case, cause.rule, paths)
            result["ruleIndex"] = index[cause.rule.id]
            if taken:
                names = listed([f"{other.rule} on {other.operation}" for other in taken], 20)
                result["message"]["text"] += (
                    f" It seems to be also why this failed, or was not judged: {names}."
                )
            found.append(result)
            if result["level"] == "error" and not case.known:
                continue
            # What fails the run must be an error here, too, although its cause alone is none.
            for other in (there[key.key] for key in taken):
                if view.fails(document, other, rules[other.rule].level):
                    found.append(_result(document, other, rules[other.rule], paths))
                    found[-1]["ruleIndex"] = index[other.rule]
    return found


def _result(document: Document, case: CaseRecord, rule: RuleRecord, paths: dict[str, str]) -> dict[str, Any]:
    finding = case.decisive
    error = rule.level is Level.REQUIRED or view.fails(document, case, rule.level)
    result: dict[str, Any] = {
        "ruleId": rule.id,
        "kind": "fail",
        "level": "error" if error else "warning",
        "message": {"text": (case.summary or rule.statement).rstrip(".") + "."},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": quote(paths.get(case.operation, "/").lstrip("/"))},
                    "region": {"startLine": 1},
                },
                "logicalLocations": [{"fullyQualifiedName": case.operation, "kind": "function"}],
            }
        ],
        "partialFingerprints": {
            FINGERPRINT: hashlib.sha256(f"{rule.id}@{case.operation}".encode()).hexdigest()[:16] + ":1",
            "ruleAndOperation/v1": hashlib.sha256(f"{rule.id}@{case.operation}".encode()).hexdigest(),
        },
        "properties": {
            "operation": case.operation,
            "expected": finding.expected,
            "got": finding.got,
            "reproduce": view.reproduction(document, case),
        },
    }
    if case.known:
        result["suppressions"] = [{"kind": "external", "status": "accepted", "justification": case.known}]
    return result
