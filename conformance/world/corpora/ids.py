"""Path parameters, percent-encoded as they stand in the path."""

from __future__ import annotations

from conformance.world.corpora import Value

#: For one check, which does not judge how they are refused; not for generated requests.
IDS = (
    Value("%00", "NUL, which PostgreSQL's text cannot hold"),
    Value("'%20OR%20'1'='1%2f%2e%2e%2f%2e%2e%2f;*,+%25%5c%7b", "SQL, encoded steps to the parent, and signs"),
    Value("%F0%9F%8F%A6" + "x" * 1900, "long, and outside the basic plane"),
)

#: Ids that operations are sent in turn, children another one than their parents: invalid UTF-8, and digits of
#: a number beyond 64 bits.
SHORT = ("%ff", "9" * 20)

#: Member names that every JavaScript or Python object inherits.
INHERITED = ("__proto__", "constructor", "toString", "__class__")

#: Whole segments of a path.
SEGMENTS = (
    Value("x", "no prefix"),
    Value("0", "a number"),
    Value("-1", "a negative number"),
    Value("null", "a word of JSON"),
    Value("acc_", "a prefix only"),
    Value("acc_%00", "NUL after a prefix"),
    Value("acc_%FF", "invalid UTF-8"),
    Value("acc_%E2%82%AC", "a sign of three bytes"),
    Value("%20", "a space"),
    Value("%2e%2e", "an encoded step to the parent"),
    Value("..", "a step to the parent, as it stands"),
    Value("acc_1%2F..", "an encoded slash and a step to the parent"),
    Value("acc_1%252F", "a slash that is encoded twice"),
    Value("acc_1;x=1", "a path parameter after a semicolon"),
    Value("acc_%F0%9F%98%80", "outside the basic plane"),
    Value("acc_" + "9" * 2000, "2000 digits"),
    Value("'%20OR%201=1", "SQL"),
    Value("acc_%zz", "a broken escape"),
    Value("%0a", "a line feed"),
    Value("acc_1%3Fx=1", "an encoded question mark"),
    Value("ACC_1", "a prefix in upper case"),
    Value("*", "a wildcard"),
    Value("acc_{}", "the braces of a template"),
    Value("acc_|", "a character that no URI allows"),
    Value("acc_%C3%28", "a broken UTF-8 sequence"),
)
