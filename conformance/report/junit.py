"""The results as JUnit XML.

A suite for each area of rules, a class for each rule, a test case for each operation: viewers group by
these. There are as many failures as the run has: the first of a cause tells all, the others name it. What is
inconclusive counts as skipped; so that no viewer shows an incomplete run as a success, a last test case holds
the verdict, and fails where the exit status is not 0 and no other test case does.
"""

from __future__ import annotations

from xml.etree import ElementTree

from conformance._text import clean
from conformance.judging.findings import Verdict
from conformance.results import view
from conformance.results.document import CaseRecord, Document, RuleRecord

_NAME = "Financial Accounts API conformance"

#: (rule, operation) -> the case that is shown for its cause.
_First = dict[tuple[str, str], CaseRecord]


def junit(document: Document) -> str:
    """The results as an XML text."""
    rules, first = view.rules(document), _first_of_causes(document)
    root = ElementTree.Element("testsuites", name=_NAME, time=_seconds(document.run.seconds))
    areas: dict[str, list[CaseRecord]] = {}
    for case in document.cells:
        # What the user left out is not in the run; to name it would drown what is.
        if case.verdict is not Verdict.NOT_RUN or not document.run.selection:
            areas.setdefault(case.rule.partition(".")[0], []).append(case)
    suites = [_suite(document, area, cases, rules, first) for area, cases in areas.items()]
    failed = any(
        suite.find("testcase/failure") is not None or suite.find("testcase/error") is not None
        for suite in suites
    )
    totals = {"tests": 0, "failures": 0, "errors": 0, "skipped": 0}
    for suite in [*suites, _verdict(document, failed)]:
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
        suite.set("timestamp", document.run.started.partition(".")[0])
    for name, value in totals.items():
        root.set(name, str(value))
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _first_of_causes(document: Document) -> _First:
    first: _First = {}
    for cause in view.causes(document):
        for key in [*(case.key for case in cause.cases), *(case.key for case in cause.consequences)]:
            first[key] = cause.first
    return first


def _suite(
    document: Document, area: str, cases: list[CaseRecord], rules: dict[str, RuleRecord], first: _First
) -> ElementTree.Element:
    time = sum(finding.seconds for case in cases for finding in case.findings)
    suite = ElementTree.Element("testsuite", name=area, time=_seconds(time))
    for case in cases:
        suite.append(_case(document, case, rules[case.rule], first.get(case.key, case)))
    return suite


def _case(document: Document, case: CaseRecord, rule: RuleRecord, first: CaseRecord) -> ElementTree.Element:
    element = ElementTree.Element(
        "testcase",
        classname=rule.id,
        name=f"{rule.id} [{case.operation}]",
        time=_seconds(sum(finding.seconds for finding in case.findings)),
    )
    finding, verdict = case.decisive, case.verdict
    text = _text(document, case, rule)
    if case.known:
        _add(element, "skipped", f"known failure: {case.known}", text)
    elif view.fails(document, case, rule.level):
        if first.key == case.key:
            message = f"expected {finding.expected}; got {finding.got}"
        else:
            message = f"see {first.rule} [{first.operation}], from which this seems to follow: {finding.got}"
        _add(element, "failure", message, text, type=str(rule.level))
    elif verdict is Verdict.ERROR:
        _add(element, "error", case.summary or "the suite itself failed", text, type="error of the suite")
    elif verdict in (Verdict.INCONCLUSIVE, Verdict.NOT_RUN, Verdict.NOT_APPLICABLE):
        _add(element, "skipped", f"{verdict}: {case.summary}" if case.summary else str(verdict), text)
    elif verdict is Verdict.WARNING or finding.observations:
        ElementTree.SubElement(element, "system-out").text = text
    return element


def _text(document: Document, case: CaseRecord, rule: RuleRecord) -> str:
    finding = case.decisive
    lines = [
        f"{rule.id} on {case.operation}: {case.verdict} ({rule.level}, section {', '.join(rule.section)})",
        rule.statement,
    ]
    named = {
        "expected": finding.expected,
        "got": finding.got,
        "remedy": finding.remedy,
        "repeated alone": finding.confirmed,
    }
    lines += [f"{name}: {value}" for name, value in named.items() if value]
    if case.verdict.is_violation:
        if signed := view.signed(document, case):
            lines.append(f"signed: {signed}")
        lines.append(f"reproduce: {view.reproduction(document, case)}")
        lines += [f"further: {text}" for text in finding.further]
    lines += [
        f"{question}: {answer}"
        for finding in case.findings
        for question, answer in finding.observations.items()
    ]
    return "\n".join(lines)


def _verdict(document: Document, failed: bool) -> ElementTree.Element:
    verdict = document.verdict
    suite = ElementTree.Element("testsuite", name="verdict", time="0.000")
    case = ElementTree.SubElement(
        suite, "testcase", classname="verdict", name=f"verdict: {verdict.title or verdict.name}", time="0.000"
    )
    text = "\n".join([verdict.sentence, *verdict.notes, *document.errors])
    if verdict.name == "error" and not failed:
        _add(case, "error", verdict.sentence, text, type=verdict.name)
    elif verdict.exit_status and not failed:
        _add(case, "failure", verdict.sentence, text, type=verdict.name)
    else:
        ElementTree.SubElement(case, "system-out").text = text
    return suite


def _add(case: ElementTree.Element, tag: str, message: str, text: str, **attributes: str) -> None:
    element = ElementTree.SubElement(case, tag, {"message": clean(message).replace("\n", " "), **attributes})
    element.text = clean(text)


def _seconds(value: float) -> str:
    return f"{value:.3f}"
