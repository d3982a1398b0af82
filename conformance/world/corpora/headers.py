"""Values of request headers; none is longer than the 4 kB that HTTP front ends usually take."""

from __future__ import annotations

from conformance.world.corpora.value import Bug, Use, Value

_CHECK = Use.CHECK

#: X-Timestamp.
TIMESTAMPS = (
    Value("9" * 40, "beyond every integer type", Bug.OVERFLOW, _CHECK),
    Value("1e400", "beyond a double", Bug.OVERFLOW, _CHECK),
    Value("१७६३४५६७८९", "Devanagari digits, which many parsers take for digits", Bug.NORMALIZATION, _CHECK),
)

#: X-Nonce; random characters follow.
NONCES = (
    Value("naïve ☃ '\"%00", "outside ASCII, quotes, an escape", Bug.ENCODING, _CHECK),
    Value("f" * 3900, "long", Bug.LENGTH, _CHECK),
)

#: X-Signature.
SIGNATURES = (
    Value(
        "é" * 32, "outside ASCII: comparisons in constant time refuse it with an exception", Bug.CRASH, _CHECK
    ),
    Value("0" * 3900, "long", Bug.LENGTH, _CHECK),
)

#: X-API-Key.
API_KEYS = (
    Value("' OR '1'='1", "SQL", Bug.INJECTION, _CHECK),
    Value("ключ %00", "outside ASCII, an escape", Bug.ENCODING, _CHECK),
    Value("k" * 3900, "long", Bug.LENGTH, _CHECK),
)

#: Idempotency-Key; the first one goes to operations that take no key, too.
KEYS = (
    Value("k" * 3900, "long", Bug.LENGTH, _CHECK),
    Value("ключ", "outside ASCII", Bug.ENCODING, _CHECK),
)

#: Headers beside those that a request needs; those of authentication and the key are there twice then.
FURTHER = (
    Value(("X-Signature", "0" * 64), "a second signature", Bug.AMBIGUITY, _CHECK),
    Value(("X-Nonce", "0" * 32), "a second nonce", Bug.AMBIGUITY, _CHECK),
    Value(("X-API-Key", "conformance"), "a second key", Bug.AMBIGUITY, _CHECK),
    Value(
        ("Idempotency-Key", "00000000-0000-4000-8000-000000000000"),
        "a second idempotency key",
        Bug.AMBIGUITY,
        _CHECK,
    ),
    Value(("Cookie", "session=%; =; ;;"), "cookies that are none", Bug.CRASH, _CHECK),
    Value(("X-Forwarded-For", "unknown, 999.1.1.1, [::"), "addresses that are none", Bug.CRASH, _CHECK),
    Value(("Accept-Language", "x-;q=NaN,*;q=9"), "languages that are none", Bug.CRASH, _CHECK),
)

#: Content types that a JSON body may be sent with; None sends no header.
CONTENT_TYPES = (
    Value(None, "no header", Bug.CRASH, _CHECK),
    Value("text/plain", "another type", Bug.LENIENCY, _CHECK),
    Value(
        "application/x-www-form-urlencoded",
        "a form: frameworks read the body before the operation",
        Bug.AMBIGUITY,
        _CHECK,
    ),
    Value("application/json; charset=no-such-charset", "an unknown encoding", Bug.CRASH, _CHECK),
    Value("multipart/form-data", "a form in parts, without its boundary", Bug.CRASH, _CHECK),
    Value("", "empty", Bug.CRASH),
    Value("application/json; charset=utf-8", "the usual parameter", Bug.CRASH),
    Value("application/json;charset=iso-8859-1", "another encoding than JSON's", Bug.ENCODING),
    Value("APPLICATION/JSON", "upper case, which means the same", Bug.NORMALIZATION),
    Value("application/xml", "another data format", Bug.LENIENCY),
    Value("application/merge-patch+json", "a PATCH format", Bug.LENIENCY),
    Value("application/json, text/plain", "two types", Bug.AMBIGUITY),
    Value(";", "no type at all", Bug.CRASH),
)
