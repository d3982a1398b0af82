"""Sound bodies carry values that no other body of the run has."""

from __future__ import annotations

import re

from conformance.fixtures.samples import phone, tax_id


def test_telephone_numbers_are_of_one_form_and_differ() -> None:
    made = [phone(number) for number in range(5000)]
    assert all(re.fullmatch(r"\+1[2-4][0-9]{2}555[0-9]{4}", one) for one in made)
    assert len(set(made)) == len(made)


def test_tax_ids_are_of_one_form_and_differ() -> None:
    made = [tax_id(number) for number in range(10**11, 10**11 + 5000)]
    assert all(re.fullmatch(r"[1-5][0-9]{8}", one) for one in made)
    assert len(set(made)) == len(made)
