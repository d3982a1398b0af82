"""Annotations on a GitHub Actions run."""

from conformance._text import clean, one_line
from conformance.report import view
from conformance.report.document import Document

#: GitHub shows ten of a kind for each step.
SHOWN = 10


def annotations(document: Document) -> list[str]:
    """Workflow commands: an error for each cause of the verdict, a warning for each other one.

    There is an error exactly where the exit status is not 0.
    """
    errors: list[str] = []
    warnings: list[str] = []
    verdict = document.verdict
    for cause in view.causes(document):
        if cause.known:
            continue
        finding = cause.first.decisive
        text = f"expected {finding.expected}; got {finding.got}"
        title = f"{cause.rule.id} on {view.where(cause.new, document)}"
        failing = view.fails(document, cause.first, cause.rule.level) and verdict.exit_status != 0
        (errors if failing else warnings).append(_command("error" if failing else "warning", title, text))
    if verdict.exit_status:
        errors.insert(0, _command("error", f"Conformance: {verdict.title or verdict.name}", verdict.sentence))
    return errors[:SHOWN] + warnings[:SHOWN]


def _command(kind: str, title: str, text: str) -> str:
    title = _escaped(one_line(clean(title))).replace(":", "%3A").replace(",", "%2C")
    return f"::{kind} title={title}::{_escaped(one_line(clean(text), 600))}"


def _escaped(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
