"""Path parameters, percent-encoded as they stand in the path."""

from __future__ import annotations

from conformance.world.corpora.value import Bug, Value

#: Sent by a check, which does not judge how they are refused, and not drawn.
IDS = (
    Value("%00", "NUL, which PostgreSQL's text cannot hold", Bug.ENCODING),
    Value("%ff", "invalid UTF-8", Bug.ENCODING),
    Value("'%20OR%20'1'='1%2f%2e%2e%2f%2e%2e%2f", "SQL, and encoded steps to the parent", Bug.INJECTION),
    Value("%F0%9F%8F%A6" + "x" * 1900, "long, and outside the basic plane", Bug.LENGTH),
)

#: Names of members that each object of JavaScript or Python has; a look-up in a plain object finds them.
INHERITED = ("__proto__", "constructor", "toString", "__class__")

#: Whole segments of a path.
SEGMENTS = (
    Value("x", "no prefix", Bug.CRASH),
    Value("0", "a number", Bug.CRASH),
    Value("-1", "a negative number", Bug.CRASH),
    Value("null", "a word of JSON", Bug.CRASH),
    Value("acc_", "a prefix only", Bug.CRASH),
    Value("acc_%00", "NUL after a prefix", Bug.ENCODING),
    Value("acc_%FF", "invalid UTF-8", Bug.ENCODING),
    Value("acc_%E2%82%AC", "a sign of three bytes", Bug.ENCODING),
    Value("%20", "a space", Bug.CRASH),
    Value("%2e%2e", "an encoded step to the parent", Bug.INJECTION),
    Value("..", "a step to the parent, as it stands", Bug.INJECTION),
    Value("acc_1%2F..", "an encoded slash and a step to the parent", Bug.INJECTION),
    Value("acc_1%252F", "a slash that is encoded twice", Bug.INJECTION),
    Value("acc_1;x=1", "a path parameter after a semicolon", Bug.AMBIGUITY),
    Value("acc_%F0%9F%98%80", "outside the basic plane", Bug.ENCODING),
    Value("acc_" + "9" * 2000, "2000 digits", Bug.LENGTH),
    Value("'%20OR%201=1", "SQL", Bug.INJECTION),
    Value("acc_%zz", "a broken escape", Bug.CRASH),
    Value("%0a", "a line feed", Bug.INJECTION),
    Value("acc_1%3Fx=1", "an encoded question mark", Bug.AMBIGUITY),
    Value("acc_a%2Fb", "an encoded slash", Bug.AMBIGUITY),
    Value("ACC_1", "a prefix in upper case", Bug.NORMALIZATION),
    Value("*", "a wildcard", Bug.INJECTION),
    Value("acc_{}", "the braces of a template", Bug.INJECTION),
    Value("acc_|", "a character that no URI allows", Bug.CRASH),
    Value("acc_%C3%28", "a broken UTF-8 sequence", Bug.ENCODING),
)
