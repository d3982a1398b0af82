"""Texts that must be stored unchanged, and that servers are known to alter (section 2).

They are in every Unicode normal form, of the basic plane, and without outer spaces or invisible characters at
the ends. `{word}` stands for a random word, `{digits}` for ten random digits. The most telling come first.
"""

from __future__ import annotations

from conformance.world.corpora import Value

#: Characters that servers alter, for a text with a letter before them.
MIXED = (
    "\r\n\n\t\u2018\u2019\u201c\u201d\u2013\u2014\xdfq\u0301\u20ac  @:#;\u200d\u00ad\ufffd\u2028\ue000"
    "\u0001\u007f\u0085&amp;&lt;%41\\u0041${a}{{b}}%s%%$$'$c@d--1,000..."
)

#: Words that some servers take for no value.
WORDS = (
    Value("null", "a word of JSON"),
    Value("n/a", "what people write for nothing"),
    Value("NULL", "a word of SQL"),
    Value("None", "a word of Python"),
    Value("undefined", "a word of JavaScript"),
    Value("nil", "a word of Ruby and Go"),
    Value("none", "a word of lists to choose from"),
)

#: Texts of at most 100 characters.
STORED = (
    Value("{word}" + MIXED, "a few signs of each kind"),
    Value("00{digits}00123", "a number with leading zeros, of more digits than a double holds"),
    Value('"conformance {word}"', "small letters, with quotes around them"),
    Value('{"a": [{digits}]}', "a JSON object"),
    Value("2{year}-01-31", "a date"),
    Value("=1+{digits}", "a formula"),
    Value("{word}\nLF\r\nCR LF\rCR\tTab.", "ends of lines of three systems, and a tab"),
    Value(
        "\u2018{word}\u2019 \u201cq\u201d \u2013 \u2014  \u20ac \xdf \u0131 q\u0301 "
        "@ # : ; , ! ? * = + _ ( ) [ ] | ~ ^ $.",
        "typography, signs of the keyboard and two spaces",
    ),
    Value("0", "a number that is false"),
    Value(
        "a\u200bb\u200cc\u200dd\u200ee\u200ff\u202eg\u202ch\u00adi\ufeffj\u2028k\u2029l\ue000\ufffd {word}.",
        "signs that are not seen, and two that stand for others",
    ),
    Value("a\u0001b\u0008c\u000bd\u001be\u001ff\u007fg\u0080h\u0085i\u009fj {word}.", "control characters"),
    Value("{word} &amp; &#39; &lt;b&gt; %41 \\n \\u0041 ${a} {{b}} <i> '' \\'.", "escapes and templates"),
    Value("true", "a boolean"),
    Value("{word} Stra\xdfe \xe6\xf8\xfe.", "letters of Latin-1 alone"),
    *WORDS,
    Value("-", "a hyphen"),
    Value("conformance {word}", "small letters only"),
    Value('"{word}"', "quotes around it"),
    Value("CONFORMANCE {digits}", "capitals only"),
    Value("2{year}-01-31T12:30:00+02:00", "a timestamp with an offset"),
    Value("false", "a boolean that is false"),
    Value("yes", "a boolean of YAML"),
    Value("@{word}", "a formula of a function"),
    Value("a\u0000b {word}", "NUL"),
    Value("{digits}.50", "a decimal with a zero at its end"),
    Value("[]", "an empty JSON array"),
    Value("NaN", "no number"),
    Value("https://example.com/{word}?a=b&c=d#e", "a URL"),
    Value("{word}@EXAMPLE.org", "an e-mail address"),
    Value("-{digits}", "a negative number"),
    Value("+{digits}", "a number with a plus sign"),
    Value("1e{digits}", "a number beyond a double"),
    Value("[{digits}]", "a JSON array"),
    Value("{}", "an empty JSON object"),
    Value("#{word}", "a hash sign before it"),
    Value("'{word}'", "apostrophes around it"),
    Value("no", "a false boolean of YAML"),
    Value("TRUE", "a boolean in capitals"),
    Value("{word} Inc.", "a full stop at its end"),
    Value("0x{digits}", "a hexadecimal number"),
)

#: Texts longer than usual database columns, just below the maximum of a label (section 8).
LONG = (
    Value("{word} " + "0123456789" * 23, "ASCII, more than 191 and 200 characters"),
    Value("{word} " + "\u0436" * 230, "letters of two bytes"),
)

#: A character outside the basic plane, a letter composed and decomposed, a ligature and a no-break space
#: (which NFKC changes), and a zero-width non-joiner: to store these unchanged is implied, the word required.
PRECISE = "\U0001f3e6 \u00e9 e\u0301 \ufb01 5\u00a0kg \u0645\u06cc\u200c\u062e {word}"
