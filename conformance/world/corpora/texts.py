"""Texts, codes, numbers and members of a body that are legal JSON and seldom thought of."""

from __future__ import annotations

from conformance.world.corpora.value import Bug, Value

#: Values of any field that takes a string.
TEXTS = (
    Value("\u0000", "NUL alone", Bug.ENCODING),
    Value("a\u0000b", "NUL, which PostgreSQL's text cannot hold", Bug.ENCODING),
    Value("\ud800", "an unpaired surrogate, which UTF-8 cannot hold", Bug.ENCODING),
    Value("\udc00\ud800", "surrogates the wrong way round", Bug.ENCODING),
    Value("\U0001f600", "an astral character", Bug.ENCODING),
    Value("\U0001f469\u200d\U0001f4bb", "one sign of three characters", Bug.LENGTH),
    Value("\U00010348" * 20, "20 characters, 40 units of UTF-16, 80 bytes", Bug.LENGTH),
    Value("\ufeff", "a byte order mark", Bug.ENCODING),
    Value("\u202eabc", "text from right to left", Bug.NORMALIZATION),
    Value("e\u0301" * 10, "composed letters, decomposed", Bug.NORMALIZATION),
    Value("", "empty", Bug.CRASH),
    Value(" ", "a space", Bug.NORMALIZATION),
    Value(" x ", "spaces around it", Bug.NORMALIZATION),
    Value("\t\r\n", "white space only", Bug.NORMALIZATION),
    Value("\u2028", "a line separator, which ended lines of JavaScript", Bug.INJECTION),
    Value("\u00a0", "a space that does not break", Bug.NORMALIZATION),
    Value("'\"`;--", "SQL's quotes and comment", Bug.INJECTION),
    Value("<script>", "HTML", Bug.INJECTION),
    Value("${7*7}", "a template's expression", Bug.INJECTION),
    Value("%s%n", "format directives", Bug.INJECTION),
    Value("../../etc", "steps to the parent", Bug.INJECTION),
    Value("\\u0041", "an escape as text", Bug.AMBIGUITY),
    Value("null", "a word of JSON as text", Bug.AMBIGUITY),
    Value("true", "a word of JSON as text", Bug.AMBIGUITY),
    Value("0", "a number as text, false to some", Bug.AMBIGUITY),
    Value("-1", "a negative number as text", Bug.AMBIGUITY),
    Value("1e999", "a number beyond a double as text", Bug.OVERFLOW),
    Value("NaN", "no number, as text", Bug.AMBIGUITY),
    Value("\u0660\u0661", "Arabic-Indic digits", Bug.NORMALIZATION),
    Value("\uff11", "a full-width digit", Bug.NORMALIZATION),
    Value("I\u0307", "longer in lower case", Bug.NORMALIZATION),
    Value("\ufb01", "a ligature, two letters under NFKC", Bug.NORMALIZATION),
    Value("\u1e9e", "longer in upper case", Bug.NORMALIZATION),
    Value("x" * 5000, "5000 letters", Bug.LENGTH),
    Value("\u0436" * 5000, "5000 letters of two bytes", Bug.LENGTH),
)

#: Texts that a field of free text keeps, in letters of several bytes.
PLAIN = (
    Value("Zo\u00eb", "a letter of two bytes", Bug.ENCODING),
    Value("\u0416\u0430\u043d\u043d\u0430", "Cyrillic", Bug.ENCODING),
    Value("\u4e2d\u4e09", "letters of three bytes", Bug.ENCODING),
    Value("\u0416\u0430 \u4e2d\u4e09", "letters of two and of three bytes", Bug.ENCODING),
    Value("Zo\u00e9 \u05d0\u05d1", "letters from left and from right", Bug.ENCODING),
    Value("Ada", "ASCII", Bug.ENCODING),
)

#: JSON numbers in the place of other values.
NUMBERS = (
    Value(0, "zero", Bug.CRASH),
    Value(-1, "negative", Bug.CRASH),
    Value(1.5, "no integer", Bug.CRASH),
    Value(2**53 + 1, "beyond the integers that a double holds", Bug.ROUNDING),
    Value(2**63, "beyond 64 bits", Bug.OVERFLOW),
    Value(-(2**63) - 1, "below 64 bits", Bug.OVERFLOW),
    Value(10**400, "beyond a double", Bug.OVERFLOW),
    Value(1e308, "nearly the greatest double", Bug.OVERFLOW),
    Value(-0.0, "negative zero", Bug.NORMALIZATION),
)

#: Country codes that are not two letters (ISO 3166-1), in the order in which a check sends them.
WRONG_COUNTRIES = (
    Value("USA", "alpha-3", Bug.LENIENCY),
    Value("U", "one letter", Bug.LENIENCY),
    Value("U1", "a letter and a digit", Bug.LENIENCY),
    Value("12", "digits", Bug.LENIENCY),
    Value("840", "the numeric code", Bug.LENIENCY),
    Value("U-", "a letter and a sign", Bug.LENIENCY),
    Value("Germany", "a name", Bug.LENIENCY),
)

#: Currency codes that are not three letters (ISO 4217).
WRONG_CURRENCIES = (
    Value("US", "two letters", Bug.LENIENCY),
    Value("USDD", "four letters", Bug.LENIENCY),
    Value("U5D", "a digit in its middle", Bug.LENIENCY),
    Value("123", "digits", Bug.LENIENCY),
    Value("US$", "a sign at its end", Bug.LENIENCY),
    Value("U", "one letter", Bug.LENIENCY),
    Value("US Dollar", "a name", Bug.LENIENCY),
)

#: Kind of code -> values of no right form, and the value of the right form that nothing has.
WRONG_CODES = {"country": WRONG_COUNTRIES, "currency": WRONG_CURRENCIES}

#: Codes of any kind, drawn for all of them and for the values of enumerations.
CODES = (
    Value("", "empty", Bug.CRASH),
    Value("ZZ", "a country that nobody has", Bug.LENIENCY),
    Value("ZZZ", "a currency that nobody has", Bug.LENIENCY),
    Value("U", "one letter", Bug.LENIENCY),
    Value("USA", "three letters", Bug.LENIENCY),
    Value("us", "lower case", Bug.NORMALIZATION),
    Value("eur", "lower case", Bug.NORMALIZATION),
    Value("U1", "a letter and a digit", Bug.LENIENCY),
    Value("12", "digits", Bug.LENIENCY),
    Value("U$", "a letter and a sign", Bug.LENIENCY),
    Value("U\u0000", "NUL in it", Bug.ENCODING),
    Value("\u00dcS", "a letter outside ASCII", Bug.LENIENCY),
    Value("\uff35\uff33", "full-width letters, which NFKC makes ASCII", Bug.NORMALIZATION),
    Value("USDD", "four letters", Bug.LENIENCY),
    Value("EU", "reserved, no country", Bug.LENIENCY),
    Value("E1R", "a digit in its middle", Bug.LENIENCY),
    Value("   ", "spaces", Bug.NORMALIZATION),
    Value("USD ", "a space after it", Bug.NORMALIZATION),
)

#: Words of the same field of life that the enumerations do not list.
UNLISTED = {
    "beneficiary_type": ("partnership", "company"),
    "type": ("cash", "crypto"),
    "account_type": ("current",),
}

#: Member that only the server sets -> values that it must not take for it.
SERVER_OWNED = {
    "id": (Value("acc_1", "an id of its form", Bug.TRUST), Value("x", "an id of no form", Bug.TRUST)),
    "status": tuple(
        Value(status, "a status that nothing new has", Bug.TRUST)
        for status in ("disabled", "inactive", "completed", "suspended")
    ),
    "verified": (Value(True, "verified by its own word", Bug.TRUST),),
    "created": (Value("2001-01-01T00:00:00Z", "long ago", Bug.TRUST),),
    "payout_destinations": (Value([{"id": "dest_1"}], "somebody's destination", Bug.TRUST),),
    "balances": (
        Value([{"currency": "USD", "available_balance": "1000000.00"}], "money from nowhere", Bug.TRUST),
    ),
    "provider": (Value("x", "handed on already", Bug.TRUST),),
    "submitted_at": (Value("2001-01-01T00:00:00Z", "submitted long ago", Bug.TRUST),),
}
