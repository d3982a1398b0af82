"""White space behind a value: an answer that shows no text in its place breaks another rule than that of the
value."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from conformance.checks import load_checks, test_fields
from conformance.checks.running import run_check
from conformance.contract.fields import Field, request_fields
from conformance.judge.verdicts import Verdict
from conformance.reference.behaviour import Behaviour
from conformance.reference.context import Context
from conformance.reference.core_messages import Response
from tests.support.overrides import with_document
from tests.support.runs import run_on

NAMES = ("country_code", "first_name", "last_name", "display_name")


class Otherwise(Behaviour):
    """Trims texts, and shows a new beneficiary in another form."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        self.kind = kind

    def check_value(self, ctx: Context, field: Field, value: Any) -> None:
        super().check_value(ctx, field, value.strip() if isinstance(value, str) else value)

    def kept_value(self, ctx: Context, field: Field, value: Any) -> Any:
        value = super().kept_value(ctx, field, value)
        return value.strip() if isinstance(value, str) else value

    def length(self, ctx: Context, value: str) -> int:
        return super().length(ctx, value.strip())

    def finish(self, ctx: Context, response: Response) -> Response:
        response = super().finish(ctx, response)
        if ctx.operation != "createBeneficiary" or response.status != 201:
            return response
        document = {name: value for name, value in response.document.items() if name not in NAMES}
        lists = dict.fromkeys(NAMES, ["a"] * 300)
        return with_document(response, document | lists if self.kind == "lists" else document)


class TakesLineFeeds(Behaviour):
    """Takes and shows a code with a line feed behind it."""

    def check_value(self, ctx: Context, field: Field, value: Any) -> None:
        super().check_value(ctx, field, value.removesuffix("\n") if field.code else value)


def test_a_code_with_a_maximum_still_shows_letters_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    fields = [
        replace(field, max_length=255) if field.code else field
        for field in request_fields("createBeneficiary")
    ]
    monkeypatch.setattr(test_fields, "request_fields", lambda operation: fields)
    check = load_checks()["test_fields.test_value_written_otherwise"]
    cells = run_check(check, "createBeneficiary", run_on(TakesLineFeeds()))[0]
    assert [cell.rule for cell in cells if cell.violations] == ["fields.country-code"]


@pytest.mark.parametrize("kind", ["members", "lists"])
@pytest.mark.parametrize(
    ("check", "rule"),
    [("test_value_written_otherwise", "fields.country-code"), ("test_longer_by_spaces", "fields.max-length")],
)
def test_what_is_no_text_is_blamed_by_the_rule_of_its_form(check: str, rule: str, kind: str) -> None:
    run = run_on(Otherwise(kind))
    cells = run_check(load_checks()[f"test_fields.{check}"], "createBeneficiary", run)[0]
    cell = {cell.rule: cell for cell in cells}[rule]
    assert cell.verdict is Verdict.INCONCLUSIVE
    assert cell.unclear[0].cause == "format.fields", cell.unclear
