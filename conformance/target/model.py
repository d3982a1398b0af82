"""Types of a target: address, organizations, features, limits, certificates and samples."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import msgspec


@dataclass(frozen=True)
class Organization:
    """Credentials and resources of one organization."""

    name: str
    api_key: str
    secret: str = field(repr=False)
    customer_id: str
    other_customer_id: str | None = None
    funded_account_id: str | None = None
    #: A payee of the funded account, for servers that pay out to verified payees only.
    beneficiary_id: str | None = None
    payout_destination_id: str | None = None


@dataclass(frozen=True)
class Features:
    """Features that the target file declares; `secondary` None: not declared."""

    payins: bool = False
    payouts: bool = True
    secondary: bool | None = None


@dataclass(frozen=True)
class Limits:
    """Limits of a run: requests a second (0: none), requests in all, and times in seconds.

    `retry_seconds` bounds all waits of a worker after 429 and 503; `shows_within` is the longest time until a
    write is visible in reads and lists. None: the suite's default.
    """

    requests_per_second: float = 0.0
    request_timeout: float | None = None
    run_timeout: float | None = None
    retry_seconds: float | None = None
    shows_within: float = 5.0


@dataclass(frozen=True)
class Tls:
    """Paths of PEM files: a client certificate with its key, and an additional trusted authority."""

    client_certificate: str | None = None
    client_key: str | None = None
    ca: str | None = None


NO_FILES = Tls()


@dataclass(frozen=True)
class Target:
    """A validated target: `base_url` has no trailing slash; `samples` override the suite's own."""

    base_url: str
    primary: Organization
    secondary: Organization | None = None
    features: Features = Features()
    array_style: str = "repeat"
    #: The target file states it.
    style_stated: bool = False
    limits: Limits = Limits()
    tls: Tls = NO_FILES
    samples: Mapping[str, Any] = field(default_factory=dict)

    @property
    def organizations(self) -> list[Organization]:
        """The first organization, and the second if there is one."""
        return [self.primary] if self.secondary is None else [self.primary, self.secondary]

    @property
    def unfunded(self) -> Target:
        """This target without a funded account."""
        first = replace(self.primary, funded_account_id=None, beneficiary_id=None, payout_destination_id=None)
        return replace(self, primary=first)

    @property
    def other_customer(self) -> Target:
        """This target, unfunded, with the first organization's customers in each other's place; itself where
        it names one customer."""
        own, other = self.primary.customer_id, self.primary.other_customer_id
        if other is None:
            return self
        first = replace(self.unfunded.primary, customer_id=other, other_customer_id=own)
        return replace(self, primary=first)

    @property
    def secrets(self) -> list[str]:
        """Signing secrets, which no output may show."""
        return [organization.secret for organization in self.organizations]

    @property
    def api_keys(self) -> list[str]:
        """API keys, which output shows abbreviated."""
        return [organization.api_key for organization in self.organizations]

    def to_plain(self) -> dict[str, Any]:
        """Plain data with secrets, for worker processes; never for output."""
        return asdict(self)

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Target:
        """The inverse of `to_plain`."""
        return msgspec.convert(plain, cls)
