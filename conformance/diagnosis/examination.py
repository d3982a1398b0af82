"""State and results of an examination of a target."""

from __future__ import annotations

from dataclasses import dataclass, field

import httpx

from conformance._text import printable
from conformance.target.file import Organization, Target
from conformance.target.redaction import Redactor
from conformance.wire.budget import Budget, Retry, TimeoutPolicy
from conformance.wire.client import Client
from conformance.wire.clock import ServerClock
from conformance.wire.messages import Call, Exchange
from conformance.wire.pace import Pace
from conformance.world.calls import call
from conformance.world.samples import Samples

#: Timeout of an exchange in seconds; a lost request is sent once more.
SECONDS = 6.0

#: Maximum seconds of all waits for a rate limit.
WAITING = 8.0


@dataclass(frozen=True)
class Diagnosis:
    """A mistake in the target file or its surroundings: a name, and a paragraph with the remedy.

    `stops`: it keeps all checks from a verdict, else only some.
    """

    name: str
    text: str
    stops: bool = True


@dataclass
class Examination:
    """Requests and diagnoses of one examination."""

    target: Target
    transport: httpx.BaseTransport
    budget: Budget | None = None
    diagnoses: list[Diagnosis] = field(default_factory=list)
    exchanges: list[Exchange] = field(default_factory=list)
    clock: ServerClock = field(default_factory=ServerClock)

    def __post_init__(self) -> None:
        self.samples = Samples(self.target)
        limits = self.target.limits
        self._budget = self.budget or Budget(pace=Pace(limits.requests_per_second))
        self._retry = Retry(self._budget, WAITING)
        self._timeouts = TimeoutPolicy(min(SECONDS, limits.request_timeout or SECONDS))

    def send(self, organization: Organization, request: Call, base_url: str = "") -> Exchange:
        """Sends a call with an organization's credentials; sets the server's clock from the answer."""
        client = Client(
            base_url or self.target.base_url,
            organization,
            self.transport,
            clock=self.clock,
            budget=self._budget,
            retry=self._retry,
            timeouts=self._timeouts,
        )
        exchange = client.send(request, "examination")
        self.clock.observe(exchange)
        self.exchanges.append(exchange)
        return exchange

    def listed(self, organization: Organization, query: str = "") -> Exchange:
        """Lists the organization's accounts."""
        request = call("listAccounts", {"customer_id": organization.customer_id})
        return self.send(organization, request.with_query(query) if query else request)

    def created(self, organization: Organization) -> Exchange:
        """Creates an account."""
        ids = {"customer_id": organization.customer_id}
        return self.send(organization, call("createAccount", ids, self.samples.of("account")))

    def diagnose(self, name: str, text: str, *, stops: bool = True) -> None:
        """Adds a diagnosis; its text becomes printable, without secrets."""
        self.diagnoses.append(Diagnosis(name, printable(Redactor(self.target).text(text)), stops))

    @property
    def stopped(self) -> Diagnosis | None:
        """The first diagnosis that keeps all checks from a verdict."""
        return next((diagnosis for diagnosis in self.diagnoses if diagnosis.stops), None)
