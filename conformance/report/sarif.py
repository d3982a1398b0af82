"""The violations as SARIF 2.1.0, for code scanning.

A server has no lines of source here, so each result is located at the path of its operation; its
fingerprint is the rule and the operation, so that a scanner follows it from run to run.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any
from urllib.parse import quote

from conformance.results import view

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def sarif(document: view.Document) -> str:
    """The violations, warnings and inconclusive rules as SARIF text."""
    rules = list(view.rules(document).values())
    index = {rule["id"]: number for number, rule in enumerate(rules)}
    paths = {one["id"]: one["path"] for one in document["operations"]}
    shown = [cell for cell in document["cells"] if cell["verdict"] in ("failed", "warning", "inconclusive")]
    run, verdict = document["run"], document["verdict"]
    log = {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": document["suite"]["name"],
                        "semanticVersion": document["suite"]["version"],
                        "rules": [_rule(rule) for rule in rules],
                    }
                },
                "invocations": [
                    {
                        "executionSuccessful": verdict["name"] not in ("error", "interrupted"),
                        "exitCode": verdict["exit_status"],
                        "exitCodeDescription": verdict["sentence"],
                        "startTimeUtc": run["started"],
                        "endTimeUtc": run["ended"],
                        "toolExecutionNotifications": [
                            {"level": "error", "message": {"text": text}} for text in document["errors"]
                        ],
                    }
                ],
                "columnKind": "unicodeCodePoints",
                "results": [
                    _result(document, cell, rules[index[cell["rule"]]], index, paths) for cell in shown
                ],
                "properties": {"verdict": verdict["name"], "requests": run["requests"]},
            }
        ],
    }
    return json.dumps(log, indent=1) + "\n"


def _rule(rule: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": rule["id"],
        "name": "".join(part.capitalize() for part in rule["id"].replace(".", "-").split("-")),
        "shortDescription": {"text": rule["statement"]},
        "help": {
            "text": f"Section {', '.join(rule['section'])} of the Financial Accounts API specification. "
            f"`conformance explain {rule['id']}` says more."
        },
        "defaultConfiguration": {
            "level": {"required": "error", "implied": "warning"}.get(rule["level"], "note")
        },
        "properties": {
            "level": rule["level"],
            "section": rule["section"],
            "tags": [rule["id"].partition(".")[0]],
        },
    }


def _result(
    document: view.Document,
    cell: dict[str, Any],
    rule: dict[str, Any],
    index: dict[str, int],
    paths: dict[str, str],
) -> dict[str, Any]:
    finding = view.decisive(cell)
    violated = cell["verdict"] != "inconclusive"
    text = cell["summary"] or rule["statement"]
    result: dict[str, Any] = {
        "ruleId": rule["id"],
        "ruleIndex": index[rule["id"]],
        "kind": "fail" if violated else "review",
        # SARIF wants no level on what is no failure.
        "level": (
            "error" if view.fails(document, cell, rule["level"]) or rule["level"] == "required" else "warning"
        )
        if violated
        else "none",
        "message": {"text": text if violated else f"Inconclusive: {text}. {finding['remedy']}".strip()},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": quote(paths.get(cell["operation"], "/").lstrip("/"))},
                    "region": {"startLine": 1},
                },
                "logicalLocations": [{"fullyQualifiedName": cell["operation"], "kind": "function"}],
            }
        ],
        "partialFingerprints": {
            "ruleAndOperation/v1": hashlib.sha256(f"{rule['id']}@{cell['operation']}".encode()).hexdigest(),
        },
        "properties": {
            "operation": cell["operation"],
            "expected": finding["expected"],
            "got": finding["got"],
            "reproduce": view.reproduction(document, cell) if violated else "",
        },
    }
    if cell["known"]:
        result["suppressions"] = [{"kind": "external", "status": "accepted", "justification": cell["known"]}]
    return result
