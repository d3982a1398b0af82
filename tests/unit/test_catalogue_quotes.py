"""The catalogue's quotes and section titles: what a reader needs to find a rule in the specification."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

CATALOGUE: dict[str, Any] = yaml.safe_load((Path(__file__).parents[2] / "spec" / "rules.yaml").read_bytes())
RULES: dict[str, dict[str, Any]] = {rule["id"]: rule for rule in CATALOGUE["rules"]}

#: Required rules that no single sentence or table row states.
OF_WHOLE_SECTIONS = {
    "http.no-server-error": "what an API is for: requests are answered",
    "refusal.changes-nothing": "what a refusal means",
    "format.fields": "all tables of section 2",
    "fields.accepts-valid": "all tables of section 4",
    "create.echo": "the fields of section 4 are the fields of section 2",
    "read.equals-create": "one resource has one set of fields",
}


def test_required_rules_quote_the_specification() -> None:
    silent = {name for name, rule in RULES.items() if rule["level"] == "required" and "quote" not in rule}
    assert silent == set(OF_WHOLE_SECTIONS)


@pytest.mark.parametrize(
    "rule", [rule for rule in RULES.values() if "quote" in rule], ids=lambda rule: rule["id"]
)
def test_quotes_are_words_of_a_text_not_of_the_catalogue(rule: dict[str, Any]) -> None:
    quote = rule["quote"]
    assert quote == quote.strip() and "\n" not in quote
    assert quote != rule["statement"]
    assert quote.count("`") % 2 == 0, "a quote does not cut a code span"
    if quote.startswith("|"):
        assert quote.endswith("|"), "a quoted table row is whole"


def test_every_cited_section_has_a_title() -> None:
    def titled(section: str) -> bool:
        # 5.4.3 is a point of 5.4.
        return section in CATALOGUE["sections"] or section.rpartition(".")[0] in CATALOGUE["sections"]

    untitled = {section for rule in RULES.values() for section in rule["section"] if not titled(section)}
    assert untitled == set()


def test_sections_stand_in_the_order_of_the_specification() -> None:
    order = [tuple(map(int, section.split("."))) for section in CATALOGUE["sections"]]
    assert order == sorted(order)


def test_every_titled_section_is_cited() -> None:
    cited = {section for rule in RULES.values() for section in rule["section"]}
    unused = {
        section
        for section in CATALOGUE["sections"]
        if not any(name == section or name.startswith(f"{section}.") for name in cited)
    }
    assert unused == set()
