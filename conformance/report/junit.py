"""The results as JUnit XML.

A suite for each area of rules, a class for each rule, a test case for each operation: viewers group by
these. What is inconclusive counts as skipped; so that no viewer shows an incomplete run as a success, a
last test case holds the verdict and fails unless the exit status is 0.
"""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

from conformance._text import clean
from conformance.results import view

_NAME = "Financial Accounts API conformance"


def junit(document: view.Document) -> str:
    """The results as an XML text."""
    rules = view.rules(document)
    root = ElementTree.Element("testsuites", name=_NAME, time=_seconds(document["run"]["seconds"]))
    areas: dict[str, list[dict[str, Any]]] = {}
    for cell in document["cells"]:
        # What the user left out is not in the run; to name it would drown what is.
        if cell["verdict"] != "not run" or not document["run"]["selection"]:
            areas.setdefault(cell["rule"].partition(".")[0], []).append(cell)
    totals = {"tests": 0, "failures": 0, "errors": 0, "skipped": 0}
    suites = [_suite(document, area, cells, rules) for area, cells in areas.items()] + [_verdict(document)]
    for suite in suites:
        root.append(suite)
        counts = {
            "tests": len(suite.findall("testcase")),
            "failures": len(suite.findall("testcase/failure")),
            "errors": len(suite.findall("testcase/error")),
            "skipped": len(suite.findall("testcase/skipped")),
        }
        for name, value in counts.items():
            suite.set(name, str(value))
            totals[name] += value
        suite.set("timestamp", document["run"]["started"].partition(".")[0])
    for name, value in totals.items():
        root.set(name, str(value))
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _suite(
    document: view.Document,
    area: str,
    cells: list[dict[str, Any]],
    rules: dict[str, dict[str, Any]],
) -> ElementTree.Element:
    time = sum(finding["seconds"] for cell in cells for finding in cell["findings"])
    suite = ElementTree.Element("testsuite", name=area, time=_seconds(time))
    for cell in cells:
        suite.append(_case(document, cell, rules[cell["rule"]]))
    return suite


def _case(document: view.Document, cell: dict[str, Any], rule: dict[str, Any]) -> ElementTree.Element:
    case = ElementTree.Element(
        "testcase",
        classname=rule["id"],
        name=f"{rule['id']} [{cell['operation']}]",
        time=_seconds(sum(finding["seconds"] for finding in cell["findings"])),
    )
    finding, verdict = view.decisive(cell), cell["verdict"]
    text = _text(document, cell, rule, finding)
    if cell["known"]:
        _add(case, "skipped", f"known failure: {cell['known']}", text)
    elif view.fails(document, cell, rule["level"]):
        _add(
            case, "failure", f"expected {finding['expected']}; got {finding['got']}", text, type=rule["level"]
        )
    elif verdict == "error":
        _add(case, "error", cell["summary"] or "the suite itself failed", text, type="error of the suite")
    elif verdict in ("inconclusive", "not run", "not applicable"):
        _add(case, "skipped", f"{verdict}: {cell['summary']}" if cell["summary"] else verdict, text)
    elif verdict == "warning" or finding["observations"]:
        ElementTree.SubElement(case, "system-out").text = text
    return case


def _text(
    document: view.Document, cell: dict[str, Any], rule: dict[str, Any], finding: dict[str, Any]
) -> str:
    lines = [
        f"{rule['id']} on {cell['operation']}: {cell['verdict']} "
        f"({rule['level']}, section {', '.join(rule['section'])})",
        rule["statement"],
    ]
    for name in ("expected", "got", "remedy", "confirmed"):
        if finding[name]:
            lines.append(f"{name}: {finding[name]}")
    if cell["verdict"] in ("failed", "warning"):
        lines.append(f"reproduce: {view.reproduction(document, cell)}")
        lines += [f"further: {one}" for one in finding["further"]]
    lines += [
        f"{question}: {answer}"
        for one in cell["findings"]
        for question, answer in one["observations"].items()
    ]
    return "\n".join(lines)


def _verdict(document: view.Document) -> ElementTree.Element:
    verdict = document["verdict"]
    suite = ElementTree.Element("testsuite", name="verdict", time="0.000")
    case = ElementTree.SubElement(
        suite, "testcase", classname="verdict", name=f"verdict: {verdict['name']}", time="0.000"
    )
    text = "\n".join([verdict["sentence"], *verdict["notes"], *document["errors"]])
    if verdict["name"] == "error":
        _add(case, "error", verdict["sentence"], text, type=verdict["name"])
    elif verdict["exit_status"]:
        _add(case, "failure", verdict["sentence"], text, type=verdict["name"])
    else:
        ElementTree.SubElement(case, "system-out").text = text
    return suite


def _add(case: ElementTree.Element, tag: str, message: str, text: str, **attributes: str) -> None:
    element = ElementTree.SubElement(case, tag, {"message": clean(message).replace("\n", " "), **attributes})
    element.text = clean(text)


def _seconds(value: float) -> str:
    return f"{value:.3f}"
