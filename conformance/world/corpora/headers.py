"""Values of request headers, below the 4 kB that HTTP front ends usually accept."""

from __future__ import annotations

from conformance.world.corpora import Value

#: X-Timestamp.
TIMESTAMPS = (
    Value("-" + "9" * 40, "negative, and beyond every integer type"),
    Value("1e400", "beyond a double"),
)

#: X-Timestamp, one for each operation in turn.
DIGITS = (
    Value("१७६३४५६७८९", "Devanagari digits, which many parsers take for digits"),
    Value("176345678²", "a superscript digit, which is one to Unicode, but not to parsers"),
)

#: X-Nonce; random characters follow.
NONCES = (
    Value("naïve ☃ '\"%00", "outside ASCII, quotes, an escape"),
    Value("f" * 3900, "long"),
)

#: X-Signature.
SIGNATURES = (
    Value("é" * 32, "outside ASCII: comparisons in constant time refuse it with an exception"),
    Value("0" * 3900, "long"),
)

#: X-API-Key.
API_KEYS = (
    Value("' OR '1'='1", "SQL"),
    Value("ключ %00", "outside ASCII, an escape"),
    Value("k" * 3900, "long"),
)

#: Idempotency-Key; the first one goes to operations that take no key, too.
KEYS = (
    Value("k" * 3900, "long"),
    Value("ключ", "outside ASCII"),
)

#: Stands for a byte that is no UTF-8, behind values outside ASCII: databases, and patterns that match text, refuse
#: it with an exception.
NOT_UTF8 = "\udcff"

#: Malformed headers, which a server ignores (RFC 9110).
_IGNORED = (
    ("Cookie", "session=%; =; ;;"),
    ("X-Forwarded-For", "unknown, 999.1.1.1, [::"),
    ("Forwarded", 'for="[::;proto=;;'),
    ("Origin", "null, ://"),
    ("traceparent", "00-0-zz"),
    ("Accept-Language", "x-;q=NaN,*;q=9"),
    ("Accept-Charset", "no-such-charset;q=NaN"),
    ("Range", "bytes=z-"),
    ("If-None-Match", 'W/"'),
    ("If-Modified-Since", "never"),
    ("If-Match", 'W/"'),
    ("Prefer", ";=, wait=z"),
    ("Content-Language", "x-;"),
    ("X-Forwarded-Host", "[::"),
    ("X-Forwarded-Proto", "://"),
)

#: Headers with demands that a server may ignore or refuse.
_DEMANDS = (
    ("Accept", "image/*;q=NaN, */*;q=9"),
    ("Accept-Encoding", "gzip;q=NaN, br"),
    ("Expect", "100-continue"),
)

#: Additional headers; those of authentication and the Idempotency-Key are duplicates.
FURTHER = (
    Value((("X-Signature", "0" * 64), ("Authorization", "Bearer")), "a second signature, and no token"),
    Value((("X-Nonce", "0" * 32),), "a second nonce"),
    Value((("X-API-Key", "conformance"),), "a second key"),
    Value(
        (("Idempotency-Key", "00000000-0000-4000-8000-000000000000"), ("Content-Encoding", "gzip")),
        "a second idempotency key, and no compressed body",
    ),
    Value(_IGNORED, "malformed values"),
    Value(_DEMANDS, "demands on the answer"),
)

#: Content types that operations are sent in turn: another type, another data format, and no type at all.
UNUSUAL = ("text/plain", "application/xml", ";")

#: Content types that a JSON body may be sent with; None sends no header.
CONTENT_TYPES = (
    Value(None, "no header", checked=True),
    Value("text/plain", "another type"),
    Value(
        "application/x-www-form-urlencoded",
        "a form: frameworks read the body before the operation",
        checked=True,
    ),
    Value("application/json; charset=no-such-charset", "an unknown encoding", checked=True),
    Value("multipart/form-data", "a form in parts, without its boundary", checked=True),
    Value("", "empty"),
    Value("application/json; charset=utf-8", "the usual parameter"),
    Value("application/json;charset=iso-8859-1", "another encoding than JSON's"),
    Value("APPLICATION/JSON", "upper case, which means the same"),
    Value("application/xml", "another data format"),
    Value("application/merge-patch+json", "a PATCH format"),
    Value("application/json, text/plain", "two types"),
    Value(";", "no type at all"),
)

#: Headers by which proxies tell the prefix, the address and the method that they were asked for, and
#: frameworks take them from anybody.
PREFIXES = ("X-Forwarded-Prefix", "X-Script-Name")
ADDRESSES = (
    "X-Original-URL",
    "X-Original-URI",
    "X-Rewrite-URL",
    "X-Forwarded-URI",
    "X-Forwarded-URL",
    "X-Forwarded-Path",
    "X-Envoy-Original-Path",
)
METHODS = ("X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override", "X-Forwarded-Method")

#: What they tell of the host beside it.
HOST = (
    ("X-Forwarded-Host", "proxy.example"),
    ("X-Forwarded-Proto", "https"),
    ("Forwarded", "for=192.0.2.1;host=proxy.example;proto=https"),
)

#: Values of Accept of which JSON is part; an empty one stands for no such header.
ACCEPTED = (
    Value("*/*", "anything, as command-line clients ask"),
    Value("", "no header, as many libraries send"),
    Value("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", "a browser's"),
    Value("application/json, text/plain, */*", "a list with JSON first"),
    Value("text/html, application/json;q=0.5", "a list with JSON last"),
)

#: Values of Accept-Language, by what their languages write otherwise: numbers and letters, calendars and digits.
WORDS = (
    Value("de", "a comma in decimals"),
    Value("fr-CH, fr;q=0.9", "spaces and apostrophes in numbers"),
    Value("tr-TR", "another upper case of i"),
    Value("zh-CN", "another script"),
)
SCRIPTS = (
    Value("ar-EG-u-nu-arab", "Arabic-Indic digits"),
    Value("th-TH-u-ca-buddhist-nu-thai", "another year, and Thai digits"),
    Value("fa-IR-u-ca-persian-nu-arabext", "another year and month, and Persian digits"),
    Value("ja-JP-u-ca-japanese", "years of an era"),
    Value("hi-IN-u-nu-deva", "Devanagari digits, grouped by hundreds"),
)
