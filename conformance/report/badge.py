"""A badge with the verdict, as SVG."""

from __future__ import annotations

from html import escape

from conformance.results import view

_COLOURS = {0: "#1a7f37", 1: "#c5221f", 2: "#8a5a00", 3: "#6e3fa3", 6: "#8a5a00"}

#: Width of a letter in 11 px Verdana, about.
_LETTER = 6.6


def badge(document: view.Document) -> str:
    """The badge as SVG text."""
    verdict = document["verdict"]
    colour = _COLOURS.get(verdict["exit_status"], "#c5221f")
    left, right = "conformance", _words(document)
    widths = [round(len(text) * _LETTER) + 12 for text in (left, right)]
    total = sum(widths)
    title = escape(f"{left}: {right}")
    return f"""\
<svg xmlns="http://www.w3.org/2000/svg" width="{total}" height="20" role="img" aria-label="{title}">
<title>{title}</title>
<clipPath id="r"><rect width="{total}" height="20" rx="3"/></clipPath>
<g clip-path="url(#r)">
<rect width="{widths[0]}" height="20" fill="#444c56"/>
<rect x="{widths[0]}" width="{widths[1]}" height="20" fill="{colour}"/>
</g>
<g fill="#fff" text-anchor="middle" font-family="Verdana,DejaVu Sans,Geneva,sans-serif" font-size="11">
<text x="{widths[0] / 2:g}" y="14" textLength="{widths[0] - 12}">{escape(left)}</text>
<text x="{widths[0] + widths[1] / 2:g}" y="14" textLength="{widths[1] - 12}">{escape(right)}</text>
</g>
</svg>
"""


def _words(document: view.Document) -> str:
    name = str(document["verdict"]["name"])
    if name != "violations":
        return {
            "conforms": "conforms",
            "outdated": "known failures outdated",
            "changed": "choices changed",
            "error": "suite error",
        }.get(name, name)
    levels = {rule["id"]: rule["level"] for rule in document["rules"]}
    broken = {cell["rule"] for cell in document["cells"] if view.fails(document, cell, levels[cell["rule"]])}
    return f"{len(broken)} {'rule' if len(broken) == 1 else 'rules'} broken"
