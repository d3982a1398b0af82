"""The results document: everything a report shows, as values; spec/results.schema.json is the schema of its
JSON.

Every format is made from this document alone, so `conformance report results.json` shows what the run showed.
It holds no secret and stays bounded (see `evidence`): an exchange is stored once and only as evidence of a
finding, and all others count in the latency of their operation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from conformance.contract.rules import Level
from conformance.judge.findings import Verdict
from conformance.report import codec

#: The version of the format; the first number changes when a reader of the old one would misread the new one.
FORMAT = "1.1"


@dataclass(frozen=True)
class SuiteRecord:
    """The suite that ran."""

    name: str
    version: str
    #: The version of the catalogue of rules.
    catalogue_version: str = ""


@dataclass(frozen=True)
class AnnouncedRecord:
    """What the run was said to take on a conforming server, before it began."""

    requests: int
    created: int
    payouts: int


@dataclass(frozen=True)
class RunRecord:
    """How the run went. `selection` says how the user narrowed it, `interrupted` why it ended early, `folder`
    where its reports are, as seen from where it was started. `effort` is quick, full or deep;
    `judged_in_part` has the cases, rule -> operations, that only some of their checks judged in a quick run.
    What it left out is not run."""

    started: str
    ended: str
    seconds: float
    seed: int | None
    options: Mapping[str, str]
    embedded: bool
    interrupted: str
    selection: str
    workers: int
    requests: int
    #: How often 429 and 503 were waited out, and for how many seconds in all.
    retries: int = 0
    waited: float = 0.0
    folder: str = ""
    #: What the names and labels of all that the run created contain, and how many payouts are among them.
    label: str = ""
    created: int = 0
    payouts: int = 0
    announced: AnnouncedRecord = AnnouncedRecord(0, 0, 0)
    effort: str = "full"
    judged_in_part: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class OrganizationRecord:
    """An organization of the target; its API key is abbreviated."""

    api_key: str
    customer_id: str
    other_customer_id: str | None
    funded_account_id: str | None


@dataclass(frozen=True)
class TargetRecord:
    """The server that was judged."""

    base_url: str
    primary: OrganizationRecord
    secondary: OrganizationRecord | None
    features: Mapping[str, bool | None]
    array_style: str
    requests_per_second: float
    samples: Mapping[str, Any]
    limits: Mapping[str, float | None] = field(default_factory=dict)


@dataclass(frozen=True)
class VerdictRecord:
    """The verdict of the run: `title` is a few words, `sentence` the whole, `failures` how many cases fail
    it."""

    name: str
    exit_status: int
    sentence: str
    notes: tuple[str, ...]
    fail_on: Level
    title: str = ""
    failures: int = 0


@dataclass(frozen=True)
class OperationRecord:
    """An operation of the contract."""

    id: str
    method: str
    path: str


@dataclass(frozen=True)
class RuleRecord:
    """A rule of the catalogue."""

    id: str
    section: tuple[str, ...]
    level: Level
    statement: str
    operations: tuple[str, ...]
    needs: tuple[str, ...]
    follows: tuple[str, ...]


@dataclass(frozen=True)
class FindingRecord:
    """One check's conclusion; `seconds` is how long the exchanges that prove it took, `lacks` the operation
    whose absence kept the rule from being judged."""

    verdict: Verdict
    check: str = ""
    summary: str = ""
    expected: str = ""
    got: str = ""
    remedy: str = ""
    cause: str = ""
    probes: int = 0
    exchanges: tuple[int, ...] = ()
    observations: Mapping[str, str] = field(default_factory=dict)
    further: tuple[str, ...] = ()
    exercised: bool = True
    replay: str = ""
    confirmed: str = ""
    without_error_body: bool = False
    seconds: float = 0.0
    lacks: str = ""


@dataclass(frozen=True)
class CaseRecord:
    """One rule on one operation: its verdict, and the findings behind it, the most severe first."""

    rule: str
    operation: str
    verdict: Verdict
    summary: str
    known: str
    findings: tuple[FindingRecord, ...]

    @property
    def key(self) -> tuple[str, str]:
        """Rule and operation."""
        return self.rule, self.operation

    @property
    def decisive(self) -> FindingRecord:
        """The most severe finding; one without words where there is none."""
        return self.findings[0] if self.findings else FindingRecord(self.verdict)


@dataclass(frozen=True)
class CaseKey:
    """Names a case."""

    rule: str
    operation: str

    @property
    def key(self) -> tuple[str, str]:
        """Rule and operation."""
        return self.rule, self.operation


@dataclass(frozen=True)
class CauseRecord:
    """A broken rule, and the cases of other rules that were broken, or not judged, because of it."""

    rule: str
    operations: tuple[str, ...]
    took_along: tuple[CaseKey, ...]


@dataclass(frozen=True)
class KnownFailureRecord:
    """An entry of the list of known failures."""

    line: int
    rule: str
    operation: str
    reason: str
    expires: str | None


@dataclass(frozen=True)
class StaleRecord:
    """An entry to delete, and why."""

    line: int
    rule: str
    operation: str
    why: str


@dataclass(frozen=True)
class KnownFailuresRecord:
    """The list of known failures."""

    source: str
    entries: tuple[KnownFailureRecord, ...]
    stale: tuple[StaleRecord, ...]


@dataclass(frozen=True)
class DifferenceRecord:
    """A question that the server answered otherwise than pinned."""

    rule: str
    operation: str
    question: str
    pinned: str
    now: str


@dataclass(frozen=True)
class PinnedChoicesRecord:
    """The pinned choices, in numbers, and what differs from them."""

    source: str
    pinned: int
    asked: int
    new: int
    differences: tuple[DifferenceRecord, ...]


@dataclass(frozen=True)
class LatencyRecord:
    """How long the answers of one operation took, in seconds."""

    operation: str
    exchanges: int
    statuses: Mapping[str, int]
    p50: float | None
    p95: float | None
    max: float | None
    histogram: tuple[int, ...]


@dataclass(frozen=True)
class TimelineRow:
    """One operation slot by slot: requests begun, the slowest answer in seconds (None without one), requests
    that were sent more than once, that got no answer, and that were answered 5xx."""

    operation: str
    requests: tuple[int, ...]
    slowest: tuple[float | None, ...]
    retried: tuple[int, ...]
    lost: tuple[int, ...]
    server_errors: tuple[int, ...]


@dataclass(frozen=True)
class TimelineRecord:
    """The requests of the run over its time, in slots of `slot` seconds from `started` on."""

    started: str
    slot: float
    operations: tuple[TimelineRow, ...]


@dataclass(frozen=True)
class BodyRecord:
    """A body: its size in bytes, and its start as text, or as base64 where it is not UTF-8."""

    size: int
    cut: bool
    text: str | None = field(default=None, metadata=codec.OPTIONAL)
    base64: str | None = field(default=None, metadata=codec.OPTIONAL)


@dataclass(frozen=True)
class ExchangeRecord:
    """A request as sent, and its answer."""

    number: int
    organization: str
    operation: str | None
    purpose: str
    method: str
    url: str
    target: str
    request_headers: tuple[tuple[str, str], ...]
    request_body: BodyRecord
    status: int | None
    response_headers: tuple[tuple[str, str], ...]
    response_body: BodyRecord
    truncated: bool
    error: str | None
    started: float
    elapsed: float
    attempts: int
    call: Mapping[str, Any]
    #: The string that was signed, shortened; None where there is no telling.
    signed: str | None = field(default=None, metadata=codec.OPTIONAL)


@dataclass(frozen=True)
class MissingRecord:
    """An operation that does not exist: how a valid request was answered, and which operations need it.
    `known` is why a list of known failures has it; empty where none does."""

    operation: str
    answered: str
    waiting: tuple[str, ...]
    known: str = ""


@dataclass(frozen=True)
class MadeRecord:
    """A resource that the run created: by which organization, operation and path, and its id. `operation` is
    empty where the contract does not have the path."""

    organization: str
    operation: str
    id: str
    path: str


@dataclass(frozen=True)
class Document:
    """The results of a run. `counts` is level -> verdict -> number of cases; `exchanges` are by number."""

    format: str
    suite: SuiteRecord
    run: RunRecord
    target: TargetRecord | None
    verdict: VerdictRecord
    counts: Mapping[str, Mapping[str, int]]
    operations: tuple[OperationRecord, ...]
    rules: tuple[RuleRecord, ...]
    cells: tuple[CaseRecord, ...]
    causes: tuple[CauseRecord, ...]
    known_failures: KnownFailuresRecord | None
    pinned_choices: PinnedChoicesRecord | None
    latency: tuple[LatencyRecord, ...]
    exchanges: Mapping[str, ExchangeRecord]
    errors: tuple[str, ...]
    lost: str
    replays: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    missing: tuple[MissingRecord, ...] = ()
    timeline: TimelineRecord | None = None
    created: tuple[MadeRecord, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The document as JSON data."""
        data: dict[str, Any] = codec.to_json(self)
        return data

    @classmethod
    def from_json(cls, data: Any) -> Document:
        """The inverse of `to_json`. Raises codec.FormError."""
        return codec.from_json(cls, data)
