"""Texts, codes, numbers and members: legal JSON that servers seldom handle."""

from __future__ import annotations

from conformance.world.corpora import Value

#: Texts that some encodings cannot represent.
HARD_TO_ENCODE = (
    Value("\u0000", "NUL alone"),
    Value("a\u0000b", "NUL, which PostgreSQL's text cannot hold"),
    Value("\ud800", "an unpaired surrogate, which UTF-8 cannot hold"),
    Value("\udc00\ud800", "surrogates the wrong way round"),
    Value("\U0001f600", "an astral character"),
    Value("\ufeff", "a byte order mark"),
)

#: Values of any field that takes a string.
TEXTS = (
    *HARD_TO_ENCODE,
    Value("\U0001f469\u200d\U0001f4bb", "one sign of three characters"),
    Value("\U00010348" * 20, "20 characters, 40 units of UTF-16, 80 bytes"),
    Value("\u202eabc", "text from right to left"),
    Value("e\u0301" * 10, "composed letters, decomposed"),
    Value("", "empty"),
    Value(" ", "a space"),
    Value(" x ", "spaces around it"),
    Value("\t\r\n", "white space only"),
    Value("\u2028", "a line separator, which ended lines of JavaScript"),
    Value("\u00a0", "a space that does not break"),
    Value("'\"`;--", "SQL's quotes and comment"),
    Value("<script>", "HTML"),
    Value("${7*7}", "a template's expression"),
    Value("%s%n", "format directives"),
    Value("../../etc", "steps to the parent"),
    Value("\\u0041", "an escape as text"),
    Value("null", "a word of JSON as text"),
    Value("true", "a word of JSON as text"),
    Value("0", "a number as text, false to some"),
    Value("-1", "a negative number as text"),
    Value("1e999", "a number beyond a double as text"),
    Value("NaN", "no number, as text"),
    Value("\u0660\u0661", "Arabic-Indic digits"),
    Value("\uff11", "a full-width digit"),
    Value("I\u0307", "longer in lower case"),
    Value("\ufb01", "a ligature, two letters under NFKC"),
    Value("\u1e9e", "longer in upper case"),
    Value("x" * 5000, "5000 letters"),
    Value("\u0436" * 5000, "5000 letters of two bytes"),
)

#: Texts that a free-text field must store, in letters of several bytes.
PLAIN = (
    Value("Zo\u00eb", "a letter of two bytes"),
    Value("\u0416\u0430\u043d\u043d\u0430", "Cyrillic"),
    Value("\u4e2d\u4e09", "letters of three bytes"),
    Value("\u0416\u0430 \u4e2d\u4e09", "letters of two and of three bytes"),
    Value("Zo\u00e9 \u05d0\u05d1", "letters from left and from right"),
    Value("Ada", "ASCII"),
)

#: JSON numbers instead of other types.
NUMBERS = (
    Value(0, "zero"),
    Value(-1, "negative"),
    Value(1.5, "no integer"),
    Value(2**53 + 1, "beyond the integers that a double holds"),
    Value(2**63, "beyond 64 bits"),
    Value(-(2**63) - 1, "below 64 bits"),
    Value(10**400, "beyond a double"),
    Value(1e308, "nearly the greatest double"),
    Value(-0.0, "negative zero"),
)

#: Country codes that are not two letters (ISO 3166-1), in the order in which a check sends them.
WRONG_COUNTRIES = (
    Value("USA", "alpha-3"),
    Value("U", "one letter"),
    Value("U\u0000", "a letter and a NUL"),
    Value("12", "digits"),
    Value("\ufb01", "a ligature, whose capitals are FI"),
    Value("\u0416-", "a letter outside ASCII and a sign"),
    Value("Germany", "a name"),
)

#: Currency codes that are not three letters (ISO 4217).
WRONG_CURRENCIES = (
    Value("US", "two letters"),
    Value("USDD", "four letters"),
    Value("US\u0000", "a NUL at its end"),
    Value("123", "digits"),
    Value("U\u0416$", "a letter outside ASCII and a sign at its end"),
    Value("\ufb06n", "a ligature and a letter, whose capitals are STN"),
)

#: Kind of code -> malformed values.
WRONG_CODES = {"country": WRONG_COUNTRIES, "currency": WRONG_CURRENCIES}

#: Values for codes and enumerations in generated requests.
CODES = (
    Value("", "empty"),
    Value("ZZ", "a country that nobody has"),
    Value("ZZZ", "a currency that nobody has"),
    Value("U", "one letter"),
    Value("USA", "three letters"),
    Value("us", "lower case"),
    Value("eur", "lower case"),
    Value("U1", "a letter and a digit"),
    Value("12", "digits"),
    Value("U$", "a letter and a sign"),
    Value("U\u0000", "NUL in it"),
    Value("\u00dcS", "a letter outside ASCII"),
    Value("\uff35\uff33", "full-width letters, which NFKC makes ASCII"),
    Value("USDD", "four letters"),
    Value("EU", "reserved, no country"),
    Value("E1R", "a digit in its middle"),
    Value("   ", "spaces"),
    Value("USD ", "a space after it"),
)

#: Field -> plausible values that its enumeration does not list.
UNLISTED = {
    "beneficiary_type": ("company",),
    "type": ("crypto", "bank-account"),
    "account_type": ("current",),
}

#: Server-owned member -> values that a request must not set.
SERVER_OWNED = {
    "id": (Value("acc_1", "an id of its form"), Value("x", "an id of no form")),
    "status": tuple(
        Value(status, "a status that nothing new has")
        for status in ("disabled", "inactive", "completed", "suspended")
    ),
    "verified": (Value(True, "verified by its own word"),),
    "created": (Value("2001-01-01T00:00:00Z", "long ago"),),
    "payout_destinations": (Value([{"id": "dest_1"}], "somebody's destination"),),
    "balances": (Value([{"currency": "USD", "available_balance": "1000000.00"}], "money from nowhere"),),
    "provider": (Value("x", "handed on already"),),
    "submitted_at": (Value("2001-01-01T00:00:00Z", "submitted long ago"),),
}
