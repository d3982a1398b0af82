"""Servers that refuse what any server must take: nonces, names and amounts such as there are many of."""

from __future__ import annotations

import re

from .catalogue import faults, refuse, seam

#: Kind -> the part of a nonce that is compared with those of used ones.
PARTS = {
    "the first half": slice(0, 16),
    "the last half": slice(16, None),
    "the first eight": slice(0, 8),
    "all but the last": slice(0, -1),
    "all but the first": slice(1, None),
}

faults["auth.accepts-valid"] |= {
    "A nonce counts as used where only a part of it was.": seam(
        "claim_nonce", lambda self, ctx, nonce: self.usual(ctx, nonce[self.value]), each=PARTS
    ),
}

#: Kind -> pattern of the names that are taken.
NAMES = {
    "two letters or more": r".{2,}",
    "letters only": r"[^\W\d_]+",
    "no hyphen": r"[^-]+",
    "one word": r"\S+",
    "capitals first": r"[A-Z].*",
}

#: Kind -> pattern of the amounts that are taken.
AMOUNTS = {
    "two decimals": r"\d+\.\d\d",
    "some decimals": r"\d+\.\d+",
    "none or two decimals": r"\d+(\.\d\d)?",
}

faults["fields.accepts-valid"] |= {
    "A name of a person is refused that is not of this form.": seam(
        "check_length",
        lambda self, ctx, field, value: (
            refuse(self.invalid(ctx, field, "invalid_name", "is no name"))
            if field.name in ("first_name", "middle_name", "last_name")
            and not re.fullmatch(self.value, value)
            else self.usual()
        ),
        operations=("createBeneficiary",),
        each=NAMES,
    ),
    "An amount is refused that is not of this form.": seam(
        "check_amount",
        lambda self, ctx, field, value: (
            self.usual()
            if re.fullmatch(self.value, value)
            else refuse(self.invalid(ctx, field, "invalid_amount", "has the wrong number of decimals"))
        ),
        operations=("createPayout", "createPayin"),
        each=AMOUNTS,
    ),
    "A listed type of bank account is refused.": seam(
        "check_enum",
        lambda self, ctx, field, value: (
            refuse(self.invalid(ctx, field, "not_allowed", "is not supported"))
            if value == self.value
            else self.usual()
        ),
        operations=("createPayoutDestination",),
        each=("savings",),
    ),
}
