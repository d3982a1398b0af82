"""Keeps the ledger of clients' requests: cells, exchanges, and what was not exercised."""

from __future__ import annotations

import base64
from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from conformance.clients.earlier import EarlierRequests, after
from conformance.clients.provocations import INTERRUPTIONS
from conformance.clients.received import ClientRequest, Remark, read, remarks_on
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

MASK = REDACTED.encode()

#: Maximum size of the headers, and of the body, of a recent request, in bytes.
BODY = 32 * 1024

#: Maximum number of different answers to a question.
ANSWERS = 8


@dataclass(frozen=True)
class JudgedRequest:
    """A judged request: the provocations it met, the remarks on it, and the seconds until its answer."""

    request: ClientRequest
    response: Response
    provoked: tuple[str, ...]
    remarks: list[Remark]
    elapsed: float

    @property
    def broken(self) -> list[Remark]:
        """Its violations."""
        return [one for one in self.remarks if one.got and not one.withdrawn]

    @property
    def observed(self) -> list[Remark]:
        """What it does where the specification leaves a choice."""
        return [one for one in self.remarks if one.question]


class ClientJudge:
    """Judges requests by the rules that bind clients. `clock` returns the server's time in microseconds."""

    def __init__(self, target: Target, prefix: str, clock: Callable[[], int]) -> None:
        self.target, self.prefix, self.clock = target, prefix.encode(), clock
        self.redactor = Redactor(target)
        self.secrets = [secret.encode() for secret in target.secrets]
        self.earlier = EarlierRequests()
        self.cells: dict[tuple[str, str], Cell] = {}
        self.records: dict[int, ExchangeRecord] = {}
        self.recent: deque[JudgedRequest] = deque(maxlen=SHOWN)
        self.answered: Counter[tuple[str, str]] = Counter()
        #: Non-interrupting provocation and operation -> the last request that met it.
        self.met: dict[tuple[str, str], int] = {}
        self.sent = 0

    def read(self, request: Request) -> ClientRequest:
        self.sent += 1
        return read(self.sent, request, self.prefix, self.clock() / 1_000_000, self.target)

    def judge(
        self, request: ClientRequest, response: Response, provoked: Iterable[str] = ()
    ) -> JudgedRequest:
        """Judges a request with its answer. An interruption comes first in `provoked`."""
        provoked, operation = tuple(provoked), request.operation
        clean = self._without_secrets(request)
        if clean is request:
            remarks = self._remarks(request, response, provoked)
        else:
            # No other remark: a truncated text could contain a part of the secret.
            remedy = "Make a new secret: this one is known now."
            request, remarks = clean, [Remark("client.secret", "the secret in plain text", remedy)]
        elapsed = max(self.clock() / 1_000_000 - request.now, 0.0)
        judged = JudgedRequest(_bounded(request), response, provoked, remarks, elapsed)
        self.recent.append(judged)
        self.answered[operation, str(response.status) if response.delivered else "none"] += 1
        for remark in remarks:
            self._take(remark, operation or "createPayout", judged)
        for name in provoked if operation else ():
            if name not in INTERRUPTIONS:
                self.met[name, operation] = request.number
        return judged

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

    def _remarks(self, request: ClientRequest, response: Response, provoked: tuple[str, ...]) -> list[Remark]:
        """Remarks on a request, alone and with those before it."""
        if request.call is None:
            answer = f"asked for {request.name}"
            return [Remark("http.undocumented-path", question="undocumented paths", answer=answer)]
        used = self.earlier.used(request)
        remarks = remarks_on(request, self.target, (request.nonce,) if used else ())
        if used:
            again = self.earlier.nonce_again(request)
            remarks = [again if one.rule == "auth.nonce-replay" and one.got else one for one in remarks]
        interruption = provoked[0] if provoked and unanswered(response) else ""
        if Remark("auth.signature") in remarks:
            remarks += self.earlier.add(request, response, interruption)
        refused = 400 <= response.status < 500 and not interruption
        if refused and not any(one.got for one in remarks):
            answer = f"answered {response.status} {response.reason}"
            remarks.append(Remark("client.refused", question="what was refused", answer=answer))
        return remarks

    def _take(self, remark: Remark, operation: str, judged: JudgedRequest | None) -> None:
        """Records a remark."""
        rule = CLIENT_RULES[remark.rule]
        if operation not in rule.operations:
            return
        cell = self.cells.setdefault((rule.id, operation), Cell(rule.id, operation))
        if remark.withdrawn:
            cell.judged, cell.broken = cell.judged - 1, cell.broken - 1
            cell.violations = [one for one in cell.violations if one.got != remark.got]
            return
        # Further exchanges add no evidence.
        bare = cell.broken < EVIDENCE and not cell.proof
        numbers = self._keep([*([judged.request.number] if judged else []), *remark.others]) if bare else ()
        if remark.got:
            cell.add_violation(Violation(rule.client, remark.got, numbers, remedy=remark.remedy))
            return
        cell.judged += 1
        cell.proof += numbers
        answers = [*filter(None, cell.observations.get(remark.question, "").split(", "))]
        if remark.question and remark.answer not in answers and len(answers) < ANSWERS:
            cell.observations[remark.question] = ", ".join([*answers, remark.answer])

    def _keep(self, numbers: Sequence[int]) -> tuple[int, ...]:
        """Keeps exchanges as evidence, if still in memory; returns the numbers of those kept."""
        wanted = {number for number in numbers if number not in self.records}
        for judged in reversed(self.recent) if wanted and len(self.records) < RECORDS else ():
            if judged.request.number in wanted:
                self.records[judged.request.number] = exchange_record(exchange(judged), self.redactor)
        return tuple(number for number in numbers if number in self.records)

    def ledger(self, lost: str = "") -> Ledger:
        """The final ledger of the run; `lost` says why it ended early."""
        for operation, remark in self.earlier.ended():
            self._take(remark, operation, None)
        for (name, operation), number in self.met.items():
            self._take(after(name, "went on" if number < self.sent else "sent no more"), operation, None)
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


def exchange(judged: JudgedRequest) -> Exchange:
    """A judged request as an exchange."""
    request, response = judged.request, judged.response
    sent = request.request
    target = sent.target.decode("utf-8", "backslashreplace")
    call = request.call or Call(None, sent.method, target, sent.body or None)
    delivered = response.delivered
    return Exchange(
        number=request.number,
        organization=request.organization.name if request.organization else "",
        call=call,
        purpose=f"provoked: {', '.join(judged.provoked)}" if judged.provoked else "",
        url=target,
        method=sent.method,
        target=target,
        request_headers=[
            (name.decode("latin-1"), value.decode("utf-8", "replace")) for name, value in sent.headers
        ],
        request_body=sent.body,
        started=request.now,
        elapsed=judged.elapsed,
        status=response.status if delivered else None,
        response_headers=[
            (name.decode("latin-1"), value.decode("latin-1")) for name, value in response.headers
        ],
        response_body=response.body if delivered else b"",
        error=None if delivered else "the sandbox lost the answer on purpose",
    )
