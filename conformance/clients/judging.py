"""Keeps the ledger of clients' requests: cells, exchanges, and what was not exercised."""

from __future__ import annotations

import base64
from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from conformance.clients.earlier import EarlierRequests, after
from conformance.clients.provocations import INTERRUPTIONS
from conformance.clients.received import ClientRequest, Said, judged, read
from conformance.contract.rules import CLIENT_RULES, Side
from conformance.judge.cells import Cell, Violation
from conformance.judge.exchanges import ExchangeRecord, exchange_record
from conformance.judge.latency import Latency
from conformance.judge.ledger import Ledger
from conformance.reference.core_messages import Request, Response
from conformance.target.file import Target
from conformance.target.redaction import REDACTED, Redactor
from conformance.wire.messages import Call, Exchange

#: The check in cells.
CHECK = "requests of clients"

#: The selection of a run, in its verdict.
SELECTION = "what the client sent"

#: Maximum number of recent requests that the sandbox shows.
SHOWN = 200

#: Maximum number of violations of a case with exchanges as evidence, and of exchanges in all.
EVIDENCE, RECORDS = 6, 2000

#: Maximum number of combinations of passed rules that are counted before they are added to the ledger.
COMBINATIONS = 2000

MASK = REDACTED.encode()

#: Maximum size of the headers, and of the body, of a recent request, in bytes.
BODY = 32 * 1024

#: Maximum number of different answers to a question.
ANSWERS = 8


@dataclass(frozen=True)
class Seen:
    """A judged request: the provocations it met, its violations, what was noticed of open questions, and the
    seconds until its answer."""

    request: ClientRequest
    response: Response
    provoked: tuple[str, ...]
    broken: tuple[Said, ...]
    noticed: tuple[Said, ...]
    elapsed: float


class ClientJudge:
    """Judges requests by the rules that bind clients. `clock` returns the server's time in microseconds."""

    def __init__(self, target: Target, prefix: str, clock: Callable[[], int]) -> None:
        self.target, self.prefix, self.clock = target, prefix.encode(), clock
        self.redactor = Redactor(target)
        self.secrets = [secret.encode() for secret in target.secrets]
        self.earlier = EarlierRequests()
        self.cells: dict[tuple[str, str], Cell] = {}
        #: Operation and passed rules -> number of the first such request, and how many there were.
        self.kept: dict[tuple[str, tuple[str, ...]], list[int]] = {}
        self.records: dict[int, ExchangeRecord] = {}
        self.recent: deque[Seen] = deque(maxlen=SHOWN)
        self.answered: Counter[tuple[str, str]] = Counter()
        #: Non-interrupting provocation and operation -> the last request that met it.
        self.met: dict[tuple[str, str], int] = {}
        self.sent = 0

    def read(self, request: Request) -> ClientRequest:
        self.sent += 1
        return read(self.sent, request, self.prefix, self.clock() / 1_000_000, self.target)

    def see(self, request: ClientRequest, response: Response, provoked: Iterable[str] = ()) -> Seen:
        """Judges a request with its answer. An interruption comes first in `provoked`."""
        provoked, operation = tuple(provoked), request.operation
        clean = self._without_secrets(request)
        if clean is request:
            found = self._judged(request, response, provoked)
        else:
            # Nothing else: a truncated text could contain a part of the secret.
            remedy = "Make a new secret: this one is known now."
            request, found = clean, [Said("client.secret", "the secret in plain text", remedy)]
        said = [one for one in found if isinstance(one, Said)]
        kept = tuple([one for one in found if isinstance(one, str)])
        broken = tuple(one for one in said if one.got and not one.withdrawn)
        noticed = tuple(one for one in said if one.question and not one.withdrawn)
        elapsed = max(self.clock() / 1_000_000 - request.now, 0.0)
        seen = Seen(_bounded(request), response, provoked, broken, noticed, elapsed)
        self.recent.append(seen)
        self.answered[operation, str(response.status) if response.delivered else "none"] += 1
        for one in said:
            self._take(one, operation or "createPayout", seen)
        key = operation, kept
        if key not in self.kept:
            if len(self.kept) >= COMBINATIONS:
                self._add_kept()
            self._keep([request.number])
            self.kept[key] = [request.number, 0]
        self.kept[key][1] += 1
        for name in provoked if operation else ():
            if name not in INTERRUPTIONS:
                self.met[name, operation] = request.number
        return seen

    def _without_secrets(self, request: ClientRequest) -> ClientRequest:
        """The request with secrets redacted; the same object if it has none."""
        sent = request.request
        headers = [(name, _decoded(value)) for name, value in sent.headers]
        parts = (sent.target, sent.body, *(value for _, value in headers))
        secrets = [secret for secret in self.secrets if any(secret in part for part in parts)]
        for secret in secrets:
            headers = [(name, value.replace(secret, MASK)) for name, value in headers]
            target, body = sent.target.replace(secret, MASK), sent.body.replace(secret, MASK)
            sent = Request(sent.method, target, headers, body)
        return replace(request, request=sent, call=None) if secrets else request

    def _judged(
        self, request: ClientRequest, response: Response, provoked: tuple[str, ...]
    ) -> list[Said | str]:
        """Judgements of a request, alone and with those before it, and the rules that it passes."""
        if request.call is None:
            answer = f"asked for {request.name}"
            return [Said("http.undocumented-path", question="undocumented paths", answer=answer)]
        used = self.earlier.used(request)
        found = judged(request, self.target, (request.nonce,) if used else ())
        if used:
            again = self.earlier.nonce_again(request)
            found = [
                again if isinstance(one, Said) and one.rule == "auth.nonce-replay" else one for one in found
            ]
        interruption = provoked[0] if provoked and unanswered(response) else ""
        if "auth.signature" in found:
            found += self.earlier.add(request, response, interruption)
        refused = 400 <= response.status < 500 and not interruption
        if refused and not any(isinstance(one, Said) and one.got for one in found):
            answer = f"answered {response.status} {response.reason}"
            found.append(Said("client.refused", question="what was refused", answer=answer))
        return found

    def _cell(self, rule: str, operation: str) -> Cell:
        return self.cells.setdefault((rule, operation), Cell(rule, operation))

    def _take(self, said: Said, operation: str, seen: Seen | None) -> None:
        """Records a violation or an observation."""
        if operation not in CLIENT_RULES[said.rule].operations:
            return
        cell = self._cell(said.rule, operation)
        if said.withdrawn:
            cell.judged, cell.broken = cell.judged - 1, cell.broken - 1
            cell.violations = [one for one in cell.violations if one.got != said.got]
            return
        # Further exchanges add no evidence.
        shows = cell.broken < EVIDENCE and not cell.proof
        numbers = self._keep([*([seen.request.number] if seen else []), *said.others]) if shows else ()
        if said.got:
            expected = CLIENT_RULES[said.rule].client
            cell.add_violation(Violation(expected, said.got, numbers, remedy=said.remedy))
            return
        cell.judged += 1
        cell.proof += numbers
        answers = [*filter(None, cell.observations.get(said.question, "").split(", "))]
        if said.answer not in answers and len(answers) < ANSWERS:
            cell.observations[said.question] = ", ".join([*answers, said.answer])

    def _add_kept(self) -> None:
        """Moves counted passes to the ledger's cells."""
        for (operation, rules), (first, times) in self.kept.items():
            for cell in (self._cell(rule, operation) for rule in rules):
                cell.judged += times
                cell.proof = cell.proof or [first]
        self.kept.clear()

    def _keep(self, numbers: Sequence[int]) -> tuple[int, ...]:
        """Keeps exchanges as evidence, if still in memory; returns the numbers of those kept."""
        wanted = {number for number in numbers if number not in self.records}
        for seen in self.recent if wanted and len(self.records) < RECORDS else ():
            if seen.request.number in wanted:
                self.records[seen.request.number] = exchange_record(exchange(seen), self.redactor)
        return tuple(number for number in numbers if number in self.records)

    def ledger(self, lost: str = "") -> Ledger:
        """The final ledger of the run; `lost` says why it ended early."""
        for operation, said in self.earlier.ended():
            self._take(said, operation, None)
        for (name, operation), number in self.met.items():
            self._take(after(name, "went on" if number < self.sent else "sent no more"), operation, None)
        self._add_kept()
        ledger = Ledger.of_catalogue(None, Side.CLIENT)
        for cell in self.cells.values():
            ledger.add(cell.concluded(CHECK), self.redactor.clean)
        ledger.exchanges, ledger.sent = self.records, self.sent
        ledger.narrowed, ledger.lost = [SELECTION], lost
        for (operation, status), number in self.answered.items():
            row = ledger.latency.setdefault(operation, Latency(operation))
            row.exchanges += number
            row.statuses[status] = number
        return ledger


def _decoded(value: bytes) -> bytes:
    """A header's value with Basic credentials in plain text."""
    scheme, _, credentials = value.partition(b" ")
    if scheme.lower() == b"basic":
        with suppress(ValueError):
            return b"Basic " + base64.b64decode(credentials)
    return value


def _bounded(request: ClientRequest) -> ClientRequest:
    """The request with long headers and body truncated."""
    sent = request.request
    if len(sent.body) <= BODY and sum(len(value) for _, value in sent.headers) <= BODY:
        return request
    headers = [(name[:100], value[:1000]) for name, value in sent.headers[:60]]
    return replace(request, request=Request(sent.method, sent.target[:BODY], headers, sent.body[:BODY]))


def unanswered(response: Response) -> bool:
    """True if a response is delayed, lost, or a 429 or 503."""
    return bool(response.delay) or not response.delivered or response.status in (429, 503)


def exchange(seen: Seen) -> Exchange:
    """A judged request as an exchange."""
    request, response = seen.request, seen.response
    sent = request.request
    target = sent.target.decode("utf-8", "backslashreplace")
    call = request.call or Call(None, sent.method, target, sent.body or None)
    delivered = response.delivered
    return Exchange(
        number=request.number,
        organization=request.organization.name if request.organization else "",
        call=call,
        purpose=f"provoked: {', '.join(seen.provoked)}" if seen.provoked else "",
        url=target,
        method=sent.method,
        target=target,
        request_headers=[
            (name.decode("latin-1"), value.decode("utf-8", "replace")) for name, value in sent.headers
        ],
        request_body=sent.body,
        started=request.now,
        elapsed=seen.elapsed,
        status=response.status if delivered else None,
        response_headers=[
            (name.decode("latin-1"), value.decode("latin-1")) for name, value in response.headers
        ],
        response_body=response.body if delivered else b"",
        error=None if delivered else "the sandbox lost the answer on purpose",
    )
