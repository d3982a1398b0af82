"""The results document: everything a report shows, as values; spec/results.schema.json is the schema of its
JSON.

Every format is rendered from this document alone. It contains no secret, and its size is bounded (see
`evidence`): an exchange is stored once, and only as evidence of a cell; all others only count in the
latency of their operation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import msgspec

from conformance._records import Count, Seconds, says
from conformance.contract.rules import Level, Rule, Side
from conformance.judge.cells import Cell
from conformance.judge.exchanges import ExchangeRecord
from conformance.judge.latency import Latency
from conformance.judge.ledger import CreatedRecord

#: Name of a verdict -> exit status, and tone of reports. Only `conforms` asserts that the user's server meets
#: every rule.
VERDICTS = {
    "conforms": (0, "good"),
    "partial": (0, "part"),
    "known failures": (0, "known"),
    "embedded": (0, "good"),
    "violations": (1, "bad"),
    "outdated": (1, "bad"),
    "interrupted": (2, "unsure"),
    "error": (3, "suite"),
    "incomplete": (6, "unsure"),
}

#: The column of known failures in the numbers of cells.
KNOWN = "known"

#: The version of the format; its first number changes with incompatible changes.
FORMAT = "2.5"


class SuiteRecord(msgspec.Struct, frozen=True):
    """The suite that ran."""

    name: Annotated[str, says("Its name.")]
    version: Annotated[str, says("Its version.")]
    catalogue_version: Annotated[str, says("The version of its catalogue of rules.")] = ""


class WaitRecord(msgspec.Struct, frozen=True):
    """What the run waited for."""

    what: Annotated[str, says("What it was.")]
    times: Annotated[Count, says("How often.")]
    seconds: Annotated[
        Seconds, says("How much of the run's time it took, whatever other lanes did meanwhile.")
    ]


class RunRecord(msgspec.Struct, frozen=True):
    """The course of the run: what is known of it beside its ledger, and what the ledger adds."""

    started: Annotated[float, says("Unix seconds.")]
    seconds: Annotated[Seconds, says("How long it took.")]
    seed: Annotated[int | None, says("Fixes everything that was drawn at random.")] = None
    options: Annotated[Mapping[str, str], says("What the user gave, by name of the option.")] = {}
    embedded: Annotated[bool, says("Whether the suite's own reference server was judged.")] = False
    interrupted: Annotated[str, says("Why the run did not run to its end; empty if it did.")] = ""
    workers: Annotated[int, says("In how many processes checks ran.")] = 1
    folder: Annotated[str, says("Where the reports were written, from where the run was started.")] = ""
    label: Annotated[str, says("A word in the names and labels of all that the run created.")] = ""
    selection: Annotated[str, says("How the user narrowed the run; empty for a whole run.")] = ""
    requests: Annotated[Count, says("Requests sent, repetitions included.")] = 0
    retries: Annotated[
        Count,
        says("How often 429, and 503 with Retry-After, were waited out before a request was made again."),
    ] = 0
    waited: Annotated[
        Seconds, says("How much of the run's time that took, with no worker counted twice.")
    ] = 0.0
    waits: Annotated[tuple[WaitRecord, ...], says("What was waited for, the longest first.")] = ()
    pace: Annotated[
        Sequence[str], says("What the run found of the server's pace: lanes, limits of requests.")
    ] = ()
    created: Annotated[Count, says("Resources created, payouts included.")] = 0
    payouts: Annotated[Count, says("Payouts made.")] = 0
    effort: Annotated[
        str,
        says(
            "How much the run did. What a quick run left out has the verdict not run.",
            enum=["quick", "full", "deep"],
        ),
    ] = "full"
    side: Annotated[Side, says("Who was judged: a server, or the clients that called the sandbox.")] = (
        Side.SERVER
    )


class VerdictRecord(msgspec.Struct, frozen=True):
    """The verdict of the run."""

    name: Annotated[
        str,
        says(
            "conforms: the whole suite found no violation. partial: no violation in the part that was run. "
            "known failures: none but those that the user lists. embedded: the suite's own reference server "
            "conforms, and no other was judged. violations: a rule is broken. interrupted: somebody stopped "
            "the run. incomplete: no violation was seen, but something could not be exercised. outdated: the "
            "list of known failures has entries to delete. error: the suite itself failed.",
            enum=list(VERDICTS),
        ),
    ]
    exit_status: Annotated[
        int,
        says(
            "The status that the command ended with.",
            enum=sorted({status for status, _ in VERDICTS.values()}),
        ),
    ]
    sentence: Annotated[str, says("The verdict in a sentence.")]
    notes: Annotated[tuple[str, ...], says("What the sentence leaves out.")]
    fail_on: Annotated[Level, says("The least firm level that fails the run.")]

    @property
    def tone(self) -> str:
        """The tone of reports: good, part, known, bad, unsure or suite."""
        return VERDICTS[self.name][1]


class KnownFailureRecord(msgspec.Struct, frozen=True):
    """An entry of the list of known failures."""

    line: Annotated[Count, says("Where the entry starts in the file.")]
    rule: Annotated[str, says("The rule that is known to be broken.")]
    operation: Annotated[str, says("An operationId, or * for every operation.")]
    reason: Annotated[str, says("Why it stands, as the user says.")]
    expires: Annotated[str | None, says("The last day on which the entry counts.")]
    stale: Annotated[str, says("Why the entry should be deleted; empty if it should not.")] = ""


class CauseRecord(msgspec.Struct, frozen=True):
    """A broken rule, and the cells that could not be judged because of it."""

    rule: Annotated[str, says("The rule that is broken.")]
    operations: Annotated[tuple[str, ...], says("The operations on which it is broken.")]
    consequences: Annotated[
        tuple[tuple[str, str], ...],
        says("Rule and operation of cells that could not be judged because of it."),
    ]
    trigger: Annotated[
        str, says("Of answers with 5xx the part of the request that is odd; empty for other rules.")
    ] = ""
    may_follow: Annotated[
        tuple[int, ...],
        says("The numbers, from 1, of those that may be the cause of this one; empty if it is one itself."),
    ] = ()


class Document(msgspec.Struct, frozen=True):
    """The results of a run."""

    format: Annotated[str, says("Version of this format.", pattern=r"^2\.[0-9]+$")]
    suite: Annotated[SuiteRecord, says("The suite that ran.")]
    run: Annotated[RunRecord, says("How the run went.")]
    target: Annotated[
        Mapping[str, Any] | None,
        says("The server that was judged, as in a target file; API keys are abbreviated, secrets left out."),
    ]
    verdict: Annotated[VerdictRecord, says("The verdict of the run, which the command exits with.")]
    counts: Annotated[
        Mapping[str, Mapping[str, int]],
        says("Level -> verdict -> number of cells; known failures count as such, and as no other verdict."),
    ]
    operations: Annotated[tuple[str, ...], says("The operations of the contract, in its order.")]
    rules: Annotated[tuple[Rule, ...], says("The catalogue as the run had it.")]
    cells: Annotated[list[Cell], says("One for each rule on each operation that it is about.")]
    causes: Annotated[
        tuple[CauseRecord, ...],
        says(
            "The broken rules, of 5xx each trigger, the most severe first; every violated cell is in one. "
            "What may follow from another stands behind the others, which are the causes that are counted."
        ),
    ]
    known_failures: Annotated[
        tuple[KnownFailureRecord, ...], says("The entries of the list of known failures, as they stand.")
    ]
    latency: Annotated[
        tuple[Latency, ...],
        says('Of all exchanges, by operation; "" stands for requests that are no operation.'),
    ]
    exchanges: Annotated[
        Mapping[int, ExchangeRecord],
        says(
            "By number: the exchanges that are evidence of cells, each once; as many as fit, those of the "
            "most severe verdicts first."
        ),
    ]
    errors: Annotated[tuple[str, ...], says("Errors of the suite itself.")]
    lost: Annotated[str, says("How the server was lost during the run; empty if it was not.")]
    created: Annotated[
        tuple[CreatedRecord, ...],
        says("What the run created and left behind, as far as answers told: the API has no way to delete."),
    ] = ()

    @classmethod
    def from_json(cls, data: Any) -> Document:
        """Converts JSON data, ignoring unknown members. Raises msgspec.ValidationError, which names the
        place."""
        return msgspec.convert(data, cls, str_keys=True)
