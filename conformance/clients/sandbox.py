"""The reference server as a sandbox that judges whoever calls it, with a page for a person at `/`."""

from __future__ import annotations

from collections.abc import Callable, Collection

from conformance.clients import sandbox_page
from conformance.clients.judging import ClientJudge, Seen
from conformance.clients.provocations import PROVOCATIONS, Provocations, Provoking, refusal
from conformance.reference.app import Clock, Server, system_clock
from conformance.reference.core_messages import Request, Response
from conformance.reference.store import Store
from conformance.target.file import Target


class Sandbox(Server):
    """The server. `told` is called with each judged request; `hosts` are the names by which a browser may ask
    for the page (None: any), so that no other site reads it under a name of its own."""

    def __init__(
        self,
        store: Store,
        target: Target,
        provocations: Provocations | None = None,
        clock: Clock = system_clock,
        *,
        prefix: str = "",
        told: Callable[[Seen], None] = lambda seen: None,
        hosts: Collection[str] | None = None,
    ) -> None:
        self.provocations = provocations or Provocations()
        super().__init__(store, Provoking(self.provocations), clock, prefix=prefix)
        self.judge = ClientJudge(target, self.prefix.decode(), clock)
        self.told, self.hosts = told, hosts

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
        # No client waits for its judge.
        response.after = lambda: self.told(self.judge.see(read, response, met))
        return response

    def page(self, request: Request) -> Response:
        """The page; or what its form switches on."""
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
        text = sandbox_page.render(self.judge, self.provocations, number, still=bool(query))
        moving = [] if query else [(b"refresh", b"2")]
        return _answered(200, text.encode(), b"text/html; charset=utf-8", *moving)

    def _toggle(self, name: str) -> None:
        on = self.provocations.names
        if name in ("all", "none"):
            on = set(PROVOCATIONS) if name == "all" else set()
        else:
            on = on ^ ({name} & PROVOCATIONS.keys())
        self.provocations.names = on


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
