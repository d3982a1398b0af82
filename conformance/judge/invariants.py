"""The rules of every response of a run, whichever check received it."""

from __future__ import annotations

from collections.abc import Iterable

from conformance._text import as_json, count
from conformance.contract import signing
from conformance.contract.fields import request_fields
from conformance.contract.needs import UNBUILT, waiting
from conformance.contract.new_resources import initial_state
from conformance.contract.operations import error_problems, response_problems, response_rules
from conformance.contract.rules import RULES
from conformance.contract.traits import TRAITS, traits_of
from conformance.judge.cells import Cell, Violation
from conformance.judge.comparison import (
    at_pointer,
    found_again,
    is_echo,
    member_at,
    same,
    sent_document,
    show,
    was_changed,
)
from conformance.judge.hidden_numbers import HiddenNumbers, place_of, squeezed
from conformance.judge.isolation import NOTHING_OF_OTHERS, Isolation
from conformance.judge.lost_requests import ENOUGH, Rate, too_many_lost
from conformance.judge.outcomes import Got, Unclear
from conformance.judge.timeliness import untimely
from conformance.target.file import Target
from conformance.wire.grammar import forwarded
from conformance.wire.messages import MISSING, Auth, Exchange
from conformance.wire.pages import NUMBERS, integer

#: The rule on the rate of lost requests.
LOST = "http.lost-requests"

#: The rules judged here.
INVARIANTS = (
    "http.no-server-error",
    UNBUILT,
    LOST,
    "http.success-json",
    "http.content-type",
    "error.shape",
    "secrets.hidden",
    "destination.masked-enough",
    "auth.signature-hidden",
    "tenancy.isolation",
    "format.fields",
    "format.object",
    "format.id",
    "format.account-id",
    "format.id-unique",
    "format.timestamp",
    "format.timestamp-current",
    "format.money",
    "format.nullable",
    "format.enum",
    "format.bank-details",
    "format.iban",
    "create.initial-state",
    "list.envelope",
    "list.plain-integers",
    "list.item-fields",
    "list.wallet-items",
    "wallet.addresses",
)


def telling_secrets(target: Target) -> list[str]:
    """Secrets of a target that occur in no text by chance; a sandbox's secret may be a plain word."""
    return [
        secret
        for secret in target.secrets
        if len(secret) >= 16 or (len(secret) >= 8 and not secret.isalpha() and not secret.isdigit())
    ]


def secret_in(exchange: Exchange, target: Target, numbers: Iterable[tuple[str, str]]) -> Got:
    """A signing secret of the target in an answer, or one of `numbers`: pairs of a name and a value as
    `squeezed` returns it."""
    if exchange.status is None:
        return Unclear(f"{exchange.purpose} was not answered", "http.no-server-error")
    text = _text(exchange)
    if secret := next((secret for secret in telling_secrets(target) if secret in text), ""):
        return f"a signing secret{place_of(exchange, secret)}"
    plain = squeezed(text)
    name, number = next(((name, value) for name, value in numbers if value in plain), ("", ""))
    place = place_of(exchange, number) if name else ""
    return f"the full {name} of a payout destination{place}" if name else ""


def _text(exchange: Exchange) -> str:
    """Body and header values of an answer."""
    body = exchange.response_body.decode("utf-8", "replace")
    return body + "\n".join(value for _, value in exchange.response_headers)


class Invariants:
    """Judges exchanges as they arrive, with one tally for each rule and operation. `keys` are the
    organizations and idempotency keys that were accepted, by any lane; `invalid` the members
    against the contract that were sent and shown, as JSON, with the number of the exchange; `rates` of
    lost requests of each lane."""

    def __init__(
        self,
        target: Target,
        keys: set[tuple[str, str]] | None = None,
        invalid: dict[str, int] | None = None,
        rates: list[Rate] | None = None,
    ) -> None:
        self.tallies: dict[tuple[str, str], Cell] = {}
        #: Keys of tallies that have, or had, violations.
        self.broken: set[tuple[str, str]] = set()
        #: Operation -> requests that were out of time while others were under way, to be judged when one of
        #: them has been repeated alone; None where each is judged at once.
        self.overdue: dict[str, list[Exchange]] | None = None
        #: Keys of tallies that were made, or found broken, since somebody took them.
        self.news: dict[tuple[str, str], None] = {}
        #: Exchanges that tallies name; lanes forget those to which nothing refers.
        self._evidence: dict[tuple[str, str, int], Exchange] = {}
        self._secrets = telling_secrets(target)
        #: API key -> its secret.
        self._secret_of = {each.api_key: each.secret for each in target.organizations}
        self._hidden, self.isolation = HiddenNumbers(), Isolation()
        self._rate = Rate(rates)
        self._keys = set[tuple[str, str]]() if keys is None else keys
        self._invalid = dict[str, int]() if invalid is None else invalid
        #: Id -> identity of the request that created it, and the first exchange that showed it.
        self._ids: dict[str, tuple[tuple[str, str | None, bytes | None], Exchange]] = {}

    # ------------------------------------------------------------------ bookkeeping

    def _tally(self, rule: str, operation: str) -> Cell:
        tally = self.tallies.get((rule, operation))
        if tally is None:
            tally = self.tallies[rule, operation] = Cell(rule, operation)
            self.news[rule, operation] = None
        return tally

    def _judge(
        self,
        rule: str,
        exchange: Exchange,
        broken: str = "",
        expected: str = "",
        beside: int = 0,
        refusal: bool = False,
        member: str = "",
    ) -> None:
        """Counts a judgement, of a `member` if it is about one; `expected` is the rule's statement by
        default, `beside` the number of an earlier exchange that proves a violation; `refusal`: the earlier
        one, or this, must be refused."""
        operation = exchange.operation or ""
        tally = self.tallies.get((rule, operation))
        if tally is None:
            if operation not in RULES[rule].operations:
                return
            tally = self._tally(rule, operation)
        if not broken:
            tally.judged += 1
            return
        self.broken.add((rule, operation))
        self.news[rule, operation] = None
        numbers = tuple(dict.fromkeys([exchange.number, beside or exchange.number]))
        statement = expected or RULES[rule].statement
        tally.add_violation(Violation(statement, broken, numbers, refusal=refusal, member=member))
        self._evidence.setdefault((rule, operation, len(tally.violations)), exchange)

    # ------------------------------------------------------------------ judging

    def inspect(self, exchange: Exchange) -> None:
        """Judges an exchange by every invariant; never raises because of its contents."""
        if exchange.unsent:
            return
        self._lost_requests(exchange)
        if exchange.repeated:
            return
        self._hidden.remember(exchange)
        # A front end's refusal may have any body.
        judged = not exchange.refused or forwarded(exchange, self._ids)
        if self._no_server_error(exchange) and judged:
            self._content_type(exchange)
            self._body(exchange)
        if exchange.status is not None:
            self._secrets_hidden(exchange)
            if exchange.status == 401:
                self._signature_hidden(exchange)

    def _no_server_error(self, exchange: Exchange) -> bool:
        status, broken = exchange.status, ""
        if exchange.throttled:
            return False
        if exchange.timed_out and self.overdue is not None and exchange.operation is not None:
            self.overdue.setdefault(exchange.operation, []).append(exchange)
            return False
        if status is None:
            self.unanswered(exchange)
            return False
        if status >= 500 and not (status == 501 and traits_of(exchange.operation).under_development):
            broken = f"status {status}"
        self._judge("http.no-server-error", exchange, broken, "an answer with a status below 500")
        return not broken

    def unanswered(self, exchange: Exchange) -> None:
        """Judges a request that got no answer."""
        got = f"no answer: {exchange.error}"
        self._judge("http.no-server-error", exchange, got, "an answer with a status below 500")

    def absent(self, exchange: Exchange) -> None:
        """Judges a valid request whose answer shows that its operation does not exist."""
        number = len(waiting(exchange.operation or ""))
        needed = f"; {count(number, 'operation waits', 'operations wait')} for it" if number else ""
        got = f"{exchange.described()}, as an undocumented path is answered{needed}"
        self._judge(UNBUILT, exchange, got, "an answer of its own to a valid request")

    def _lost_requests(self, exchange: Exchange) -> None:
        """Counts lost requests; a few are no violation, since connections go stale."""
        operation = exchange.operation
        if operation is None:
            return
        tally = self._tally(LOST, operation)
        if not exchange.repeated:
            tally.judged += 1
            self._rate.requests[operation] += 1
        else:
            self._rate.lost[operation] += 1
            # Correctly signed requests are the best evidence.
            if not tally.proof or exchange.call.auth == Auth():
                tally.proof, self._evidence[LOST, operation, 0] = [exchange.number], exchange
        if self._rate.lost[operation]:
            self._judge_rate(operation)

    def judge_rates(self) -> None:
        """Judges the rates of lost requests, those of all lanes, at the end of a run."""
        for operation, own in self._rate.requests.items():
            requests = self._judge_rate(operation)
            if own and requests < ENOUGH:
                words = f"{requests} of the {ENOUGH} requests that a rate takes"
                self._tally(LOST, operation).reached(requests, words)

    def _judge_rate(self, operation: str) -> int:
        tally, own = self._tally(LOST, operation), self._rate.lost[operation]
        requests, lost = self._rate.of_all(operation)
        tally.broken, tally.violations = 0, []
        if own and too_many_lost(lost, requests):
            tally.broken = own
            self.broken.add((LOST, operation))
            expected = "an answer the first time to 99 of a hundred requests"
            got = f"{lost} of {requests} requests had to be sent again, this one among them"
            tally.violations = [Violation(expected, got, tuple(tally.proof))]
        return requests

    def _content_type(self, exchange: Exchange) -> None:
        if not exchange.response_body or exchange.status == 413:
            return
        declared = exchange.header("content-type")
        media_type = (declared or "").partition(";")[0].strip().lower()
        broken = ""
        if media_type != "application/json":
            broken = f"Content-Type: {declared[:80]}" if declared else "no Content-Type"
        self._judge(
            "http.content-type", exchange, broken, "Content-Type: application/json on a response body"
        )

    def _body(self, exchange: Exchange) -> None:
        status = exchange.status or 0
        if exchange.succeeded:
            self._success(exchange)
        elif (
            status in (401, 403, 404)
            or exchange.error_type in ("authentication_error", "idempotency_error")
            or exchange.error_code == "invalid_idempotency_key"
        ):
            self._error_shape(exchange)

    def _success(self, exchange: Exchange) -> None:
        operation = exchange.operation
        if operation is None:
            return
        self._judge(UNBUILT, exchange)
        if exchange.document is MISSING:
            got = f"{exchange.status} with {exchange.unread}"
            self._judge("http.success-json", exchange, got, "a 2xx answer with a JSON body")
            return
        self._judge("http.success-json", exchange)
        problems = response_problems(operation, exchange.document)
        broken = {problem.rule for problem in problems}
        for rule in response_rules(operation, exchange.document) - broken:
            self._judge(rule, exchange)
        for problem in problems:
            sender = self._sender(exchange, problem.pointer)
            got = f"{problem.pointer or 'the body'}: {problem.message}"
            member = member_at(problem.pointer)
            self._judge(problem.rule, exchange, got, beside=sender, refusal=sender > 0, member=member)
        self._judge("list.plain-integers", exchange, _no_plain_integer(exchange))
        got, creator = self.isolation.foreign(exchange)
        self._judge("tenancy.isolation", exchange, got, NOTHING_OF_OTHERS, creator)
        known = str(exchange.get("id")) in self._ids
        self._unique(exchange)
        key = exchange.call.idempotency_key
        # An idempotent replay shows the timestamps of the original.
        if key is not None and (exchange.organization, key.lower()) in self._keys:
            return
        if key is not None:
            self._keys.add((exchange.organization, key.lower()))
        self._judge("format.timestamp-current", exchange, untimely(exchange))
        if TRAITS[operation].creates and not known and not problems and not was_changed(exchange):
            self._judge("create.initial-state", exchange, _not_initial(exchange))

    def _sender(self, exchange: Exchange, pointer: str) -> int:
        """The number of the exchange whose request sent what an answer shows at a pointer; 0 without one."""
        # Under its name: another null, or true, is another mistake.
        value = f"{pointer.rpartition('/')[2]}: {as_json(at_pointer(exchange.document, pointer), 1000)}"
        if not is_echo(exchange, pointer):
            return self._invalid.get(value, 0)
        if exchange.method != "GET":
            self._invalid.setdefault(value, exchange.number)
        return exchange.number

    def _error_shape(self, exchange: Exchange) -> None:
        broken = ""
        if exchange.document is MISSING:
            broken = f"{exchange.status} with {exchange.unread}"
        elif problems := error_problems(exchange.document):
            broken = f"{exchange.status}, {problems[0].pointer or 'the body'}: {problems[0].message}"
        self._judge("error.shape", exchange, broken)

    def _unique(self, exchange: Exchange) -> None:
        if exchange.operation not in RULES["format.id-unique"].operations:
            return
        value = exchange.get("id")
        if not isinstance(value, str):
            return
        call = exchange.call
        # An idempotent replay shows the same id; the key's letter case may not matter.
        key = call.idempotency_key and call.idempotency_key.lower()
        origin = (exchange.organization, key, None if key else call.body)
        known, first = self._ids.setdefault(value, (origin, exchange))
        again = known == origin or found_again(exchange, first)
        broken = "" if again else f"id {value[:60]!r} was already given to another resource"
        self._judge("format.id-unique", exchange, broken, "an id that no other resource has", first.number)

    # ------------------------------------------------------------------ secrets

    def _secrets_hidden(self, exchange: Exchange) -> None:
        text, broken, maker = _text(exchange), "", 0
        near = self._hidden.near(exchange)
        plain = squeezed(text) if near else ""
        if secret := next((secret for secret in self._secrets if secret in text), ""):
            broken = f"a signing secret{place_of(exchange, secret)}"
        elif near:
            name, maker = self._hidden.revealed(exchange, near, plain)
            broken = f"the full {name}" if name else ""
        expected = "no signing secret and no full number of a payout destination"
        self._judge("secrets.hidden", exchange, broken, expected, maker)
        if exchange.refused and not broken and near:
            name, maker = self._hidden.revealed_in_part(exchange, plain)
            broken = f"a refusal that shows most of the {name} of a payout destination" if name else ""
            expected = "at least six characters and a third of each number hidden"
            self._judge("destination.masked-enough", exchange, broken, expected, maker)

    def _signature_hidden(self, exchange: Exchange) -> None:
        headers = {name.lower(): value for name, value in exchange.request_headers}
        key, timestamp, nonce, sent = (headers.get(name.lower(), "") for name in signing.HEADERS)
        if (secret := self._secret_of.get(key)) is None:
            return
        target = exchange.target.encode("utf-8", "surrogatepass")
        string = signing.signature_string(exchange.method, target, timestamp, nonce, exchange.request_body)
        right = signing.signature(secret, string)
        # An echo of a sent signature that holds the right one reveals nothing.
        reveals = right not in sent.lower() and right.encode() in exchange.response_body.lower()
        broken = "a refusal that shows the signature that would have been right" if reveals else ""
        if reveals or exchange.error_code == "invalid_signature":
            self._judge("auth.signature-hidden", exchange, broken, "no signature in a refusal")


def _no_plain_integer(exchange: Exchange) -> str:
    """The first number of a list's envelope that is an integer, but written with a fraction or an exponent;
    "" without one."""
    for name in NUMBERS:
        value = exchange.get(name)
        if isinstance(value, float) and integer(value) is not None:
            return f"{name} {show(value)}"
    return ""


def _not_initial(exchange: Exchange) -> str:
    """The first member of a new resource that is not in its initial state, stated defaults included; ""
    without one, or if the request has undocumented members (create.server-owned)."""
    operation, body = str(exchange.operation), sent_document(exchange.call)
    if not body.keys() <= {field.name for field in request_fields(operation)}:
        return ""
    for name, initial in initial_state(operation, body).items():
        if not same(value := exchange.get(name), initial):
            return f"{name} {show(value)}"
    return ""
