"""A target as the suite uses it: where the server is, its organizations, and what it lacks on purpose."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from conformance._files import InputError


class TargetError(InputError):
    """The target cannot be used; the text is one paragraph that names the key and the remedy."""


@dataclass(frozen=True)
class Organization:
    """Credentials of one organization and what the suite may use of it."""

    name: str
    api_key: str
    secret: str = field(repr=False)
    customer_id: str
    other_customer_id: str | None = None
    funded_account_id: str | None = None


@dataclass(frozen=True)
class Features:
    """What the server lacks on purpose. `None` for `secondary` means: not said."""

    payins: bool = False
    payouts: bool = True
    secondary: bool | None = None


@dataclass(frozen=True)
class Limits:
    """What a run may ask of the server: requests a second (0: as fast as it answers), requests in all,
    seconds for one exchange and for the whole run, and seconds that each worker waits out 429 and 503 in all.
    None: the suite's own."""

    requests_per_second: float = 0.0
    max_requests: int | None = None
    request_timeout: float | None = None
    run_timeout: float | None = None
    retry_seconds: float | None = None


@dataclass(frozen=True)
class Target:
    """A validated target: `base_url` has no trailing slash; `samples` are laid over the suite's own."""

    base_url: str
    primary: Organization
    secondary: Organization | None = None
    features: Features = Features()
    array_style: str = "repeat"
    limits: Limits = Limits()
    samples: Mapping[str, Any] = field(default_factory=dict)

    @property
    def secrets(self) -> tuple[str, ...]:
        """The signing secrets, which no output of the suite may show."""
        return tuple(org.secret for org in (self.primary, self.secondary) if org)

    @property
    def api_keys(self) -> tuple[str, ...]:
        """The API keys, shown abbreviated only."""
        return tuple(org.api_key for org in (self.primary, self.secondary) if org)

    def to_plain(self) -> dict[str, Any]:
        """Plain data, secrets included, for worker processes of the same run; never for output."""
        return asdict(self)

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Target:
        """The inverse of `to_plain`."""
        secondary = plain["secondary"]
        return cls(
            base_url=plain["base_url"],
            primary=Organization(**plain["primary"]),
            secondary=Organization(**secondary) if secondary else None,
            features=Features(**plain["features"]),
            array_style=plain["array_style"],
            limits=Limits(**plain["limits"]),
            samples=plain["samples"],
        )
