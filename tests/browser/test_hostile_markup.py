"""Cross-site scripting: markup and scripts from a server do not run in the report."""

from __future__ import annotations

import json
from typing import Any

from conformance.judge.findings import Verdict
from conformance.judge.ledger import Ledger
from tests.browser.pages import PAGES, Show
from tests.support.report_samples import WALK, exchange, finding, keep, whole_run

#: Texts that execute where they are not escaped.
HOSTILE = (
    "</script><script>window.pwned=1</script></script ><script >window.pwned=8</script >"
    '<img src=x onerror="window.pwned=2"><svg/onload=window.pwned=3>'
    '"><iframe srcdoc="<script>parent.pwned=4</script>"></iframe><style>*{display:none!important}</style>'
    '<a href="javascript:window.pwned=5" id=broken>x</a><!-- \u202e\u2066 \x00 \ud800 ]]> {{7*7}} ${7*7} '
    "' onmouseover='window.pwned=6' autofocus onfocus='window.pwned=7'"
)


def hostile() -> Ledger:
    """Returns the ledger of a run in which every text from the server is hostile."""
    body = json.dumps({HOSTILE: HOSTILE, "list": [HOSTILE]}).encode()
    texts: dict[str, Any] = {
        "got": HOSTILE,
        "expected": HOSTILE,
        "summary": HOSTILE,
        "further": [HOSTILE],
        "remedy": HOSTILE,
    }
    results = whole_run(
        None,
        finding(*WALK, Verdict.FAILED, exchanges=[1, 2, 3], **texts),
        finding(*PAGES, Verdict.INCONCLUSIVE, exchanges=[2], **texts),
        finding(
            "http.success-status",
            "createAccount",
            Verdict.OBSERVED,
            observations={HOSTILE: HOSTILE},
            exchanges=[3],
        ),
    )
    keep(
        results,
        exchange(1, body, response_headers=[(HOSTILE, HOSTILE)], purpose=HOSTILE, target="/v1/" + HOSTILE),
        exchange(2, HOSTILE.encode("utf-8", "surrogatepass")),
        exchange(3, b"", None, error=HOSTILE),
    )
    results.errors.append(HOSTILE)
    results.lost = HOSTILE
    return results


def test_no_markup_of_a_server_runs(show: Show) -> None:
    page = show(hostile()).page
    page.evaluate("() => document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    for link in page.locator("a[data-number]").all()[:6]:
        link.click()
    page.wait_for_function("() => document.querySelectorAll('details.exchange .sides').length >= 3")
    assert page.evaluate("window.pwned") is None
    assert page.title().startswith("the suite failed: Financial Accounts API")
    assert page.locator("iframe, img, main style, a[href^=javascript]").count() == 0
    assert page.locator("script").count() == 2
    assert page.locator("#verdict-heading").is_visible()
    text = page.locator("article.cause").first.inner_text()
    assert "<img src=x onerror=" in text
    assert "\u202e" not in page.content()


def test_the_policy_lets_no_other_script_run(show: Show) -> None:
    opened = show(whole_run())
    ran = opened.page.evaluate("""() => {
        const one = document.createElement("script");
        one.textContent = "window.pwned = 1";
        document.body.append(one);
        document.body.insertAdjacentHTML("beforeend", "<b id=t onclick='window.pwned=2'>t</b>");
        document.getElementById("t").click();
        return window.pwned; }""")
    assert ran is None
    assert any("Content Security Policy" in problem for problem in opened.problems)
    opened.problems.clear()
