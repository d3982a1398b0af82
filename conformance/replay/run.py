"""Sends the steps of a replay file, freshly signed, and judges whether the failure is reproduced."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from conformance._files import InputError
from conformance.contract.traits import traits_of
from conformance.judge.expectations import PREDICATES, ExpectationError, Outcome, from_plain
from conformance.judge.findings import Inconclusive, NotApplicable
from conformance.judge.oracle import Known, expect
from conformance.replay.attempts import COUNTED, attempts, shift
from conformance.replay.format import Document, Step, call_of
from conformance.replay.reading import read_on, shorter, still_past
from conformance.replay.slice import MOST_CHANGES
from conformance.replay.symbols import SYMBOL, TARGET_VALUES, filled
from conformance.wire.client import NOT_SIMULTANEOUS, race, simultaneous
from conformance.wire.forms import SameText, new_value
from conformance.wire.messages import MISSING, Exchange
from conformance.wire.pages import page_of
from conformance.world.run_context import RunContext

REPRODUCED, NOT_REPRODUCED, UNDECIDED = "reproduced", "not reproduced", "undecided"

#: Receives each step of a replay with its exchange.
Shown = Callable[[Step, Exchange], None]

#: Maximum length of a captured value, in characters.
LONGEST_VALUE = 100_000

#: Predicates, beside those of single modules, that do not apply to a refusal of what was accepted when
#: recorded: its content is not shown, and it may have another reason.
_OF_ACCEPTED = ("equal", "member", "later", "refused", "status")


@dataclass
class Replayed:
    """The result of a replay: verdict, what was got or why there is no verdict, exchanges by step id, number
    of attempts."""

    verdict: str
    got: str = ""
    answers: dict[str, Exchange] = field(default_factory=dict)
    attempts: int = 1


class NotAnswered(Inconclusive):
    """A captured value is missing that a later step or the expectation needs."""


class _Values:
    """Symbol -> value, in one attempt."""

    def __init__(self, document: Document, run: RunContext) -> None:
        self.run = run
        self.known = {name: new_value(recipe) for name, recipe in document.get("fresh", {}).items()}
        #: Symbol that could not be captured -> reason.
        self.missing: dict[str, str] = {}

    def __call__(self, symbol: str) -> str | None:
        if symbol in self.known:
            return self.known[symbol]
        if symbol in self.missing:
            raise NotAnswered(self.missing[symbol])
        if symbol in ("now", "now_ms"):
            return str(self.run.clock.now() * (1000 if symbol == "now_ms" else 1))
        organization, _, member = symbol.partition(".")
        if organization in ("primary", "secondary") and member in TARGET_VALUES:
            value = getattr(getattr(self.run.target, organization), member, None)
            return value if isinstance(value, str) else None
        return None

    def lacks(self, text: str) -> bool:
        """True if a text holds a symbol that could not be captured."""
        return any(found[1] in self.missing for found in SYMBOL.finditer(text))

    def learn(self, step: Step, exchange: Exchange) -> None:
        """Stores the signing headers of a step and the captures of its answer, or that one is missing."""
        for name in ("signature", "timestamp", "nonce"):
            self.known[f"sent_{step['id']}.{name}"] = exchange.request_header(f"X-{name}") or ""
        for symbol, place in step.get("captures", {}).items():
            value = exchange.get(*place)
            if value is MISSING or not isinstance(value, str) or len(value) > LONGEST_VALUE:
                where = ".".join(map(str, place))
                self.missing[symbol] = (
                    f"step {step['id']} was answered {exchange.described()} without {where}"
                )
            else:
                self.known[symbol] = value


# ---------------------------------------------------------------------- attempts


def perform(document: Document, run: RunContext, shown: Shown = lambda step, exchange: None) -> Replayed:
    """Sends every step and judges the answers, in several attempts before it reports `not reproduced`.

    `shown` receives the first attempt, and the last if it decides. Raises InputError for a predicate that no
    imported module registers, for an invalid step, and for one whose organization the target does not have.
    """
    expectation = from_plain(document["expectation"])
    if expectation.name not in PREDICATES:
        raise InputError(
            f"the file is judged by the predicate {expectation.name[:60]!r}, which this installation does "
            "not have: another version of the suite, or a check that is not part of it, has written the file."
        )
    replayed = _attempt(document, run, shown)
    for number in range(1, attempts(document)):
        if replayed.verdict != NOT_REPRODUCED and replayed.got != NOT_SIMULTANEOUS:
            break
        if document["rule"] == COUNTED:
            # The next attempt begins at another number of creates.
            for _ in range(number):
                _unshown_attempt({**document, "steps": document["steps"][:-1], "judged": []}, run)
        shift(list(replayed.answers.values()), run)
        again, sent = _unshown_attempt(document, run)
        if again.got != NOT_SIMULTANEOUS:
            # An attempt without simultaneous requests decides less than earlier ones.
            replayed = again
        replayed.attempts = number + 1
        for step, exchange in sent if replayed.verdict != NOT_REPRODUCED else ():
            shown(step, exchange)
    return replayed


def _unshown_attempt(document: Document, run: RunContext) -> tuple[Replayed, list[tuple[Step, Exchange]]]:
    """Makes an attempt that is not shown, and returns the steps with their exchanges for later."""
    sent: list[tuple[Step, Exchange]] = []
    return _attempt(document, run, lambda step, exchange: sent.append((step, exchange))), sent


def _attempt(document: Document, run: RunContext, shown: Shown) -> Replayed:
    values, answers = _Values(document, run), {}
    unsent = unprepared = ""

    def send(steps: list[Step]) -> list[Exchange]:
        """Sends simultaneous steps; repeats a read of a page where this server's list has another length."""
        while True:
            exchanges = _send(steps, values, run)
            for step, exchange in zip(steps, exchanges, strict=True):
                answers[step["id"]] = exchange
                shown(step, exchange)
            if len(steps) > 1:
                return exchanges
            other = still_past(steps[0], exchanges[0]) or shorter(document, steps[0], exchanges[0])
            if other is None:
                return exchanges
            steps = [other]

    further: list[Exchange] = []
    try:
        for _, group in itertools.groupby(
            document["steps"], key=lambda step: step.get("together", f"alone {step['id']}")
        ):
            steps = list(group)
            for step, exchange in zip(steps, send(steps), strict=True):
                unprepared = _difference(step, exchange, document, answers.values(), run) or unprepared
                values.learn(step, exchange)
        further += read_on(document, answers, lambda step: send([step])[0])
    except NotAnswered as stop:
        # The answers so far may decide: the missing value may be the failure itself.
        unsent = stop.reason
    except Inconclusive as stop:
        return Replayed(UNDECIDED, stop.reason, answers)
    except SameText as stop:
        return Replayed(UNDECIDED, f"the request cannot be made on this server: {stop}", answers)
    outcome = _judge(document, values, answers, further, run)
    raced = [
        answers[step["id"]] for step in document["steps"] if "together" in step and step["id"] in answers
    ]
    if outcome.good and raced and simultaneous(raced) < 2:
        outcome = Outcome(None, NOT_SIMULTANEOUS)
    if outcome.good is False and unprepared:
        outcome = Outcome(None, unprepared)
    if outcome.good and (seen := _incomplete(document, answers, further)):
        outcome = Outcome(None, seen)
    verdict = {True: NOT_REPRODUCED, False: REPRODUCED, None: UNDECIDED}[outcome.good]
    return Replayed(verdict, unsent if unsent and outcome.good is None else outcome.got, answers)


# ---------------------------------------------------------------------- sending


def _send(steps: list[Step], values: _Values, run: RunContext) -> list[Exchange]:
    """Sends simultaneous steps."""
    if wait := max(step.get("wait", 0.0) for step in steps):
        time.sleep(wait)
    calls = []
    for step in steps:
        try:
            client = run.client(step["organization"])
        except (Inconclusive, NotApplicable) as missing:
            raise InputError(
                f"step {step['id']} is sent by another organization, but {missing.reason}."
            ) from None
        calls.append((client, call_of(step, values, run.target), step.get("purpose", "")))
    if len(calls) == 1:
        return [run.send(*calls[0])]
    return [exchange for [exchange] in race([[call] for call in calls])]


def _difference(
    step: Step, exchange: Exchange, document: Document, sent: Iterable[Exchange], run: RunContext
) -> str:
    """Describes how a step that is not judged differs from the record: it was accepted then, but not now. ""
    without a difference, or where the specification demands the refusal after the exchanges `sent`.

    Raises Inconclusive with the difference, unless the step is a refused create of a resource that no other
    step names: the failure may still count as not reproduced then.
    """
    raced = document["steps"] if "together" in step else []
    if step["id"] in document["judged"] or not _accepted(step) or exchange.succeeded:
        return ""
    of_every_response = document["expectation"]["predicate"] == "invariant" and "captures" not in step
    if (raced and of_every_response) or any(
        other["id"] in document["judged"] and _request(other) == _request(step) for other in raced
    ):
        return ""  # Chance decides which request of a race is accepted.
    parameters = document["expectation"]["parameters"]
    if exchange.names_error and parameters.get("code") == exchange.error_code:
        return ""  # The expected refusal, at an earlier step.
    if _rightly_refused(exchange, sent, run):
        return ""
    difference = (
        f"step {step['id']} was answered {exchange.described()}, not {step['answered']['status']} as when it "
        "was recorded"
    )
    creates = traits_of(exchange.operation).creates
    if creates and not step.get("captures") and exchange.refused and not exchange.throttled:
        return difference
    raise Inconclusive(difference)


def _accepted(step: Step) -> bool:
    """True if a step was answered 2xx when recorded."""
    status = step["answered"]["status"]
    return status is not None and 200 <= status < 300


def _rightly_refused(exchange: Exchange, sent: Iterable[Exchange], run: RunContext) -> bool:
    """True if a request was refused and must be, after those in `sent`, or always may be."""
    others = [other for other in sent if other is not exchange]
    if not exchange.refused or exchange.throttled:
        return False
    if exchange.operation is None:
        return True  # Undocumented operations are optional.
    if exchange.error_code == "idempotency_key_conflict":
        key, body = exchange.call.idempotency_key, exchange.call.body
        return key is not None and any(
            other.call.idempotency_key == key and other.call.body != body for other in others
        )
    known = Known(now=run.clock.now(), nonces=[other.nonce for other in others if other.nonce])
    return bool(expect(exchange.call, run.target, known).refusals)


# ---------------------------------------------------------------------- judging


def _judge(
    document: Document,
    values: _Values,
    answers: dict[str, Exchange],
    further: list[Exchange],
    run: RunContext,
) -> Outcome:
    """Judges the new answers by the finding's expectation.

    Chance decides which request of a race shows the failure, so each takes the place of the recorded one in
    turn; the worst outcome counts."""
    plain, judged = document["expectation"], document["judged"]
    try:
        expectation = from_plain(filled(_without_missing(plain, values), values))
        outcomes = [
            expectation.judge([*(answers[step] for step in turn if step in answers), *further], run.target)
            if not turn or turn[0] in answers
            else Outcome(None, f"step {turn[0]}, which is judged, could not be sent")
            for turn in _judged_in_turn(document)
        ]
    except NotAnswered as missing:
        return Outcome(None, missing.reason)
    except SameText as stop:
        return Outcome(None, str(stop))
    except (ExpectationError, KeyError, TypeError, ValueError, ArithmeticError, AttributeError) as error:
        return Outcome(None, f"the answers cannot be judged as the file says ({error})")
    if plain["predicate"] == "invariant" and any(outcome.good for outcome in outcomes):
        # Of the requests of a race, refused ones do not matter.
        outcomes = [outcome for outcome in outcomes if outcome.good is not None]
    worst = min(outcomes, key=lambda outcome: (False, None, True).index(outcome.good))
    of_accepted = plain["predicate"] in _OF_ACCEPTED or "." in plain["predicate"]
    if worst.good is None or (worst.good is False and of_accepted):
        # The recorded answer broke the rule by its content; a refusal has none.
        refused = [
            (f"step {step['id']} was answered {answer.described()}", answer)
            for step in document["steps"]
            if step["id"] in judged and "together" not in step and _accepted(step)
            if (answer := answers.get(step["id"])) and answer.refused
        ]
        for told, answer in refused:
            if _rightly_refused(answer, answers.values(), run):
                return Outcome(True, f"{told}, as it must be")
        if refused and worst.good is False:
            return Outcome(None, f"{refused[0][0]}, which does not show it")
    return worst


def _incomplete(document: Document, answers: dict[str, Exchange], further: list[Exchange]) -> str:
    """The reason why a correct list does not disprove the failure of a list rule: its total exceeds the
    elements read, or the recorded list may have been longer. "" if neither, and for other rules."""
    if not document["rule"].startswith("list."):
        return ""
    if sum(step["method"] == "POST" for step in document["steps"]) >= MOST_CHANGES:
        return f"the list may have been longer than the {MOST_CHANGES} elements that the steps make"
    if document["expectation"]["predicate"] != "listed":
        return ""
    read = [answers[step] for step in document["judged"] if step in answers] + further
    pages = [page for exchange in read if (page := page_of(exchange))]
    seen = {identifier for page in pages for identifier in page.ids}
    totals = [page.total for page in pages if page.total is not None]
    if totals and len(seen) < max(totals):
        return f"the list has {max(totals)} elements, of which {len(seen)} were read"
    return ""


def _judged_in_turn(document: Document) -> list[list[str]]:
    """The judged steps, and copies in which another step of the race takes the place of the judged one: the
    same request or, for a rule of every response, the same operation. Several judged steps of a race stay."""
    judged, steps = document["judged"], document["steps"]
    raced = [step for step in steps if step["id"] in judged and "together" in step]
    if len(raced) != 1:
        return [judged]
    one, of_every_response = raced[0], document["expectation"]["predicate"] == "invariant"
    like = [
        step["id"]
        for step in steps
        if _request(step) == _request(one) or (of_every_response and _operation(step) == _operation(one))
    ]
    return [judged, *([other if step == one["id"] else step for step in judged] for other in like)]


def _request(step: Step) -> list[Any]:
    """The members of a step that are equal in copies of one request in a race."""
    names = ("together", "organization", "method", "target", "body", "body_base64", "auth")
    return [step.get(name) for name in names]


def _operation(step: Step) -> list[Any]:
    """The members of a step that are equal in requests of one operation in a race."""
    return [step.get(name) for name in ("together", "organization", "operation")]


def _without_missing(plain: dict[str, Any], values: _Values) -> dict[str, Any]:
    """Removes ids from an expectation that could not be captured, in parameters that allow it (`besides`)."""
    kept = dict(plain["parameters"])
    for name in PREDICATES[plain["predicate"]].besides:
        if name in kept:
            kept[name] = [text for text in kept[name] if not values.lacks(text)]
    return {**plain, "parameters": kept}
