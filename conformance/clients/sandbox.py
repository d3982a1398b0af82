"""The reference server as a sandbox that judges its clients, with a page at `/`."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from conformance._text import count, listed, printable, shared_prefix
from conformance.clients.judging import ClientJudge, JudgedRequest, exchange
from conformance.clients.provocations import PROVOCATIONS, Provocations, Provoking, refusal
from conformance.clients.received import explain
from conformance.contract.operations import OPERATIONS
from conformance.contract.rules import CLIENT_RULES
from conformance.judge.cells import Cell, grouped
from conformance.judge.exchanges import exchange_record
from conformance.reference.app import Clock, Server, system_clock
from conformance.reference.core_messages import Request, Response
from conformance.reference.store import Store
from conformance.report.causes import WORST
from conformance.report.html import rendered
from conformance.report.transcript import transcript
from conformance.target.file import Target


class Sandbox(Server):
    """The server. `observe` is called with each judged request; `hosts` are the allowed host names of the
    page (None: any), against DNS rebinding."""

    def __init__(
        self,
        store: Store,
        target: Target,
        provocations: Provocations | None = None,
        clock: Clock = system_clock,
        *,
        prefix: str = "",
        observe: Callable[[JudgedRequest], None] = lambda judged: None,
        hosts: Collection[str] | None = None,
    ) -> None:
        self.provocations = provocations or Provocations()
        super().__init__(store, Provoking(self.provocations), clock, prefix=prefix)
        self.judge = ClientJudge(target, self.prefix.decode(), clock)
        self.observe, self.hosts = observe, hosts

    def handle(self, request: Request) -> Response:
        if request.target.partition(b"?")[0] == b"/" and request.method in ("GET", "POST"):
            return self.page(request)
        read = self.judge.read(request)
        interruption = self.provocations.interruption(read.operation, read.identity)
        if interruption in ("rate-limit", "unavailable"):
            date = self.date(self.clock() // 1_000_000)
            response = refusal(interruption, self.provocations.retry_after, date)
        else:
            response = super().handle(request)
            response.delivered = interruption != "lost-answer"
            response.delay = self.provocations.late if interruption == "late-answer" else 0.0
        met = self.provocations.met
        # Judged after the answer is sent.
        response.after = lambda: self.observe(self.judge.judge(read, response, met))
        return response

    def page(self, request: Request) -> Response:
        """Serves the page, and handles its form."""
        headers = {name.lower(): value.decode("latin-1") for name, value in request.headers}
        host = headers.get(b"host", "")
        name = host.rpartition(":")[0] if not host.endswith("]") and ":" in host else host
        foreign = headers.get(b"origin", f"http://{host}") != f"http://{host}"
        foreign |= headers.get(b"sec-fetch-site", "none") not in ("none", "same-origin")
        if (self.hosts is not None and name not in self.hosts) or (request.method == "POST" and foreign):
            return _answered(403, b"This page is for this machine alone.", b"text/plain")
        if request.method == "POST":
            self._toggle(request.body[:100].decode("latin-1").removeprefix("toggle="))
            return _answered(303, b"", b"text/plain", (b"location", b"/"))
        query = request.target.partition(b"?")[2][:200].decode("latin-1")
        number = query.removeprefix("request=")
        text = render(self.judge, self.provocations, number, still=bool(query))
        moving = [] if query else [(b"refresh", b"2")]
        return _answered(200, text.encode(), b"text/html; charset=utf-8", *moving)

    def _toggle(self, name: str) -> None:
        toggled = self.provocations.names ^ ({name} & PROVOCATIONS.keys())
        self.provocations.names = {"all": set(PROVOCATIONS), "none": set()}.get(name, toggled)


def _answered(status: int, body: bytes, media_type: bytes, *headers: tuple[bytes, bytes]) -> Response:
    common = [
        (b"content-type", media_type),
        (b"content-length", b"%d" % len(body)),
        (b"cache-control", b"no-store"),
        (b"x-content-type-options", b"nosniff"),
        (b"x-frame-options", b"DENY"),
        (b"referrer-policy", b"same-origin"),
    ]
    return Response(status, [*common, *headers], body)


#: Maximum number of listed requests.
LISTED = 50


def render(judge: ClientJudge, provocations: Provocations, number: str = "", still: bool = False) -> str:
    """The page as HTML; in full the request with this number."""
    chosen = next((one for one in judge.recent if str(one.request.number) == number), None)
    broken = grouped((cell.rule, cell) for cell in judge.cells.values() if cell.violations)
    worst = sorted(broken, key=lambda rule: (rule != WORST, -sum(cell.broken for cell in broken[rule])))
    values = {
        "refresh": not still,
        "address": judge.target.base_url,
        "summary": f"{count(judge.sent, 'request')}, {count(len(broken), 'broken rule')}",
        "provocations": PROVOCATIONS,
        "on": provocations.names,
        "broken": [_broken(judge, broken[rule]) for rule in worst],
        "requests": list(judge.recent)[: -LISTED - 1 : -1],
        "chosen": chosen,
        "whole": _whole(judge, chosen) if chosen else None,
    }
    return "".join(rendered("sandbox.html.j2", values, forms="'self'"))


def _broken(judge: ClientJudge, cells: list[Cell]) -> dict[str, Any]:
    """The template values of a broken rule; operations that move money are shown first."""
    first = next((cell for cell in cells if OPERATIONS[cell.operation].traits.draws_on_funds), cells[0])
    return {
        "rule": CLIENT_RULES[first.rule],
        "operations": listed([first.operation, *(cell.operation for cell in cells)]),
        "often": sum(cell.broken for cell in cells),
        "got": judge.redactor.clean(first.violations[0].got),
        "remedy": judge.redactor.clean(first.violations[0].remedy),
    }


def _whole(judge: ClientJudge, judged: JudgedRequest) -> dict[str, Any]:
    """The transcript of a request, its violations, and the signature strings of server and client."""
    text = judge.redactor.clean
    explanation = explain(judged.request)
    sides = []
    if explanation and explanation.signed is not None:
        pairs = (
            ("server", explanation.string, explanation.signed),
            ("client", explanation.signed, explanation.string),
        )
        sides = [(name, *map(judge.redactor.text, _marked(one, other))) for name, one, other in pairs]
    return {
        "broken": [(CLIENT_RULES[one.rule], text(one.got), text(one.remedy)) for one in judged.broken],
        "transcript": transcript(exchange_record(exchange(judged), judge.redactor)),
        "sides": sides,
    }


def _marked(one: bytes, other: bytes) -> tuple[str, str, str]:
    """Splits a string into the parts before, within and after its difference from another."""
    start = shared_prefix(one, other)
    tail = shared_prefix(one[start:][::-1], other[start:][::-1])
    parts = one[:start][-300:], one[start : len(one) - tail][:300], one[len(one) - tail :][:300]
    before, middle, after = (printable(part.decode("utf-8", "backslashreplace")) for part in parts)
    return before, middle, after
