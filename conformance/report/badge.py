"""A badge with the verdict, as SVG."""

from __future__ import annotations

from html import escape

from conformance.report import view
from conformance.report.document import Document

#: Grey says that the run was a part: neither good nor bad.
_COLOURS = {
    "good": "#1a7f37",
    "part": "#6e7781",
    "known": "#8a6d00",
    "unsure": "#8a5a00",
    "suite": "#6e3fa3",
    "bad": "#c5221f",
}

#: Width of a letter in 11 px Verdana, about.
_LETTER = 6.6


def badge(document: Document) -> str:
    """The badge as SVG text."""
    colour = _COLOURS[view.tone(document)]
    left, right = "conformance", document.verdict.title or document.verdict.name
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
