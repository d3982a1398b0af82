"""The results as JUnit XML.

One suite per area of rules, one class per rule, one test case per operation, since viewers group by these.
Each cause is one failure; its other cases and consequences are skipped, with a reference to it. Inconclusive
cases are skipped. A final test case holds the verdict; it fails if the exit status is not 0 and no other test
case fails, so that no viewer shows an incomplete run as a success. Each missing operation is a failure.
GitLab makes a link of `file`.
"""

from __future__ import annotations

from pathlib import PurePath
from xml.etree import ElementTree

from conformance._files import test_module
from conformance._text import clean, count
from conformance.judge.findings import Verdict
from conformance.judge.ledger import Result, grouped
from conformance.report import view
from conformance.report.document import Document, RuleRecord

_NAME = "Financial Accounts API conformance"

#: Attribute of a suite -> the elements that it counts.
_COUNTED = {
    "tests": "testcase",
    "failures": "testcase/failure",
    "errors": "testcase/error",
    "skipped": "testcase/skipped",
}

#: Key of a failing case -> the case reported as the failure of its cause, and how many of the cause fail.
_Leading = dict[tuple[str, str], tuple[Result, int]]


def junit(document: Document) -> str:
    """The results as an XML text."""
    rules = view.rules(document)
    leading: _Leading = {
        case.key: (cause.failing[0], len(cause.failing))
        for cause in view.causes(document)
        for case in cause.failing
    }
    root = ElementTree.Element("testsuites", name=_NAME, time=_seconds(document.run.seconds))
    areas = grouped(
        (case.rule.partition(".")[0], case)
        for case in document.cells
        # Omits what the user's selection left out.
        if case.verdict is not Verdict.NOT_RUN or not document.run.selection
    )
    suites = [_suite(document, area, cases, rules, leading) for area, cases in areas.items()]
    if document.missing:
        suites.append(_missing(document))
    failed = any(
        suite.find("testcase/failure") is not None or suite.find("testcase/error") is not None
        for suite in suites
    )
    for suite in [*suites, _verdict(document, failed)]:
        root.append(suite)
        for name, path in _COUNTED.items():
            suite.set(name, str(len(suite.findall(path))))
        suite.set("timestamp", document.run.started.partition(".")[0])
    for name in ("tests", "failures", "errors"):
        root.set(name, str(len(root.findall(f"testsuite/{_COUNTED[name]}"))))
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _suite(
    document: Document, area: str, cases: list[Result], rules: dict[str, RuleRecord], leading: _Leading
) -> ElementTree.Element:
    time = sum(finding.seconds for case in cases for finding in case.findings)
    suite = ElementTree.Element("testsuite", name=area, time=_seconds(time))
    for case in cases:
        suite.append(_case(document, case, rules[case.rule], leading))
    return suite


def _missing(document: Document) -> ElementTree.Element:
    suite = ElementTree.Element("testsuite", name="not implemented", time="0.000")
    for record in document.missing:
        case = ElementTree.SubElement(
            suite, "testcase", classname="not implemented", name=record.operation, time="0.000"
        )
        text = f"{record.answered}{view.wait(record)}"
        if record.known:
            _add(case, "skipped", f"known to be missing: {record.known}", text)
        else:
            _add(case, "failure", record.answered, text, type="not implemented")
    return suite


def _file(document: Document, case: Result) -> str:
    """A file that a viewer can link to: the target file, if inside the repository, else the module of the
    check."""
    target = document.run.options.get("target", "")
    if target.endswith(".toml") and not PurePath(target).is_absolute() and ".." not in PurePath(target).parts:
        return PurePath(target).as_posix()
    module = test_module(case.decisive.check.partition(".")[0])
    return f"conformance/{module.parent.name}/{module.name}" if module is not None else "spec/rules.yaml"


def _case(document: Document, case: Result, rule: RuleRecord, leading: _Leading) -> ElementTree.Element:
    element = ElementTree.Element(
        "testcase",
        classname=rule.id,
        name=f"{rule.id} [{case.operation}]",
        time=_seconds(sum(finding.seconds for finding in case.findings)),
        file=_file(document, case),
    )
    finding, verdict = case.decisive, case.verdict
    text = _text(document, case, rule)
    if case.known:
        _add(element, "skipped", f"known failure: {case.known}", text)
    elif view.fails(document, case, rule.level):
        first, failing = leading.get(case.key, (case, 1))
        got = f"expected {finding.expected}; got {finding.got}"
        if first.key == case.key:
            others = f" ({count(failing - 1, 'other case')} of this cause failed, too)" if failing > 1 else ""
            _add(element, "failure", got + others, text, type=str(rule.level))
        else:
            _add(element, "skipped", f"failed, too: see {first.rule} [{first.operation}]; {got}", text)
    elif verdict is Verdict.ERROR:
        _add(element, "error", case.summary or "the suite itself failed", text, type="error of the suite")
    elif verdict in (Verdict.INCONCLUSIVE, Verdict.NOT_RUN, Verdict.NOT_APPLICABLE):
        _add(element, "skipped", f"{verdict}: {case.summary}" if case.summary else str(verdict), text)
    elif verdict is Verdict.WARNING or finding.observations:
        ElementTree.SubElement(element, "system-out").text = text
    return element


def _text(document: Document, case: Result, rule: RuleRecord) -> str:
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
    failures = f"{count(verdict.failures, 'case')} failed, from {count(len(document.causes), 'cause')}"
    text = "\n".join(
        [verdict.sentence, *verdict.notes, *([failures] if verdict.failures else []), *document.errors]
    )
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
